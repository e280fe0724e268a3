"""Images of the report: small copies to filter and click through, and grids as the paper has them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from athena import drawing
from athena.bench.metrics import GROUP
from athena.bench.records import without_nan
from athena.errors import LoadError
from athena.types import Result

SIDE = 192
SHOWN = (
    "prompt",
    "noun",
    "target",
    "level",
    "strategy",
    "model",
    "dataset",
    "seed",
    "count",
    "seen",
    "judge",
    "counter",
)
COST = ("rows", "calls", "decodes", "counter_calls", "seconds", "memory_mb")


def chosen(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """Whole prompts, with every strategy, in the run's own shuffled order: nothing is selected by its outcome.

    Models and data sets take turns, so that the first run does not fill the page. A prompt goes by its entry
    and draw, for the noise of another tool's images is not known.
    """
    where = frame.groupby(GROUP[:2], sort=False).ngroup()
    prompt = frame.groupby([*GROUP[:2], "id", "draw"], sort=False).ngroup()
    turn = prompt.groupby(where).rank("dense")
    place = frame.groupby([turn, where]).ngroup()
    sizes = place.value_counts().sort_index().cumsum()
    last = int((sizes <= most).sum())
    return frame[place < (max(1, last) if most else 0)]


def cards(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """What the page knows of each image."""
    found = []
    for row in frame.to_dict("records"):
        attempts = zip(row["estimates"], row["gammas"], row["controls"], strict=True)
        found.append(
            {name: row[name] for name in (*SHOWN, *COST)}
            | {
                "id": row["id"],
                "exact": row["exact"],
                "attempts": [{"seen": e, "gamma": g, "control": c} for e, g, c in attempts],
                "finished": row["finished"],
                "counts": row["counts"],
                "picture": picture(path_of(row)),
            }
        )
    return [without_nan(card) for card in found]


def path_of(row: dict[str, Any]) -> Path:
    return Path(str(row["run"])) / str(row["image"])


def picture(path: Path) -> str | None:
    """A small copy as a data address; None where the image is not there any more."""
    try:
        with Image.open(path) as image:
            small = image.convert("RGB")
    except OSError:
        return None
    if max(small.size) > SIDE:
        small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    kept = BytesIO()
    small.save(kept, "WEBP", quality=82)
    return f"data:image/webp;base64,{base64.b64encode(kept.getvalue()).decode()}"


def grids(frame: pd.DataFrame, folder: Path, rows: int = 6) -> list[Path]:
    """A grid a model and data set: the first prompts of the shuffled order, a column a strategy."""
    written = []
    for names, group in frame.groupby(GROUP[:2], sort=False):
        columns = list(dict.fromkeys(group["strategy"]))
        first = group[group["strategy"] == columns[0]].head(rows)
        cells, titles = [], []
        for _, one in first.iterrows():
            same = group[(group["id"] == one["id"]) & (group["draw"] == one["draw"])]
            by = {row["strategy"]: row for row in same.to_dict("records")}
            cells.append([cell(by[name]) if name in by else drawing.Cell() for name in columns])
            known = not pd.isna(one["seed"])  # that of another tool's image is not
            titles.append(f"{one['prompt']}\nseed {one['seed']:.0f}" if known else one["prompt"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{'-'.join(slug(name) for name in names)}.png"
        foot = "the first prompts of the shuffled order, not selected; green: the judge's count is the one asked for"
        drawing.grid(cells, [broken(name) for name in columns], titles, foot=foot).save(path)
        written.append(path)
    return written


def cell(row: dict[str, Any]) -> drawing.Cell:
    """An image with its count, its cost and what was seen of it half-way."""
    image, boxes = opened(path_of(row))
    judged = row["count"] == row["count"]
    seen = " → ".join(str(int(one)) for one in row["estimates"] if one is not None)
    lines = (
        f"{int(row['count']) if judged else '?'}/{int(row['target'])}",
        f"{row['rows']:.0f} rows" if row["rows"] == row["rows"] else "",
        f"seen half-way: {seen}" if seen else "",
    )
    return drawing.Cell(image, lines, bool(row["exact"]) if judged else None, boxes)


def opened(path: Path) -> tuple[Any, Any]:
    """The image, and the boxes of its judge where the image is ours."""
    try:
        made = Result.load(path)
        return made.image, made.detections
    except LoadError:
        pass
    try:
        with Image.open(path) as image:
            return image.convert("RGB"), None
    except OSError:
        return None, None


def broken(label: str) -> str:
    """ "reseed@max_attempts=2" in two lines, so that it fits over a picture."""
    return label.replace("@", "\n@").replace("_", " ")


def slug(name: object) -> str:
    return "".join(c if c.isalnum() else "-" for c in str(name)).strip("-").lower()


def options(frame: Iterable[dict[str, Any]], name: str) -> list[Any]:
    """What a filter offers."""
    return [one for one in dict.fromkeys(card[name] for card in frame) if one is not None]
