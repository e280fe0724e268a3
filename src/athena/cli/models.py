"""athena models: the names there are, and what each needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from athena import models as known
from athena.errors import LoadError

if TYPE_CHECKING:
    from rich.text import Text

EXAMPLES = """\b
Examples:
  athena models
  athena generate "a photo of seven apples" --model sdxl
"""


def run() -> None:
    """List the models known by name, and what each needs."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name in (*known.MINIS, *known.PRESETS):
        table.add_row(name, _needs(name))
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(
        f'"mini" means {known.BEST_MINI}. A folder that diffusers saved, and any hub id, work as well.'
    )


def _needs(name: str) -> Text:
    from rich.text import Text

    embedded = name in known.MINIS
    try:
        preset = known.find(name)
    except LoadError:
        return Text(f"embedded, but not in this installation: python -m athena.mini.train {name[5:]}")
    size = f"{preset.steps} steps at {preset.width}x{preset.height}"
    if embedded:
        return Text(f"embedded: nothing to download; {size}")
    page = f"https://huggingface.co/{preset.source}"
    return Text(
        f"{preset.source}\n{preset.download_gb:g} GB to download, {preset.memory_gb:g} GB of memory; {size}\n"
        f"{preset.licence}" + (f": accept it at {page}" if preset.gated else "")
    )
