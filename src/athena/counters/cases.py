"""The tables of docs/counters.md: what each detector needs, what a setting says, what NMS and the group filter do.

python -m athena.counters.cases            print them
python -m athena.counters.cases --write    write them into docs/counters.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from athena.counters import boxes
from athena.counters.loading import DETECTORS
from athena.counters.settings import DEFAULT, PAPER, Settings
from athena.errors import LoadError

if TYPE_CHECKING:
    import supervision as sv

Box = tuple[float, float, float, float]


class Case(NamedTuple):
    """Boxes of one noun in one image, surest first, and how many objects there are."""

    name: str
    true: int
    boxes: Sequence[Box]


def square(x: float, y: float, side: float = 100) -> Box:
    return (x, y, x + side, y + side)


THREE = (square(0, 0), square(120, 0), square(240, 0))
CASES = (
    Case("three objects side by side", 3, THREE),
    Case("one object, found twice (IoU 0.82)", 1, (square(0, 0), square(10, 0))),
    Case("two objects, one half behind the other (IoU 0.43)", 2, (square(0, 0), square(40, 0))),
    Case("two objects, one nearly all behind the other (IoU 0.82)", 2, (square(0, 0), square(10, 0))),
    Case("three objects, and a box round all of them", 3, (*THREE, (0, 0, 340, 100))),
    Case("five objects, a box round two of them, a box round all", 5,
         (*THREE, square(360, 0), square(480, 0), (0, 0, 220, 100), (0, 0, 580, 100))),
    Case("two objects, one found twice, and a box round both", 2,
         (square(0, 0), square(200, 0), square(5, 0), (0, 0, 300, 100))),
    Case("three objects, seen only as one group", 3, ((0, 0, 340, 100),)),
    Case("one object, and a loose second box round it (IoU 0.44)", 1, (square(25, 25), square(0, 0, 150))),
    Case("a large object with two small ones before it", 3,
         (square(0, 0, 300), square(40, 180), square(160, 180))),
)  # fmt: skip


def detections(case: Case) -> sv.Detections:
    import numpy as np

    n = len(case.boxes)
    found: sv.Detections = boxes.supervision().Detections(
        xyxy=np.array(case.boxes, dtype=np.float32),
        confidence=np.linspace(0.9, 0.5, n, dtype=np.float32),
        class_id=np.zeros(n, dtype=int),
    )
    return found


def counts(case: Case) -> tuple[int, int, int, int]:
    """With neither, with NMS, with the group filter, with both."""
    found = detections(case)
    once = boxes.drop_duplicates(found)
    return len(found), len(once), len(boxes.drop_groups(found)), len(boxes.drop_groups(once))


def cases_table() -> str:
    def shown(count: int, true: int) -> str:
        return f"**{count}**" if count == true else str(count)

    rows = [(c.name, str(c.true), *(shown(n, c.true) for n in counts(c))) for c in CASES]
    heads = ("boxes of one noun", "objects", "neither (`paper`)", "NMS", "group filter", "both (`default`)")
    return table(heads, rows)


def detectors_table() -> str:
    rows = [
        (
            f"`{name}`",
            f"[{known.source}](https://huggingface.co/{known.source})",
            f"{known.download_gb:g} GB",
            f"{known.memory_gb:g} GB",
            known.licence,
            f"`pip install {' '.join(known.packages)}`" if known.packages else "",
        )
        for name, known in DETECTORS.items()
    ]
    return table(("name", "from the hub", "download", "memory", "licence", "more packages"), rows)


def settings_table() -> str:
    rows = [(f"`{f.name}`", *(f"{getattr(s, f.name)}" for s in (DEFAULT, PAPER))) for f in fields(Settings)]
    return table(("", "`default`", "`paper`"), rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {"detectors": detectors_table, "settings": settings_table, "cases": cases_table}


def filled(text: str) -> str:
    """The text with every table between its marks made anew."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name}: python -m athena.counters.cases --write -->", f"<!-- /{name} -->"
        pattern = re.compile(rf"{re.escape(begin)}.*?{re.escape(end)}", re.S)
        new = f"{begin}\n{make()}\n{end}"
        text, places = pattern.subn(new.replace("\\", r"\\"), text)
        if places != 1:
            raise LoadError(f'the document has {places} places for "{name}", expected one:\n{begin}\n{end}')
    return text


def main(arguments: Sequence[str]) -> None:
    page = Path("docs/counters.md")
    if "--write" not in arguments:
        print("\n\n".join(make() for make in TABLES.values()))
    elif page.is_file():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        raise SystemExit(f"{page} is not here: run this in the root of the repository")


if __name__ == "__main__":
    main(sys.argv[1:])
