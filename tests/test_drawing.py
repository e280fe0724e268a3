"""Pictures of results: sizes, borders, boxes, words that fit, and the curve. Each was also looked at by eye."""

import random
import subprocess
import sys

import numpy as np
import pytest
import supervision as sv
from PIL import Image, ImageColor, ImageDraw

from athena import drawing, parse_prompt
from athena.drawing import Cell, layout, pictures
from athena.types import Attempt, Cost, Result
from athena.watching import Look

GREEN, RED, BOX = (ImageColor.getrgb(x) for x in (drawing.GREEN, drawing.RED, pictures.BOX))


def circles(n, side=64, seed=0):
    """n red circles on green, and their boxes."""
    draw, boxes = random.Random(100 * seed + n), []
    image = Image.new("RGB", (side, side), "#78AA5A")
    r = side / 12
    while len(boxes) < n:
        x, y = draw.uniform(r, side - r), draw.uniform(r, side - r)
        if all(np.hypot(x - r - a, y - r - b) > 2 * r for a, b, *_ in boxes):
            ImageDraw.Draw(image).ellipse((x - r, y - r, x + r, y + r), fill="#C81E28")
            boxes.append((x - r, y - r, x + r, y + r))
    return image, sv.Detections(xyxy=np.array(boxes, dtype=float).reshape(-1, 4))


def result(count, text="a photo of seven apples", strategy="adaptive", seen=(5, 7), side=64, **more):
    image, found = circles(count or 0, side)
    how = {"counter": "mini", "judge": "mini-judge", "settings": {"steps": 50, "estimate_step": 20}, **more}
    attempts = tuple(Attempt(count=x) for x in seen)
    cost = Cost(denoiser_rows=145, seconds=1.26)
    return Result(image, parse_prompt(text), count, 23, strategy, attempts, cost, found, **how)


def has(image, colour):
    return bool((np.asarray(image) == colour).all(-1).any())


# --- one picture


@pytest.mark.parametrize(
    ("size", "drawn"),
    [
        ((64, 64), (256, 256)),
        ((128, 128), (256, 256)),
        ((96, 64), (288, 192)),
        ((250, 250), (250, 250)),
        ((1024, 1024), (320, 320)),
        ((1024, 512), (320, 160)),
        ((3000, 2), (320, 1)),
        ((1, 1), (288, 288)),
    ],
)
def test_sizes_to_look_at(size, drawn):
    assert drawing.boxed(Image.new("RGB", size), None, pictures.scale_of(size)).size == drawn


def test_small_pictures_keep_their_pixels_square():
    image, _ = circles(3)
    large = drawing.boxed(image, None, 4)
    assert large.resize((64, 64), Image.Resampling.NEAREST).tobytes() == image.tobytes()
    assert large.getcolors() is not None
    assert len(large.getcolors()) == len(image.getcolors())


