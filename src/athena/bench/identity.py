"""The name of an image: a digest of what would change it, and of nothing else."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from athena.errors import LoadError

WHOLE = 64 * 2**20  # larger files are told apart by their size, their first and their last megabyte
END = 2**20
BESIDE = ("README.md", "athena.json")  # a preset's settings stand in the identity themselves


def digest(facts: dict[str, Any]) -> str:
    """Sixteen hex digits; the order of the facts does not matter."""
    text = json.dumps(plain(facts), sort_keys=True, ensure_ascii=False, default=str)
    return sha256(text.encode()).hexdigest()[:16]


def plain(fact: Any) -> Any:
    """A gamma of 4 is a gamma of 4.0."""
    if isinstance(fact, dict):
        return {str(key): plain(value) for key, value in fact.items()}
    if isinstance(fact, list | tuple):
        return [plain(value) for value in fact]
    return int(fact) if isinstance(fact, float) and fact.is_integer() else fact


def revision(source: str, asked: str | None = None) -> str:
    """Which weights these are: the commit of a hub id, a digest of a folder's files."""
    folder = Path(source).expanduser()
    return folder_digest(folder) if folder.is_dir() else hub_commit(source, asked)


def folder_digest(folder: Path) -> str:
    """Names, sizes and contents; where the folder lies does not matter, nor what changes no image by itself."""
    whole = sha256()
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in BESIDE):
        size = file.stat().st_size
        whole.update(f"{file.relative_to(folder).as_posix()} {size}\n".encode())
        with file.open("rb") as content:
            whole.update(content.read() if size <= WHOLE else content.read(END))
            if size > WHOLE:
                content.seek(-END, 2)
                whole.update(content.read())
    return whole.hexdigest()[:16]


def hub_commit(source: str, asked: str | None = None) -> str:
    """The commit a hub id stands at: as the hub says, or as it was downloaded."""
    if asked and re.fullmatch(r"[0-9a-f]{40}", asked):
        return asked
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_CACHE, HF_HUB_OFFLINE

    kept = Path(HF_HUB_CACHE) / f"models--{source.replace('/', '--')}" / "refs" / (asked or "main")
    if kept.is_file():  # what `load` will take when there is no network, and most often when there is one
        return kept.read_text(encoding="utf-8").strip()
    if not HF_HUB_OFFLINE:
        try:
            commit = HfApi().model_info(source, revision=asked, timeout=20).sha
        except (OSError, ValueError) as error:
            raise LoadError(f"which revision of {source} is meant cannot be found out: {error}") from error
        if commit:
            return commit
    raise LoadError(f"{source} is not on this disk, and there is no network; see `athena models`")


def code_of(name: str) -> str | None:
    """A digest of the file behind FILE.py:FUNCTION, which may change while its name stays."""
    file = Path(name.rpartition(":")[0]).expanduser()
    return sha256(file.read_bytes()).hexdigest()[:16] if file.suffix == ".py" and file.is_file() else None
