"""Each distinct prompt is encoded once a request, however often the pipe is entered.

The memo sits on the text encoders themselves and remembers them row by row, so that it holds across
batches that were put together differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from athena.driver.rows import Call, Layout, Tree, branches, join, map_rows, take

Key = tuple[Any, ...]
LIMIT = 2**30  # bytes kept by one encoder's memo: a long request forgets its oldest prompts


class EncoderMemo:
    """What one encoder answered in this request."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.known: dict[Key, Tree] = {}
        self.bytes, self.limit, self.calls = 0, limit, 0

    def __call__(self, forward: Callable[..., Tree], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tree:
        def encode(tree: Tree) -> Tree:
            self.calls += 1
            call = Call.from_tree(tree)
            return forward(*call.args, **call.kwargs)

        given = Call(args, kwargs).tree
        ids = next((x for x in leaves(given) if isinstance(x, Tensor) and x.ndim > 1), None)
        if ids is None:
            return encode(given)
        layout = Layout(ids.shape[0])
        alone = layout.rows == 1
        keys = [fingerprint(given if alone else take(given, [row], layout)) for row in range(layout.rows)]
        unseen = [row for row, key in enumerate(keys) if key not in self.known and keys.index(key) == row]
        if not any(key in self.known for key in keys):  # all new: the call as it came, bit for bit
            whole = ("whole", *keys)
            if whole in self.known:
                return self.known[whole]
            answer = encode(given)
            if splits(answer, layout.rows):
                self.remember([keys[row] for row in unseen], [take(answer, [row], layout) for row in unseen])
            else:
                self.remember([whole], [answer])
            return answer
        rows = {key: self.known[key] for key in keys if key in self.known}
        if unseen:
            part = encode(take(given, unseen, layout))
            new = [take(part, [i], Layout(len(unseen))) for i in range(len(unseen))]
            rows.update(zip((keys[row] for row in unseen), new, strict=True))
            self.remember([keys[row] for row in unseen], new)
        return join([rows[key] for key in keys], [Layout(1)] * len(keys))

    def remember(self, keys: list[Key], answers: list[Tree]) -> None:
        self.known.update(zip(keys, answers, strict=True))
        self.bytes += sum(weight(answer) for answer in answers)
        while self.bytes > self.limit and len(self.known) > len(keys):
            self.bytes -= weight(self.known.pop(next(iter(self.known))))


def leaves(tree: Tree) -> list[Tree]:
    children = branches(tree)
    return [tree] if children is None else [leaf for _, child in children for leaf in leaves(child)]


def splits(answer: Tree, rows: int) -> bool:
    """Whether an answer can be told apart by rows: no key-value caches, and the rows come first everywhere."""

    def fits(x: Tree) -> bool:
        if isinstance(x, Tensor):
            return x.ndim == 0 or len(x) == rows
        return isinstance(x, int | float | str | None)

    return all(fits(x) for x in leaves(answer))


def weight(tree: Tree) -> int:
    return sum(x.numel() * x.element_size() for x in leaves(tree) if isinstance(x, Tensor))


def fingerprint(tree: Tree) -> Key:
    """A hashable stand-in for some arguments."""
    children = branches(tree)
    if children is not None:
        return (type(tree).__name__, *((key, fingerprint(child)) for key, child in children))
    if isinstance(tree, Tensor):
        data = tree.detach().cpu().contiguous()
        return (tuple(data.shape), str(data.dtype), data.flatten().view(torch.uint8).numpy().tobytes())
    return (tree if isinstance(tree, int | float | str | bool | None) else id(tree),)


def silence(answer: Tree, layout: Layout) -> Tree:
    """One row of zeros in the shape of an answer."""

    def blank(x: Tree) -> Tree:
        return torch.zeros_like(x) if isinstance(x, Tensor) else type(x)(torch.zeros_like(e) for e in x)

    return map_rows(blank, take(answer, [0], layout), Layout(1, layout.lists))
