"""Statistics against values worked by hand."""

from math import isnan, sqrt

import pandas as pd
import pytest

from athena.bench import metrics, records, tables

RUN = {"asked": {"dataset": "mini", "split": "test", "model": "m"}}


def image(strategy="unsteered", id="1", target=3, count=3, seen=None, estimates=(None,), **more):
    """One record; `count` None was not judged."""
    counts = {name: n for name, n in (("judge", count), ("look", seen)) if n is not None}
    return {
        "key": f"{strategy}{id}{more}", "id": id, "prompt": "p", "noun": more.pop("noun", "cat"), "target": target,
        "level": None, "strategy": strategy, "seed": 1, "draw": 0, "counts": counts,
        "judge": "judge", "counter": "look", "estimates": list(estimates), "gammas": [0.0], "controls": [None],
        "finished": 0, "estimate_step": 5,
        "steps": 10, "rows": 100, "seconds": 1.0, "memory_mb": 10.0, "image": "x.png", **more,
    }  # fmt: skip


def framed(*made):
    return records.rows(list(made), RUN, "run", None)


# --- one number at a time


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [  # (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.96
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 4, 0.0456, 0.6994),
        (190, 324, 0.5321, 0.6388),
    ],
)
def test_wilson(right, total, low, high):
    found = metrics.wilson(right, total)
    assert found == pytest.approx((right / total, low, high), abs=1e-4)


def test_nothing_is_not_zero():
    assert all(isnan(x) for x in metrics.wilson(0, 0))
    nothing = pd.Series([float("nan")] * 2)
    assert all(isnan(x) for x in metrics.by_prompt(nothing, pd.Series(["a", "b"])))


@pytest.mark.parametrize(
    ("fixed", "broken", "p"),
    [
        (9, 1, 2 * (1 + 10) / 2**10),
        (0, 5, 2 / 2**5),
        (3, 3, 1.0),
        (0, 0, 1.0),
        (10, 2, 2 * (1 + 12 + 66) / 2**12),
    ],
)
def test_mcnemar_is_the_exact_binomial(fixed, broken, p):
    assert metrics.mcnemar(fixed, broken) == pytest.approx(p)
    assert metrics.mcnemar(broken, fixed) == pytest.approx(p)


def test_the_bootstrap_draws_whole_prompts():
    # two prompts: the mean of a draw is 1, 2 or 3, with chances 1/4, 1/2, 1/4
    assert metrics.by_prompt(pd.Series([1.0, 3.0]), pd.Series(["a", "b"])) == (2.0, 1.0, 3.0)
    # the two images of prompt a are one draw: 5/3 in the middle, 1 and 3 at the ends
    assert metrics.by_prompt(pd.Series([1.0, 1.0, 3.0]), pd.Series(["a", "a", "b"])) == pytest.approx(
        (5 / 3, 1, 3)
    )
    assert metrics.by_prompt(pd.Series([9.0, 16.0]), pd.Series(["a", "b"]), root=True) == pytest.approx(
        (sqrt(12.5), 3, 4)
    )
    assert metrics.by_prompt(pd.Series([2.0, 2.0]), pd.Series(["a", "b"])) == (2, 2, 2)
    one = metrics.by_prompt(pd.Series([1.0, 3.0]), pd.Series(["a", "a"]))
    assert one.value == 2 and isnan(one.low), "one prompt tells nothing of others"
    values, prompts = pd.Series(range(50), dtype=float), pd.Series(map(str, range(50)))
    low, high = metrics.by_prompt(values, prompts)[1:]
    spread = 1.96 * sqrt((50**2 - 1) / 12 / 50)  # of a mean of 50 draws from 0..49
    assert (low, high) == pytest.approx((24.5 - spread, 24.5 + spread), abs=0.4)
    assert metrics.by_prompt(values, prompts) == metrics.by_prompt(values, prompts)


# --- tables


def test_the_papers_columns():
    frame = framed(
        image(id="1", target=3, count=3, rows=100, seconds=1.0),
        image(id="2", target=5, count=4, rows=120, seconds=2.0),
        image(id="3", target=7, count=10, rows=110, seconds=3.0),
        image(id="4", target=7, count=None, rows=110, seconds=None),
    )
    row = metrics.summary(frame).iloc[0]
    assert (row["n"], row["judged"]) == (4, 3)
    assert row["accuracy"] == pytest.approx(1 / 3)
    assert row["mae"] == pytest.approx(4 / 3)
    assert row["rmse"] == pytest.approx(sqrt(10 / 3))
    assert row["seconds"] == pytest.approx(2.0)
    assert row["rows"] == pytest.approx(110)
    assert row["peak_mb"] == 10


def test_what_nobody_judged_is_missing_everywhere():
    frame = framed(image(id="1", count=None), image(id="2", count=None))
    summary = metrics.summary(frame)
    assert summary.loc[0, ["accuracy", "mae", "rmse"]].isna().all()
    assert tables.plain(summary)[0]["accuracy"] is None
    assert tables.between(summary.iloc[0], "accuracy") == "–" and "– " not in tables.latex(summary)
    assert metrics.paired(framed(image(count=None), image("static"))).loc[0, "p"] != 0
    assert metrics.judges(frame).empty and metrics.observed(frame).empty


