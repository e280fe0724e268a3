"""What a counter is, and how a plain function becomes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from athena.errors import CounterError


@runtime_checkable
class Counter(Protocol):
    """Counts a batch: `counter(images, nouns)` gives one answer an image.

    An answer is a `supervision.Detections` whose boxes name the noun, or just their number. What tells
    a counter from a plain function f(image, noun) -> int is its `name`.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, images: Sequence[Any], nouns: Sequence[str]) -> Sequence[Any]: ...


@dataclass(frozen=True)
class FunctionCounter:
    """A plain function of one image and one noun."""

    function: Callable[[Any, str], Any]

    name: str

    def __call__(self, images: Sequence[Any], nouns: Sequence[str]) -> list[Any]:
        return [self.function(own(image), noun) for image, noun in zip(images, nouns, strict=True)]


def own(image: Any) -> Any:
    """A copy that a function may paint on."""
    return image.copy() if hasattr(image, "copy") else image


class Scripted:
    """Answers with the counts it was given, in order: for tests, as httpx has its MockTransport."""

    def __init__(self, counts: Sequence[int], name: str = "scripted") -> None:
        self.counts, self.name = list(counts), name
        self.seen: list[tuple[Any, str]] = []

    def __call__(self, images: Sequence[Any], nouns: Sequence[str]) -> list[int]:
        answers = []
        for image, noun in zip(images, nouns, strict=True):
            if len(self.seen) == len(self.counts):
                raise CounterError(
                    f"the scripted counter has told all its {len(self.counts)} counts and is asked once more."
                )
            answers.append(self.counts[len(self.seen)])
            self.seen.append((image, noun))
        return answers


def as_counter(counter: Any) -> Counter:
    """A name, a path, a `Counter` or a plain function, as a `Counter`; anything else is an error."""
    if isinstance(counter, str | Path):
        from athena.counters.registry import load

        return load(counter)
    expected = (
        'a counter is a name ("mini", "grounding-dino"), a Counter, or a function f(image, noun) -> int'
    )
    if not callable(counter) or isinstance(counter, type):
        raise CounterError(f"{expected}; got {counter!r}.")
    try:
        inspect.signature(counter).bind("image", "noun")
    except TypeError as error:
        raise CounterError(f"{expected}; {counter!r} cannot be called with two arguments: {error}.") from None
    except ValueError:
        pass  # a builtin without a signature: it will show when it is called
    if isinstance(getattr(counter, "name", None), str):
        return counter  # type: ignore[no-any-return]
    return FunctionCounter(counter, getattr(counter, "__name__", type(counter).__name__))


def apart(judge: Counter, counter: Counter | None) -> Counter:
    """A judging function that shares its name with another one that steers gets a name of its own."""
    if not isinstance(judge, FunctionCounter) or not isinstance(counter, FunctionCounter):
        return judge
    same = judge.name == counter.name and judge.function is not counter.function
    return FunctionCounter(judge.function, f"{judge.name} (judge)") if same else judge


def count(
    counter: Counter,
    images: Sequence[Any],
    nouns: Sequence[str],
    prompts: Sequence[str] | None = None,
    *,
    estimate: bool = False,
) -> list[tuple[int, Any]]:
    """The number of objects in each image, and the detections where the counter gives them.

    `prompts` go to the counters that ask for them: another noun there may own a label. `estimate` says that
    the images are half denoised, for counters with `for_estimates()`.
    """
    if estimate and hasattr(counter, "for_estimates"):
        counter = counter.for_estimates()
    more = {"prompts": prompts} if prompts is not None and _asks_for(counter, "prompts") else {}
    given = counter(images, nouns, **more)
    if not isinstance(given, Iterable) or isinstance(given, str | dict | set):
        raise CounterError(
            f'counter "{counter.name}" gave {given!r}, not a list with an answer for each image.'
        )
    answers = list(given)
    if len(answers) != len(images):
        raise CounterError(f'counter "{counter.name}" gave {len(answers)} answers for {len(images)} images.')
    return [_number(answer, counter.name) for answer in answers]


def _asks_for(counter: Counter, argument: str) -> bool:
    try:
        return argument in inspect.signature(counter).parameters
    except ValueError:
        return False  # a builtin without a signature


def _number(answer: Any, name: str) -> tuple[int, Any]:
    if hasattr(answer, "xyxy"):
        return len(answer), answer
    whole = hasattr(answer, "__index__") and not isinstance(answer, bool)
    if not whole or int(answer) < 0:
        raise CounterError(
            f'counter "{name}" answered {answer!r}: expected a whole number from 0, or supervision.Detections. '
            "(A counter of whole batches needs an attribute `name`; without it, it is called as f(image, noun).)"
        )
    return int(answer), None
