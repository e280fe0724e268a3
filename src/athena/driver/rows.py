"""Trees of arguments seen as rows: one row for each sample that goes through a denoiser.

A row of an argument is a slice of a tensor's first dimension or an element of a list, whichever the
pipeline uses. What has no rows (a scalar timestep, position ids, flags) is shared by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from athena.driver.traits import FROM_SIDE_NETWORKS, MEMORIES, POSITIONS, SAMPLE, TIMES

Tree = Any  # tensors, lists, tuples, dicts and plain values, nested


@dataclass(frozen=True)
class Layout:
    """How many rows a call has, and whether the latents themselves come as a list."""

    rows: int
    lists: bool = False

    @classmethod
    def of(cls, call: Call) -> Layout:
        x = call.sample
        return cls(len(x), isinstance(x, list | tuple))

    def holds_rows(self, x: Tree, name: str = "") -> bool:
        if name in POSITIONS:
            return False
        if isinstance(x, Tensor):
            return x.ndim > 0 and x.shape[0] == self.rows
        if not isinstance(x, list | tuple) or len(x) != self.rows or name is ROOT:
            return False
        nested = any(isinstance(e, Tensor) and e.ndim > 0 and e.shape[0] == self.rows for e in x)
        return self.lists or not nested  # a list of tensors with rows is a branch, not a list of rows


@dataclass(frozen=True)
class Call:
    """The arguments of one denoiser call."""

    args: tuple[Tree, ...]
    kwargs: dict[str, Tree]

    @property
    def sample(self) -> Tree:
        """The noisy latents: the first positional argument, or the keyword that holds them."""
        if self.args:
            return self.args[0]
        named = next((name for name in SAMPLE if name in self.kwargs), next(iter(self.kwargs)))
        return self.kwargs[named]

    @property
    def remembers(self) -> bool:
        """Whether it carries something that an earlier step has filled."""
        return any(self.kwargs.get(name) is not None for name in MEMORIES)

    @property
    def padded(self) -> bool:
        """Whether it carries a side network's answer, as long as the batch's longest prompt: no row goes alone."""
        hinted = any(self.kwargs.get(name) is not None for name in FROM_SIDE_NETWORKS)
        return hinted and isinstance(self.sample, list | tuple)

    def even(self) -> Call:
        """The same with one time for each row."""
        rows, evened = len(self.sample), {}
        for name in TIMES:
            x = self.kwargs.get(name)
            if isinstance(x, Tensor) and x.ndim == 1 and 1 < len(x) < rows and rows % len(x) == 0:
                evened[name] = x.repeat_interleave(rows // len(x))
        return Call(self.args, {**self.kwargs, **evened}) if evened else self

    @property
    def tree(self) -> Tree:
        return {**dict(enumerate(self.args)), **self.kwargs}

    @classmethod
    def from_tree(cls, tree: Tree) -> Call:
        args = tuple(v for k, v in tree.items() if isinstance(k, int))
        return cls(args, {k: v for k, v in tree.items() if isinstance(k, str)})


def rebuild(like: Tree, children: Sequence[Tree]) -> Tree:
    """A container of the same kind with other contents; model outputs and named tuples included."""
    if isinstance(like, dict):
        fields = dict(zip(like, children, strict=True))
        return fields if type(like) is dict else type(like)(**fields)
    return type(like)(*children) if hasattr(like, "_fields") else type(like)(children)


def branches(x: Tree) -> list[tuple[str, Tree]] | None:
    """The named children of a container, None for a leaf; a list's children carry no name of their own."""
    if isinstance(x, dict):
        return [(str(k), v) for k, v in x.items()]
    return [("", v) for v in x] if isinstance(x, list | tuple) else None


ROOT = "the root"  # a list or tuple here holds a call's arguments or a module's answers, not rows


def below(key: str, name: str) -> str:
    """A list's elements go by the list's name."""
    return key or ("" if name is ROOT else name)


def map_rows(fn: Callable[[Tree], Tree], tree: Tree, layout: Layout, name: str = ROOT) -> Tree:
    """Apply `fn` to everything that holds rows and leave the rest as it is."""
    if layout.holds_rows(tree, name):
        return fn(tree)
    children = branches(tree)
    if children is None or name in POSITIONS:
        return tree
    return rebuild(tree, [map_rows(fn, child, layout, below(key, name)) for key, child in children])


