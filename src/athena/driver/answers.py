"""What goes into `scheduler.step` and comes out of it, whatever form a pipe reads it in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor

STEP = (
    "model_output",
    "timestep",
    "sample",
)  # what every scheduler's `step` takes, nearly always in this order


def named(step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `scheduler.step` by name; a subclass may hide them behind *args."""
    bound = inspect.signature(step).bind_partial(*args, **kwargs).arguments
    return {**dict(zip(STEP, args, strict=False)), **bound, **kwargs}


def unpack(answer: Any) -> tuple[Tensor, ...]:
    """What `scheduler.step` returned, the next latents first."""
    values = answer if isinstance(answer, tuple) else tuple(answer.values())
    return tuple(x for x in values if isinstance(x, Tensor))


class Answer(tuple[Tensor, ...]):
    """What stands in for an answer of `scheduler.step`, in whichever form the pipe reads it."""

    prev_sample = property(lambda self: self[0])
    pred_original_sample = denoised = property(lambda self: self[-1])


def pack(answer: tuple[Tensor, ...]) -> Answer:
    """LCM's loop takes two, so there are always two."""
    return Answer(answer if len(answer) > 1 else (answer[0], answer[0]))
