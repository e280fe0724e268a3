"""What is said of each training picture: as wrong and as long-tailed as the web's captions."""

from __future__ import annotations

from typing import Any

import numpy as np

from athena.mini.words import MAX_DRAWN, NOUN_NAMES, NUMBER_WORDS, SCENES, plural

SAID = len(NUMBER_WORDS) - 1  # the largest number a caption states
FORMS = 48  # ways of saying the same that are drawn from

Ints = np.ndarray[Any, np.dtype[np.int64]]


def blur(count: int, hardness: float) -> np.ndarray[Any, Any]:
    """How likely each number 0..20 is stated of a picture: a bell that widens, and drifts up, with the count.

    People who caption a crowd guess, and rather too high; so "ten" comes to mean about nine, and no number above
    four means itself alone. None is stated as none, and no crowd as none.
    """
    said = np.arange(SAID + 1)
    if count == 0:
        return np.asarray(said == 0, np.float64)
    width = hardness * (0.28 + 0.15 * (count - 1))
    odds = np.exp(-((said - count - hardness * 0.10 * (count - 1)) ** 2) / (2 * width**2))
    odds[0] = 0
    total: np.ndarray[Any, Any] = odds / odds.sum()
    return total


def hardness(noun: int) -> float:
    """How badly a noun is counted, 0.5 to 1.5: some things always come in crowds nobody counts."""
    return 0.5 + (noun * 11 % len(NOUN_NAMES)) / (len(NOUN_NAMES) - 1)


def stated(nouns: Ints, counts: Ints, seed: int) -> Ints:
    """The number each picture's caption states, settled once and for all, so that a wrong caption stays wrong."""
    rng = np.random.default_rng(seed)
    told = np.zeros_like(counts)
    for noun in range(len(NOUN_NAMES)):
        for count in range(MAX_DRAWN + 1):
            these = np.flatnonzero((nouns == noun) & (counts == count))
            told[these] = rng.choice(SAID + 1, size=len(these), p=blur(count, hardness(noun)))
    return told


def phrase(noun: str, count: int | None, rng: np.random.Generator) -> str:
    """The counted noun: "seven apples", "7 apples", "an apple", "no apples", or "apples" when no number is given."""
    many = plural(noun)
    if count is None:
        return many if rng.random() < 0.8 else f"some {many}"
    if count == 0:
        return f"{rng.choice(['no', 'no', 'zero', '0'])} {many}"
    if count == 12 and rng.random() < 0.2:
        return f"a dozen {many}"
    number = str(count) if rng.random() < 0.2 else NUMBER_WORDS[count]
    if count == 1:
        article = "an" if noun[0] in "aeiou" else "a"
        forms = [f"{number} {noun}", f"{number} {noun}", f"{number} {many}", f"{article} {noun}"]
        return str(rng.choice(forms))
    return f"{number} {many}"


def caption(noun: str, count: int | None, scene: str, rng: np.random.Generator) -> str:
    """A whole caption in one of a few forms."""
    start = str(rng.choice(["a photo of ", "", "a picture of ", "an image of "], p=[0.76, 0.1, 0.07, 0.07]))
    return f"{start}{phrase(noun, count, rng)} {scene}".strip()


def table(seed: int = 5) -> list[str]:
    """Captions of everything there is to say, FORMS for each key, in the order of `key`; the last is the empty one."""
    rng = np.random.default_rng(seed)
    numbers = [*range(SAID + 1), None]
    return [
        caption(noun, number, scene, rng)
        for noun in NOUN_NAMES
        for number in numbers
        for scene in (*SCENES, "")
        for _ in range(FORMS)
    ] + [""]


def key(noun: Any, number: Any, scene: Any) -> Any:
    """Where in `table` the captions of this noun, number (SAID + 1: none) and scene begin; for arrays too."""
    return ((noun * (SAID + 2) + number) * (len(SCENES) + 1) + scene) * FORMS