def take(tree: Tree, index: Sequence[int], layout: Layout) -> Tree:
    """The rows named by `index`, in that order."""

    def pick(x: Tree) -> Tree:
        if isinstance(x, Tensor) and len(index) == 1:  # by far the most frequent, and twice as quick this way
            return x[index[0] : index[0] + 1].clone(memory_format=torch.contiguous_format)
        if isinstance(x, Tensor):
            return x.index_select(0, torch.tensor(index, device=x.device))
        return type(x)(x[i] for i in index)

    return map_rows(pick, tree, layout)


def join(trees: Sequence[Tree], layouts: Sequence[Layout], name: str = ROOT) -> Tree:
    """The rows of several trees of one shape, one after the other; what has no rows is the first one's."""
    first = trees[0]
    if all(layout.holds_rows(tree, name) for tree, layout in zip(trees, layouts, strict=True)):
        return torch.cat(list(trees)) if isinstance(first, Tensor) else sum(trees[1:], first)
    children = branches(first)
    if children is None or name in POSITIONS:
        return first
    parts = zip(*([child for _, child in branches(tree) or []] for tree in trees), strict=True)
    return rebuild(
        first, [join(part, layouts, below(key, name)) for (key, _), part in zip(children, parts, strict=True)]
    )


def images_of(rows: int, images: int) -> list[int]:
    """Which image each row belongs to: guidance stacks whole batches, so rows repeat with the batch."""
    return [row % images for row in range(rows)]


@dataclass(frozen=True)
class Difference:
    """What another prompt changes in a denoiser's arguments."""

    rows: frozenset[int]  # the rows that differ somewhere
    joinable: bool  # the changed arguments have the shape of the originals: one call can hold both


SAME = Difference(frozenset(), True)


def merge(a: Difference, b: Difference) -> Difference:
    return Difference(a.rows | b.rows, a.joinable and b.joinable)


def compare(ours: Tree, theirs: Tree, layout: Layout, name: str = "") -> Difference:
    """Where two calls with the same latents differ."""
    everywhere = Difference(frozenset(range(layout.rows)), False)
    if ours is theirs or name in FROM_SIDE_NETWORKS or name in MEMORIES:
        return SAME
    if layout.holds_rows(ours, name) and layout.holds_rows(theirs, name):
        if isinstance(ours, Tensor):
            if ours.shape != theirs.shape:
                return everywhere
            changed = (ours != theirs).flatten(1).any(1) if ours.ndim > 1 else ours != theirs
            return Difference(frozenset(changed.nonzero().flatten().tolist()), True)
        return Difference(
            frozenset(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if not equal(a, b)), True
        )
    children, others = branches(ours), branches(theirs)
    if children is None or others is None or [k for k, _ in children] != [k for k, _ in others]:
        return SAME if equal(ours, theirs) else everywhere
    found = SAME
    for (key, a), (_, b) in zip(children, others, strict=True):
        found = merge(found, compare(a, b, layout, key or name))
    return found


def equal(a: Tree, b: Tree) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape and bool((a == b).all())
    children, others = branches(a), branches(b)
    if children is None or others is None:
        return bool(a == b) if type(a) is type(b) else a is b
    return len(children) == len(others) and all(
        k == m and equal(x, y) for (k, x), (m, y) in zip(children, others, strict=True)
    )


def graft(ours: Tree, theirs: Tree, first: Tree, layout: Layout, name: str = "") -> Tree:
    """`ours` with the arguments in which `theirs` differed from `first`: the same step for another prompt.

    `first` is the call that `theirs` was compared with; `ours` is a later call of the same kind, whose
    latents and timestep have moved on.
    """
    if name in FROM_SIDE_NETWORKS or first is theirs:
        return ours
    children, others, firsts = branches(ours), branches(theirs), branches(first)
    leaf = children is None or others is None or firsts is None or layout.holds_rows(first, name)
    if leaf or [k for k, _ in children] != [k for k, _ in others]:  # type: ignore[union-attr]
        return ours if equal(first, theirs) else theirs
    return rebuild(
        ours,
        [
            graft(a, b, c, layout, key or name)
            for (key, a), (_, b), (_, c) in zip(children, others, firsts, strict=True)  # type: ignore[arg-type]
        ],
    )


def prediction(output: Tree) -> Tree:
    """The denoiser's prediction inside whatever it answers with."""
    if isinstance(output, Tensor):
        return output
    return next(iter(output.values())) if isinstance(output, dict) else output[0]


def with_prediction(output: Tree, new: Tree) -> Tree:
    if isinstance(output, Tensor):
        return new
    rest = list(output.values())[1:] if isinstance(output, dict) else list(output[1:])
    return rebuild(output, [new, *rest])
