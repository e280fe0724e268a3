"""Pools of renders on disk, drawn by all cores: what every other part of the training learns from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from athena.mini.render import SIDE, Scene, compose, draw
from athena.mini.words import MAX_DRAWN, NOUN_NAMES, SCENES

CHUNK = 500
MOST = MAX_DRAWN + 2  # objects in one picture, those not asked for included
EMPTY = 0.02  # pictures with nothing in them, for "no apples"
TAIL = 0.8  # training counts are drawn in proportion to count ** -TAIL


@dataclass(frozen=True)
class Pool:
    """How many pictures, and the first of the seeds that are theirs alone."""

    size: int
    seed: int


POOLS = {
    "vae": Pool(40_000, 100_000_000),  # busy pictures of several nouns
    "held-out": Pool(2_000, 900_000_000),  # what the counters and the autoencoder are tested on
    "train": Pool(64_000, 200_000_000),  # one noun, long-tailed counts
    "mini": Pool(40_000, 300_000_000),  # what the counters learn from: 0..12, others among them
    "mini-judge": Pool(40_000, 400_000_000),
}


def count_odds() -> np.ndarray[Any, Any]:
    """How often each count 0..12 is drawn for training: small numbers are common, large ones rare."""
    odds = np.arange(1, MAX_DRAWN + 1, dtype=np.float64) ** -TAIL
    return np.concatenate([[EMPTY], (1 - EMPTY) * odds / odds.sum()])


def nouns_of(pool: str, rng: np.random.Generator) -> tuple[list[int], int]:
    """The nouns of one picture, an entry for each object, and the noun to ask for."""
    noun = int(rng.integers(len(NOUN_NAMES)))
    if pool == "train":
        return [noun] * int(rng.choice(MAX_DRAWN + 1, p=count_odds())), noun
    if pool == "vae":  # mostly objects, often of several nouns, as background is soon learned
        count = int(rng.integers(1, MAX_DRAWN + 1))
        mixed = [int(n) for n in rng.integers(len(NOUN_NAMES), size=count)]
        return ([noun] * count if rng.random() < 0.3 else mixed), noun
    nouns = [noun] * int(rng.integers(0, MAX_DRAWN + 1))
    if rng.random() < 0.4:  # others among them
        nouns = (nouns + [int(n) for n in rng.integers(len(NOUN_NAMES), size=int(rng.integers(1, 5)))])[:MOST]
    return nouns, noun


def picture(pool: str, index: int) -> tuple[np.ndarray[Any, Any], Scene, int]:
    """One picture of a pool, its layout and the noun to ask for: a pure function of its number."""
    rng = np.random.default_rng(POOLS[pool].seed + index)
    nouns, noun = nouns_of(pool, rng)
    layout = compose(nouns, int(rng.integers(len(SCENES) + 1)), rng)
    return draw(layout, rng), layout, noun


def _chunk(pool: str, path: Path, start: int, stop: int) -> np.ndarray[Any, Any]:
    """Draws some pictures into the file and returns their facts."""
    pixels = np.load(path, mmap_mode="r+")
    facts = np.full((stop - start, 2 + 4 * MOST), -1, np.float32)
    for i in range(start, stop):
        pixels[i], layout, noun = picture(pool, i)
        things = [(t.noun, t.x / 2, t.y / 2, t.size / 2) for t in layout.things]
        facts[i - start, :2] = noun, layout.scene
        facts[i - start, 2 : 2 + 4 * len(things)] = np.asarray(things, np.float32).reshape(-1)
    return facts


def write_pools(work: Path, only: Iterable[str] = POOLS) -> None:
    """Draws every pool that is not there yet."""
    work.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as workers:
        for name in only:
            pool = POOLS[name]
            done, path = work / f"{name}.facts.npy", work / f"{name}.npy"
            if done.exists():
                continue
            np.lib.format.open_memmap(path, "w+", np.uint8, (pool.size, SIDE, SIDE, 3)).flush()
            starts = range(0, pool.size, CHUNK)
            stops = [min(pool.size, start + CHUNK) for start in starts]
            names, paths = [name] * len(starts), [path] * len(starts)
            facts = np.concatenate(list(workers.map(_chunk, names, paths, starts, stops)))
            with done.with_suffix(".tmp").open("wb") as file:
                np.save(file, facts)
            os.replace(done.with_suffix(".tmp"), done)
            print(f"drew {pool.size} pictures: {name}", flush=True)
