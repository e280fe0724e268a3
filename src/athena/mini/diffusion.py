"""Training of the three denoisers: v-prediction, rectified flow, and guidance distilled from a teacher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from athena.mini.backbones import FAMILIES, LONG, SD3, SHORT, noise_levels
from athena.mini.data import Latents
from athena.mini.loop import Plan, device, fit, trained
from athena.mini.package import pipeline
from athena.mini.presets import PRESETS

PLANS = {
    "mini-sdxl": Plan("mini-sdxl", steps=12_000, rate=8e-4, batch=64, seed=11, ema=0.998, compiled="unet"),
    "mini-sd3": Plan(
        "mini-sd3", steps=16_000, rate=1e-3, batch=64, seed=12, ema=0.998, compiled="transformer"
    ),
    "mini-flux": Plan(
        "mini-flux", steps=12_000, rate=1e-3, batch=64, seed=13, ema=0.998, compiled="transformer"
    ),
}
CHECK = (
    "a photo of two apples on the grass", "a photo of three cats", "a photo of five donuts on a table",
    "a photo of seven balloons in the snow", "a photo of four cars on the road", "a photo of six sheep on the grass",
    "a photo of ten mushrooms on the ground", "a photo of one elephant on the beach",
)  # fmt: skip


def alphas() -> Tensor:
    """The noise schedule of SDXL."""
    betas = torch.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2
    return (1 - betas).cumprod(0)


class Loss:
    """The loss of one family."""

    def __init__(self, family: str, work: Path) -> None:
        self.family, self.where = family, device()
        self.data = Latents(work, self.where)
        self.alphas = alphas().to(self.where)
        if family == "mini-flux":
            self.teacher = trained(work, "mini-sd3", SD3()).to(self.where)
            self.teacher.transformer.compile(dynamic=False)

    def __call__(self, model: nn.Module, rng: Generator, batch: int) -> Tensor:
        z, tokens = self.data.draw(batch, rng)
        noise, level = torch.randn_like(z), noise_levels(batch, rng)
        if self.family == "mini-sdxl":
            t = (level * 999).round().long()
            a, s = self.alphas[t].sqrt().view(-1, 1, 1, 1), (1 - self.alphas[t]).sqrt().view(-1, 1, 1, 1)
            return F.mse_loss(model(a * z + s * noise, t, tokens).float(), a * noise - s * z)
        sigma = level.view(-1, 1, 1, 1)
        x, wanted = (1 - sigma) * z + sigma * noise, noise - z
        length = SHORT
        if rng.initial_seed() % 32 == 0:  # long ones are slow, so they are few
            length, part = LONG[self.family], slice(batch // 4)
            x, wanted, level = x[part], wanted[part], level[part]
            tokens = {name: rows[part] for name, rows in tokens.items()}
        if self.family == "mini-sd3":
            return F.mse_loss(model(x, level, tokens, length).float(), wanted)
        guidance = 1 + 4 * torch.rand(len(x), generator=rng, device=self.where)
        return F.mse_loss(
            model(x, level, tokens, guidance, length).float(), self.guided(x, level, tokens, guidance)
        )

    @torch.no_grad()
    def guided(self, x: Tensor, level: Tensor, tokens: dict[str, Tensor], guidance: Tensor) -> Tensor:
        """The teacher's velocity with classifier-free guidance: what one pass of the student must give."""
        empty = self.data.empty(len(x))
        both = {name: torch.cat([rows, empty[name]]) for name, rows in tokens.items()}
        with_text, without = self.teacher(torch.cat([x, x]), torch.cat([level, level]), both).float().chunk(2)
        out: Tensor = without + guidance.view(-1, 1, 1, 1) * (with_text - without)
        return out


def train_backbone(family: str, work: Path, minutes: float | None = None) -> None:
    """Trains one family, from its last checkpoint on; mini-flux needs a trained mini-sd3."""

    def sheet(model: nn.Module, work: Path) -> dict[str, Any]:
        """The unselected sample sheet."""
        pipe = pipeline(family, model, work).to(device())
        pipe.set_progress_bar_config(disable=True)
        own = PRESETS[family]
        size = {"height": own["height"], "width": own["width"], **own["extra"]}
        rows = []
        for seed in range(6):
            generator = [torch.Generator().manual_seed(100 * seed + i) for i in range(len(CHECK))]
            images = pipe(
                list(CHECK), num_inference_steps=25, guidance_scale=3.0, generator=generator, **size
            ).images
            rows.append(np.concatenate([np.asarray(image) for image in images], 1))
        Image.fromarray(np.concatenate(rows, 0)).save(work / f"{family}.png")
        return {}

    fit(PLANS[family], work, FAMILIES[family], Loss(family, work), sheet, minutes)
