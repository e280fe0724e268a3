"""Cells in rows, with titles, names and captions that are never clipped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from athena.drawing.pictures import FAINT, INK, LARGE, PAPER, SMALL, Cell, framed, mark

NOTHING = "#E6E6E6"  # where a picture is missing
GAP, ROWS, MARGIN, NAMES = 16, 26, 20, 230  # between columns, between rows, around it all, the row names


def grid(
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[str] = (),
    names: Sequence[str] = (),
    heading: str = "",
    foot: str = "",
    largest: int = LARGE,
) -> Image.Image:
    """Rows of cells, with a title over each column and a name beside each row."""
    pictures = [[framed(cell, largest) for cell in row] for row in rows]
    across = max((len(row) for row in rows), default=0)
    sizes = [picture.size for row in pictures for picture in row if picture is not None] or [(SMALL, SMALL)]
    wide, high = (max(size[i] for size in sizes) for i in (0, 1))
    wide = max(wide, 200)  # less would not hold a caption
    left = NAMES + GAP if any(names) else 0
    width = 2 * MARGIN + left + across * (wide + GAP) - GAP
    page = Page(width, MARGIN)
    page.down(page.write(MARGIN, heading, font(20, True), width - 2 * MARGIN) + GAP if heading else 0)

    def x(column: int) -> int:
        return MARGIN + left + column * (wide + GAP)

    if any(columns):
        heights = [
            page.write(x(i), title, font(20, True), wide, middle=True) for i, title in enumerate(columns)
        ]
        page.down(max(heights) + GAP // 2)
    for i, (row, drawn) in enumerate(zip(rows, pictures, strict=True)):
        name = page.write(MARGIN, names[i], font(17), NAMES) if left and i < len(names) else 0
        tall = max((p.height for p in drawn if p is not None), default=high)
        under = [0]
        for j, (cell, picture) in enumerate(zip(row, drawn, strict=True)):
            picture = picture or Image.new("RGB", (wide, tall), NOTHING)
            indent = (wide - picture.width) // 2
            page.paste(picture, x(j) + indent, (tall - picture.height) // 2)
            under.append(page.caption(x(j) + indent, tall + 8, cell, wide - indent))
        page.down(max(name, tall + 8 + max(under)) + (ROWS if i + 1 < len(rows) else 0))
    if foot:
        page.down(GAP)
        page.down(page.write(MARGIN, foot, font(15), width - 2 * MARGIN, colour=FAINT))
    return page.cut(MARGIN)


class Page:
    """A sheet that grows downward; `top` is where the next row begins."""

    def __init__(self, width: int, top: int) -> None:
        self.sheet, self.top = Image.new("RGB", (width, 400), PAPER), top

    def down(self, by: int) -> None:
        self.top += by

    def reach(self, bottom: int) -> None:
        if bottom > self.sheet.height:
            longer = Image.new("RGB", (self.sheet.width, 2 * bottom), PAPER)
            longer.paste(self.sheet)
            self.sheet = longer

    def paste(self, picture: Image.Image, x: int, y: int, mask: Any = None) -> None:
        self.reach(self.top + y + picture.height)
        self.sheet.paste(picture, (x, self.top + y), mask)

    def write(
        self, x: int, text: str, font: Any, width: int, y: int = 0, colour: str = INK, middle: bool = False
    ) -> int:
        """Write within the width, in as many lines as that takes; how high they are."""
        lines, each = wrapped(text, font, width), line_height(font)
        self.reach(self.top + y + each * len(lines))
        draw = ImageDraw.Draw(self.sheet)
        for i, line in enumerate(lines):
            indent = (width - font.getlength(line)) / 2 if middle else 0
            draw.text((x + indent, self.top + y + i * each), line, fill=colour, font=font)
        return each * len(lines)

    def caption(self, x: int, y: int, cell: Cell, width: int) -> int:
        """The lines under a picture, the first large and behind its tick or cross; how high they are."""
        below = 0
        for i, line in enumerate(line for line in cell.lines if line):
            kind, indent = (font(21, True), 0) if i == 0 else (font(16), 0)
            if i == 0 and cell.exact is not None:
                sign = mark(cell.exact, 22)
                self.paste(sign, x, y + 2, sign)
                indent = sign.width + 8
            below += self.write(x + indent, line, kind, width - indent, y + below)
        return below

    def cut(self, margin: int) -> Image.Image:
        self.reach(self.top + margin)
        return self.sheet.crop((0, 0, self.sheet.width, self.top + margin))


def stacked(*pictures: Image.Image) -> Image.Image:
    """One under the other."""
    sheet = Image.new("RGB", (max(p.width for p in pictures), sum(p.height for p in pictures)), PAPER)
    top = 0
    for picture in pictures:
        sheet.paste(picture, (0, top))
        top += picture.height
    return sheet


# --- words


@lru_cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which matplotlib brings: it has arrows, Greek, Cyrillic and more, and is always there."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / f"DejaVuSans{'-Bold' * bold}.ttf"), size)


def line_height(font: Any) -> int:
    return int(1.3 * font.size + 0.5)


def wrapped(text: str, font: Any, width: int) -> list[str]:
    """Lines no wider than `width`; a word that is wider itself is broken."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if font.getlength(longer) <= width:
                line = longer
                continue
            lines += [line] if line else []
            while font.getlength(word) > width and len(word) > 1:
                fits = max(
                    1, next(n for n in range(len(word), 0, -1) if n == 1 or font.getlength(word[:n]) <= width)
                )
                lines.append(word[:fits])
                word = word[fits:]
            line = word
        lines.append(line)
    return lines
