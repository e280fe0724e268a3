"""athena generate: prompts in, images out, one line each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.errors import SettingsError

if TYPE_CHECKING:
    from athena.types import Result

EXAMPLES = """\b
Examples:
  athena generate "a photo of seven apples on the grass"
  athena generate "two cats" "nine cups" --model sdxl --strategy feedback --seed 1
"""


def run(
    prompts: Annotated[list[str], typer.Argument(metavar="PROMPT", help="Each with a number in it.")],
    model: Annotated[str, typer.Option(help="A name (`athena models`), a folder or a hub id.")] = "mini",
    strategy: Annotated[
        str, typer.Option(help="unsteered, static, feedback, adaptive or reseed.")
    ] = "adaptive",
    seed: Annotated[int, typer.Option(help="The noise every prompt starts from.")] = 23,
    gamma: Annotated[
        float | None, typer.Option(help="Steering strength; the model's own if left out.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Denoising steps; the model's own if left out.")] = None,
    out: Annotated[Path, typer.Option(help="The folder to write PNGs into.")] = Path("out"),
) -> None:
    """Generate images that hold the number of things their prompts ask for."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"cannot write into {out}: {error.strerror}; name another folder with --out"
        ) from error

    import athena

    given: dict[str, Any] = {"gamma": gamma, "num_inference_steps": steps}
    results = athena.generate(
        prompts,
        model=model,
        strategy=strategy,
        seed=seed,
        **{key: value for key, value in given.items() if value is not None},
    )
    taken: set[str] = set()
    for result in results:
        name = file_name(result, taken)
        typer.echo(line(result, result.save(out / name)))


def file_name(result: Result, taken: set[str]) -> str:
    """A name that says what the picture is, and that no other picture of this run has."""
    words = re.sub(r"[^\w]+", "-", result.prompt.text.lower()).strip("-")[:60].strip("-")
    stem = f"{words}-{result.strategy}-{result.seed}"
    name, again = f"{stem}.png", 2
    while name in taken:
        name, again = f"{stem}-{again}.png", again + 1
    taken.add(name)
    return name


def line(result: Result, path: Path) -> str:
    """As in `7/7 apples  adaptive (2 attempts, 5 -> 7)  145 rows  1.3 s  out/seven-apples.png`."""
    count = "?" if result.count is None else result.count
    seen = " -> ".join(str(attempt.count) for attempt in result.attempts if attempt.count is not None)
    many = len(result.attempts)
    how = f"{many} attempt{'s' * (many != 1)}" + (f", {seen}" if seen else "")
    return "  ".join(
        (
            f"{count}/{result.target} {result.prompt.noun_plural}",
            f"{result.strategy} ({how})",
            f"{result.cost.denoiser_rows} rows",
            f"{result.cost.seconds:.1f} s",
            str(path),
        )
    )
