"""Draws the training pictures: emoji in a simple scene, each picture a pure function of its seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from athena.mini.words import MAX_DRAWN, NOUN_NAMES, NOUNS, SCENES

SIDE = 128  # of the picture
CANVAS = 2 * SIDE  # drawn at twice the size, then averaged, so that edges are smooth
FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")  # Debian: fonts-noto-color-emoji (OFL 1.1)
# Few sizes, one tilt and its mirror image: each spares the denoisers a drawing to learn, and they see few pictures.
SIZES = tuple(range(44, 93, 12))  # pre-cut sprite sizes in pixels
TILT = 7  # degrees
GRID = 16  # objects stand on its points; so wide is a cell of the latents, and a thing looks the same in each
PLAIN = len(SCENES)  # the scene number of a caption that names none

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

# far colour, near colour of each scene's floor; then of the sky above its horizon, if it has one
_FLOOR = {
    0: ((132, 194, 92), (86, 160, 66)),
    1: ((182, 142, 104), (140, 100, 70)),
    2: ((128, 132, 140), (92, 96, 106)),
    3: ((206, 152, 98), (180, 122, 72)),
    4: ((246, 226, 172), (232, 204, 142)),
    5: ((244, 248, 255), (214, 226, 244)),
}
_SKY = {
    0: (176, 222, 250),
    1: (226, 206, 178),
    2: (190, 206, 224),
    3: (240, 226, 206),
    4: (74, 170, 214),
    5: (158, 190, 230),
}
_PLAIN = (
    (238, 222, 226),
    (220, 230, 244),
    (226, 240, 226),
    (246, 236, 212),
    (230, 224, 244),
    (222, 238, 240),
)


@dataclass(frozen=True)
class Thing:
    """One object in a picture: which noun, its centre and its size on the canvas."""

    noun: int
    x: float
    y: float
    size: int


@dataclass(frozen=True)
class Scene:
    """What a picture shows: its objects, and the scene they stand in."""

    things: tuple[Thing, ...]
    scene: int

    def count(self, noun: int) -> int:
        """How many objects of one noun the picture holds."""
        return sum(thing.noun == noun for thing in self.things)


@lru_cache(maxsize=64)
def _glyph(noun: int) -> Image.Image:
    """The emoji of a noun, trimmed and centred on a square."""
    font = ImageFont.truetype(str(FONT), 109)  # the font holds bitmaps of this one size
    sheet = Image.new("RGBA", (160, 160))
    ImageDraw.Draw(sheet).text((10, 10), NOUNS[NOUN_NAMES[noun]][1], font=font, embedded_color=True)
    cut = sheet.crop(sheet.getbbox())
    side = max(cut.size)
    square = Image.new("RGBA", (side, side))
    square.paste(cut, ((side - cut.width) // 2, (side - cut.height) // 2))
    return square


@cache
def sprite(noun: int, size: int, flip: bool) -> tuple[Floats, Floats]:
    """Colour (premultiplied, 0..255) and what it lets through (0..1) of one sprite on its soft shadow."""
    glyph = _glyph(noun).rotate(TILT, Image.Resampling.BICUBIC, expand=True)
    if flip:
        glyph = glyph.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    left, top, right, bottom = glyph.getbbox() or (0, 0, *glyph.size)
    scale = size / max(right - left, bottom - top)
    glyph = glyph.resize((round(glyph.width * scale), round(glyph.height * scale)), Image.Resampling.LANCZOS)
    pad = 8
    canvas = Image.new("RGBA", (glyph.width + 2 * pad, glyph.height + 2 * pad))
    shadow = Image.new("L", canvas.size)
    shadow.paste(glyph.getchannel("A").point(lambda a: int(a * 0.34)), (pad, pad + 4))
    canvas.putalpha(shadow.filter(ImageFilter.GaussianBlur(3.6)))
    canvas.alpha_composite(glyph, (pad, pad))
    pixels: Floats = np.asarray(canvas, dtype=np.float32)
    alpha: Floats = (pixels[..., 3:] / 255).astype(np.float32)
    return (pixels[..., :3] * alpha).astype(np.float32), (1 - alpha).astype(np.float32)


def backdrop(scene: int, rng: np.random.Generator) -> Floats:
    """A smooth background of one scene, with small random differences."""
    rows = np.linspace(0, 1, CANVAS, dtype=np.float32)[:, None]
    tint = rng.uniform(-7, 7, 3).astype(np.float32)
    if scene == PLAIN:
        top, bottom = (np.array(_PLAIN[i], np.float32) for i in rng.integers(0, len(_PLAIN), 2))
        return np.repeat((top + (bottom - top) * rows + tint)[:, None], CANVAS, 1)
    far, near = (np.array(colour, np.float32) for colour in _FLOOR[scene])
    horizon = int(rng.integers(16, 52))
    floor = far + (near - far) * np.clip((rows * CANVAS - horizon) / (CANVAS - horizon), 0, 1)
    picture: Floats = np.repeat((floor + tint)[:, None], CANVAS, 1)
    blend = np.clip((rows[:, 0] * CANVAS - horizon) / 6 + 0.5, 0, 1)[:, None, None]
    picture = (np.array(_SKY[scene], np.float32) * (1 - blend) + picture * blend).astype(np.float32)
    columns = np.arange(CANVAS, dtype=np.float32)
    if scene == 2:  # a dashed line down the road
        middle = float(rng.uniform(80, 176))
        dash = (
            np.clip(6.0 - np.abs(columns - middle), 0, 1)[None]
            * ((np.arange(CANVAS) // 32 % 2 == 0) & (np.arange(CANVAS) > horizon))[:, None]
        )
        picture += 70 * dash[..., None].astype(np.float32)
    if scene == 3:  # the seams between the boards
        for seam in range(horizon + 28, CANVAS, 56):
            picture[seam : seam + 4] -= 24
    if scene == 4:  # a line of foam where the sea ends
        picture[horizon - 2 : horizon + 4] += 40
    return picture


def place(sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64] | None:
    """Random centres that keep objects apart, or None when the last one found no room."""
    centres = np.zeros((len(sizes), 2))
    for i, size in enumerate(sizes):
        half = size / 2 + 2
        first = np.ceil(np.array([half, half + 8]) / GRID)
        last = np.floor((CANVAS - half) / GRID)
        tries = GRID * rng.integers(first, last + 1, (60, 2)).astype(float)
        gaps = np.linalg.norm(tries[:, None] - centres[None, :i], axis=-1) - 0.5 * (size + sizes[:i])
        free = np.flatnonzero((gaps > 0).all(axis=1))
        if not len(free):
            return None
        centres[i] = tries[free[0]]
    return centres


def compose(nouns: list[int], scene: int, rng: np.random.Generator) -> Scene:
    """Places the objects; when they do not fit, all of them shrink a little and it tries again."""
    largest = min(92.0, 196.0 / max(1, len(nouns)) ** 0.5)
    while True:
        base = rng.uniform(max(44.0, 0.68 * largest), largest)
        raw = base * rng.uniform(0.9, 1.08, len(nouns))
        sizes = np.array(SIZES)[np.abs(raw[:, None] - np.array(SIZES)).argmin(1)]
        centres = place(sizes, rng)
        if centres is not None:
            things = zip(nouns, centres, sizes, strict=True)
            return Scene(tuple(Thing(noun, float(c[0]), float(c[1]), int(s)) for noun, c, s in things), scene)
        largest = max(44.0, largest * 0.97)


def draw(scene: Scene, rng: np.random.Generator) -> Bytes:
    """The picture, SIDE x SIDE x 3, objects lower in the picture drawn over those behind."""
    picture = backdrop(scene.scene, rng)
    for thing in sorted(scene.things, key=lambda t: t.y):
        colour, through = sprite(thing.noun, thing.size, bool(rng.integers(2)))
        height, width = through.shape[:2]
        top, left = 2 * round((thing.y - height / 2) / 2), 2 * round((thing.x - width / 2) / 2)
        up, start, down, end = max(0, top), max(0, left), min(CANVAS, top + height), min(CANVAS, left + width)
        part = (slice(up - top, down - top), slice(start - left, end - left))
        picture[up:down, start:end] = picture[up:down, start:end] * through[part] + colour[part]
    small = sum(picture[y::2, x::2] for y in (0, 1) for x in (0, 1)) / 4
    pixels: Bytes = np.clip(small + 0.5, 0, 255).astype(np.uint8)
    return pixels


def render(seed: int, nouns: list[int] | None = None, scene: int | None = None) -> tuple[Bytes, Scene]:
    """One picture: the given nouns (one entry an object), or 0..12 of one noun, in the given scene or any."""
    rng = np.random.default_rng(seed)
    if nouns is None:
        nouns = [int(rng.integers(len(NOUN_NAMES)))] * int(rng.integers(0, MAX_DRAWN + 1))
    layout = compose(nouns, int(rng.integers(len(SCENES) + 1)) if scene is None else scene, rng)
    return draw(layout, rng), layout
