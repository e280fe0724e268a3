"""Read what a prompt counts, and write the same prompt with another count, or with none.

    >>> prompt = parse_prompt("a photo of seven apples")
    >>> prompt.count, prompt.noun, prompt.with_count(3).text, prompt.without_count().text
    (7, 'apple', 'a photo of three apples', 'a photo of apples')

A number counts if a noun follows it: "35mm", "two-story", "19 year old", "version 5", "16:9" count nothing.
Leading adjectives are left out of the noun ("two small red traffic cones" are traffic cones), and the noun
ends at its plural. Two counted nouns are an error that names the choices, unless the second only tells how
the first are: right after a preposition of place ("lanterns stacked in two short stacks") or after "each".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import index
from typing import NamedTuple

from athena import _english as english
from athena.errors import PromptError

LARGEST = english.LARGEST


@dataclass(frozen=True)
class CountPrompt:
    """A prompt and what it counts; `span` is where the number stands in `text`, None where none stands."""

    text: str
    count: int | None
    noun: str
    noun_plural: str
    span: tuple[int, int] | None = None
    # Changes start from what was parsed, so that changing back gives it back: "a dozen", "three", "a dozen".
    _parsed: CountPrompt | None = field(default=None, repr=False, compare=False)

    @property
    def number(self) -> str:
        """The number as it stands in the text ("seven", "7", "A dozen"), empty where none stands."""
        return self.text[slice(*self.span)] if self.span else ""

    def with_count(self, n: int) -> CountPrompt:
        """The same prompt with another number; the noun and all else stay ("one apples", "no apples").

        A count given from outside goes before the noun, or in place of its "a" or "some". `n` may pass
        ninety-nine: a detector sometimes sees more than anyone may ask for.
        """
        n, parsed = _checked_count(n), self._parsed or self
        if n == parsed.count:
            return parsed
        text, (start, end) = parsed.text, parsed.span or _find_noun(parsed.text, parsed.noun)[1]
        number = _written(n, like=text[start:end] or text[start:].split()[0])
        changed = text[:start] + number + (" " if start == end else "") + text[end:]
        return replace(parsed, text=changed, count=n, span=(start, start + len(number)), _parsed=parsed)

    def without_count(self) -> CountPrompt:
        """The same prompt without its number; a capital that opened a sentence passes to the next word."""
        parsed = self._parsed or self
        if parsed.span is None:
            return replace(parsed, count=None, _parsed=parsed)
        before, rest = parsed.text[: parsed.span[0]], parsed.text[parsed.span[1] :].lstrip()
        rest = re.sub(r"^of\s+", "", rest, flags=re.I)  # "three of my dogs" -> "my dogs"
        if parsed.number[0].isupper() and re.search(r"(?:^|[.!?:])[\s\"'“(\[]*$", before):
            rest = rest[:1].upper() + rest[1:]
        return replace(parsed, text=before + rest, count=None, span=None, _parsed=parsed)


def parse_prompt(text: str, object: str | None = None, count: int | None = None) -> CountPrompt:
    """Find what `text` counts.

    `object` names the noun where there is a choice. `count` stands in for a number that is not there, or
    picks one of several, and is an error where it contradicts the only one.
    """
    if not isinstance(text, str):
        raise PromptError(f"a prompt is a string; this is a {type(text).__name__}: {text!r}")
    if object is not None and not (isinstance(object, str) and english.key(object)):
        raise PromptError(f'object= is the counted noun, as in object="apple"; it was {object!r}')
    if count is not None:
        count = _checked_count(count, LARGEST)
    found = _counted_nouns(text)
    if object is None:
        chosen = [c for c in found if c.count] or [c for c in found if c.count == 0] or found
        chosen = [c for c in chosen if c is chosen[0] or not c.tells_how]
    else:
        chosen = _called(object, found)
    if count is None and (not chosen or chosen[0].count is None):
        raise _no_number(text, object, found, chosen)
    if len(chosen) > 1:
        chosen = [c for c in chosen if c.count == count] or chosen
    if len(chosen) > 1:
        raise _ambiguous(chosen)
    if chosen and count not in (None, chosen[0].count):
        hint = "leave one of them out, or name another noun of the prompt with object="
        raise PromptError(f'the prompt says "{chosen[0].said}", count={count} says otherwise: {hint}')
    if chosen:
        it = chosen[0]
        return CountPrompt(text, it.count, it.noun, it.plural, it.span)
    words = _first_noun(text) if object is None else _find_noun(text, object)[0]
    return CountPrompt(text, count, *english.noun_and_plural(words))


class _Phrase(NamedTuple):
    words: tuple[str, ...]  # from the first adjective to the head
    noun: tuple[str, ...]  # without the adjectives; empty after "two" in "two red and three blue balls"
    end: int
    plural: bool


@dataclass(frozen=True)
class _Counted:
    count: int | None  # None where it is no target: "150 apples", "two or three apples"
    span: tuple[int, int]
    words: tuple[str, ...]
    noun: str
    plural: str
    said: str
    tells_how: bool


def _counted_nouns(text: str) -> list[_Counted]:
    """Every number that has a noun, in order."""
    found: list[_Counted] = []
    for m in reversed(list(_number_pattern().finditer(text))):
        before, count = text[: m.start()], _value(m)
        phrase = _noun_phrase(text, m.end(), one=count == 1)
        if phrase is None or _counts_nothing(m, count, phrase):
            continue
        noun, plural = english.noun_and_plural(phrase.noun) if phrase.noun else ("", "")
        if not noun and found and re.fullmatch(r",?(\s+and|\s*&)?\s+", text[phrase.end : found[0].span[0]]):
            noun, plural = found[0].noun, found[0].plural
        if m["pairs"] and count and english.matches(f"{english.TWO_LEGGED}|glasses|binoculars", plural):
            noun, count = plural if plural == "glasses" else noun, count // 2  # a pair of scissors is one
        count = None if count and count > LARGEST else count
        if noun:
            said, tells_how = text[m.start() : phrase.end], bool(re.search(english.TELLS_HOW, before, re.I))
            found.insert(0, _Counted(count, m.span(), phrase.words, noun, plural, said, tells_how))
    return found


def _noun_phrase(text: str, end: int, one: bool = False) -> _Phrase | None:
    """The adjectives and the noun that start at `end`, up to a plural or to a word that ends the phrase."""
    of = re.compile(rf"\s+of\s+(?:{english.OWNERS})\b", re.I).match(text, end)  # "three of my dogs"
    end, words, adjectives, plural = of.end() if of else end, list[str](), 0, False
    while m := english.NEXT_WORD.match(text, end):
        word, leading = m["word"].lower(), adjectives == len(words)
        if english.ends_phrase(word) or (
            m["joint"] and not (words and leading and english.is_adjective(word))
        ):
            break
        then = english.NEXT_WORD.match(text, m.end())
        after = then["word"].lower() if then and not then["joint"] else ""
        after = "" if english.ends_phrase(after) else after
        is_plural = english.singular(word) is not None and not (
            after and word in ("sports", "clothes", "news")
        )
        is_verb = english.is_participle(word) and (one or not english.singular(after))
        if not leading and (not is_plural if plural else is_verb or (one and is_plural)):
            break  # "two dogs run", "one dog running", "one dog runs"
        name = f"{word} {english.singular(after) or after}".strip()
        if leading and english.is_adjective(word) and not english.matches(english.NAMES, name):
            adjectives += 1
        else:
            plural = is_plural
        words, end = [*words, word], m.end()
    return _Phrase(tuple(words), tuple(words[adjectives:]), end, plural) if words else None


def _counts_nothing(number: re.Match[str], count: int | None, phrase: _Phrase) -> bool:
    """Whether the number is a measure, a label, a pronoun, or part of an adjective ("a five dollar bill")."""
    before, after = number.string[: number.start()], number.string[number.end() :]
    if re.match(rf"[\s-]+(?:{english.UNITS})\b", after, re.I | re.X) or re.search(
        english.LABEL, before, re.I | re.X
    ):
        return True
    if number[0].lower() == "no" and not re.search(r"(?:^|\bof)\s*$", before, re.I):
        return True  # "a photo of no apples" counts, "three cats, no people" does not count people
    if count == 1:
        return bool(re.search(r"\b(?:this|that|each|every|any|some|no|other|another)\s+$", before, re.I))
    if phrase.plural or not phrase.noun:
        return False
    named = number[0].isdigit() and re.search(r"\s[A-Z]\w*\s+$", before)  # "a Boeing 47 wing"
    return not count or bool(named) or bool(re.search(r"\ban?\s+$", before, re.I))


_SETS = "couple|pair|trio|quartet|handful|number|lot"
_VAGUE = rf"an?|some|several|many|both|(?:a )?few|(?:an? )(?:{_SETS})s? of|(?:lots|plenty|dozens|hundreds) of"


def _called(noun: str, found: list[_Counted]) -> list[_Counted]:
    """Those of `found` that are this noun, else those whose words end with it ("red apple")."""
    wanted = english.key(noun)
    ends = [(c, c.words[-len(wanted) :]) for c in found]
    pairs = [(c, *english.noun_and_plural(end)) for c, end in ends if english.key(" ".join(end)) == wanted]
    return [c for c in found if english.key(c.noun) == wanted] or [
        replace(c, noun=n, plural=p) for c, n, p in pairs
    ]


def _first_noun(text: str) -> tuple[str, ...]:
    """The first plural without an "a" before it; where there is none, the first noun without "of" behind it."""
    starts = re.finditer(rf"(?:^|[^\w\s'’-]\s*|\b(?:{english.ENDS})\s+)(?=\w)", text, re.I | re.X)
    found = [(m[0].lower().strip(), p) for m in starts if (p := _noun_phrase(text, m.end())) and p.noun]
    nouns = [
        p.noun for word, p in found if p.plural and not english.matches("an?|this|that|each|every", word)
    ]
    nouns += [p.noun for _, p in found if not re.match(r"\s+of\b", text[p.end :], re.I)]
    if not nouns:
        raise PromptError(f'no noun to count was found in "{text}": name it, as in object="apple"')
    return nouns[0]


def _find_noun(text: str, noun: str) -> tuple[tuple[str, ...], tuple[int, int]]:
    """The noun as it stands in the text, and the place before it (and before its adjectives) for a number."""
    wanted, tokens = english.key(noun), list(english.WORD.finditer(text))
    words = [t[0].lower() for t in tokens]
    windows = [tuple(words[i : i + len(wanted)]) for i in range(len(words))]
    places = [i for i, window in enumerate(windows) if english.key(" ".join(window)) == wanted]
    if not places:
        raise PromptError(f'"{text}" does not mention "{noun}": name a noun that stands in it with object=')
    i = at = next((i for i in places if english.singular(windows[i][-1])), places[0])
    start = tokens[i].start()
    while i and english.is_adjective(words[i - 1]) and not text[tokens[i - 1].end() : start].strip():
        i, start = i - 1, tokens[i - 1].start()
    vague = re.search(rf"\b({_VAGUE})\s+$", text[:start], re.I)
    return windows[at], vague.span(1) if vague else (start, start)


@lru_cache(maxsize=1)
def _number_pattern() -> re.Pattern[str]:
    words = "|".join(w.replace("-", r"[-\s]+") for w in sorted(english.numbers(), key=len, reverse=True))
    n, big = rf"(?:{words}|[0-9]{{1,2}})", r"(?:hundred|thousand|million|billion)s?"
    of = rf"\s+of(?!\s+(?:{english.OWNERS})\b)"
    return re.compile(rf"""
        (?<![\w$€£#/.~+@<=–-]) (?<![0-9][,:])
        (?: (?P<range> {n}(?:\s+(?:to|or|and|by|x|×|&)\s+|\s*,\s*){n} | {n}\s+or\s+(?:more|fewer|less|so)
              | between\s+{n}\s+and\s+{n} | [0-9]+\s*[-–x×]\s*[0-9]+ )
          | (?P<big> (?:(?:a|{n})[\s-]+)? {big} (?:[\s-]+(?:and[\s-]+)?(?:{n}|{big}))*
              | [0-9]{{1,3}}(?:,[0-9]{{3}})+ | [0-9]{{3,}} )
          | (?: (?P<half> (?:an?[\s-]+)? half (?:[\s-]+an?)? ) | (?P<dozens> an?|{n} ) ) [\s-]+dozen (?:{of})?
          | (?P<pairs> an?|{n}) \s+pairs? {of}
          | (?P<plain> {n}|no )
        ) (?! [\w%°] | [-–]\w | ['’]\w | [.,:/][0-9] )""", re.I | re.X)  # fmt: skip


def _value(m: re.Match[str]) -> int | None:
    if m["range"] or m["big"]:
        return None
    word = re.sub(r"[-\s]+", "-", m["dozens"] or m["pairs"] or m["plain"] or "").lower()
    n = int(word) if word.isdigit() else {"a": 1, "an": 1}.get(word, english.numbers().get(word, 0))
    return 6 if m["half"] else n * 12 if m["dozens"] else n * 2 if m["pairs"] else n


def _checked_count(n: int, most: float = float("inf")) -> int:
    try:
        count = -1 if isinstance(n, bool) else index(n)
    except TypeError:
        count = -1
    if not 0 <= count <= most:
        limit = "0 or more" if most > LARGEST else f"from 0 to {LARGEST}"
        raise PromptError(f"a count is a whole number, {limit}; it was {n!r}")
    return count


def _written(n: int, like: str) -> str:
    """`n` the way `like` is written: a digit or a word, in capitals or not."""
    word = str(english.engine().number_to_words(n, andword="")) if n else "no"  # type: ignore[arg-type]
    if re.search(r"[0-9]", like):
        return str(n)
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word


def _ambiguous(chosen: list[_Counted]) -> PromptError:
    said = " and ".join(f'"{c.said}"' for c in chosen)
    nouns = list(dict.fromkeys(c.noun for c in chosen))
    if len(nouns) == 1:
        return PromptError(f'the prompt counts "{nouns[0]}" more than once: {said}. Leave one number only')
    choices = " or ".join(f'object="{noun}"' for noun in nouns)
    return PromptError(f"the prompt counts more than one thing: {said}. Say which to count: {choices}")


def _no_number(text: str, object: str | None, found: list[_Counted], chosen: list[_Counted]) -> PromptError:
    things = english.noun_and_plural(english.key(object))[1] if object else "apples"
    how = f'write it before its noun, as in "three {things}" (a word or digits), or give count=3'
    if chosen:
        return PromptError(
            f'"{chosen[0].said}" is not one count from 0 to {LARGEST}: {how.partition(", or give")[0]}'
        )
    if object is None:
        return PromptError(f'"{text}" says no number ("a" and "an" are none): {how}')
    others = "; the prompt counts " + ", ".join(f'"{c.said}"' for c in found) if found else ""
    return PromptError(f'no number stands before "{object}" in "{text}"{others}: {how}')
