"""athena report: the paper's table and figures, and a page to look through, from records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from athena.cli.setup import called

EXAMPLES = """\b
Examples:
  athena report runs/first --out report
  athena report runs/mini-sdxl runs/mini-sd3 runs/countgen --judge owlv2 --out report
"""


def run(
    runs: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Run folders, of one model or of several.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into.")] = Path("report"),
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Whose counts decide (see `athena judge`); each run's own if left out."
        ),
    ] = None,
    gallery: Annotated[
        int, typer.Option(metavar="N", min=0, help="The most images on the page, whole prompts at a time.")
    ] = 600,
) -> None:
    """Write tables, figures and one self-contained page.

    Table 1 as Markdown, LaTeX and CSV, every other table as CSV, figures as PNG and SVG, grids of images, and
    index.html with all of it. Needs the run folders only: no model, no GPU.
    """
    from athena.bench import report

    folders = [folder.expanduser() for folder in runs]
    page = report.write(folders, out.expanduser(), judge and called(judge), gallery)
    typer.echo((out.expanduser() / "table1.md").read_text(encoding="utf-8"))
    typer.echo(f"{page}")
