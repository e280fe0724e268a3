"""Images counted again by another judge, and images from elsewhere."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

import scripted
from athena import datasets
from athena.bench import book, judging, metrics, records
from athena.counters import FunctionCounter
from athena.errors import LoadError, SettingsError


@pytest.fixture
def run(tmp_path):
    scripted.bench(tmp_path / "run", scripted.laid_out(limit=5), asked={"dataset": "mini", "model": "m"})
    return tmp_path / "run"


def test_another_judge_counts_the_saved_images(run):
    one = FunctionCounter(lambda image, noun: scripted.judge(image, noun) + 1, "one too many")
    assert judging.judge(run, one) == (15, 15)
    assert judging.judge(run, one) == (0, 15)
    assert judging.judge(run, one, again=True) == (15, 15)
    seen = records.frame([run], "one too many")
    own = records.frame([run])
    assert list(seen["count"]) == [n + 1 for n in own["count"]]
    assert own["judge"].unique().tolist() == ["judge"]
    assert set(own["judges"].iloc[0]) == {"judge", "look", "one too many"}


def test_a_judge_that_was_cut_short_goes_on(run):
    calls = []

    def tires(image, noun):
        calls.append(noun)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return 1

    with pytest.raises(KeyboardInterrupt):
        judging.judge(run, FunctionCounter(tires, "tires"))
    file = run / book.JUDGED / "tires.jsonl"
    assert len(list(book.lines(file))) == 8  # a batch at a time
    file.write_bytes(file.read_bytes()[:-5])
    said = []
    assert judging.judge(run, FunctionCounter(lambda image, noun: 1, "tires"), said.append) == (8, 15)
    assert "cut short" in said[0] and len(list(book.lines(file))) == 15


def test_an_image_that_is_gone_is_an_error_before_any_counting(run):
    next((run / "images").glob("*.png")).unlink()
    with pytest.raises(LoadError, match="1 of 15 images are not there"):
        judging.judge(run, FunctionCounter(lambda image, noun: pytest.fail("too late"), "j"))


@pytest.fixture
def others(tmp_path):
    """Five images of another tool, of a set of six; the pixel tells the count."""
    entries = [datasets.entry({"prompt": f"{n} cats"}, i) for i, n in enumerate((2, 3, 4, 5, 6, 7), 1)]
    (tmp_path / "theirs").mkdir()
    for i, n in enumerate((2, 3, 4, 5, 9), 1):
        Image.new("RGB", (8, 8), (0, n, 0)).save(tmp_path / "theirs" / f"{i:04d}.png")
    return tmp_path / "theirs", entries


def test_images_of_any_other_tool_stand_in_the_table(others, tmp_path):
    folder, entries = others
    judge = FunctionCounter(scripted.judge, "judge")
    how = {"model": "SDXL", "dataset": "six", "seconds": 44.1}
    assert judging.score(folder, entries, judge, tmp_path / "run", "CountGen", **how) == (5, 5, ["6"])
    row = metrics.summary(records.frame([tmp_path / "run"])).iloc[0]
    assert (row["model"], row["strategy"], row["accuracy"], row["mae"], row["seconds"]) == (
        "SDXL", "CountGen", 0.8, 0.6, 44.1,
    )  # fmt: skip
    assert row[["rows", "peak_mb"]].isna().all()
    assert judging.score(folder, entries, judge, tmp_path / "run", "CountGen", **how) == (0, 5, ["6"])
    assert len(records.load(tmp_path / "run")) == 5
    Image.new("RGB", (8, 8), (0, 11, 0)).save(folder / "0001.png")  # made anew under the same name
    assert judging.score(folder, entries, judge, tmp_path / "run", "CountGen", **how) == (1, 5, ["6"])
    assert sorted(one["counts"]["judge"] for one in records.load(tmp_path / "run")) == [3, 4, 5, 9, 11]
    with pytest.raises(SettingsError, match="strategies"):
        judging.score(folder, entries, judge, tmp_path / "run", "Other", **how)
    with pytest.raises(SettingsError, match=r"seconds: 44\.1 there, 5\.0 asked"):
        judging.score(folder, entries, judge, tmp_path / "run", "CountGen", **{**how, "seconds": 5.0})
    with pytest.raises(SettingsError, match="prompts"):
        judging.score(folder, entries[:5], judge, tmp_path / "run", "CountGen", **how)


def test_images_of_other_tools_are_no_pairs(others, tmp_path):
    """A data set may have seeds of its own; another tool's noise is not that of any of them."""
    folder, entries = others
    entries = [replace(one, seed=n) for n, one in enumerate(entries)]
    judge = FunctionCounter(scripted.judge, "judge")
    for name in ("unsteered", "CountGen"):
        judging.score(folder, entries, judge, tmp_path / name, name, model="SDXL", dataset="six")
    frame = records.frame([tmp_path / "unsteered", tmp_path / "CountGen"])
    assert frame["seed"].isna().all() and metrics.paired(frame).empty


def test_names_that_do_not_match(others, tmp_path):
    folder, entries = others
    with pytest.raises(SettingsError, match=r"as in a\.png; there is 0001\.png"):
        judging.matched(folder, [datasets.entry({"prompt": "two cats", "id": "a"})])
    Image.new("RGB", (8, 8)).save(folder / "1.png")
    with pytest.raises(SettingsError, match="both called by the id 1"):
        judging.matched(folder, entries)
    with pytest.raises(SettingsError, match="no folder"):
        judging.matched(tmp_path / "nowhere", entries)


def test_the_commands(say, run, others, tmp_path, counters):
    counters([0])
    told = say("judge", run, "--judge", f"{counters.file}:two")
    assert told.code == 0 and "mine.py:two counted 15 images" in told.out
    assert say("judge", tmp_path / "nowhere", "--judge", f"{counters.file}:two").code == 1
    assert say("judge", run, "--judge", "grounding-dio").code == 2
    counters.file.write_text(counters.file.read_text() + "\n# edited\n")
    assert "counted 15 images" in say("judge", run, "--judge", f"{counters.file}:two").out
    assert "counted 0 images" in say("judge", run, "--judge", f"{counters.file}:two").out
    assert say("report", run, "--judge", f"{counters.file}:two", "--out", "out").code == 0
    folder, entries = others
    datasets.write(entries, tmp_path / "six.jsonl")
    options = (
        "--dataset",
        tmp_path / "six.jsonl",
        "--judge",
        f"{counters.file}:two",
        "--out",
        tmp_path / "theirs-run",
    )
    done = say("score", folder, *options, "--name", "CountGen")
    assert done.code == 0 and "CountGen" in done.out and "1 of 6 entries have no image: 6" in done.err
    both = say("report", run, tmp_path / "theirs-run", "--judge", "mine.py:two", "--out", "both")
    assert both.code == 0 and "CountGen" in Path("both/table1.tex").read_text()
    assert say("score", tmp_path / "none", *options).code == 2
