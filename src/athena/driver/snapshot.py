"""One image of a batch, stopped after some steps: all that is needed to go on, whoever shares its batch then."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from athena.driver.rows import branches, rebuild


@dataclass(frozen=True, eq=False)
class Row:
    """One image to make: its prompt, its noise, the arguments that are its own, and what it has cost."""

    prompt: str
    seed: int
    own: dict[str, Any] = field(default_factory=dict)
    spent: Counter[str] = field(default_factory=Counter)

    @property
    def key(self) -> tuple[Any, ...]:
        """What its first prediction depends on."""
        own = ((k, v if isinstance(v, str) else id(v)) for k, v in sorted(self.own.items()))
        return (self.prompt, self.seed, *own)


@dataclass(frozen=True, eq=False)
class State:
    row: Row
    step: int  # how many steps are done
    calls: int  # how many times `scheduler.step` was called for them: twice a step for Heun
    answer: tuple[Tensor, ...]  # what the last `scheduler.step` returned, the next latents first
    scheduler: dict[str, Any]  # its attributes after that; `PerRow` where they hold this image's tensors
    generator: Tensor  # the state of this image's random generator
    elsewhere: Tensor  # the global one's, for schedulers that draw from it whatever they are given
    began: Tensor  # the global one's when the run was entered: some pipes encode their picture with it
    clean: Tensor | None  # z^_0 from the last prediction; None when the scheduler can't be read
    call: dict[str, Any]  # the pipe's arguments that all images share
    steering: Any = None  # what steered the run, to be gone on with where it is not over
    changed: frozenset[int] = frozenset()  # calls after which the user's callback changed more than latents


@dataclass(frozen=True)
class PerRow:
    tensor: Tensor


def scheduler_states(scheduler: Any, sample: Tensor) -> list[dict[str, Any]]:
    """The scheduler's attributes, deeply copied (multistep solvers keep histories), one set an image."""
    whole = copy.deepcopy({k: v for k, v in vars(scheduler).items() if k not in ("step", "_internal_dict")})
    return [_map(whole, lambda x, i=i: _cut(x, sample, i)) for i in range(sample.shape[0])]


def restore_scheduler(scheduler: Any, states: Sequence[dict[str, Any]]) -> None:
    vars(scheduler).update(copy.deepcopy(_stack(states)))


def _cut(x: Any, sample: Tensor, i: int) -> Any:
    return PerRow(x[i : i + 1].clone()) if isinstance(x, Tensor) and x.shape == sample.shape else x


def _map(tree: Any, fn: Any) -> Any:
    children = branches(tree)
    return fn(tree) if children is None else rebuild(tree, [_map(child, fn) for _, child in children])


def _stack(trees: Sequence[Any]) -> Any:
    first = trees[0]
    if isinstance(first, PerRow):
        return torch.cat([x.tensor for x in trees])
    children = branches(first)
    if children is None:
        return first
    parts = zip(*([child for _, child in branches(tree) or []] for tree in trees), strict=True)
    return rebuild(first, [_stack(part) for part in parts])
