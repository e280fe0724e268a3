"""athena judge: count the saved images of a run by another judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from athena.cli import options, output
from athena.cli.setup import check_counter, load_counter

EXAMPLES = """\b
Examples:
  athena judge runs/first --judge owlv2
  athena judge runs/first runs/second --judge grounding-dino@paper
"""


def run(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR", help="Run folders.")],
    judge: Annotated[
        str, typer.Option(metavar="NAME", help="Who counts: a name or your own FILE.py:FUNCTION.")
    ],
    device: options.Device = "auto",
    again: Annotated[bool, typer.Option("--again", help="Count anew what this judge has counted.")] = False,
) -> None:
    """Count saved images again, generating nothing.

    The counts go to DIR/judged and stand beside those of the run; `athena report --judge NAME` lets them decide.
    """
    check_counter(judge)

    from athena.bench import judging
    from athena.bench.book import read_run
    from athena.bench.identity import code_of

    folders = [folder.expanduser() for folder in runs]
    for folder in folders:
        read_run(folder)  # before anything is loaded
    with output.waiting(f"loading {judge}"):
        counter = load_counter(judge, device)
    for folder in folders:
        new, total = judging.judge(
            folder, counter, lambda word: typer.echo(word, err=True), again, code_of(judge)
        )
        typer.echo(f"{folder}: {counter.name} counted {new} images, {total} in all")
