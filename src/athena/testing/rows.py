"""Rows through the denoiser, counted by hooks of our own: the driver's bill is not asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from athena.driver import stepping, untouched
from athena.driver.rows import Call, Layout, prediction, take
from athena.testing.subject import Subject


@dataclass
class Heard:
    module: torch.nn.Module
    call: Call
    answer: Any = None


class Enough(BaseException):
    """The first step has been heard."""


@contextmanager
def listening(subject: Subject) -> Iterator[list[Heard]]:
    """Every call of a denoiser that really computes."""
    heard: list[Heard] = []

    def before(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        heard.append(Heard(module, Call(args, dict(kwargs))))

    def after(module: torch.nn.Module, args: Any, kwargs: Any, answer: Any) -> None:
        heard[-1].answer = answer

    with ExitStack() as stack:
        for module in subject.denoisers:
            stack.enter_context(module.register_forward_pre_hook(before, with_kwargs=True))
            stack.enter_context(module.register_forward_hook(after, with_kwargs=True))
        yield heard


def rows_in(heard: Sequence[Heard]) -> int:
    return sum(len(one.call.sample) for one in heard)


def first_step(
    subject: Subject,
    prompts: Sequence[str],
    seeds: Sequence[int],
    look: Callable[[list[Heard]], None] = lambda heard: None,
) -> list[Heard]:
    """The denoiser's calls in the bare pipe's first step; `look` at them while the pipe is still in it."""

    def enough(*args: Any, **kwargs: Any) -> None:
        look(list(heard))
        raise Enough

    call = subject.for_images(len(prompts))
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    with listening(subject) as heard, untouched(subject.pipe), stepping(subject.pipe.scheduler, enough):
        try:
            subject.pipe(prompt=list(prompts), generator=generators, **call)
        except Enough:
            subject.driver.release()
    return heard


def changed(ours: Heard, theirs: Heard) -> set[int]:
    """The rows in which two calls differ, argument by argument."""
    n = len(ours.call.sample)
    return differing(list(ours.call.tree.values()), list(theirs.call.tree.values()), n, inside=False)


def differing(a: Any, b: Any, n: int, inside: bool = True) -> set[int]:
    every = set(range(n))
    if a is b:
        return set()
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape:
            return every
        if torch.equal(a, b):
            return set()
        return {i for i in range(n) if not torch.equal(a[i], b[i])} if a.ndim and len(a) == n else every
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return every
        return set().union(*(differing(a[k], b[k], n) for k in a))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return every
        apart = [differing(x, y, n) for x, y in zip(a, b, strict=True)]
        tensors = all(isinstance(x, Tensor) and (not x.ndim or len(x) != n) for x in a)
        if inside and len(a) == n and tensors:  # a list of rows
            return {i for i, one in enumerate(apart) if one}
        return set().union(*apart)
    same_kind = isinstance(a, int | float | str | bool | None) and type(a) is type(b)
    return every if same_kind and a != b else set()


def tied(one: Heard, rows: set[int]) -> bool:
    """Whether these rows come out otherwise without the others: then they cannot be evaluated alone."""
    layout = Layout.of(one.call)
    part = Call.from_tree(take(one.call.tree, sorted(rows), layout))
    try:
        alone = prediction(one.module(*part.args, **part.kwargs))
    except Exception:
        return True
    whole = prediction(one.answer)
    gaps = [(alone[i] - whole[row]).abs().max() for i, row in enumerate(sorted(rows))]
    return bool(torch.stack(gaps).max() > 1e-3)
