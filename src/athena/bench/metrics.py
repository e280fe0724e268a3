"""What the records show, with intervals: accuracy, errors, cost, pairs, agreement. What is missing is NaN, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95
RESAMPLES = 2000
GROUP = ["model", "dataset", "strategy"]
PLAIN = "unsteered"
PAIR = ["id", "draw", "seed"]  # the same noise of the same prompt


class Interval(NamedTuple):
    value: float
    low: float
    high: float


NOTHING = Interval(np.nan, np.nan, np.nan)


def wilson(right: int, total: int) -> Interval:
    """A share and its 95% interval, after Wilson."""
    if total == 0:
        return NOTHING
    found = stats.binomtest(int(right), int(total)).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(right / total, float(found.low), float(found.high))


def by_prompt(values: pd.Series, prompts: pd.Series, root: bool = False) -> Interval:
    """A mean (or the root of one) and its 95% interval: percentile bootstrap that draws whole prompts."""
    return by_prompts({"value": (values, root)}, prompts)["value"]


def by_prompts(columns: dict[str, tuple[pd.Series, bool]], prompts: pd.Series) -> dict[str, Interval]:
    """The same for several columns, from the same draws where the same prompts have a value."""
    found = dict.fromkeys(columns, NOTHING)
    alike: dict[bytes, list[str]] = {}
    each = {}
    for name, (values, _) in columns.items():
        summed = values.groupby(prompts, sort=False).agg(["sum", "count"])
        each[name] = summed[summed["count"] > 0]
        if len(each[name]):
            alike.setdefault((summed["count"] > 0).to_numpy().tobytes(), []).append(name)
    for names in alike.values():
        totals, sizes = (np.array([each[name][part] for name in names], float) for part in ("sum", "count"))
        roots = np.array([columns[name][1] for name in names])
        found |= dict(zip(names, bootstrapped(totals, sizes, roots), strict=True))
    return found


def bootstrapped(totals: Any, sizes: Any, roots: Any) -> list[Interval]:
    """Intervals of sum/size for each row; a column is a prompt, (measures, prompts)."""

    alike = np.ptp(sizes) == 0  # the same number of images a prompt, as it mostly is: half the work

    def statistic(drawn: Any, axis: int = -1) -> Any:
        below = sizes.flat[0] * drawn.shape[-1] if alike else sizes[:, drawn].sum(axis=-1)
        mean = totals[:, drawn].sum(axis=-1) / below
        return np.where(roots.reshape(-1, *[1] * (mean.ndim - 1)), np.sqrt(np.abs(mean)), mean)

    prompts = np.arange(totals.shape[1])
    values = statistic(prompts)
    if len(prompts) == 1:  # one prompt tells nothing of others
        return [Interval(float(value), np.nan, np.nan) for value in values]
    drawn = stats.bootstrap(
        (prompts,), statistic, n_resamples=RESAMPLES, vectorized=True, method="percentile",
        confidence_level=CONFIDENCE, batch=max(1, 1_000_000 // len(prompts)), rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return [Interval(*map(float, one)) for one in zip(values, drawn.low, drawn.high, strict=True)]


def accuracy(group: pd.DataFrame) -> Interval:
    known = group["exact"].dropna()
    return wilson(int(known.sum()), len(known))


def measured(group: pd.DataFrame) -> dict[str, Interval]:
    """The paper's columns of one group."""
    columns = {
        "mae": (group["error"].abs(), False),
        "rmse": (group["error"] ** 2, True),
        "seconds": (group["seconds"], False),
        "rows": (group["rows"], False),
    }
    return {"accuracy": accuracy(group), **by_prompts(columns, group["id"])}


def summary(frame: pd.DataFrame, by: Sequence[str] = GROUP) -> pd.DataFrame:
    """The paper's columns for each group, each with its interval, and how many images were judged."""
    found = []
    for names, group in grouped(frame, by):
        row: dict[str, Any] = {**names, "n": len(group), "judged": int(group["count"].notna().sum())}
        for name, interval in measured(group).items():
            row |= spread(name, interval)
        found.append({**row, "peak_mb": group["memory_mb"].max()})
    return pd.DataFrame(found)


