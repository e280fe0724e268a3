"""A strategy with its parameters, as it is typed: "adaptive", "reseed@max_attempts=2", "mine.py:patient@tries=5"."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from athena import strategies
from athena.errors import SettingsError
from athena.models import Preset

STEERING = ("estimate_step", "steer_steps", "gamma")
# What each of ours reads of the three; a strategy of one's own may read all.
READS = {
    "unsteered": (),
    "static": ("steer_steps", "gamma"),
    "feedback": STEERING,
    "adaptive": STEERING,
    "reseed": ("estimate_step",),
}
BLIND = ("unsteered", "static")  # they count nothing half-way


@dataclass(frozen=True)
class Variant:
    """One column of the comparison."""

    label: str
    strategy: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def counts(self) -> bool:
        return self.strategy not in BLIND

    def check(self, function: Callable[..., Any]) -> None:
        """Refuse a setting that this strategy does not read; what is no setting of any goes to the pipe."""
        reads = (*READS.get(self.strategy, STEERING), *strategies.options_of(function))
        for name in self.options:
            if name in (*STEERING, *strategies.RULES) and name not in reads:
                told = f"it reads {', '.join(reads)}" if reads else "it reads none"
                raise SettingsError(
                    f"strategies: {self.label}: {self.strategy} does not read {name}; {told}."
                )

    def effective(self, preset: Preset, function: Callable[..., Any]) -> dict[str, Any]:
        """Every parameter that this strategy reads, given or not: what would change its image."""
        base = preset.settings(self.strategy, preset.steps)
        own = {
            name: parameter.default
            for name, parameter in inspect.signature(function).parameters.items()
            if name in strategies.options_of(function)
        }
        reads = READS.get(self.strategy, STEERING)
        settings = {name: self.options.get(name, getattr(base, name)) for name in reads}
        return {**settings, **{name: self.options.get(name, default) for name, default in own.items()}}


def fitting(call: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Without the options of other strategies: `--set keep=nearest` is nothing to unsteered sampling."""
    own = strategies.options_of(function)
    return {name: value for name, value in call.items() if name not in strategies.RULES or name in own}


def parse(text: str) -> Variant:
    """ "reseed@max_attempts=2": a strategy's name and its parameters."""
    name, *pairs = text.strip().split("@")
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip().isidentifier():
            raise SettingsError(
                f"strategy {text!r}: expected NAME@PARAMETER=VALUE, as in reseed@max_attempts=2, got {pair!r}."
            )
        try:
            options[key.strip()] = json.loads(value)
        except ValueError:
            options[key.strip()] = value
    return Variant(text.strip(), name, options)


def parse_all(texts: Iterable[str]) -> list[Variant]:
    """Every column, none twice."""
    found = [parse(text) for text in texts if text.strip()]
    if not found:
        raise SettingsError("strategies: expected at least one, as in unsteered,adaptive.")
    labels = [one.label for one in found]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise SettingsError(f"strategies: {', '.join(twice)} stands there twice.")
    return found
