"""athena bench: a data set through a model, every strategy from the same noise, into a run folder."""

from __future__ import annotations

import functools
import json as jsonlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena import datasets, models
from athena.cli import options, output
from athena.cli.setup import Setup, find_strategy
from athena.errors import PromptError, SettingsError

if TYPE_CHECKING:
    from athena.engine import Athena

EXAMPLES = """\b
Examples:
  athena bench mini --model mini-sdxl --limit 50 --out runs/first
  athena bench cococount-e --model sdxl --seed 23 --strategies unsteered,adaptive,reseed@max_attempts=2 --out runs/sdxl
"""
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
ALL = "unsteered,static,feedback,adaptive,reseed"

Set = Annotated[
    str,
    typer.Argument(metavar="DATASET", help="mini, cococount, cococount-e, athena, or a JSON or JSONL file."),
]
Judge = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Who counts the images; mini-judge for the embedded models, else the counter."
    ),
]
Split = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="all, test or tune; for mini test if left out, for any other set all."),
]


def run(
    dataset: Set,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run folder; one that is there is continued.")],
    model: options.Model = "mini",
    strategies: Annotated[
        str,
        typer.Option(
            metavar="A,B,...", help="With parameters where wished: reseed@max_attempts=2, adaptive@gamma=1."
        ),
    ] = ALL,
    split: Split = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Images a prompt and strategy.")] = 1,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="One for all prompts (the paper: 23); their own if left out, else 23."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Only so many prompts, the first of the shuffled ones."),
    ] = None,
    order: Annotated[int, typer.Option(metavar="N", min=0, help="Another number shuffles otherwise.")] = 0,
    gamma: options.Gamma = None,
    steps: options.Steps = None,
    more: options.More = None,
    preset: options.Preset = None,
    counter: options.Counter = None,
    judge: Judge = None,
    device: options.Device = "auto",
    dtype: options.Dtype = None,
    offload: options.Offload = None,
    revision: Annotated[
        str | None, typer.Option(metavar="NAME", help="A branch, tag or commit of a hub id.")
    ] = None,
    batch_size: options.BatchSize = None,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Processes, each with the model; one GPU each where there are some."
        ),
    ] = 1,
    extend: Annotated[
        bool, typer.Option("--extend", help="Add prompts, seeds or strategies to a run that is there.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="The table as JSON, and nothing else on stdout.")
    ] = False,
) -> None:
    """Measure strategies on a data set.

    One line an image is written to DIR/records.jsonl at once; killed at any moment and started again, it makes
    what is missing. Exits with 0 when all images are there, whatever they hold; `athena report DIR` draws it.
    """
    setup = Setup(model, counter, judge_of(model, judge), device, dtype, offload, preset, revision)
    entries = chosen(dataset, split, setup)
    call = setup.call(gamma, steps, more)

    from athena.bench import facts, plan, runner, variants
    from athena.bench.book import Book

    columns = variants.parse_all(strategies.split(","))
    for column in columns:
        find_strategy(column.strategy)
    making = about(setup, call)
    if not Path(setup.own().source or model).expanduser().is_dir():
        setup = replace(setup, revision=making.revision)  # what is loaded is what is recorded
    asked = {
        "dataset": dataset if dataset in datasets.NAMES else str(Path(dataset)),
        "split": split or ("test" if dataset == "mini" else "all"),
        "prompts": digest_of(entries),
        "model": named(model),
        "strategies": [dated(column.label, column.strategy) for column in columns],
        "seeds": seeds,
        "seed": seed,
        "limit": limit,
        "order": order,
        "call": call,
        "preset": settings_of(making.preset),
        "counter": dated(making.counter, making.counter),
        "judge": dated(setup.judge or making.counter, setup.judge or making.counter),
        "dtype": making.dtype,
        "revision": making.revision,
    }
    seen = {"seeds": seeds, "seed": seed, "limit": limit, "order": order}
    chunks = plan.lay_out(entries, columns, making, find_strategy, **seen)  # type: ignore[arg-type]
    warn_of_tuning(setup, asked)
    how = runner.How(
        functools.partial(build, setup),
        find_strategy,
        setup.device,
        facts.gpus() if workers > 1 and device in ("auto", "cuda") else (),
        workers,
        batch_size,
        False if json else None,
        functools.partial(typer.echo, err=True),
    )
    with (
        Book(out.expanduser(), asked, extend=extend, say=how.say) as book,
        output.kept(book.done, out, total(chunks)),
    ):
        runner.run(book, chunks, call, how, {"name": Path(named(model)).name})
    tell(out.expanduser(), json)


