"""Which of a pipe's components is what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from athena.driver import traits


def modules(pipe: Any) -> dict[str, torch.nn.Module]:
    """Its components, and those of the pipes inside it, each once."""
    found: dict[str, torch.nn.Module] = {}
    for one in pipes(pipe):
        for name, x in vars(one).items():
            if isinstance(x, torch.nn.Module) and not any(x is y for y in found.values()):
                found[name] = x
    return found


def pipes(pipe: Any) -> Iterator[Any]:
    """The pipe and, where it is made of others, these."""
    yield pipe
    for x in vars(pipe).values():
        if hasattr(x, "components") and callable(x):
            yield x


def denoisers(pipe: Any) -> dict[str, torch.nn.Module]:
    return {name: x for name, x in modules(pipe).items() if name in traits.DENOISERS}


def is_texts(name: str, value: Any) -> bool:
    """Whether an argument of the call is a text that every image has its own of."""
    return name.startswith(traits.TEXTS) and isinstance(value, str)
