"""Prompts for the embedded models, in two splits that share no noun with the same scene, and no noise.

The vocabulary is the models' own and stays with them (`athena.mini.words`); it is asked for when a set is
made, and by name only, as the preset table and the counters do.
"""

from __future__ import annotations

from random import Random

from athena.datasets.build import COUNTS, NUMBER_WORDS
from athena.datasets.entries import Entry
from athena.errors import SettingsError

EACH = {"test": 36, "tune": 12}  # prompts a count: 324 and 108
NOISE = {"test": 50_000, "tune": 90_000}  # the first seed of a split
HELD_BACK = 3  # every third pair of a noun and a scene is for tuning


def mini(split: str = "test", each: int | None = None, seed: int = 1) -> list[Entry]:
    """`each` prompts a count from 2 to 10, nouns in turn, of one split."""
    from athena.mini.words import NOUN_NAMES, SCENES, plural

    if split not in EACH:
        raise SettingsError(f'split: expected {" or ".join(EACH)} for the set "mini", got {split!r}.')
    places = ("", *SCENES)
    order = Random(f"athena mini {seed}")
    nouns = order.sample(NOUN_NAMES, len(NOUN_NAMES))
    first = {noun: order.randrange(len(places)) for noun in nouns}
    pairs = [
        (noun, places[(first[noun] + turn) % len(places)])
        for turn in range(len(places))
        for noun in nouns
        if (turn % HELD_BACK == HELD_BACK - 1) is (split == "tune")
    ]
    each = EACH[split] if each is None else each
    if not 1 <= each <= len(pairs):
        raise SettingsError(
            f'each: expected 1 to {len(pairs)}, the prompts a count has in split "{split}", got {each}.'
        )
    found: list[Entry] = []
    for block, count in enumerate(COUNTS):
        for i in range(each):
            noun, where = pairs[(block * each + i) % len(pairs)]
            text = f"a photo of {NUMBER_WORDS[count]} {plural(noun)} {where}".strip()
            place = len(found)
            found.append(
                Entry(
                    prompt=text,
                    object=noun,
                    object_plural=plural(noun),
                    number=NUMBER_WORDS[count],
                    int_number=count,
                    scene=where or None,
                    seed=NOISE[split] + place,
                    id=f"{split}-{place + 1}",
                    source="mini",
                )
            )
    return found
