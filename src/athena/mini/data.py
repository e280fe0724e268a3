"""The training set: latents of renders, and for each the tokens of one of its captions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from athena.mini import captions
from athena.mini.loop import device
from athena.mini.pictures import Pictures, to_tensor
from athena.mini.text import clip_ids, t5_ids
from athena.mini.vae import white_vae
from athena.mini.words import SCENES


@torch.inference_mode()
def write_latents(work: Path) -> None:
    """Encodes the training pictures, and their mirror images."""
    path = work / "latents.pt"
    if path.exists():
        return
    where = device()
    vae = white_vae(work).to(where, memory_format=torch.channels_last)
    pixels = Pictures.read("train", work, torch.device("cpu")).pixels
    parts = []
    with torch.autocast(where.type, torch.bfloat16):
        for part in pixels.split(200):
            x = to_tensor(part.to(where))
            z = vae.encode(torch.cat([x, x.flip(-1)])).latent_dist.mean
            parts.append(z.half().unflatten(0, (2, len(part))).transpose(0, 1).cpu())
    torch.save(torch.cat(parts), path.with_suffix(".tmp"))
    os.replace(path.with_suffix(".tmp"), path)


class Latents:
    """Draws batches of latents with the tokens of their captions, all on the device."""

    def __init__(self, work: Path, where: torch.device) -> None:
        self.latents = torch.load(work / "latents.pt", weights_only=True).to(where)
        cpu = torch.device("cpu")
        facts = Pictures.read("train", work, cpu)
        told = captions.stated(facts.noun.numpy(), facts.count().numpy(), seed=7)
        self.noun, self.scene = facts.noun.to(where), facts.scene.to(where)
        self.told = torch.from_numpy(told).to(where)
        texts = captions.table()
        self.tokens: dict[str, Tensor] = {
            "clip": clip_ids(texts).short().to(where),
            "t5": t5_ids(texts).short().to(where),
        }

    def draw(self, batch: int, rng: Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Of the captions 12% give no number, 10% no scene, and 10% are dropped whole."""
        where = self.latents.device

        def dice() -> Tensor:
            return torch.rand(batch, generator=rng, device=where)

        picks = torch.randint(len(self.latents), (batch,), generator=rng, device=where)
        z = self.latents[picks, (dice() < 0.5).long()].float()
        told, scene = self.told[picks], self.scene[picks]
        told = torch.where((dice() < 0.12) & (told > 0), captions.SAID + 1, told)
        scene = torch.where(dice() < 0.1, len(SCENES), scene)
        lines = captions.key(self.noun[picks], told, scene) + (dice() * captions.FORMS).long()
        lines = torch.where(dice() < 0.1, len(self.tokens["clip"]) - 1, lines)
        return z, {name: table[lines].long() for name, table in self.tokens.items()}

    def empty(self, batch: int) -> dict[str, Tensor]:
        """The tokens of no caption at all."""
        return {name: table[-1:].long().expand(batch, -1) for name, table in self.tokens.items()}


def tokens(texts: list[str], where: Any = "cpu") -> dict[str, Tensor]:
    """Captions as both tokenizers read them."""
    return {"clip": clip_ids(texts).to(where), "t5": t5_ids(texts).to(where)}
