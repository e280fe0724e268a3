"""A pool of renders in memory, as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from athena.mini.pools import MOST


@dataclass
class Pictures:
    """A pool in memory: bytes n x side x side x 3, noun asked for, scene, things n x MOST x (noun, x, y, size)."""

    pixels: Tensor
    noun: Tensor
    scene: Tensor
    things: Tensor

    @classmethod
    def read(cls, pool: str, work: Path, where: torch.device, most: int | None = None) -> Pictures:
        facts = torch.from_numpy(np.load(work / f"{pool}.facts.npy")[:most])
        pixels = torch.from_numpy(np.load(work / f"{pool}.npy", mmap_mode="c")[:most])
        things = facts[:, 2:].view(len(facts), MOST, 4)
        return cls(
            pixels.to(where), facts[:, 0].long().to(where), facts[:, 1].long().to(where), things.to(where)
        )

    def count(self) -> Tensor:
        """How many of the asked noun each picture holds."""
        return (self.things[..., 0] == self.noun[:, None]).sum(1)


def to_tensor(pictures: Tensor) -> Tensor:
    """Bytes, n x height x width x 3, to -1..1, n x 3 x height x width."""
    return pictures.permute(0, 3, 1, 2).float() / 127.5 - 1


def to_bytes(pictures: Tensor) -> Tensor:
    """The way back from to_tensor."""
    return ((pictures.float().clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1)
