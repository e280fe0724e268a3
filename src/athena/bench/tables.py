"""The paper's table and the others, as Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from athena.bench.records import without_nan

PAPER = {"accuracy": "Acc", "mae": "MAE", "rmse": "RMSE", "seconds": "Time", "rows": "Rows"}
UP = ("accuracy",)
DASH = "–"  # where there is no value


class Sheet(NamedTuple):
    """A table of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def shown(value: float, name: str) -> str:
    """As the paper prints it: percent and seconds with one decimal, errors with two."""
    if value is None or np.isnan(value):
        return DASH
    if name == "accuracy":
        return f"{100 * value:.1f}"
    return f"{value:.2f}" if name in ("mae", "rmse") or (name == "seconds" and value < 10) else f"{value:.1f}"


def between(row: Any, name: str) -> str:
    """A value and its interval."""
    value, low, high = (row[column] for column in (name, f"{name}_low", f"{name}_high"))
    nothing = np.isnan(low) or (low == high == value)  # all alike, or told and not measured
    inside = "" if nothing else f" ({shown(low, name)} to {shown(high, name)})"
    return shown(value, name) + inside


def best(summary: pd.DataFrame) -> set[Any]:
    """The rows with the highest accuracy of their model and data set."""
    found: set[Any] = set()
    for _, group in summary.groupby(["model", "dataset"], sort=False):
        top = group["accuracy"].max()
        found |= set(group.index[group["accuracy"] == top])
    return found


def markdown(summary: pd.DataFrame) -> str:
    """Table 1, a block of columns a data set laid one under the other: Markdown has no wide tables."""
    top = best(summary)
    head = ["Model", "Method", "n", "Acc (%) ↑", "MAE ↓", "RMSE ↓", "Time (s) ↓", "Rows ↓"]
    parts = []
    for dataset, group in summary.groupby("dataset", sort=False):
        rows = []
        for index, row in group.iterrows():
            cells = [between(row, name) for name in PAPER]
            cells[0] = f"**{cells[0]}**" if index in top else cells[0]
            judged = str(row["n"]) if row["judged"] == row["n"] else f"{row['judged']} of {row['n']}"
            rows.append([row["model"], row["strategy"], judged, *cells])
        parts += [f"**{dataset}**", "", table(head, rows), ""]
    return "\n".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Any Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def latex(summary: pd.DataFrame, rows: bool = False) -> str:
    """Table 1 for booktabs and multirow, data sets side by side; best accuracy of each pair in bold."""
    names = [name for name in PAPER if rows or name != "rows"]
    sets, top = list(dict.fromkeys(summary["dataset"])), best(summary)
    wide = len(names)
    heads = " & ".join(rf"\multicolumn{{{wide}}}{{c}}{{\textbf{{{tex(one)}}}}}" for one in sets)
    rules = " ".join(rf"\cmidrule(lr){{{3 + i * wide}-{2 + (i + 1) * wide}}}" for i in range(len(sets)))
    arrows = [rf"{PAPER[name]}~(${chr(92)}{'uparrow' if name in UP else 'downarrow'}$)" for name in names]
    lines = [
        rf"\begin{{tabular}}{{l l{(' ' + 'c' * wide) * len(sets)}}}",
        r"\toprule",
        rf"\multirow{{2}}{{*}}{{\textbf{{Model}}}} & \multirow{{2}}{{*}}{{\textbf{{Method}}}} & {heads} \\",
        rules,
        f"& & {' & '.join(arrows * len(sets))} " + r"\\",
    ]
    for model, group in summary.groupby("model", sort=False):
        methods = list(dict.fromkeys(group["strategy"]))
        lines += [r"\midrule", rf"\multirow{{{len(methods)}}}{{*}}{{\textbf{{{tex(model)}}}}}"]
        for method in methods:
            cells = [tex(method)]
            for one in sets:
                here = group[(group["strategy"] == method) & (group["dataset"] == one)]
                cells += latex_cells(here, names, top) if len(here) else ["--"] * wide
            lines.append(f"& {' & '.join(cells)} " + r"\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex_cells(here: pd.DataFrame, names: Sequence[str], top: set[Any]) -> list[str]:
    row = here.iloc[0]
    cells = [shown(row[name], name).replace(DASH, "--") for name in names]
    cells[0] = rf"\textbf{{{cells[0]}}}" if here.index[0] in top else cells[0]
    return cells


def tex(text: object) -> str:
    """Text with what means something to TeX made harmless."""
    special = {c: rf"\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, r"\textbackslash{}" if c == "\\" else c) for c in str(text))


def csv(frame: pd.DataFrame) -> str:
    """Every number and interval, unrounded; an empty cell is a missing value."""
    return str(frame.to_csv(index=False))


def cells(summary: pd.DataFrame) -> list[list[str]]:
    """For the terminal."""
    head = ["model", "data set", "strategy", "n", "exact, %", "MAE", "RMSE", "seconds", "rows"]
    rows = [
        [str(row[k]) for k in ("model", "dataset", "strategy", "n")]
        + [between(row, "accuracy"), *(shown(row[name], name) for name in ("mae", "rmse", "seconds", "rows"))]
        for _, row in summary.iterrows()
    ]
    return [head, *rows]


def plain(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON can hold them: missing is null."""
    return [without_nan(row) for row in summary.to_dict("records")]
