"""athena generate: prompts in, images out, one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from athena.cli import asking, options, output
from athena.cli.setup import Setup, find_strategy
from athena.types import Result

EXAMPLES = """\b
Examples:
  athena generate "a photo of seven apples on the grass"
  athena generate "two cats" "nine cups" --model sdxl --strategy feedback --n 4
"""


def run(
    prompts: options.Prompts = None,
    file: options.PromptFile = None,
    object: options.Object = None,
    count: options.Count = None,
    model: options.Model = "mini",
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="unsteered, static, feedback, adaptive, reseed, or your own FILE.py:FUNCTION.",
        ),
    ] = "adaptive",
    seed: options.Seed = 23,
    n: Annotated[
        int, typer.Option("--n", metavar="N", min=1, help="Images a prompt, from seed, seed + 1, ...")
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
    """Make images that hold the number asked for.

    Images are told of as they get done, which is not the order of their seeds. Exits with 0 when every image
    does, by the judge's count, and with 3 when one does not.
    """
    setup = Setup(model, counter, judge, device, dtype, offload, preset)
    asks = asking.read(prompts, file, object, count, seed, model)
    call = setup.call(gamma, steps, more) | {"strategy": find_strategy(strategy), "batch_size": batch_size}
    total = len(asks) * n
    place = output.Place(out, total)
    athena, done = setup.load(), list[Result]()
    with output.kept(done, place.folder, total):
        seeds = [ask.seed for ask in asks]
        for _, result in athena.stream(
            [ask.prompt for ask in asks], seed=seeds, num_images_per_prompt=n, **call
        ):
            path = result.save(place.path(result.prompt.text, result.strategy, result.seed))
            done.append(result)
            if json:
                output.say_json(output.record(result, path))
            else:
                output.say(output.line(result, path))
    output.leave(done, allow_inexact)
