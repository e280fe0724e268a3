"""athena count: how many objects any pictures hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.cli import options, output
from athena.cli.setup import check_counter, load_counter
from athena.errors import LoadError, SettingsError
from athena.prompts import parse_prompt
from athena.types import Result, boxes

if TYPE_CHECKING:
    from PIL.Image import Image

EXAMPLES = """\b
Examples:
  athena count photo.jpg --object apple
  athena count out/*.png --counter grounding-dino --draw
"""
AT_ONCE = 8
DEFAULT = "grounding-dino"


def run(
    images: Annotated[list[str], typer.Argument(metavar="IMAGE", help="Picture files.")],
    object: Annotated[
        str | None,
        typer.Option(metavar="NOUN", help="What to count; a picture that athena made knows it by itself."),
    ] = None,
    counter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Who counts; for athena's own pictures their judge, else {DEFAULT}."
        ),
    ] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Write each picture with its boxes into --out.")
    ] = False,
    out: options.Folder = Path("out"),
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Count objects in pictures from anywhere."""
    check_counter(counter)
    place = output.Place(out, len(images)) if draw else None
    origins = [origin(name) for name in images]  # every picture is opened once, before anything is counted
    nouns = [noun_of(name, object, made) for name, made in zip(images, origins, strict=True)]
    judge = counter or judge_of(origins)
    rows = []
    with output.waiting(f"loading {judge}"):
        counting = load_counter(judge, device)
    for name, (noun, plural), number, found in seen(counting, images, nouns):
        drawn = None
        if place is not None:
            from athena import drawing

            drawn = place.path(Path(name).stem, "counted")
            if drawn.exists() and drawn.samefile(name):
                raise SettingsError(f"--out {drawn} is the picture that is counted: name another file.")
            drawing.counted(opened(name), found, (f"{number} {noun if number == 1 else plural}",)).save(drawn)
        if json:
            told = {"file": name, "object": noun, "count": number, "counter": counting.name}
            output.say_json(
                {**told, "detections": boxes(found), "drawn": None if drawn is None else str(drawn)}
            )
        rows.append(
            [
                str(number).rjust(4),
                noun if number == 1 else plural,
                name,
                "" if drawn is None else f"-> {drawn}",
            ]
        )
    if not json:
        typer.echo(output.columns(rows))


def seen(
    counting: Any, names: list[str], nouns: list[tuple[str, str]]
) -> Iterator[tuple[str, tuple[str, str], int, Any]]:
    """Count a few pictures at a time: they may be large."""
    from athena import counters

    for i in range(0, len(names), AT_ONCE):
        few, theirs = names[i : i + AT_ONCE], nouns[i : i + AT_ONCE]
        answers = counters.count(counting, [opened(name) for name in few], [noun for noun, _ in theirs])
        for name, noun, (number, found) in zip(few, theirs, answers, strict=True):
            yield name, noun, number, found


def opened(name: str) -> Image:
    """The picture the right way up, in RGB."""
    from athena.drawing import pictures

    if not Path(name).exists():
        raise SettingsError(f"there is no picture {name}: give files, as in `athena count out/*.png`.")
    return pictures.opened(Path(name))


def origin(name: str) -> Result | None:
    """How athena made this picture, if it did."""
    opened(name)
    try:
        return Result.load(name)
    except LoadError:
        return None


def noun_of(name: str, object: str | None, made: Result | None) -> tuple[str, str]:
    """What to count, in the singular and the plural."""
    if object is not None:
        bare = re.sub(r"^\s*(an?|the)\s+", "", object, flags=re.IGNORECASE)
        asked = parse_prompt(f"three {bare}", bare, 3)
        return asked.noun, asked.noun_plural
    if made is None:
        raise SettingsError(f"{name} does not say what to count in it: give --object, as in --object apple.")
    return made.prompt.noun, made.prompt.noun_plural


def judge_of(origins: list[Result | None]) -> str:
    """The judge of athena's own pictures, where they all had the same and it has a name."""
    from athena.counters import COUNTERS

    judges = {made.judge if made else "" for made in origins}
    only = judges.pop() if len(judges) == 1 else ""
    return only if only in COUNTERS else DEFAULT
