"""`athena report`: records in, tables, figures, grids and one page out. Needs no torch and no model."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from athena.bench import gallery, metrics, plots, records, sheets, tables
from athena.errors import SettingsError

GALLERY = 600


@dataclass
class Part:
    """A piece of the report: the same for the page and for Markdown."""

    title: str
    text: str = ""
    table: tables.Sheet | None = None
    figures: list[tuple[str, str, Path]] = field(default_factory=list)  # (name, what it shows, SVG or PNG)
    long: bool = False  # folded up on the page
    said: bool = False  # its text stands even where its table is empty


def write(folders: Sequence[Path], out: Path, judge: str | None = None, most: int = GALLERY) -> Path:
    """Everything, into a folder; gives its index.html."""
    runs = records.runs_of(folders)
    frame = records.frame(folders, judge)
    if frame.empty:
        raise SettingsError(f"no records in {', '.join(map(str, folders))}: `athena bench` makes them.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        return written(frame, runs, out, most)
    except OSError as error:
        raise SettingsError(
            f"cannot write into {out}: {error.strerror}; name another folder with --out"
        ) from error


def written(frame: pd.DataFrame, runs: dict[str, dict[str, Any]], out: Path, most: int) -> Path:
    data = analysed(frame)
    for name, table in data.items():
        (out / f"{name}.csv").write_text(tables.csv(table), encoding="utf-8")
    (out / "table1.tex").write_text(tables.latex(data["table1"]), encoding="utf-8")
    (out / "table1.md").write_text(tables.markdown(data["table1"]), encoding="utf-8")
    figures = drawn(data, out / "figures")
    shown = gallery.chosen(frame, most)
    grids = gallery.grids(frame, out / "grids")
    parts = laid_out(data, figures, grids, frame)
    (out / "report.md").write_text(markdown(parts, runs), encoding="utf-8")
    page = out / "index.html"
    page.write_text(html(parts, runs, gallery.cards(shown), frame), encoding="utf-8")
    return page


def analysed(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Every table there is, by the name of its CSV."""
    return {
        "table1": metrics.summary(frame),
        "pairs": metrics.paired(frame),
        "equal_rows": metrics.equal_rows(frame),
        "by_target": metrics.accuracy_by(frame, "target"),
        "by_level": metrics.accuracy_by(frame, "level"),
        "by_noun": metrics.accuracy_by(frame, "noun"),
        "observability": metrics.observed(frame),
        "judges": metrics.judges(frame),
    }


def drawn(data: dict[str, pd.DataFrame], folder: Path) -> dict[str, Path]:
    """The figures, each as PNG and SVG; gives the SVGs."""
    figures = {
        "accuracy-seconds": plots.trade_off(data["table1"], "seconds"),
        "accuracy-rows": plots.trade_off(data["table1"], "rows"),
        "accuracy-target": plots.by_target(data["by_target"]),
        "observability": plots.observability(data["observability"]),
    }
    return {name: plots.save(figure, folder, name)[1] for name, figure in figures.items()}


def laid_out(
    data: dict[str, pd.DataFrame], figures: dict[str, Path], grids: list[Path], frame: pd.DataFrame
) -> list[Part]:
    """The report, in order."""

    def shows(name: str, what: str) -> tuple[str, str, Path]:
        return name, what, figures[name]

    known = [
        Part("Table 1", sheets.INTERVALS, sheets.main(data["table1"])),
        Part(
            "Accuracy and what it costs",
            "Up is better, left is cheaper.",
            figures=[
                shows("accuracy-rows", "accuracy against denoiser rows"),
                shows("accuracy-seconds", "accuracy against seconds"),
            ],
        ),
        Part("Against unsteered sampling from the same noise", sheets.PAIRS, sheets.pairs(data["pairs"])),
        Part("At equal rows, against new noise", sheets.EQUAL, sheets.equal(data["equal_rows"])),
        Part(
            "By the number asked for",
            sheets.TARGET,
            sheets.pivot(data["by_target"], "target"),
            [shows("accuracy-target", "accuracy against the number asked for")],
        ),
        Part("By level", "", sheets.pivot(data["by_level"], "level")),
        Part("By noun", "", sheets.pivot(data["by_noun"], "noun"), long=True),
        Part(
            "What the estimate is worth",
            sheets.OBSERVED,
            sheets.observed(data["observability"]),
            [shows("observability", "agreement of the count half-way with the final one")],
        ),
        Part(
            "Steering counter and judge", sheets.judges_text(frame), sheets.judges(data["judges"]), said=True
        ),
        Part(
            "Images",
            "Not selected: the first prompts of the shuffled order.",
            figures=[(path.stem, f"images of {path.stem}", path) for path in grids],
        ),
    ]
    return [part for part in known if part.figures or part.said or part.table is None or part.table.rows]


def markdown(
    parts: Sequence[Part],
    runs: dict[str, dict[str, Any]],
    title: str = "Report",
    head: Sequence[str] = (),
    beside: str = "",
) -> str:
    """The report as one Markdown file; its figures lie under `beside`."""
    lines = [f"# {title}", "", *head]
    for part in parts:
        lines += [f"## {part.title}", "", *([part.text, ""] if part.text else [])]
        for name, what, path in part.figures:
            lines += [f"![{what}]({beside}{path.parent.name}/{name}.png)", ""]
        if part.table is not None and part.table.rows:
            folded = (
                ("<details><summary>Show the table</summary>", "", "", "</details>")
                if part.long
                else ("",) * 4
            )
            lines += [*folded[:2], tables.table(*part.table), *folded[2:], ""]
    lines += ["## How it was made", "", *sheets.provenance(runs)]
    return "\n".join(lines) + "\n"


def html(
    parts: Sequence[Part], runs: dict[str, dict[str, Any]], cards: list[dict[str, Any]], frame: pd.DataFrame
) -> str:
    """The page, with everything in it."""
    from jinja2 import Environment, PackageLoader

    house = Environment(loader=PackageLoader("athena.bench", "."), autoescape=True, trim_blocks=True)
    filters = [
        (name, gallery.options(cards, name)) for name in ("model", "dataset", "strategy", "target", "level")
    ]
    return house.get_template("page.html").render(
        parts=parts,
        embedded=embedded,
        natural=natural,
        wide=wide,
        lean=sheets.lean,
        runs=runs,
        cards=records.dump(cards).replace("</", "<\\/"),
        filters=[
            (name, sorted(o) if name in ("target", "level") else o) for name, o in filters if several(o)
        ],
        shown=len(cards),
        total=len(frame),
        provenance=sheets.provenance(runs),
        models=sorted(frame["model"].astype(str).unique()),
    )


def several(options: list[Any]) -> bool:
    """Nobody filters by what is everywhere the same."""
    return len(options) > 1


def natural(path: Path) -> int:
    """How wide a figure is meant to be, in pixels of the page."""
    if path.suffix == ".svg":
        points = re.search(r'width="([\d.]+)pt"', path.read_text(encoding="utf-8")[:2000])
        return round(float(points[1]) * 96 / 72) if points else 800
    with Image.open(path) as image:
        return image.width


def wide(part: Part) -> bool:
    """Whether its figures lie under each other."""
    return len(part.figures) < 2 or any(natural(path) > 700 for _, _, path in part.figures)


def embedded(path: Path) -> str:
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