def test_pairs_are_the_same_prompt_and_noise():
    was = [1, 1, 0, 0, 0, 1]  # right unsteered
    now = [1, 0, 1, 1, 0, 1]
    made = [image(id=str(i), count=3 if x else 4) for i, x in enumerate(was)]
    made += [image("adaptive", id=str(i), count=3 if x else 4) for i, x in enumerate(now)]
    made += [image("adaptive", id="0", seed=9, count=4), image("adaptive", id="9", count=3)]  # no partner
    row = metrics.paired(framed(*made)).iloc[0]
    assert (row["pairs"], row["fixed"], row["broken"]) == (6, 2, 1)
    assert row["p"] == 1.0  # 2 (1 + 3) / 2^3
    assert row["change"] == pytest.approx(1 / 6)


def test_accuracy_at_equal_rows():
    def many(strategy, rows, right):
        return [image(strategy, id=str(i), rows=rows, count=3 if i < right else 4) for i in range(100)]

    frame = framed(
        *many("unsteered", 100, 50), *many("reseed@max_attempts=2", 150, 70), *many("reseed", 170, 75),
        *many("static", 105, 55), *many("adaptive", 125, 65), *many("dear", 200, 90), *many("cheap", 90, 40),
    )  # fmt: skip
    found = metrics.equal_rows(frame).set_index("strategy")
    assert list(found.index) == ["static", "adaptive", "dear", "cheap"]
    assert found.loc["static", "reseed"] == pytest.approx(0.52)
    assert found.loc["adaptive", "reseed"] == pytest.approx(0.60)
    assert found.loc["adaptive", "ahead"] == pytest.approx(0.05)
    assert isnan(found.loc["dear", "reseed"]) and isnan(found.loc["cheap", "ahead"])
    alone = metrics.equal_rows(framed(*many("unsteered", 100, 50), *many("adaptive", 125, 65)))
    assert alone["reseed"].isna().all(), "no rival was run"


def test_by_target_level_and_noun():
    frame = framed(
        image(id="1", target=2, count=2), image(id="2", target=2, count=1),
        image(id="3", target=9, count=7, noun="dog"), image(id="4", target=9, count=None, noun="dog"),
    )  # fmt: skip
    by = metrics.accuracy_by(frame, "target").set_index("target")
    assert by.loc[2, "accuracy"] == 0.5 and by.loc[2, "mean_count"] == 1.5 and by.loc[2, "mae"] == 0.5
    assert by.loc[9, "accuracy"] == 0 and by.loc[9, "mean_count"] == 7 and by.loc[9, "n"] == 1
    assert list(metrics.accuracy_by(frame, "noun")["noun"]) == ["cat", "dog"]
    assert metrics.accuracy_by(frame, "level").empty


def test_the_estimate_against_the_final_count():
    frame = framed(
        image("adaptive", id="1", seen=3, estimates=[3]),
        image("adaptive", id="2", seen=4, estimates=[2, 3], finished=1),
        image("adaptive", id="3", seen=3, estimates=[5, None], finished=1),  # what was kept was not counted
        image("unsteered", id="4", seen=3),
    )
    found = metrics.observed(frame)
    assert len(found) == 1
    assert (found.loc[0, "n"], found.loc[0, "same"], found.loc[0, "off"]) == (2, 0.5, -0.5)
    assert list(frame["first"])[:3] == [3, 2, 5]


def test_the_counter_against_the_judge():
    frame = framed(
        image(id="1", count=3, seen=3), image(id="2", count=3, seen=4), image(id="3", count=4, seen=3),
        image(id="4", count=4, seen=4), image(id="5", count=None, seen=4),
    )  # fmt: skip
    row = metrics.judges(frame).iloc[0]
    assert (row["n"], row["agree"], row["by_counter"], row["by_judge"]) == (4, 0.5, 0.5, 0.5)


# --- how they are written


def test_tables_as_markdown_and_latex():
    frame = framed(
        image(id="1", count=3),
        image(id="2", count=4),
        image("my_way@gamma=2", id="1"),
        image("my_way@gamma=2", id="2"),
    )
    summary = metrics.summary(frame)
    text = tables.markdown(summary)
    assert "| m | my_way@gamma=2 | 2 | **100.0 (34.2 to 100.0)** |" in text and "**mini, test**" in text
    made = tables.latex(summary)
    for part in (
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\textbf{100.0}",
        r"my\_way@gamma=2",
        r"\multicolumn{4}",
    ):
        assert part in made
    assert made.count("\\begin{tabular}") == made.count("\\end{tabular}") == 1
    rows = [line for line in made.split("\n") if line.startswith("& unsteered")]
    assert rows == [r"& unsteered & 50.0 & 0.50 & 0.71 & 1.00 \\"]
    assert tables.tex("50% & a_b \\ ~") == r"50\% \& a\_b \textbackslash{} \textasciitilde{}"
    assert "my_way@gamma=2" in tables.csv(summary)


def test_another_judge_can_decide(tmp_path):
    made = image(id="1", count=3, seen=4)
    assert records.rows([made], RUN, "run", "look").loc[0, "count"] == 4
    assert isnan(records.rows([made], RUN, "run", "owlv2").loc[0, "count"])
