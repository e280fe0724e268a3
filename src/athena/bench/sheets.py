"""What the report's tables say: a head, rows of text, and the words beside them."""

from __future__ import annotations

import shlex
from typing import Any

import pandas as pd

from athena.bench.tables import DASH, Sheet, best, between, shown

INTERVALS = (
    "In brackets 95% intervals: Wilson for accuracy, percentile bootstrap over prompts for the others. Accuracy is "
    "the share of images in which the judge counts exactly the number asked for; seconds are those of generation "
    "alone. A dash is a missing value. The highest accuracy of each model and data set is bold. Where a prompt has "
    "several seeds, Wilson and McNemar take its images as independent, so their intervals are a little too narrow."
)
PAIRS = (
    "Fixed: wrong unsteered, right with the strategy, same prompt and noise. Broken: the other way round. p is "
    "McNemar's exact test (two-sided); change is that of accuracy in points, with a bootstrap interval over prompts."
)
EQUAL = (
    "The honest rival spends the same denoiser rows on new noise. `reseed` is the accuracy of doing that, on the "
    "line between the two nearest of its budgets (unsteered is one attempt); a dash where the strategy's rows lie "
    "outside all budgets that were run."
)
TARGET = "Accuracy in percent, and in brackets the mean count of the judge."
OBSERVED = (
    "How often the count seen half-way is the count of the final image, both by the steering counter, for the runs "
    "that went on unchanged from where they were counted. Off: the mean of estimate minus final count."
)


def percent(value: float) -> str:
    return shown(value, "accuracy")


def signed(value: float) -> str:
    return DASH if value != value else f"{100 * value:+.1f}"


def main(summary: pd.DataFrame) -> Sheet:
    """Table 1."""
    top = best(summary)
    rows = []
    for index, row in summary.iterrows():
        cells = [between(row, name) for name in ("accuracy", "mae", "rmse", "seconds", "rows")]
        cells[0] = f"**{cells[0]}**" if index in top else cells[0]
        judged = str(row["n"]) if row["judged"] == row["n"] else f"{row['judged']} of {row['n']}"
        rows.append([row["model"], row["dataset"], row["strategy"], judged, *cells])
    return Sheet(
        ["model", "data set", "strategy", "images", "accuracy, %", "MAE", "RMSE", "seconds", "denoiser rows"],
        rows,
    )


def pairs(table: pd.DataFrame) -> Sheet:
    rows = [
        [
            row["model"], row["dataset"], row["strategy"], str(row["pairs"]), str(row["fixed"]), str(row["broken"]),
            chance(row["p"]),
            f"{signed(row['change'])}{change_interval(row)}",
        ]
        for _, row in table.iterrows()
    ]  # fmt: skip
    return Sheet(["model", "data set", "strategy", "pairs", "fixed", "broken", "p", "change, points"], rows)


def chance(p: float) -> str:
    if p != p:
        return DASH
    return "< 1e-300" if p < 1e-300 else f"{p:.2g}"


def change_interval(row: Any) -> str:
    low, high = row["change_low"], row["change_high"]
    return "" if low != low else f" ({signed(low)} to {signed(high)})"


def equal(table: pd.DataFrame) -> Sheet:
    rows = [
        [
            row["model"], row["dataset"], row["strategy"], shown(row["rows"], "rows"), percent(row["accuracy"]),
            percent(row["reseed"]), signed(row["ahead"]),
        ]
        for _, row in table.iterrows()
    ]  # fmt: skip
    head = [
        "model",
        "data set",
        "strategy",
        "denoiser rows",
        "accuracy, %",
        "`reseed` at these rows, %",
        "ahead, points",
    ]
    return Sheet(head, rows)


