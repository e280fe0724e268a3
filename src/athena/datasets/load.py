"""A data set by its name or its file, whole or one split of it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from athena.datasets.entries import Entry, read
from athena.datasets.mini import mini
from athena.datasets.published import PUBLISHED, path_of
from athena.errors import SettingsError, UnknownName

NAMES = ("mini", *PUBLISHED)
SPLITS = ("all", "test", "tune")
HELD_BACK = 4  # every fourth template of a set without splits of its own is for tuning


def load(name: str | Path, split: str | None = None) -> list[Entry]:
    """The entries of `mini`, a published set, or any JSON or JSONL file.

    `split` is "all", "test" or "tune"; the last two share no template (a noun and what stands around it).
    `mini` is its test split when none is named, every other set is whole.
    """
    if split not in (None, *SPLITS):
        raise UnknownName("split", split, SPLITS)
    if str(name) == "mini":
        return [*mini("test"), *mini("tune")] if split == "all" else mini(split or "test")
    if isinstance(name, str) and name in PUBLISHED:
        entries = read(path_of(name), source=name)
    elif Path(name).expanduser().is_file():
        entries = read(name)
    elif isinstance(name, Path) or "/" in name or "." in name:
        raise SettingsError(
            f"there is no file {name}: give a JSON list or a JSONL file, or a name: {_names()}."
        )
    else:
        raise UnknownName("data set", name, NAMES)
    if split in (None, "all"):
        return entries
    chosen = [one for one in entries if held_back(one) is (split == "tune")]
    if not chosen:
        raise SettingsError(f'{name} has no prompt in its split "{split}": it is too small to be split.')
    return chosen


def held_back(one: Entry) -> bool:
    """Whether an entry is for tuning: by its template, so that no other count of it is evaluated."""
    template = one.asked.without_count().text.lower()
    return sha256(template.encode()).digest()[0] % HELD_BACK == 0


def _names() -> str:
    return ", ".join(NAMES)
