"""The mini counters as ATHENA uses them: pictures and nouns in, boxes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file

from athena.errors import CounterError, UnknownName
from athena.mini.counter_nets import NETS, peaks
from athena.mini.words import NOUN_NAMES, singular

if TYPE_CHECKING:
    from PIL import Image
    from supervision import Detections

WEIGHTS = Path(__file__).parent / "weights" / "counters"


class MiniCounter:
    """Counts the things the mini models draw; `mini` steers, `mini-judge` judges."""

    def __init__(self, name: str, net: torch.nn.Module, side: int, threshold: float) -> None:
        self.name = name
        self.side = side
        self.threshold = threshold
        self._net = net.requires_grad_(False).eval()

    def __call__(self, images: Sequence[Any], nouns: Sequence[str]) -> list[Detections]:
        """The objects of one noun in each picture; nouns in singular or plural."""
        if len(images) != len(nouns):
            raise CounterError(
                f"expected one noun for each image, got {len(images)} images and {len(nouns)} nouns"
            )
        names = [self._known(noun) for noun in nouns]
        if not images:
            return []
        pixels = np.stack([self._pixels(image) for image in images])
        x = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1
        asked = torch.tensor([NOUN_NAMES.index(name) for name in names])
        with torch.inference_mode():
            found = peaks(self._net(x, asked), self.threshold)
        return [self._boxes(*each) for each in zip(found, images, names, asked.tolist(), strict=True)]

    def _known(self, noun: str) -> str:
        name = singular(noun)
        if name is None:
            raise CounterError(
                f'the counter {self.name} cannot see "{noun}". It counts: {", ".join(NOUN_NAMES)}'
            )
        return name

    def _pixels(self, image: Image.Image) -> np.ndarray[Any, Any]:
        from PIL import Image as Pillow

        small = image.convert("RGB")
        if small.size != (self.side, self.side):
            small = small.resize(
                (self.side, self.side),
                Pillow.Resampling.BOX if small.width > self.side else Pillow.Resampling.BICUBIC,
            )
        return np.array(small)

    def _boxes(self, found: torch.Tensor, image: Image.Image, name: str, number: int) -> Detections:
        from athena.counters.boxes import supervision

        x, y, size, confidence = found.numpy().T
        edges = np.stack([x - size / 2, y - size / 2, x + size / 2, y + size / 2], 1).clip(0, self.side)
        across, down = image.width / self.side, image.height / self.side
        seen: Detections = supervision().Detections(
            xyxy=(edges * [across, down, across, down]).astype(np.float32),
            confidence=confidence.astype(np.float32),
            class_id=np.full(len(x), number),
            data={"class_name": np.array([name] * len(x), dtype=str)},
        )
        return seen


@cache
def load_counter(name: str = "mini") -> MiniCounter:
    """One of the two counters, from the packaged weights."""
    if name not in NETS:
        raise UnknownName("mini counter", name, NETS)
    facts = json.loads((WEIGHTS / f"{name}.json").read_text())
    net = NETS[name]()
    net.load_state_dict(load_file(WEIGHTS / f"{name}.safetensors"))
    return MiniCounter(name, net.float(), int(facts["side"]), float(facts["threshold"]))
