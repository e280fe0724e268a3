"""The figures of the paper: strategies side by side, and the count on its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image

from athena.drawing.layout import MARGIN, grid, stacked
from athena.drawing.pictures import FAINT, GREEN, INK, RED, Cell

if TYPE_CHECKING:
    from athena.prompts import CountPrompt
    from athena.types import Result
    from athena.watching import Look


def compare_grid(
    rows: Sequence[Sequence[Result | None]], columns: Sequence[str] = (), names: Sequence[str] = ()
) -> Image.Image:
    """A row of results a prompt or seed, a column a strategy; None where there is no result (yet)."""
    made = [[result for result in row if result is not None] for row in rows]
    columns = columns or [result.strategy for result in max(made, key=len, default=[])]
    names = names or [f"{row[0].prompt.text}\nseed {row[0].seed}" if row else "" for row in made]
    cells = [[Cell() if result is None else cell_of(result) for result in row] for row in rows]
    return grid(cells, columns, names, foot=told_below([r for row in made for r in row]))


def cell_of(result: Result) -> Cell:
    """The count over the target, what was seen on the way, and the cost."""
    counted = "?" if result.count is None else result.count
    seen = " → ".join(str(attempt.count) for attempt in result.attempts if attempt.count is not None)
    cost = f"{result.cost.denoiser_rows} rows, {result.cost.seconds:.1f} s"
    lines = (f"{counted}/{result.target}", cost, f"seen half-way: {seen}" if seen else "")
    return Cell(result.image, lines, None if result.count is None else result.exact, result.detections)


def told_below(results: Sequence[Result]) -> str:
    """Who counted, who steered, and what a row is."""
    judges = ", ".join(sorted({r.judge for r in results if r.judge}))
    steered = [r for r in results if any(attempt.count is not None for attempt in r.attempts)]
    counters = ", ".join(sorted({r.counter for r in steered}))
    by = "the same" if counters == judges else counters
    who = f"counted by {judges}" + (f", steered by {by}" if counters else "") if judges else "not counted"
    return f"{who}; a row is one pass of one image through the denoiser" if results else ""


def watch_picture(
    looks: Sequence[Look], result: Result | None, prompt: CountPrompt, across: int = 5
) -> Image.Image:
    """The clean estimates of one run with their boxes and counts, and the curve of the count under them."""
    target = prompt.count or 0
    of = f" of {result.settings['steps']}" if result else ""
    cells = []
    for look in looks:
        lines = (f"{look.count}/{target}", f"step {look.step}{of}")
        cells.append(Cell(look.image, lines, look.count == target, look.detections))
    if result is not None:
        final = cell_of(result)
        cells.append(Cell(final.image, (final.lines[0], "the final image"), final.exact, final.detections))
    rows = [cells[i : i + across] for i in range(0, len(cells), across)]
    who = ""
    if result is not None:
        who = f"counted by {result.counter}"
        who += f", the final image by {result.judge}" if result.judge != result.counter else ""
    strip = grid(rows, heading=prompt.text, foot=who)
    return stacked(strip, count_curve(looks, result, target, max(strip.width, 480)))


def count_curve(looks: Sequence[Look], result: Result | None, target: int, width: int = 960) -> Image.Image:
    """The count against the step it was seen at."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import MaxNLocator

    points = [(look.step, look.count) for look in looks]
    if result is not None and result.count is not None:
        points.append((result.settings["steps"], result.count))
    figure = Figure(
        figsize=(width / 100, 3.6), dpi=100, layout=ConstrainedLayoutEngine(w_pad=MARGIN / 100, h_pad=0.1)
    )
    axes = figure.add_subplot()
    axes.axhline(target, color=GREEN, linestyle="--", label=f"asked for: {target}")
    if result is not None:
        at = result.settings["estimate_step"]
        axes.set_xlim(0, result.settings["steps"] * 1.02)
        axes.axvline(at, color=FAINT, linestyle=":", label=f"where adaptive counts: step {at}")
    axes.plot(
        [step for step, _ in points], [count for _, count in points], color=INK, label="counted", zorder=2
    )
    for right, colour, shape in ((True, GREEN, "o"), (False, RED, "X")):
        chosen = [point for point in points if (point[1] == target) is right]
        x, y = [step for step, _ in chosen], [count for _, count in chosen]
        axes.scatter(x, y, color=colour, marker=shape, s=90, zorder=3)
    axes.set_xlabel("step", fontsize=14)
    axes.set_ylabel("objects", fontsize=14)
    axes.tick_params(labelsize=13)
    axes.set_ylim(-0.4, max([target, *(count for _, count in points)]) + 1)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=1 if width < 800 else 3, frameon=False, fontsize=13)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")


def counted(image: Image.Image, detections: Any, lines: Sequence[str]) -> Image.Image:
    """One picture at its own size (a small one enlarged), its boxes, and what was counted under it."""
    return grid([[Cell(image, lines, detections=detections)]], largest=max(image.size))
