"""athena compare: strategies side by side from the same noise, as one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from athena import strategies as strategies_
from athena.bench.variants import fitting, parse_all
from athena.cli import asking, options, output
from athena.cli.setup import Setup, find_strategy
from athena.types import Result

EXAMPLES = """\b
Examples:
  athena compare "a photo of seven apples" --seeds 4
  athena compare "two cats" "nine cups" --model sdxl --strategies unsteered,reseed,adaptive
"""
PAPER = "unsteered,static,feedback,adaptive"


def run(
    prompts: options.Prompts = None,
    file: options.PromptFile = None,
    object: options.Object = None,
    count: options.Count = None,
    model: options.Model = "mini",
    strategies: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="The columns, in order; with parameters: reseed@max_attempts=2, adaptive@gamma=1.",
        ),
    ] = PAPER,
    seed: options.Seed = 23,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Rows a prompt: from seed, seed + 1, ...")
    ] = 1,
    gamma: options.Gamma = None,
    steps: options.Steps = None,
    more: options.More = None,
    counter: options.Counter = None,
    judge: options.Judge = None,
    device: options.Device = "auto",
    dtype: options.Dtype = None,
    offload: options.Offload = None,
    preset: options.Preset = None,
    batch_size: options.BatchSize = None,
    out: options.Folder = Path("out"),
    json: options.Json = False,
    allow_inexact: options.AllowInexact = False,
) -> None:
    """Draw each strategy side by side, from the same noise.

    A row is a prompt and seed, a column a strategy. Where the count is right the border is green with a tick,
    where not red with a cross. Exits with 0 when every image is right, and with 3 when one is not.
    """
    setup = Setup(model, counter, judge, device, dtype, offload, preset)
    asks = asking.read(prompts, file, object, count, seed, model)
    rows = [asking.Ask(ask.prompt, ask.seed + i) for ask in asks for i in range(seeds)]
    variants = parse_all(strategies.split(","))
    chosen = [find_strategy(variant.strategy) for variant in variants]
    names = [variant.label.split(":")[-1] for variant in variants]
    call = setup.call(gamma, steps, more) | {"batch_size": batch_size, "seed": [row.seed for row in rows]}
    place = output.Place(out)
    path = place.path(rows[0].prompt.text, "compare", rows[0].seed)
    athena, done = setup.load(), list[Result]()
    table: list[list[Result | None]] = [[None] * len(chosen) for _ in rows]
    try:
        with output.kept(done, path, len(rows) * len(chosen)):
            for column, (variant, strategy) in enumerate(zip(variants, chosen, strict=True)):
                own = {**fitting(call, strategies_.find(strategy)), **variant.options, "strategy": strategy}
                for row, result in athena.stream([r.prompt for r in rows], **own):
                    table[row][column] = result
                    done.append(result)
                    if json:
                        output.say_json(output.record(result, path))
    finally:
        if done:
            from athena import drawing

            beside = [f"{row.prompt.text}\nseed {row.seed}" for row in rows]
            drawing.compare_grid(table, names, beside).save(path)
    if not json:
        typer.echo(
            output.columns([["", "seed", *names], *(cells(*both) for both in zip(rows, table, strict=True))])
        )
        typer.echo(f"\n{path}")
    output.leave(done, allow_inexact)


def cells(ask: asking.Ask, results: list[Result | None]) -> list[str]:
    """A line of the printed table."""
    text = ask.prompt.text if len(ask.prompt.text) <= 40 else f"{ask.prompt.text[:37]}..."
    told = [
        f"{output.tally(r)} {'ok' if r.exact else '--'} {r.cost.denoiser_rows} rows {r.cost.seconds:.1f} s"
        if r
        else ""
        for r in results
    ]
    return [text, str(ask.seed), *told]
