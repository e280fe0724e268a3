"""athena score: judge images that any other tool made, so that it stands in the same table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from athena import datasets
from athena.cli import bench, options, output
from athena.cli.setup import check_counter, load_counter

EXAMPLES = """\b
Examples:
  athena score countgen/images --dataset cococount --name CountGen --model SDXL --out runs/countgen
  athena report runs/sdxl runs/countgen --out report
"""


def run(
    images: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Pictures called by the ids of the data set: 7.png, 0007.jpg, ..."
        ),
    ],
    dataset: Annotated[
        str, typer.Option(metavar="DATASET", help="Their prompts; see `athena datasets list`.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run folder.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The method, as the table shall call it.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model it ran on; the method's name if left out.")
    ] = None,
    judge: Annotated[str, typer.Option(metavar="NAME", help="Who counts.")] = "grounding-dino",
    split: bench.Split = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="X", min=0, help="Mean seconds an image, if you know them.")
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Judge pictures from anywhere as a run of their own.

    An entry of the data set goes by its id, or by its place in the file where it has none. What is not known of
    these pictures (rows, attempts) is missing in the table, not zero.
    """
    check_counter(judge)
    entries = datasets.load(dataset, split)

    from athena.bench import judging

    folder = images.expanduser()
    judging.matched(folder, entries)  # before anything is loaded
    with output.waiting(f"loading {judge}"):
        counter = load_counter(judge, device)
    new, found, missing = judging.score(
        folder,
        entries,
        counter,
        out.expanduser(),
        name or folder.resolve().name,
        model=model or "",
        dataset=dataset,
        split=split or ("test" if dataset == "mini" else "all"),
        seconds=seconds,
        say=lambda word: typer.echo(word, err=True),
    )
    if missing:
        some = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        typer.echo(f"{len(missing)} of {len(entries)} entries have no image: {some}", err=True)
    typer.echo(f"{found} images judged by {counter.name}, {new} of them now\n")
    bench.tell(out.expanduser(), json=False)
