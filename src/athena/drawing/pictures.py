"""One picture: its size, its boxes, its border, its tick or cross."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageOps

from athena.errors import LoadError

GREEN, RED, BOX = "#009E73", "#D55E00", "#F0E442"  # Okabe and Ito's bluish green, vermillion, yellow
INK, FAINT, PAPER = "#1A1A1A", "#5A5A5A", "#FFFFFF"
SMALL, LARGE = 288, 320  # pictures are enlarged up to the one, and reduced to the other
EDGE = 6  # of a coloured border


@dataclass(frozen=True)
class Cell:
    """One picture of a grid with the lines under it, the first of them large; None: no colour, no mark."""

    image: Any = None  # None leaves the place empty
    lines: Sequence[str] = ()
    exact: bool | None = None
    detections: Any = None


def framed(cell: Cell, largest: int = LARGE) -> Image.Image | None:
    """The picture at a size to look at, with its boxes and its border."""
    if cell.image is None:
        return None
    inner = boxed(cell.image, cell.detections, scale_of(cell.image.size, largest))
    colour = FAINT if cell.exact is None else GREEN if cell.exact else RED
    edge = EDGE if cell.exact is not None else 1
    outer = Image.new("RGB", (inner.width + 2 * edge, inner.height + 2 * edge), colour)
    outer.paste(inner, (edge, edge))
    return outer


def scale_of(size: tuple[int, int], largest: int = LARGE) -> float:
    """A whole number for small pictures, so that their pixels stay square; a fraction for large ones."""
    longest = max(size)
    return largest / longest if longest > largest else float(max(1, SMALL // longest))


def boxed(image: Image.Image, detections: Any = None, scale: float = 1.0) -> Image.Image:
    """A copy of the picture, scaled, with a box on each object."""
    picture = flat(image)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    if size != picture.size:
        way = Image.Resampling.NEAREST if scale > 1 else Image.Resampling.LANCZOS
        picture = picture.resize(size, way)
    if detections is None or len(detections) == 0:
        return picture
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no OpenCV: nothing here needs it
        import numpy as np
        import supervision as sv

    corners = np.clip(detections.xyxy * scale, 0, [*size, *size] - np.ones(4))
    boxes = sv.Detections(xyxy=corners, class_id=np.zeros(len(corners), dtype=int))
    thin = max(
        1, min(round(min(size) / 40), max(2, round(max(size) / 250)))
    )  # a long thin picture keeps thin lines
    for colour, width in ((INK, 2 * thin), (BOX, thin)):  # bright on dark: seen on any ground
        brush = sv.BoxAnnotator(color=sv.Color.from_hex(colour), thickness=width)
        picture = brush.annotate(picture, boxes)
    return picture


def opened(path: Path) -> Image.Image:
    """A picture from a file, the right way up and flat."""
    try:
        with Image.open(path) as image:
            return flat(ImageOps.exif_transpose(image))
    except Exception as error:  # Pillow's readers raise whatever they meet in a broken file
        raise LoadError(f"{path} cannot be read as a picture: {error}") from error


def flat(image: Image.Image) -> Image.Image:
    """An RGB copy; what is transparent becomes paper."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        above = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, PAPER), above).convert("RGB")
    return image.convert("RGB").copy()


@lru_cache
def mark(exact: bool, size: int) -> Image.Image:
    """A white tick on green or a white cross on red: a shape, for no font surely has one."""
    fine = 4 * size  # drawn large, then reduced: smooth edges
    sign = Image.new("RGBA", (fine, fine))
    draw = ImageDraw.Draw(sign)
    draw.ellipse((0, 0, fine - 1, fine - 1), fill=GREEN if exact else RED)
    tick = [[(0.25, 0.53), (0.43, 0.70), (0.75, 0.32)]]
    cross = [[(0.3, 0.3), (0.7, 0.7)], [(0.7, 0.3), (0.3, 0.7)]]
    for stroke in tick if exact else cross:
        draw.line([(x * fine, y * fine) for x, y in stroke], fill=PAPER, width=fine // 8, joint="curve")
    return sign.resize((size, size), Image.Resampling.LANCZOS)
