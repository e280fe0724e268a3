"""What is on this disk already: in the hub's cache, or packaged with athena."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import typer


@lru_cache(maxsize=1)
def cached() -> dict[str, float]:
    """The models in the hub's cache, and how many GB each takes."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        return {
            repo.repo_id: repo.size_on_disk / 1e9
            for repo in scan_cache_dir().repos
            if repo.repo_type == "model"
        }
    except (CacheNotFound, OSError, ValueError):
        return {}


def on_disk(source: str, download_gb: float) -> str:
    """Whether a hub id is here, in part or whole."""
    here = cached().get(source)
    if here is None:
        return "not on this disk"
    if here < 0.5 * download_gb:  # half, for a hub has several formats of the same weights
        return f"partly on this disk, {size(here)}"
    return f"on this disk, {size(here)}"


def size(gb: float) -> str:
    return f"{gb:.2g} GB" if gb < 1 else f"{gb:.3g} GB"


def folder_gb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e9


def tell(name: str, lines: list[str]) -> None:
    """A name, bold on a terminal, and what is to know of it."""
    typer.secho(name, bold=True)
    for line in lines:
        typer.echo(f"    {line}")
    typer.echo()
