"""Does a box of this label show the noun that is counted?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from athena._english import singular  # "people" is "person", "bus" is no plural

_ARTICLES = {"a", "an", "the"}


def names(label: str, noun: str, prompt: str = "", *, strict: bool = False) -> bool:
    """Whether `label` names `noun`.

    Case, plural, article, accents and hyphens do not matter. Of a noun of several words its head will do,
    with or without some of the others ("globe" for "snow globe", never "snow"), unless the same words also stand
    in `prompt` outside the noun: "three snow globes beside a globe". Strict is the published judge.
    """
    if strict:
        return label.replace(".", "").strip().lower() == noun
    said, meant = words(label), words(noun)
    if not said or not meant:
        return False
    if said == meant or "".join(said) == "".join(meant):  # a "snowglobe" is a "snow globe"
        return True
    if said[-1] != meant[-1] or not _in_order(said, meant):
        return False
    return not _owned_by_another(said, meant, prompt)


def words(text: str) -> list[str]:
    """The words that decide: lower case, singular, without accents and leading articles."""
    plain = unicodedata.normalize("NFKD", text.lower())
    found = re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)))
    while len(found) > 1 and found[0] in _ARTICLES:
        del found[0]
    return [singular(word) or word for word in found]


def _in_order(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def _owned_by_another(said: Sequence[str], meant: Sequence[str], prompt: str) -> bool:
    """Whether the label's words stand in the prompt where the noun does not."""
    if not prompt:
        return False
    text, noun, label = ("".join(f" {word} " for word in phrase) for phrase in (words(prompt), meant, said))
    return label in text.replace(noun, " | ")
