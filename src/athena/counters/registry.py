"""Counters by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from athena.counters.base import Counter
from athena.errors import UnknownName


def _mini(name: str) -> Callable[..., Counter]:
    def load(**options: Any) -> Counter:
        from athena.mini.counter import load_counter

        return load_counter(name, **options)

    return load


COUNTERS: dict[str, Callable[..., Counter]] = {
    "mini": _mini("mini"),
    "mini-judge": _mini("mini-judge"),
}


def load(name: str, **options: Any) -> Counter:
    """Load a counter by its name."""
    if name not in COUNTERS:
        raise UnknownName("counter", name, COUNTERS)
    return COUNTERS[name](**options)
