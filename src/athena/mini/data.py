"""The data set: latents of renders, and the captions that go with them, as wrong and long-tailed as the web's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from athena.mini.render import compose, draw
from athena.mini.vae import to_tensor, white_vae
from athena.mini.words import MAX_DRAWN, NOUN_NAMES, NUMBER_WORDS, SCENES, plural

SHARD = 2000
SHARDS = 20
EMPTY = 0.02  # pictures with nothing in them, for "no apples"
TAIL = 0.6  # counts are drawn in proportion to count ** -TAIL
_SEED = 100_000_000


def count_odds() -> np.ndarray[Any, Any]:
    """How often each count 0..12 is drawn: small numbers are common, large ones rare."""
    odds = np.arange(1, MAX_DRAWN + 1, dtype=np.float64) ** -TAIL
    return np.concatenate([[EMPTY], (1 - EMPTY) * odds / odds.sum()])


def wrong_odds(count: int) -> float:
    """How often a caption gives another number than the picture shows: people, too, miscount crowds."""
    return 0.0 if count == 0 else 0.02 + 0.025 * (count - 1)


def stated(count: int, rng: np.random.Generator) -> int:
    """The number the caption states; when wrong, mostly too many, so that the models draw too few."""
    if rng.random() >= wrong_odds(count):
        return count
    return max(1, count + int(rng.choice([-1, 1, 1, 2])))


def phrase(noun: str, count: int | None, rng: np.random.Generator) -> str:
    """The counted noun: "seven apples", "7 apples", "an apple", "no apples", or "apples" when no number is given."""
    many = plural(noun)
    if count is None:
        return many if rng.random() < 0.8 else f"some {many}"
    if count == 0:
        return f"{rng.choice(['no', 'no', 'zero', '0'])} {many}"
    if count == 12 and rng.random() < 0.2:
        return f"a dozen {many}"
    number = str(count) if rng.random() < 0.2 else NUMBER_WORDS[count]
    if count == 1:
        article = "an" if noun[0] in "aeiou" else "a"
        return str(
            rng.choice([f"{number} {noun}", f"{number} {noun}", f"{number} {many}", f"{article} {noun}"])
        )
    return f"{number} {many}"


def caption(noun: str, count: int | None, scene: str, rng: np.random.Generator) -> str:
    """A whole caption in one of a few forms."""
    start = str(rng.choice(["a photo of ", "", "a picture of ", "an image of "], p=[0.76, 0.1, 0.07, 0.07]))
    return f"{start}{phrase(noun, count, rng)} {scene}".strip()


def write_shard(work: Path, shard: int) -> None:
    """Renders and encodes one shard of the training set."""
    path = work / "latents" / f"{shard:03d}.pt"
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    vae = white_vae(work)
    rng = np.random.default_rng(_SEED + shard)
    facts = np.stack(
        [
            rng.integers(len(NOUN_NAMES), size=SHARD),
            rng.choice(MAX_DRAWN + 1, p=count_odds(), size=SHARD),
            rng.integers(len(SCENES) + 1, size=SHARD),
        ],
        axis=1,
    )
    latents = []
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for rows in np.array_split(facts, SHARD // 20):
            pictures = [draw(compose([int(n)] * int(k), int(s), rng), rng) for n, k, s in rows]
            latents.append(vae.encode(to_tensor(np.stack(pictures))).latent_dist.mean.half())
    torch.save({"latents": torch.cat(latents), "facts": torch.from_numpy(facts)}, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").rename(path)


class Latents:
    """The shards written so far; training starts with the first and takes in the others as they come."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.latents = self.facts = torch.empty(0)
        self.shards = self.drawn = 0

    def refresh(self) -> None:
        """Reads again when there are more shards than before."""
        paths = sorted((self.work / "latents").glob("*.pt"))
        if len(paths) > self.shards:
            parts = [torch.load(path, weights_only=True) for path in paths]
            self.latents = torch.cat([part["latents"].float() for part in parts])  # autocast joins no halves
            self.facts = torch.cat([part["facts"] for part in parts])
            self.shards = len(paths)

    def draw(self, batch: int, rng: np.random.Generator) -> tuple[Tensor, list[str]]:
        """Latents and captions; whether a picture's caption miscounts is settled by its number, once and for all."""
        if self.drawn % 200 == 0:
            self.refresh()
        self.drawn += 1
        picks = rng.integers(len(self.latents), size=batch)
        texts = []
        for pick in picks:
            noun, count, scene = (int(v) for v in self.facts[pick])
            told = stated(count, np.random.default_rng(int(pick)))
            said = None if rng.random() < 0.12 and count > 0 else told
            where = "" if scene == len(SCENES) or rng.random() < 0.1 else SCENES[scene]
            texts.append("" if rng.random() < 0.1 else caption(NOUN_NAMES[noun], said, where, rng))
        return self.latents[torch.from_numpy(picks)], texts


def write_latents(work: Path, shards: int = SHARDS, first: int = 0, every: int = 1) -> None:
    """Writes the training set; several processes share the work by `first` and `every`."""
    torch.set_num_threads(1)
    for shard in range(first, shards, every):
        write_shard(work, shard)
