"""athena counters: who can count, and what each needs."""

from __future__ import annotations

import typer

from athena.cli import disk

EXAMPLES = """\b
Examples:
  athena counters
  athena count photo.jpg --object apple --counter grounding-dino
"""


def run() -> None:
    """List counters, what they need, what is on this disk."""
    from athena.counters import COUNTERS

    for name in COUNTERS:
        disk.tell(name, needs(name))
    typer.echo(
        "A detector as the paper's judge set it: grounding-dino@paper. hf:ID takes any zero-shot object\n"
        "detector of transformers, by hub id or folder; FILE.py:FUNCTION your own f(image, noun) -> int."
    )


def needs(name: str) -> list[str]:
    from athena.counters import DETECTORS

    if name not in DETECTORS:
        return ["embedded: nothing to download; it counts what the embedded models draw"]
    known = DETECTORS[name]
    extra = f"; needs pip install {' '.join(known.packages)}" if known.packages else ""
    return [
        f"{known.source}: {disk.on_disk(known.source, known.download_gb)}",
        f"{known.download_gb:g} GB to download, about {known.memory_gb:g} GB of memory{extra}",
        known.licence,
    ]
