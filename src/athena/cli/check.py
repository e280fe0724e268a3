"""athena check: hold a pipeline to what ATHENA needs of it."""

from __future__ import annotations

from typing import Annotated

import typer

from athena import models
from athena.cli import options, output, setup

EXAMPLES = """\b
Examples:
  athena check ./my-finetune
  athena check Qwen/Qwen-Image --offload model --set true_cfg_scale=4 --set negative_prompt=blurry
"""


def run(
    model: Annotated[str, typer.Argument(metavar="PATH_OR_HUB_ID", help="Or a name (see `athena models`).")],
    more: options.More = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    offload: options.Offload = None,
    json: Annotated[bool, typer.Option("--json", help="The report as one JSON object.")] = False,
) -> None:
    """Check that a pipeline can be stopped, resumed and steered.

    Loads it and runs each check on small pictures of four steps; what its call needs besides comes with --set.
    Everything is compared to the last bit, so float32 is what to check in. Exits with 0 when every check passes,
    and with 3 when one does not.
    """
    setup.Setup(model)  # a slip of the pen is told at once
    call = setup.settings(more, {})
    with output.waiting(f"loading {model}"):
        pipe = models.load(model, device=device, dtype=dtype, offload=offload)
    pipe.set_progress_bar_config(disable=True)  # a bar for each of its many small runs tells nothing

    from athena.testing import conformance

    with output.waiting("checking"):
        report = conformance(pipe, **call)
    if json:
        output.say_json(report.to_dict())
    else:
        typer.echo(str(report))
    if not report.passed:
        raise typer.Exit(output.INEXACT)
