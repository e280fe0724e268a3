"""A new set to the paper's specification, from our own vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import TypeVar

from athena.datasets.build import NUMBER_WORDS
from athena.datasets.entries import Entry, entry
from athena.datasets.spec import DISTRACTORS, KEYS, NOUNS, RELATIONS, SCENES, SPECS, START, TAGS
from athena.errors import SettingsError, UnknownName

T = TypeVar("T")


def make(spec: str = "paper", seed: int = 1) -> list[Entry]:
    """The prompts of a specification, sorted by level and count as the published file is; a seed, one set."""
    if spec not in SPECS:
        raise UnknownName("specification", spec, SPECS)
    if not isinstance(seed, int) or seed < 0:
        raise SettingsError(f"seed: expected a whole number from 0, got {seed!r}.")
    plan, order = SPECS[spec], Random(f"athena {spec} {seed}")
    extra = turns(plan.counts, order)
    found: list[Entry] = []
    seen: set[object] = {None}
    for level, size in plan.levels.items():
        each, more = divmod(size, len(plan.counts))
        counts = sorted([*plan.counts] * each + [next(extra) for _ in range(more)])
        nouns, scenes = turns(NOUNS, order), turns(SCENES, order)
        others, relations = turns(DISTRACTORS, order), turns(RELATIONS, order)
        for count in counts:
            row: dict[str, object] = {
                "id": len(found) + 1,
                "number": NUMBER_WORDS[count],
                "int_number": count,
                "level": level,
                "difficulty_tag": TAGS[level],
                "scene": next(scenes) if level in (2, 3) else None,
                "distractor": next(others) if level == 3 else None,
                "relation": next(relations) if level == 4 else None,
                "source": plan.source,
            }
            while row.get("prompt") in seen:
                noun = next(nouns)
                row |= {"object": noun, "object_plural": NOUNS[noun]}
                row["prompt"] = written(row)
            seen.add(row["prompt"])
            found.append(entry({key: row[key] for key in KEYS}))
    return found


def written(row: dict[str, object]) -> str:
    """The prompt of a row, in the form of its level."""
    where = row["scene"] or row["relation"] or ""
    beside = f"with {row['distractor']}" if row["distractor"] else ""
    return " ".join(f"{START} {row['number']} {row['object_plural']} {where} {beside}".split())


def turns(words: Iterable[T], order: Random) -> Iterator[T]:
    """Each of the words once, then all again in a new order."""
    known = list(words)
    while True:
        yield from order.sample(known, len(known))
