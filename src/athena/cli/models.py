"""athena models: the names there are, and what each needs."""

from __future__ import annotations

from pathlib import Path

import typer

from athena import models as known
from athena.cli import disk
from athena.errors import LoadError

EXAMPLES = """\b
Examples:
  athena models
  athena generate "a photo of seven apples" --model sdxl
"""


def run() -> None:
    """List models, what they need, what is on this disk."""
    for name in (*known.MINIS, *known.PRESETS):
        disk.tell(name, needs(name))
    typer.echo(
        f'"mini" means {known.BEST_MINI}. A folder that diffusers saved, and any hub id, work as well.'
    )


def needs(name: str) -> list[str]:
    try:
        preset = known.find(name)
    except LoadError:
        return [
            f"embedded, but not in this installation: python -m athena.mini.train {name.removeprefix('mini-')}"
        ]
    steps = f"{preset.steps} steps at {preset.width}x{preset.height}"
    if name in known.MINIS:
        return [f"embedded: nothing to download, {disk.size(disk.folder_gb(Path(preset.source)))}; {steps}"]
    page = f"https://huggingface.co/{preset.source}"
    return [
        f"{preset.source}: {disk.on_disk(preset.source, preset.download_gb)}",
        f"{preset.download_gb:g} GB to download, {preset.memory_gb:g} GB of memory; {steps}",
        preset.licence + (f": accept it at {page}" if preset.gated else ""),
    ]
