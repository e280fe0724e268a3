"""Records of one or more runs as one table; needs no torch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from athena.bench.book import JUDGED, latest, lines, read_run
from athena.errors import LoadError, SettingsError

NUMBERS = (
    "level",
    "estimate_step",
    "steps",
    "rows",
    "calls",
    "decodes",
    "counter_calls",
    "seconds",
    "memory_mb",
)


def load(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, with the counts of every judge who looked at its images since."""
    records = {record["key"]: record for record in latest(folder)}
    for file in sorted((folder / JUDGED).glob("*.jsonl")):
        for line in lines(file):
            if line["key"] in records:
                records[line["key"]]["counts"][line["judge"]] = line["count"]
    return list(records.values())


def frame(folders: Iterable[Path], judge: str | None = None) -> pd.DataFrame:
    """A row an image; `count` is the judge's, `seen` the steering counter's, NaN where there is none.

    The judge is the one named, else the one of the run.
    """
    parts = []
    for folder in folders:
        parts.append(in_order(rows(load(folder), run := read_run(folder), str(folder), judge), run))
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    alike(whole)
    if len(whole) and len(
        twice := whole[whole.duplicated(["model", "dataset", "strategy", "id", "draw", "seed"])]
    ):
        one = twice.iloc[0]
        raise SettingsError(
            f"the runs hold the same image twice ({one['model']}, {one['dataset']}, {one['strategy']}, entry "
            f"{one['id']}, seed {one['seed']}; once in {one['run']}): report them one by one."
        )
    if judge is not None and len(whole) and whole["count"].isna().all():
        known = sorted({name for part in whole["judges"] for name in part})
        raise SettingsError(
            f'nothing was judged by "{judge}": there are {", ".join(known)}. '
            f"`athena judge {next(iter(folders), 'DIR')} --judge {judge}` counts the saved images."
        )
    return whole


SAME = ("prompts", "call", "dtype", "revision", "judge")  # of runs that stand in one table


def alike(whole: pd.DataFrame) -> None:
    """Refuse to mix what was made or judged in different ways."""
    if not len(whole):
        return
    firsts = whole.drop_duplicates(["model", "dataset", "run"])
    for (model, dataset), group in firsts.groupby(["model", "dataset"], sort=False):
        for name in SAME:
            column = "judge" if name == "judge" else f"made_{name}"
            known = group[group[column].notna()]
            first = known.drop_duplicates(column)
            if len(first) > 1:
                told = "; ".join(f"{row['run']}: {row[column]}" for _, row in first.iterrows())
                help = (
                    "--judge NAME lets one decide for all, and `athena judge` counts by it"
                    if name == "judge"
                    else "report them one by one"
                )
                raise SettingsError(f"{model}, {dataset}: the runs differ in {name} ({told}): {help}.")


def in_order(made: pd.DataFrame, run: dict[str, Any]) -> pd.DataFrame:
    """Strategies as they were asked for, prompts as they were shuffled, whichever worker was first."""
    if not len(made):
        return made
    labels = [str(one).partition(" (code ")[0] for one in run["asked"].get("strategies") or []]
    turn = {label: i for i, label in enumerate(labels)}
    keys = pd.DataFrame({"turn": made["strategy"].map(turn), "place": made["place"]})
    return made.loc[keys.sort_values(["turn", "place"], kind="stable").index]


def rows(records: list[dict[str, Any]], run: dict[str, Any], folder: str, judge: str | None) -> pd.DataFrame:
    """The records of one run."""
    asked = run["asked"]
    if not records:
        return pd.DataFrame()
    made = pd.DataFrame.from_records(records)
    for name in NUMBERS:
        made[name] = pd.to_numeric(made[name]) if name in made else np.nan
    counts = made["counts"]
    names = [judge or own for own in made["judge"]]
    made["count"] = [number(one, name) for one, name in zip(counts, names, strict=True)]
    made["seen"] = [number(one, name) for one, name in zip(counts, made["counter"], strict=True)]
    made["judges"] = [tuple(one) for one in counts]
    made["judge"] = names
    made["estimate"] = [
        kept_estimate(*pair) for pair in zip(made["estimates"], made["finished"], strict=True)
    ]
    made["first"] = [first_estimate(one) for one in made["estimates"]]
    made["attempts"] = [len(one) for one in made["estimates"]]
    made["target"] = made["target"].astype(float)
    made["exact"] = (made["count"] == made["target"]).astype(float).where(made["count"].notna())
    made["error"] = made["count"] - made["target"]
    made["run"] = folder
    for name in SAME[:-1]:
        value = asked.get(name) if "call" in asked else None  # of another tool's images nothing is known
        made[f"made_{name}"] = None if value is None else json.dumps(value, sort_keys=True, default=str)
    if "place" not in made:
        made["place"] = np.nan
    made["model"] = run.get("name") or asked["model"]
    made["judge"] = made["judge"].astype(str)
    made["dataset"] = dataset_of(asked)
    return made


def dataset_of(asked: dict[str, Any]) -> str:
    """Its name as a column title: the file's, and the split where it is one."""
    name = Path(str(asked["dataset"])).stem
    split = asked.get("split", "all")
    return name if split == "all" else f"{name}, {split}"


def number(counts: dict[str, Any], name: str) -> float:
    value = counts.get(name)
    return np.nan if value is None else float(value)


def kept_estimate(estimates: list[int | None], finished: float | None) -> float:
    """What was seen half-way of the trajectory whose image was kept; NaN when that one was not counted."""
    if finished is None or np.isnan(finished):
        return np.nan
    value = estimates[int(finished)]
    return np.nan if value is None else float(value)


def first_estimate(estimates: list[int | None]) -> float:
    value = estimates[0] if estimates else None
    return np.nan if value is None else float(value)


def runs_of(folders: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """run.json of each."""
    found = {str(folder): read_run(folder) for folder in folders}
    if not found:
        raise LoadError("no run folder: give one, as in `athena report runs/first --out report`")
    return found


def dump(content: Any) -> str:
    """JSON without NaN, which is none: missing is null."""
    return json.dumps(without_nan(content), ensure_ascii=False)


def without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    if isinstance(content, float | np.floating):
        return None if np.isnan(content) else float(content)
    return content.item() if isinstance(content, np.generic) else content
