"""The figure of docs/mini.md: how the training went."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
INK = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito's


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def seen_and_loss(records: Iterable[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Thousands of pictures seen against the loss; a second run goes on where the first one ended."""
    seen: list[float] = []
    loss: list[float] = []
    before = last = 0
    for record in records:
        if record["seen"] < last:  # a new plan counts from nothing again
            before += last
        last = record["seen"]
        seen.append((before + last) / 1000)
        loss.append(record["loss"])
    return seen, loss


def axes_of(width: float = 7.0, height: float = 3.6) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=140, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def curves(work: Path, names: Iterable[str]) -> Path:
    """Loss against pictures seen, a line each."""
    figure, axes = axes_of()
    for name, colour in zip(names, INK, strict=False):
        if (work / f"{name}.jsonl").exists():
            axes.plot(*seen_and_loss(lines(work / f"{name}.jsonl")), color=colour, label=name)
    axes.set_xlabel("thousand pictures seen")
    axes.set_ylabel("loss")
    axes.set_yscale("log")
    axes.legend(frameon=False)
    figure.savefig(PICTURES / "mini-loss.png")
    return PICTURES / "mini-loss.png"
