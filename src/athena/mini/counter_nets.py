"""The two counters' networks: both mark object centres on a map of 32x32 cells, by different roads."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from athena.mini.render import SIDE
from athena.mini.words import NOUN_NAMES

MAP = 32  # cells a side
CELL = SIDE // MAP  # pixels
UNIT = SIDE / 4  # sizes are told in quarters of the picture


def _block(inputs: int, outputs: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.SiLU())


class Asked(nn.Module):
    """Counter `mini`: told the noun, it scales its features by it and marks that noun only."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.start = nn.Sequential(_block(3, 24, stride=2), _block(24, width, stride=2), _block(width, width))
        self.film = nn.ModuleList(nn.Embedding(len(NOUN_NAMES), 2 * width) for _ in range(6))
        self.body = nn.ModuleList(_block(width, width, dilation=d) for d in (1, 2, 3, 1, 2, 1))
        self.end = nn.Conv2d(width, 2, 1)
        nn.init.constant_(self.end.bias, -3.0)  # type: ignore[arg-type]
        for table in self.film:
            nn.init.normal_(table.weight, std=0.1)  # type: ignore[arg-type]

    def forward(self, x: Tensor, nouns: Tensor) -> Tensor:
        """n x 2 x MAP x MAP: the logit of a centre, and the size of the object in units of UNIT pixels."""
        h = self.start(x)
        for table, block in zip(self.film, self.body, strict=True):
            scale, shift = table(nouns)[..., None, None].chunk(2, 1)
            h = h + block(h * (1 + scale) + shift)
        out: Tensor = self.end(h)
        return out


class Everything(nn.Module):
    """Counter `mini-judge`: a small U-shaped net that marks all nouns at once, in one map each."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Sequential(_block(3, 24, stride=2), _block(24, 32, stride=2), _block(32, 32))
        self.two = nn.Sequential(_block(32, 64, stride=2), _block(64, 64), _block(64, 64))
        self.three = nn.Sequential(_block(64, 96, stride=2), _block(96, 96), nn.Conv2d(96, 64, 1))
        self.join = _block(64, 48)
        self.last = nn.Sequential(_block(80, 40), _block(40, 40))
        self.end = nn.Conv2d(40, 2 * len(NOUN_NAMES), 1)
        nn.init.constant_(self.end.bias, -3.0)  # type: ignore[arg-type]

    def forward(self, x: Tensor, nouns: Tensor) -> Tensor:
        """The same answer as the other's, cut out of the maps of all nouns."""
        one = self.one(x)
        two = self.two(one)
        two = two + F.interpolate(self.three(two), scale_factor=2.0)
        up = F.interpolate(self.join(two), scale_factor=2.0, mode="bilinear")
        maps: Tensor = self.end(self.last(torch.cat([one, up], 1)))
        rows = torch.arange(len(x))
        return torch.stack([maps[rows, 2 * nouns], maps[rows, 2 * nouns + 1]], 1)


NETS: dict[str, type[nn.Module]] = {"mini": Asked, "mini-judge": Everything}


def peaks(maps: Tensor, threshold: float) -> list[Tensor]:
    """For each picture, rows of (x, y, size, confidence) in its own pixels, where a centre is a local maximum."""
    sharp = maps[:, :1].float().sigmoid()
    heat = 0.5 * sharp + 0.5 * F.avg_pool2d(sharp, 3, 1, 1, count_include_pad=False)
    top = F.max_pool2d(heat, 5, 1, 2)
    found = []
    for i in range(len(maps)):
        y, x = ((heat[i, 0] == top[i, 0]) & (heat[i, 0] > threshold)).nonzero(as_tuple=True)
        size = maps[i, 1, y, x].float().clamp(0.5, 2.0) * UNIT
        found.append(torch.stack([CELL * (x + 0.5), CELL * (y + 0.5), size, heat[i, 0, y, x]], 1))
    return found
