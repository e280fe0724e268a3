"""athena datasets: what prompt sets there are; make one, check one."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from athena import datasets
from athena.cli import output
from athena.errors import LoadError

EXAMPLES = """\b
Examples:
  athena datasets make --spec paper --seed 1 --out mine.json
  athena datasets check mine.json
"""
VIOLATED = 3

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EXAMPLES,
    help="List prompt sets; make one, check one.",
)


@app.command(
    "list",
    epilog="\b\nExamples:\n  athena datasets list\n  athena bench cococount-e --model sdxl --seed 23\n",
)
def listed() -> None:
    """List the prompt sets, and which are on this disk."""
    typer.secho("mini", bold=True)
    typer.echo("    made here, for the embedded models: 324 prompts in split test, 108 in split tune\n")
    for name, known in datasets.PUBLISHED.items():
        here = datasets.folder() / known.file
        typer.secho(name, bold=True)
        typer.echo(f"    {known.size} prompts, {known.address}")
        typer.echo(
            f"    {f'on this disk: {here}' if here.is_file() else f'not on this disk; it goes to {here}'}\n"
        )
    typer.echo("Any JSON list and any JSONL file of prompts works as well.")


@app.command(
    epilog="\b\nExamples:\n  athena datasets make --spec paper --seed 1\n"
    "  athena datasets make --seed 7 --out mine.jsonl\n"
)
def make(
    spec: Annotated[
        str, typer.Option(metavar="NAME", help="paper: the specification in its appendix.")
    ] = "paper",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another number, another set.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=".json or .jsonl; left out, JSON goes to stdout.")
    ] = None,
) -> None:
    """Make a prompt set from ATHENA's own vocabulary."""
    entries = datasets.make(spec, seed)
    if out is None:
        typer.echo(jsonlib.dumps([one.to_dict() for one in entries], indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{len(entries)} prompts -> {datasets.write(entries, out)}")


@app.command(
    epilog="\b\nExamples:\n  athena datasets check mine.json\n  athena datasets check athena --spec paper --json\n"
)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON or JSONL file, or the name of a set.")],
    spec: Annotated[str, typer.Option(metavar="NAME", help="What it is checked against.")] = "paper",
    json: Annotated[bool, typer.Option("--json", help="One JSON object a violation.")] = False,
) -> None:
    """List what a prompt set violates.

    Exits with 0 when that is nothing, and with 3 when it is anything.
    """
    from athena.datasets.entries import entry, rows

    entries, broken, at = list[datasets.Entry](), list[str](), list[int]()
    if file in datasets.NAMES:
        entries = datasets.load(file)
    else:
        for number, (place, row) in enumerate(rows(file), 1):
            try:
                entries.append(entry(row, number))
                at.append(number)
            except ValueError as error:
                broken.append(f"{place}: unreadable: {error}")
    if not entries and not broken:
        raise LoadError(f"{file} has no prompts: expected a JSON list or a JSONL file.")
    found: list[datasets.Violation | str] = [*broken, *datasets.check(entries, spec, at or None, len(broken))]
    for one in found:
        if json:
            told = {"row": 0, "rule": "unreadable", "message": one} if isinstance(one, str) else one._asdict()
            output.say_json(told)
        else:
            typer.echo(str(one))
    if not json:
        typer.echo(
            f"{len(entries) + len(broken)} prompts, {len(found)} violations of the specification {spec!r}"
        )
    if found:
        raise typer.Exit(VIOLATED)
