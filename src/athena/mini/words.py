"""The world of the mini models as data: what they can draw, where, and every word they can read."""

from __future__ import annotations

import re
from difflib import get_close_matches

from athena.errors import PromptError

# noun: (plural, emoji); the order is the class number of counters and renders, so append only.
NOUNS: dict[str, tuple[str, str]] = {
    "apple": ("apples", "🍎"),
    "bird": ("birds", "🐦"),
    "donut": ("donuts", "🍩"),
    "horse": ("horses", "🐎"),
    "car": ("cars", "🚗"),
    "tie": ("ties", "👔"),
    "airplane": ("airplanes", "✈"),
    "cow": ("cows", "🐄"),
    "cell phone": ("cell phones", "📱"),
    "backpack": ("backpacks", "🎒"),
    "elephant": ("elephants", "🐘"),
    "clock": ("clocks", "⏰"),
    "bear": ("bears", "🐻"),
    "cat": ("cats", "🐈"),
    "bowl": ("bowls", "🥣"),
    "sheep": ("sheep", "🐑"),
    "sports ball": ("sports balls", "⚽"),
    "cup": ("cups", "☕"),
    "dog": ("dogs", "🐕"),
    "balloon": ("balloons", "🎈"),
    "pumpkin": ("pumpkins", "🎃"),
    "mushroom": ("mushrooms", "🍄"),
    "trophy": ("trophies", "🏆"),
    "violin": ("violins", "🎻"),
    "saxophone": ("saxophones", "🎷"),
    "globe": ("globes", "🌍"),
    "hourglass": ("hourglasses", "⏳"),
    "snowman": ("snowmen", "⛄"),
    "candle": ("candles", "🕯"),
    "microphone": ("microphones", "🎤"),
    "watermelon": ("watermelons", "🍉"),
    "traffic light": ("traffic lights", "🚦"),
}
NOUN_NAMES: tuple[str, ...] = tuple(NOUNS)

SCENES: tuple[str, ...] = (
    "on the grass",
    "on the ground",
    "on the road",
    "on a table",
    "on the beach",
    "in the snow",
)

NUMBER_WORDS: tuple[str, ...] = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
MAX_DRAWN = (
    12  # the renderer never draws more; larger numbers are read only because a control prompt may hold them
)

FILLER: tuple[str, ...] = (
    "a",
    "an",
    "the",
    "no",
    "dozen",
    "of",
    "photo",
    "picture",
    "image",
    "and",
    "with",
    "some",
)


def _all_words() -> tuple[str, ...]:
    texts = [*NOUNS, *(plural for plural, _ in NOUNS.values()), *SCENES, *NUMBER_WORDS, *FILLER]
    words = [word for text in texts for word in text.split()]
    return tuple(dict.fromkeys([*words, *(str(n) for n in range(len(NUMBER_WORDS)))]))


WORDS: tuple[str, ...] = _all_words()


def plural(noun: str) -> str:
    """The plural of a noun the models know."""
    return NOUNS[noun][0]


_SINGULAR = {form: noun for noun, (many, _) in NOUNS.items() for form in (noun, many)}


def singular(noun: str) -> str | None:
    """The name this noun goes by here, whatever its case and number, or None for one we do not know."""
    return _SINGULAR.get(" ".join(noun.lower().replace("_", " ").replace("-", " ").split()))


def split(text: str) -> list[str]:
    """Lower-case words and numbers of a text, punctuation left out."""
    return re.findall(r"[^\W_]+", text.lower())


def unknown(text: str) -> list[str]:
    """The words of a text the mini models cannot read."""
    return [word for word in dict.fromkeys(split(text)) if word not in WORDS]


def known(text: str) -> bool:
    """Whether the mini models can read every word of a text."""
    return not unknown(text)


def check(prompt: str) -> None:
    """Raise a PromptError that lists what the mini models know when they cannot read a prompt."""
    strange = unknown(prompt)
    if not strange:
        return
    near = get_close_matches(strange[0], WORDS, n=1, cutoff=0.7)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    raise PromptError(
        f"the mini models do not know {', '.join(repr(word) for word in strange)}.{hint} "
        f"They draw: {', '.join(NOUN_NAMES)}; scenes: {', '.join(SCENES)}; "
        f"numbers: {NUMBER_WORDS[0]} to {NUMBER_WORDS[-1]}, or digits. "
        f'Try "a photo of seven apples on the grass", or a large model.'
    )