@pytest.mark.parametrize("side", [64, 1024])
def test_a_box_on_each_object(side):
    image, found = circles(7, side)
    before = image.tobytes()
    scale = pictures.scale_of(image.size)
    boxed = drawing.boxed(image, found, scale)
    for left, top, right, bottom in (found.xyxy * scale).round().astype(int):
        for x, y in ((left, (top + bottom) // 2), ((left + right) // 2, top)):
            assert has(boxed.crop((x - 3, y - 3, x + 4, y + 4)), BOX)
    assert image.tobytes() == before


def test_boxes_beyond_the_edge_and_none_at_all():
    image = Image.new("RGB", (64, 64))
    far = sv.Detections(xyxy=np.array([[-10.0, -10, 200, 200]]))
    assert has(drawing.boxed(image, far, 4), BOX)
    assert not has(drawing.boxed(image, sv.Detections.empty(), 4), BOX)


@pytest.mark.parametrize(("exact", "colour"), [(True, GREEN), (False, RED)])
def test_borders(exact, colour):
    framed = drawing.framed(Cell(Image.new("RGB", (64, 64)), exact=exact))
    assert framed.size == (268, 268)
    for corner in ((0, 0), (267, 0), (0, 267), (5, 5)):
        assert framed.getpixel(corner) == colour


def test_tick_and_cross_are_shapes():
    tick, cross = (np.asarray(pictures.mark(exact, 22).convert("L")).astype(int) for exact in (True, False))
    assert np.abs(cross - cross[:, ::-1]).mean() < 8  # a cross looks the same in a mirror
    assert np.abs(tick - tick[:, ::-1]).mean() > 16


def test_what_is_transparent_becomes_paper():
    assert pictures.flat(Image.new("RGBA", (4, 4), (0, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)
    for mode in ("L", "P", "CMYK", "1", "I;16"):
        assert pictures.flat(Image.new(mode, (4, 4))).mode == "RGB"


# --- words


def test_the_font_has_what_is_written():
    """A glyph that is missing is drawn as the font's empty box."""
    font = layout.font(20)
    missing = font.getmask("\U000f0000").getbbox(), bytes(font.getmask("\U000f0000"))
    for letter in "→,;/?…éñößЖλ0123456789":
        assert (font.getmask(letter).getbbox(), bytes(font.getmask(letter))) != missing, letter


@pytest.mark.parametrize(
    "text",
    [
        "one",
        "a few words in a row that go on and on",
        "w" * 200,
        "a\n\nb",
        "",
        "short " + "x" * 60 + " short",
    ],
)
def test_lines_fit(text):
    font = layout.font(17)
    lines = layout.wrapped(text, font, 120)
    assert all(font.getlength(line) <= 120 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def margins_are_empty(picture, width=layout.MARGIN - 8):
    pixels = np.asarray(picture)
    edges = pixels[:width], pixels[-width:], pixels[:, :width], pixels[:, -width:]
    return all((edge == 255).all() for edge in edges)


def test_nothing_is_clipped():
    long = "a caption much longer than its picture is wide, and then some " * 2
    rows = [
        [
            Cell(circles(3, 40)[0], (long, long), True),
            Cell(circles(2, 700)[0].resize((300, 700)), ("2/3",), False),
        ],
        [Cell(), Cell(circles(1)[0], ("w" * 90,))],
    ]
    names = ["a row with a name of many words " * 9, "x" * 80]
    picture = drawing.grid(rows, ["a title that is too long to stand on one line", "b"], names, long, long)
    assert margins_are_empty(picture)


def test_a_row_is_as_high_as_what_is_in_it():
    cell = Cell(circles(1)[0], ("1/1",))
    low, high = drawing.grid([[cell]], names=["one"]), drawing.grid([[cell]], names=["many words " * 80])
    assert high.height > low.height + 300
    assert drawing.grid([[cell]] * 2).height > 2 * 268
    assert drawing.grid([]).height > 0


# --- the figures


def test_compare_grid():
    rows = [[result(5, strategy="unsteered", seen=()), result(7)], [result(11, "eleven cats"), None]]
    picture = drawing.compare_grid(rows)
    assert margins_are_empty(picture)
    assert has(picture, GREEN)
    assert has(picture, RED)
    assert has(picture, BOX)
    wrong = drawing.compare_grid([[result(5), result(6)]])
    assert not has(wrong, GREEN)


def test_nothing_made_yet():
    assert drawing.compare_grid([[None, None]], ["a", "b"]).width > 500


def test_a_cell_tells_count_and_cost():
    cell = drawing.figures.cell_of(result(7))
    assert (cell.lines, cell.exact) == (("7/7", "145 rows, 1.3 s", "seen half-way: 5 → 7"), True)
    assert drawing.figures.cell_of(result(None)).exact is None
    assert drawing.figures.cell_of(result(None)).lines[0] == "?/7"


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([result(7)], "counted by mini-judge, steered by mini"),
        ([result(7, judge="mini")], "counted by mini, steered by the same"),
        ([result(7, seen=())], "counted by mini-judge"),
        ([result(7, seen=()), result(7)], "counted by mini-judge, steered by mini"),
        ([result(None, judge="", seen=())], "not counted"),
        ([], ""),
    ],
)
def test_who_counted_stands_below(results, said):
    assert drawing.figures.told_below(results).partition(";")[0] == said


@pytest.mark.parametrize("counts", [(), (12,), (0, 3, 6, 8, 7, 7, 7)])
def test_watch_picture(counts):
    looks = [Look(6 * i + 6, *_swap(count)) for i, count in enumerate(counts)]
    done = result(7, seen=())
    picture = drawing.watch_picture(looks, done, done.prompt)
    strip = drawing.grid([[Cell(done.image, exact=True)] * min(5, len(counts) + 1)])
    assert picture.width == max(strip.width, 480)
    assert margins_are_empty(picture, 4)
    assert has(picture, GREEN)
    if counts:
        interrupted = drawing.watch_picture(looks, None, done.prompt)
        assert interrupted.height > 600


def _swap(count):
    image, found = circles(count)
    return image, count, found


def test_a_picture_is_counted_at_its_own_size():
    image, found = circles(3, 700)
    assert drawing.counted(image, found, ("3 apples",)).width == 700 + 2 + 2 * layout.MARGIN
    small, found = circles(3)
    assert drawing.counted(small, found, ("3 apples",)).width == 256 + 2 + 2 * layout.MARGIN


def test_drawing_needs_no_torch():
    code = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        "from PIL import Image; from athena import drawing; import numpy as np\n"
        "class Found:\n    xyxy = np.array([[1.0, 1, 9, 9]])\n    def __len__(self): return 1\n"
        "drawing.counted(Image.new('RGB', (64, 64)), Found(), ('1 apple',))\n"
        "print([m for m in ('torch', 'diffusers', 'transformers', 'cv2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
