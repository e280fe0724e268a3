"""What a file violates of the paper's specification: every violation, none hidden."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from athena.datasets.build import NUMBER_WORDS
from athena.datasets.entries import Entry
from athena.datasets.make import written
from athena.datasets.spec import (
    COCOCOUNT,
    KEYS,
    NAMES_IN_ING,
    NEEDS,
    NEGATIVE,
    SPECS,
    START,
    TAGS,
    VAGUE,
    Spec,
)
from athena.errors import PromptError, UnknownName
from athena.prompts import parse_prompt

NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
    "thirty", "forty", "fifty", "hundred", "dozen",
)  # fmt: skip


class Violation(NamedTuple):
    """One rule one entry breaks; row 0 is the file as a whole."""

    row: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{f'row {self.row}' if self.row else 'the file'}: {self.rule}: {self.message}"


def check(
    entries: Sequence[Entry], spec: str = "paper", rows: Sequence[int] | None = None, broken: int = 0
) -> list[Violation]:
    """Every violation, the file's own first; `rows` are the entries' places, where `broken` others cannot be read."""
    if spec not in SPECS:
        raise UnknownName("specification", spec, SPECS)
    plan = SPECS[spec]
    places = range(1, len(entries) + 1) if rows is None else rows
    whole = [Violation(0, rule, message) for rule, message in _whole(entries, plan, broken)]
    each = [
        Violation(row, rule, message)
        for row, one in zip(places, entries, strict=True)
        for rule, message in (*_fields(one, plan), *_words(one, plan), *_level(one))
    ]
    return [*whole, *sorted([*each, *_twice(entries, places)])]


def _whole(entries: Sequence[Entry], plan: Spec, broken: int) -> Iterator[tuple[str, str]]:
    if len(entries) + broken != plan.size:
        yield "size", f"expected {plan.size} prompts, got {len(entries) + broken}"
    if broken:  # what they would have been is not known
        return
    levels = Counter(one.level for one in entries)
    for level, size in plan.levels.items():
        if levels[level] != size:
            yield "levels", f"expected {size} prompts of level {level}, got {levels[level]}"
        spread = [sum(one.level == level and one.int_number == n for one in entries) for n in plan.counts]
        if max(spread) - min(spread) > 1:
            told = ", ".join(f"{n}: {k}" for n, k in zip(plan.counts, spread, strict=True))
            yield "balance", f"the counts of level {level} are not balanced ({told})"


def _fields(one: Entry, plan: Spec) -> Iterator[tuple[str, str]]:
    missing = [key for key in KEYS if key not in one.raw]
    if missing:
        yield "fields", f"missing: {', '.join(missing)}"
    more = [key for key in one.raw if key not in KEYS]
    if more:
        yield "fields", f"not of the specification: {', '.join(more)}"
    for name in ("object", "object_plural", "number", "int_number"):
        if name not in missing and one.raw[name] is None:
            yield "fields", f'"{name}" is null'
    if not isinstance(one.raw.get("id"), int) or isinstance(one.raw["id"], bool):
        yield "fields", f'"id" is a whole number; it is {one.raw.get("id")!r}'
    if one.level in TAGS and "difficulty_tag" not in missing and one.raw["difficulty_tag"] != TAGS[one.level]:
        yield "fields", f'level {one.level} is tagged "{TAGS[one.level]}", not {one.raw["difficulty_tag"]!r}'
    if "source" not in missing and one.raw["source"] != plan.source:
        yield "fields", f'"source" is "{plan.source}", not {one.raw["source"]!r}'
    for name in ("scene", "distractor", "relation"):
        if one.raw.get(name) == "":
            yield "fields", f'"{name}" is null where there is none, not an empty text'


def _words(one: Entry, plan: Spec) -> Iterator[tuple[str, str]]:
    """What holds at every level."""
    text = one.prompt
    if not text.startswith(f"{START} "):
        yield "prompt", f'a prompt begins with "{START}": "{text}"'
    if one.int_number not in plan.counts:
        yield "count", f"{one.int_number} is not from {plan.counts[0]} to {plan.counts[-1]}"
    elif one.number != NUMBER_WORDS[one.int_number]:
        yield "count", f'{one.int_number} is written "{NUMBER_WORDS[one.int_number]}", not "{one.number}"'
    if not re.search(rf"\b{re.escape(one.object_plural)}\b", text):
        yield "object", f'"{one.object_plural}" does not stand in "{text}"'
    else:
        yield from _counted(one)
    rest = re.sub(rf"\b{re.escape(one.number)}\b", "", text, count=1)
    again = [word for word in re.findall(r"[a-z]+|\d+", rest.lower()) if word in NUMBERS or word.isdigit()]
    if again:
        yield "second number", f'"{text}" has a second number: {", ".join(again)}'
    for kind, words in (("vague quantifier", VAGUE), ("negation", NEGATIVE)):
        found = [word for word in words if re.search(rf"\b{word}\b", text, re.I)]
        if found:
            yield kind, f'"{text}" says {", ".join(found)}'


def _counted(one: Entry) -> Iterator[tuple[str, str]]:
    try:
        found = parse_prompt(one.prompt)
    except PromptError as error:
        yield "object", f"what is counted is ambiguous: {error}"
        return
    if (found.count, found.noun_plural.lower()) != (one.int_number, one.object_plural.lower()):
        yield (
            "object",
            f'the prompt counts {found.count} {found.noun_plural}, not {one.object_plural}: "{one.prompt}"',
        )


def _level(one: Entry) -> Iterator[tuple[str, str]]:
    """What each level asks for."""
    if one.level not in NEEDS:
        yield "level", f"expected a level from 1 to 4, got {one.level}"
        return
    has = {"scene": one.scene, "distractor": one.distractor, "relation": one.relation}
    for name, value in has.items():
        if (value is not None) is not (name in NEEDS[one.level]):
            wanted = "a text" if name in NEEDS[one.level] else "null"
            yield "level", f'"{name}" is {wanted} at level {one.level}; it is {value!r}'
    row: dict[str, object] = {**has, "number": one.number, "object_plural": one.object_plural}
    if written(row) != one.prompt:
        yield "format", f'level {one.level} reads "{written(row)}"; the prompt is "{one.prompt}"'
    if one.level == 1 and one.object.lower() in COCOCOUNT:
        yield "object", f'"{one.object}" is one of CoCoCount\'s, which level 1 may not count'
    if one.level < 4:
        doing = re.findall(r"\b\w{2,}ing\b", one.scene or "")
        doing += re.findall(
            r"(?<!\ba )(?<!\ban )(?<!\bthe )\b\w{2,}ing\b", one.distractor or ""
        )  # a shopping cart
        verbs = [w for w in doing if w not in NAMES_IN_ING]
        if verbs:
            yield "verb", f'no verb at level {one.level}: {", ".join(verbs)} in "{one.prompt}"'
    other = (one.distractor or "").lower()
    if re.search(rf"\b({re.escape(one.object.lower())}|{re.escape(one.object_plural.lower())})\b", other):
        yield "distractor", f'"{one.distractor}" is what is counted'


def _twice(entries: Sequence[Entry], places: Sequence[int]) -> Iterator[Violation]:
    """Ids and prompts that are there already, case and spaces apart."""
    for rule, key in (
        ("id", lambda one: one.id),
        ("duplicate", lambda one: " ".join(one.prompt.lower().split())),
    ):
        first: dict[str, int] = {}
        for row, one in zip(places, entries, strict=True):
            earlier = first.setdefault(key(one), row)
            if earlier != row:
                yield Violation(row, rule, f'"{key(one)}" stands in row {earlier} already')