def named(model: str) -> str:
    """An embedded model by its own name: mini is one of them."""
    found = models.find(model)
    return found.name if found.name in models.MINIS else model


def total(chunks: list[Any]) -> int:
    return sum(len(chunk.jobs) for chunk in chunks)


def chosen(dataset: str, split: str | None, setup: Setup) -> list[datasets.Entry]:
    """The entries, each one the model has words for."""
    entries, own = datasets.load(dataset, split), setup.own()
    for row, one in enumerate(entries, 1):
        try:
            own.check(one.prompt)
        except PromptError as error:
            raise PromptError(f"{dataset}, row {row}: {error}") from error
    return entries


def judge_of(model: str, judge: str | None) -> str | None:
    """The embedded models have an independent judge; nobody else is judged by another unless that is asked."""
    return judge or ("mini-judge" if models.find(model).name in models.MINIS else None)


def about(setup: Setup, call: dict[str, Any]) -> Any:
    """What all identities of a run share."""
    from athena.bench.identity import revision
    from athena.bench.plan import Making
    from athena.engine import default_counter

    own = setup.own()
    cpu = resolved(setup.device) == "cpu"
    return Making(
        revision=revision(own.source or setup.model, setup.revision),
        dtype=DTYPES.get(setup.dtype or "", setup.dtype or ("float32" if cpu else own.dtype)),
        counter=setup.counter or default_counter(setup.model),
        preset=own,
        call=call,
    )


def resolved(device: str) -> str:
    from athena._loading import find_device

    return str(find_device(device).type)


def digest_of(entries: list[datasets.Entry]) -> str:
    """Which prompts these are, whatever the file is called."""
    from athena.bench.identity import digest

    return digest(
        {"prompts": [[one.id, one.prompt, one.object, one.int_number, one.seed] for one in entries]}
    )


def dated(label: str, name: str) -> str:
    """With a digest of the code behind FILE.py:FUNCTION, so that a run is not gone on with after an edit."""
    from athena.bench.identity import code_of

    code = code_of(name)
    return f"{label} (code {code})" if code else label


def warn_of_tuning(setup: Setup, asked: dict[str, Any]) -> None:
    """A preset that was tuned on some of these prompts has seen them."""
    if setup.preset is None:
        return
    tuned = jsonlib.loads(Path(setup.preset).expanduser().read_text(encoding="utf-8")).get("tuned") or {}
    if tuned.get("dataset") == asked["dataset"] and asked["split"] != "test":
        typer.echo(
            f"{setup.preset} was tuned on prompts of {asked['dataset']}: --split test leaves them out",
            err=True,
        )


def settings_of(preset: models.Preset) -> dict[str, Any]:
    names = ("static", "feedback", "adaptive")
    return {name: vars(getattr(preset, name)) for name in names} | {"steps": preset.steps}


def build(setup: Setup, device: str | None) -> Athena:
    """Load everything, in this process or in a worker's."""
    return replace(setup, device=device or setup.device).load()


def tell(folder: Path, json: bool) -> None:
    """The table of a run, on the terminal."""
    from athena.bench import metrics, tables
    from athena.bench.records import frame

    seen = frame([folder])
    if not len(seen):
        raise SettingsError(f"{folder} has no records yet.")
    summary = metrics.summary(seen)
    if json:
        for row in tables.plain(summary):
            output.say_json(row)
    else:
        typer.echo(output.columns(tables.cells(summary)))
        typer.echo(f"\n{folder}: athena report {folder} --out report")
