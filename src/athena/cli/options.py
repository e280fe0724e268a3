"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Prompts = Annotated[
    list[str] | None, typer.Argument(metavar="PROMPT", help="Each with a number in it.", show_default=False)
]
PromptFile = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="FILE",
        help="More prompts: one a line, or JSONL with prompt, object, count, seed; - is stdin.",
    ),
]
Object = Annotated[
    str | None, typer.Option(metavar="NOUN", help="What to count, where a prompt leaves a choice.")
]
Count = Annotated[int | None, typer.Option(metavar="N", help="How many, where a prompt has no number.")]
Model = Annotated[
    str, typer.Option(metavar="NAME", help="A name (see `athena models`), a folder or a hub id.")
]
Counter = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Who counts half-way: a name (see `athena counters`) or your own FILE.py:FUNCTION.",
    ),
]
Judge = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who counts the final image; the counter if left out.")
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Settings from a file, as `athena tune` writes it, over the model's own."
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="The noise to start from.")]
Gamma = Annotated[
    float | None, typer.Option(metavar="X", help="Steering strength; the model's own if left out.")
]
Steps = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Denoising steps; the model's own if left out.")
]
More = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Any other setting, as height=512 or keep=nearest; repeatable."
    ),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto takes cuda, mps or cpu.")]
Offload = Annotated[
    Literal["model", "sequential"] | None, typer.Option(help="Keep weights off the GPU until needed.")
]
Dtype = Annotated[
    Literal["bfloat16", "float16", "float32", "bf16", "fp16", "fp32"] | None,
    typer.Option(help="bfloat16 on a GPU and float32 on the CPU if left out."),
]
BatchSize = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="The most rows in one call of the denoiser.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object an image, and nothing else on stdout.")]
AllowInexact = Annotated[
    bool, typer.Option("--allow-inexact", help="Exit with 0 (not 3) when an image misses its number.")
]
Folder = Annotated[
    Path, typer.Option(metavar="DIR", help="The folder to write into, or a .png for one picture.")
]
