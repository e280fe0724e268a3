"""athena watch: the count at every few steps of one run, as a strip of estimates and a curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from athena.cli import asking, options, output
from athena.cli.setup import Setup
from athena.errors import PromptError

if TYPE_CHECKING:
    from athena.types import Result
    from athena.watching import Look

EXAMPLES = """\b
Examples:
  athena watch "a photo of seven apples"
  athena watch "nine cups" --model sdxl --every 5 --seed 1
"""


def run(
    prompts: options.Prompts = None,
    object: options.Object = None,
    count: options.Count = None,
    model: options.Model = "mini",
    every: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Steps between two looks; about nine looks if left out."),
    ] = None,
    seed: options.Seed = 23,
    steps: options.Steps = None,
    more: options.More = None,
    counter: options.Counter = None,
    judge: options.Judge = None,
    device: options.Device = "auto",
    dtype: options.Dtype = None,
    offload: options.Offload = None,
    preset: options.Preset = None,
    out: options.Folder = Path("out"),
    json: options.Json = False,
    allow_inexact: options.AllowInexact = False,
) -> None:
    """Draw the count at every few steps of one run.

    The run is unsteered: what its image would be at every few steps, with boxes, and the count against the
    step. Exits with 0 when the final image holds the number asked for, and with 3 when it does not.
    """
    setup = Setup(model, counter, judge, device, dtype, offload, preset)
    asks = asking.read(prompts, None, object, count, seed, model)
    if len(asks) > 1:
        raise PromptError(f"expected one prompt to watch, got {len(asks)}: put it in quotes.")
    call = setup.call(None, steps, more)
    path = output.Place(out).path(asks[0].prompt.text, "watch", seed)
    athena = setup.load()
    looks: list[Look] = []
    result: Result | None = None

    from athena import drawing
    from athena.watching import Look, watch

    prompt = asks[0].prompt
    try:
        with output.kept(looks, path):
            for seen in watch(athena, prompt, every, seed=seed, **call):
                if isinstance(seen, Look):
                    looks.append(seen)
                    if not json:
                        output.say(f"step {seen.step:3}  {seen.count}/{prompt.count} {prompt.noun_plural}")
                else:
                    result = seen
    finally:
        if looks or result:
            drawing.watch_picture(looks, result, prompt).save(path)
    assert result is not None
    if json:
        steps_seen = [{"step": look.step, "count": look.count} for look in looks]
        output.say_json({**output.record(result, path), "seen": steps_seen})
    else:
        typer.echo(output.line(result, path))
    output.leave([result], allow_inexact)