def accuracy_by(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """Accuracy, the mean count and the error by target, level or noun."""
    found = []
    for names, group in grouped(frame[frame[key].notna()], [*GROUP, key]):
        row = {**names, "n": int(group["exact"].notna().sum()), **spread("accuracy", accuracy(group))}
        found.append({**row, "mean_count": group["count"].mean(), "mae": group["error"].abs().mean()})
    return pd.DataFrame(found, columns=[*GROUP, key, "n", *columns("accuracy"), "mean_count", "mae"])


def mcnemar(fixed: int, broken: int) -> float:
    """The exact two-sided test of whether as many were broken as fixed."""
    changed = fixed + broken
    return float(stats.binomtest(fixed, changed, 0.5).pvalue) if changed else 1.0


def paired(frame: pd.DataFrame, base: str = PLAIN) -> pd.DataFrame:
    """Each strategy against the unsteered run from the same noise."""
    found = []
    for names, group in grouped(frame, ["model", "dataset"]):
        group = group[group["seed"].notna()]  # the noise of another tool's images is not known
        plain = group[group["strategy"] == base]
        for strategy, other in group[group["strategy"] != base].groupby("strategy", sort=False):
            both = plain.merge(other, on=PAIR, suffixes=("_was", "_is"))
            both = both[both["exact_was"].notna() & both["exact_is"].notna()]
            fixed = int(((both["exact_was"] == 0) & (both["exact_is"] == 1)).sum())
            broken = int(((both["exact_was"] == 1) & (both["exact_is"] == 0)).sum())
            change = by_prompt(both["exact_is"] - both["exact_was"], both["id"])
            row = {**names, "strategy": strategy, "pairs": len(both), "fixed": fixed, "broken": broken}
            found.append(
                {**row, "p": mcnemar(fixed, broken) if len(both) else np.nan, **spread("change", change)}
            )
    kept = ["model", "dataset", "strategy", "pairs", "fixed", "broken", "p", *columns("change")]
    return pd.DataFrame(found, columns=kept)


def equal_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Each strategy against `reseed` with the same budget of denoiser rows.

    The budget of `reseed` is its number of attempts: unsteered sampling is one, `reseed@max_attempts=2` two, ...
    Between two of them lies the policy that takes the one or the other by chance; its rows and its accuracy are
    the line between the two points. Beyond the points there is nothing: NaN.
    """
    found = []
    for names, group in grouped(frame, ["model", "dataset"]):
        mean = group.groupby("strategy", sort=False).agg(rows=("rows", "mean"), accuracy=("exact", "mean"))
        rivals = [name for name in mean.index if name == PLAIN or name.partition("@")[0] == "reseed"]
        points = mean.loc[rivals].dropna().sort_values("rows")
        for strategy, own in mean.drop(index=rivals).iterrows():
            rival = np.nan
            if len(points) > 1:
                rival = np.interp(own["rows"], points["rows"], points["accuracy"], left=np.nan, right=np.nan)
            row = {**names, "strategy": strategy, "rows": own["rows"], "accuracy": own["accuracy"]}
            found.append({**row, "reseed": float(rival), "ahead": own["accuracy"] - float(rival)})
    return pd.DataFrame(found, columns=[*GROUP, "rows", "accuracy", "reseed", "ahead"])


def observed(frame: pd.DataFrame) -> pd.DataFrame:
    """How often the count half-way is that of the final image, by the same counter, for runs that went on as seen."""
    counted = frame[frame["estimate"].notna() & frame["seen"].notna()]
    found = []
    for names, group in grouped(counted, [*GROUP, "estimate_step", "steps"]):
        same = group["estimate"] == group["seen"]
        off = (group["estimate"] - group["seen"]).mean()
        found.append(
            {**names, "n": len(group), **spread("same", wilson(int(same.sum()), len(group))), "off": off}
        )
    return pd.DataFrame(found, columns=[*GROUP, "estimate_step", "steps", "n", *columns("same"), "off"])


def judges(frame: pd.DataFrame) -> pd.DataFrame:
    """The steering counter against the judge, on the final images: how often they agree, and what each calls exact."""
    both = frame[frame["seen"].notna() & frame["count"].notna()]
    found = []
    for names, group in grouped(both, GROUP):
        same = int((group["seen"] == group["count"]).sum())
        by_counter = int((group["seen"] == group["target"]).sum())
        row = {**names, "counter": group["counter"].iloc[0], "judge": group["judge"].iloc[0], "n": len(group)}
        row |= spread("agree", wilson(same, len(group))) | spread(
            "by_counter", wilson(by_counter, len(group))
        )
        found.append({**row, "by_judge": group["exact"].mean()})
    kept = [*GROUP, "counter", "judge", "n", *columns("agree"), *columns("by_counter"), "by_judge"]
    return pd.DataFrame(found, columns=kept)


def grouped(frame: pd.DataFrame, by: Sequence[str]) -> Any:
    """Groups in the order in which they first appear, each with its names."""
    if not len(frame):
        return
    for names, group in frame.groupby(list(by), sort=False):
        yield dict(zip(by, names, strict=True)), group


def columns(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"]


def spread(name: str, interval: Interval) -> dict[str, float]:
    return dict(zip(columns(name), interval, strict=True))