def pivot(table: pd.DataFrame, key: str) -> Sheet:
    """A column a target, level or noun; for nouns, which are many, a row each."""
    if table.empty:
        return Sheet([], [])
    keys = sorted(table[key].unique())
    cells = {
        (row["model"], row["dataset"], row["strategy"], row[key]): f"{percent(row['accuracy'])} ({mean(row)})"
        for _, row in table.iterrows()
    }
    groups = list(dict.fromkeys(name[:3] for name in cells))
    if key != "noun":
        head = ["model", "data set", "strategy", *(f"{one:g}" for one in keys)]
        return Sheet(head, [[*group, *(cells.get((*group, one), DASH) for one in keys)] for group in groups])
    strategies = list(dict.fromkeys(group[2] for group in groups))
    places = list(dict.fromkeys(group[:2] for group in groups))
    body = [
        [*place, one, *(cells.get((*place, strategy, one), DASH) for strategy in strategies)]
        for place in places
        for one in keys
        if any((*place, strategy, one) in cells for strategy in strategies)
    ]
    return Sheet(["model", "data set", "noun", *strategies], body)


def mean(row: Any) -> str:
    return DASH if row["mean_count"] != row["mean_count"] else f"{row['mean_count']:.1f}"


def observed(table: pd.DataFrame) -> Sheet:
    rows = [
        [
            row["model"], row["dataset"], row["strategy"], f"{row['estimate_step']:g} of {row['steps']:g}",
            str(row["n"]), f"{percent(row['same'])} ({percent(row['same_low'])} to {percent(row['same_high'])})",
            f"{row['off']:+.2f}",
        ]
        for _, row in table.iterrows()
    ]  # fmt: skip
    return Sheet(
        ["model", "data set", "strategy", "counted after step", "images", "same count, %", "off"], rows
    )


def judges(table: pd.DataFrame) -> Sheet:
    rows = [
        [
            row["model"], row["dataset"], row["strategy"], row["counter"], row["judge"], str(row["n"]),
            percent(row["agree"]), percent(row["by_counter"]), percent(row["by_judge"]),
        ]
        for _, row in table[table["counter"] != table["judge"]].iterrows()
    ]  # fmt: skip
    head = [
        "model",
        "data set",
        "strategy",
        "steers",
        "judges",
        "images",
        "agree, %",
        "exact by the one that steers, %",
    ]
    return Sheet([*head, "exact by the judge, %"], rows)


def judges_text(frame: pd.DataFrame) -> str:
    """Who judged; and plainly so where the judge is the one that steered."""
    pairs = dict.fromkeys(zip(frame["counter"], frame["judge"], strict=True))
    same = [judge for counter, judge in pairs if counter == judge and judge]
    told = f"The judge is {', '.join(dict.fromkeys(judge for _, judge in pairs if judge)) or 'nobody'}."
    if same:
        told += (
            f" {', '.join(same)} both steers and judges: what it miscounts in the same way twice counts as right. "
            "`athena judge` counts the saved images by another."
        )
    return told


def lean(sheet: Sheet) -> Sheet:
    """Without the model or the data set where there is only one; the page says it at its head."""
    same = {
        i
        for i, name in enumerate(sheet.head)
        if name in ("model", "data set") and len({row[i] for row in sheet.rows}) == 1
    }
    kept = [[cell for i, cell in enumerate(row) if i not in same] for row in (sheet.head, *sheet.rows)]
    return Sheet(kept[0], kept[1:])


def provenance(runs: dict[str, dict[str, Any]]) -> list[str]:
    """The commands, the versions and the machine, as Markdown."""
    lines = []
    for folder, run in runs.items():
        sessions = run.get("sessions") or [{}]
        lines += [f"- `{folder}`"]
        lines += [f"  - `{shlex.join(one)}`" for one in unique(s.get("command") for s in sessions)]
        lines += [
            f"  - {', '.join(f'{k} {v}' for k, v in one.items())}"
            for one in unique(s.get("versions") for s in sessions)
        ]
        for one in unique(s.get("hardware") for s in sessions):
            gpus = one.get("gpus") or []
            lines.append(
                f"  - {one['cpu'] or one['platform']}, {one['cores']} cores" + "".join(f", {g}" for g in gpus)
            )
        asked = run["asked"]
        lines.append(f"  - weights {asked.get('revision', DASH)}, {asked.get('dtype', DASH)}")
    return lines


def unique(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value and value not in found:
            found.append(value)
    return found
