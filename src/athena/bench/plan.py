"""What is to be made: every prompt with every strategy and seed, in an order that a prefix of is fair."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from athena import strategies
from athena.bench.identity import code_of, digest
from athena.bench.variants import STEERING, Variant, fitting
from athena.datasets import Entry
from athena.errors import SettingsError
from athena.models import Preset

SEED = 23  # the paper's, for entries that have none of their own
CHUNK = 32  # images that are made together: a strategy's branches keep the denoiser's batches full


@dataclass(frozen=True)
class Job:
    """One image to make."""

    key: str
    entry: Entry
    draw: int
    seed: int
    variant: Variant
    place: int = 0  # in the shuffled order

    @property
    def image(self) -> str:
        """Its file, unique by its key, readable by the rest."""
        name = re.sub(r"[^\w=.-]+", "-", f"{self.entry.id}-{self.variant.label}-{self.seed}").strip("-")
        return f"images/{name[:80]}-{self.key[:8]}.png"


@dataclass(frozen=True)
class Chunk:
    """Images of one strategy that are made together, always these: what they cost depends on their company."""

    number: int
    variant: Variant
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Making:
    """How every image of a run is made: what their identities share."""

    revision: str  # of the model's weights
    dtype: str
    counter: str
    preset: Preset
    call: dict[str, Any]  # the pipe's arguments, and settings that all strategies share

    def key(self, entry: Entry, seed: int, variant: Variant, function: Callable[..., Any]) -> str:
        call = {**fitting(self.call, function), **variant.options}
        read = (*strategies.options_of(function), *STEERING)
        own = replace(variant, options={k: v for k, v in call.items() if k in read})
        facts = {
            "prompt": entry.prompt,
            "object": entry.object,
            "count": entry.int_number,
            "seed": seed,
            "model": self.revision,
            "dtype": self.dtype,
            "call": {k: v for k, v in call.items() if k not in read},
            "strategy": variant.strategy,
            "code": code_of(variant.strategy),
            "parameters": own.effective(self.preset, function),
            "counter": (self.counter, code_of(self.counter)) if variant.counts else None,
        }
        return digest(facts)


def shuffled(entries: Sequence[Entry], order: int = 0) -> list[Entry]:
    """The ATHENA file is sorted by level and count: the first fifty of it would be all of one kind."""
    return Random(f"athena order {order}").sample(list(entries), len(entries))


def lay_out(
    entries: Sequence[Entry],
    variants: Iterable[Variant],
    making: Making,
    find: Callable[[str], Any] = strategies.find,
    *,
    seeds: int = 1,
    seed: int | None = None,
    limit: int | None = None,
    order: int = 0,
    chunk: int = CHUNK,
) -> list[Chunk]:
    """All chunks, strategies in turn on the same prompts, so that a run cut short compares like with like."""
    chosen = shuffled(entries, order)[:limit]
    draws = [(one, draw, first_seed(one, seed) + draw) for draw in range(seeds) for one in chosen]
    variants = list(variants)
    functions = {variant.label: strategies.find(find(variant.strategy)) for variant in variants}
    for variant in variants:
        variant.check(functions[variant.label])
    chunks: list[Chunk] = []
    first: dict[str, Job] = {}
    for start in range(0, len(draws), chunk):
        for variant in variants:
            jobs = []
            for place, (one, draw, noise) in enumerate(draws[start : start + chunk], start):
                key = making.key(one, noise, variant, functions[variant.label])
                jobs.append(Job(key, one, draw, noise, variant, place))
                if first.setdefault(key, jobs[-1]) is not jobs[-1]:
                    raise twice(first[key], jobs[-1])
            chunks.append(Chunk(len(chunks), variant, tuple(jobs)))
    return chunks


def first_seed(one: Entry, seed: int | None) -> int:
    """The same for all where one was asked for, else the entry's own, else the paper's."""
    own = SEED if one.seed is None else one.seed
    return own if seed is None else seed


def twice(one: Job, other: Job) -> SettingsError:
    if one.variant != other.variant:
        return SettingsError(
            f"strategies: {one.variant.label} and {other.variant.label} make the same images; leave one out."
        )
    return SettingsError(
        f'the data set asks twice for "{one.entry.prompt}" from the same noise (entries {one.entry.id} and '
        f"{other.entry.id}): give them seeds of their own, or `datasets.deduplicated` first."
    )
