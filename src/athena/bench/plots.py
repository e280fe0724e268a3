"""The paper's figures from summaries: a function makes the data (`metrics`), a function here draws it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

# Okabe and Ito's colours, which the colour-blind can tell apart; a shape as well.
LOOKS = {
    "unsteered": ("#5A5A5A", "o"),
    "static": ("#56B4E9", "s"),
    "feedback": ("#E69F00", "^"),
    "adaptive": ("#009E73", "D"),
    "reseed": ("#CC79A7", "v"),
}
OTHERS = (
    ("#0072B2", "P"),
    ("#D55E00", "X"),
    ("#8C6D00", "*"),
    ("#000000", "h"),
    ("#7E57C2", "<"),
    ("#B2182B", ">"),
)
AXES = {"seconds": "seconds an image", "rows": "denoiser rows an image"}
WIDE, HIGH = 5.2, 3.5  # inches of one panel


def look(strategy: str, all_of_them: Sequence[str]) -> dict[str, Any]:
    """The colour and the shape of a strategy; variants of one share its colour and differ in shape."""
    base = strategy.partition("@")[0]
    family = [one for one in dict.fromkeys(all_of_them) if one.partition("@")[0] == base]
    if base not in LOOKS:
        strange = [one for one in dict.fromkeys(all_of_them) if one.partition("@")[0] not in LOOKS]
        colour, shape = OTHERS[strange.index(strategy) % len(OTHERS)]
        return {"color": colour, "marker": shape}
    colour, shape = LOOKS[base]
    place = family.index(strategy)
    return {"color": colour, "marker": shape if place == 0 else OTHERS[(place - 1) % len(OTHERS)][1]}


def trade_off(summary: pd.DataFrame, cost: str) -> Figure:
    """Accuracy against what it cost, with both intervals; a panel a model and data set."""
    figure, panels = sheet(summary)
    names = list(summary["strategy"])
    for axes, group in panels:
        known = group[group[cost].notna() & group["accuracy"].notna()]
        for _, row in known.iterrows():
            style = look(row["strategy"], names)
            axes.errorbar(
                row[cost], row["accuracy"], xerr=arms(row, cost), yerr=arms(row, "accuracy"), markersize=9,
                capsize=2, elinewidth=1, linestyle="", label=row["strategy"], markeredgecolor="white", **style,
            )  # fmt: skip
        axes.set_xlabel(AXES[cost], fontsize=12)
        axes.set_xlim(0, axes.get_xlim()[1])
        if known.empty:
            nothing(axes, f"no {AXES[cost]} on record")
    return legend(figure, panels)


def by_target(table: pd.DataFrame) -> Figure:
    """Accuracy against the number asked for, with intervals; a panel a model and data set."""
    figure, panels = sheet(table)
    names = list(table["strategy"])
    for axes, group in panels:
        each = list(group.groupby("strategy", sort=False))
        for place, (strategy, points) in enumerate(each):
            points = points.sort_values("target")
            shift = (place - (len(each) - 1) / 2) * 0.09  # beside each other, not on top of each other
            below = points["accuracy"] - points["accuracy_low"]
            above = points["accuracy_high"] - points["accuracy"]
            axes.errorbar(
                points["target"] + shift, points["accuracy"], yerr=np.array([below, above]).clip(min=0), linewidth=2,
                elinewidth=0.8, markersize=6, label=strategy, markeredgecolor="white", **look(strategy, names),
            )  # fmt: skip
        axes.set_xlabel("number asked for", fontsize=12)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return legend(figure, panels)


def observability(table: pd.DataFrame) -> Figure:
    """How often the count half-way is the final one, against how far the run had come; a line a model."""
    figure = Figure(figsize=(WIDE + 0.4, HIGH), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    axes.set_ylabel("count half-way = final count", fontsize=12)
    axes.set_xlabel("steps done, % of all", fontsize=12)
    axes.set_xlim(0, 100)
    for place, ((model, dataset), group) in enumerate(table.groupby(["model", "dataset"], sort=False)):
        colour, shape = OTHERS[place % len(OTHERS)]
        points = pooled(group)
        low, high = points["same"] - points["same_low"], points["same_high"] - points["same"]
        axes.errorbar(
            100 * points["share"], points["same"], yerr=np.array([low, high]).clip(min=0), color=colour, marker=shape,
            markersize=7, elinewidth=1, capsize=2, label=f"{model}, {dataset}", markeredgecolor="white",
        )  # fmt: skip
    if table.empty:
        nothing(axes, "nothing was counted half-way")
    return legend(figure, [(axes, table)])


def pooled(group: pd.DataFrame) -> pd.DataFrame:
    """Of strategies that looked after the same share of the steps, the one with the most images.

    They start from the same noise, so many of their images are the same: together they would count twice.
    """
    shares = (group["estimate_step"] / group["steps"]).round(4)
    most = group.assign(share=shares).sort_values(["share", "n"]).groupby("share").tail(1)
    return most[["share", "same", "same_low", "same_high"]]


# --- what all of them share


def sheet(table: pd.DataFrame) -> tuple[Figure, list[tuple[Any, pd.DataFrame]]]:
    """A panel for each model and data set: models down, data sets across."""
    models, sets = (list(dict.fromkeys(table[name])) for name in ("model", "dataset"))
    figure = Figure(
        figsize=(WIDE * max(1, len(sets)) + 0.4, HIGH * max(1, len(models)) + 0.5), layout="constrained"
    )
    panels = []
    for i, model in enumerate(models):
        for j, name in enumerate(sets):
            group = table[(table["model"] == model) & (table["dataset"] == name)]
            if group.empty:
                continue
            axes = figure.add_subplot(len(models), len(sets), i * len(sets) + j + 1)
            dress(axes)
            axes.set_title(f"{model}  ·  {name}", fontsize=12, loc="left")
            axes.set_ylabel("exact count", fontsize=12)
            panels.append((axes, group))
    return figure, panels


def dress(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=11)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def nothing(axes: Any, why: str) -> None:
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes, color="#5A5A5A")


def arms(row: Any, name: str) -> Any:
    """The two arms of an error bar; none where there is no interval."""
    arms = np.array([[row[name] - row[f"{name}_low"]], [row[f"{name}_high"] - row[name]]])
    return None if np.isnan(arms).any() else arms.clip(min=0)


def legend(figure: Figure, panels: Sequence[tuple[Any, Any]]) -> Figure:
    """One for all panels, each name once."""
    named: dict[str, Any] = {}
    for axes, _ in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if named:
        column = 0.7 + 0.095 * max(len(label) for label in named)  # inches, at this size of letters
        wide = min(len(named), int(figure.get_figwidth() // column))
        figure.legend(
            list(named.values()), list(named), loc="outside lower center", ncols=max(1, wide), frameon=False,
            fontsize=11,
        )  # fmt: skip
    return figure


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """As PNG and as SVG; the same figure gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    FigureCanvasAgg(figure)
    figure.savefig(png, metadata={"Software": None})
    with matplotlib.rc_context({"svg.hashsalt": "athena"}):
        figure.savefig(svg, metadata={"Date": None})
    return png, svg
