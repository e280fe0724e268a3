"""How to get the number right: each strategy is a generator that asks for runs and decides what they mean.

It yields a `Probe` and receives an `Attempt` that tells how many objects the half-formed image holds.
It returns the attempt to finish from where it stopped, or a `Finish` to run anew to the end. Its first
argument is the prompt (`ask.count`, `ask.with_count(3)`, `ask.without_count()`); `gamma` comes by that
name; any other is an option of the call: `steerer(prompt, strategy="reseed", max_attempts=5)`.

Your own generator function goes wherever a name goes: `steerer(prompt, strategy=mine)`.
"""

# mypy: disable-error-code="operator, arg-type"
# A strategy is only asked about prompts with a count, and only told of attempts that were counted.

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from athena.errors import SettingsError, UnknownName
from athena.prompts import CountPrompt
from athena.types import Attempt


@dataclass(frozen=True)
class Probe:
    """Run to t_est and count. `noise` 0 is the seed's own, 1, 2, ... are new ones derived from it."""

    control: CountPrompt | None = None
    gamma: float = 0.0
    noise: int = 0


@dataclass(frozen=True)
class Finish:
    """Run from the start to the end, without counting half-way."""

    control: CountPrompt | None = None
    gamma: float = 0.0
    noise: int = 0


Strategy = Generator[Probe, Attempt, Attempt | Finish]


def unsteered(ask: CountPrompt, gamma: float) -> Strategy:
    """Plain sampling."""
    return Finish()
    yield


def static(ask: CountPrompt, gamma: float) -> Strategy:
    """Steer away from the prompt without its number (paper, alg. 3)."""
    return Finish(ask.without_count(), gamma)
    yield


def feedback(ask: CountPrompt, gamma: float, keep: str = "last") -> Strategy:
    """Count once; on a mismatch steer away from what was seen (paper, alg. 4)."""
    first = yield Probe()
    if first.count == ask.count:
        return first
    control = ask.with_count(first.count)
    if keep == "last":
        return Finish(control, gamma)
    second = yield Probe(control, gamma)
    return nearest(ask, second, first)


def adaptive(ask: CountPrompt, gamma: float, keep: str = "last") -> Strategy:
    """Count, steer, count again, and adjust gamma once by what steering did (paper, alg. 5)."""
    first = yield Probe()
    if first.count == ask.count:
        return first
    control = ask.with_count(first.count)
    second = yield Probe(control, gamma)
    if second.count == ask.count:
        return second
    closer = first.count <= second.count < ask.count or ask.count < second.count <= first.count
    adjusted = gamma * 2 if closer else gamma / 2
    if keep == "last":
        return Finish(control, adjusted)
    third = yield Probe(control, adjusted)
    return nearest(ask, third, second, first)


def reseed(ask: CountPrompt, gamma: float = 0.0, max_attempts: int = 3) -> Strategy:
    """No steering: new noise until the count is right, the honest rival at the same cost."""
    attempts: list[Attempt] = []
    while len(attempts) < max_attempts:
        attempt = yield Probe(noise=len(attempts))
        if attempt.count == ask.count:
            return attempt
        attempts.append(attempt)
    return nearest(ask, *attempts)


def nearest(ask: CountPrompt, *attempts: Attempt) -> Attempt:
    """The attempt whose estimate is nearest to the target; the first one named wins a draw."""
    return min(attempts, key=lambda attempt: abs(attempt.count - ask.count))


STRATEGIES: dict[str, Callable[..., Strategy]] = {
    f.__name__: f for f in (unsteered, static, feedback, adaptive, reseed)
}
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "keep": (lambda x: x in ("last", "nearest"), '"last" or "nearest"'),
    "max_attempts": (
        lambda x: isinstance(x, int) and not isinstance(x, bool) and x >= 1,
        "a whole number from 1",
    ),
}


def find(strategy: str | Callable[..., Strategy]) -> Callable[..., Strategy]:
    """A strategy by name, or the user's own generator function."""
    if isinstance(strategy, str):
        if strategy not in STRATEGIES:
            raise UnknownName("strategy", strategy, STRATEGIES)
        return STRATEGIES[strategy]
    if not inspect.isgeneratorfunction(getattr(strategy, "func", strategy)):
        raise SettingsError(
            f"strategy: expected a name ({', '.join(STRATEGIES)}) or a generator function "
            f"f(ask, gamma) that yields Probe(...), got {strategy!r}."
        )
    return strategy


def name_of(strategy: str | Callable[..., Strategy]) -> str:
    if isinstance(strategy, str):
        return strategy
    return str(getattr(getattr(strategy, "func", strategy), "__name__", "custom"))


def options_of(strategy: Callable[..., Strategy]) -> Sequence[str]:
    """The further arguments a strategy takes, after the prompt and gamma."""
    names = [p.name for p in inspect.signature(strategy).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return [name for name in names[1:] if name != "gamma"]


def prepare(
    strategy: Callable[..., Strategy], options: dict[str, Any]
) -> Callable[[CountPrompt, float], Strategy]:
    """Check the options and bind them, so that what is left takes the prompt and gamma."""
    for name, value in options.items():
        fits, expected = RULES.get(name, (lambda _: True, ""))
        if not fits(value):
            raise SettingsError(f"{name}: expected {expected}, got {value!r}.")
    parameters = inspect.signature(strategy).parameters
    missing = [
        p.name
        for p in [*parameters.values()][1:]
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    hidden = [p.name for p in [*parameters.values()][1:] if p.kind is p.POSITIONAL_ONLY]
    if hidden:
        raise SettingsError(
            f"strategy {name_of(strategy)}: {', '.join(hidden)} cannot be given by name; leave out the / behind it."
        )
    missing = [name for name in missing if name not in options and name != "gamma"]
    if missing or not parameters:
        raise SettingsError(
            f"strategy {name_of(strategy)}: its first argument is the prompt, gamma comes by that name, and "
            f"{' and '.join(missing) or 'nothing else'} must be given with the call or have a default."
        )

    def begin(ask: CountPrompt, gamma: float) -> Strategy:
        return strategy(ask, **({"gamma": gamma} if "gamma" in parameters else {}), **options)

    return begin
