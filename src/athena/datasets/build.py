"""The derived sets, from the set they are derived from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from athena.datasets.entries import Entry, entry

COUNTS = range(2, 11)
NUMBER_WORDS = dict(
    zip(COUNTS, ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], strict=True)
)


def deduplicated(entries: Iterable[Entry]) -> list[Entry]:
    """The first of each text: the 200 rows of CoCoCount become its 161 prompts."""
    first: dict[str, Entry] = {}
    for one in entries:
        first.setdefault(one.prompt, one)
    return numbered(first.values())


def cococount_e(entries: Iterable[Entry], counts: Sequence[int] = COUNTS) -> list[Entry]:
    """Every template (noun and scene, in the order they first appear) with every count: 72 x 9 = 648."""
    templates: dict[tuple[str, str | None], Entry] = {}
    for one in entries:
        templates.setdefault((one.object, one.scene), one)
    return numbered(with_count(one, count) for count in counts for one in templates.values())


def with_count(one: Entry, count: int) -> Entry:
    """The same prompt with another number; all else of its row stays."""
    changed = one.asked.with_count(count)
    row = {
        **one.to_dict(),
        "prompt": changed.text,
        "number": NUMBER_WORDS.get(count, changed.number),
        "int_number": count,
    }
    return entry(row, source=one.source)


def numbered(entries: Iterable[Entry]) -> list[Entry]:
    """Rows without an id of their own are known by their place."""
    return [entry(one.to_dict(), place, one.source) for place, one in enumerate(entries, 1)]
