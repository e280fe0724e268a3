"""Training of the three denoisers: v-prediction, rectified flow, and guidance distilled from a teacher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from athena.mini.backbones import FAMILIES, SD3, noise_levels
from athena.mini.data import Latents
from athena.mini.loop import Plan, fit, trained
from athena.mini.package import pipeline

PLANS = {
    "mini-sdxl": Plan(
        "mini-sdxl", minutes=35, rate=1e-3, batch=32, seed=11, workers=1, ema=0.9985, compiled="unet"
    ),
    "mini-sd3": Plan(
        "mini-sd3", minutes=30, rate=1e-3, batch=32, seed=12, workers=1, ema=0.9985, compiled="transformer"
    ),
    "mini-flux": Plan(
        "mini-flux", minutes=25, rate=1e-3, batch=32, seed=13, workers=1, ema=0.9985, compiled="transformer"
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


class Trainer:
    """The loss of one family; it opens the data on first use, inside the worker."""

    def __init__(self, family: str, work: Path) -> None:
        self.family, self.work = family, work
        self.data: Latents | None = None
        self.teacher: Any = None
        self.alphas = alphas()

    def __call__(self, model: nn.Module, rng: np.random.Generator, batch: int, progress: float) -> Tensor:
        if self.data is None:
            self.data = Latents(self.work)
        z, texts = self.data.draw(batch, rng)
        noise, level = torch.randn_like(z), noise_levels(batch, rng)
        if self.family == "mini-sdxl":
            t = (level * 999).round().long()
            a, s = self.alphas[t].sqrt().view(-1, 1, 1, 1), (1 - self.alphas[t]).sqrt().view(-1, 1, 1, 1)
            return F.mse_loss(model(a * z + s * noise, t, texts).float(), a * noise - s * z)
        sigma = level.view(-1, 1, 1, 1)
        x, wanted = (1 - sigma) * z + sigma * noise, noise - z
        if self.family == "mini-sd3":
            return F.mse_loss(model(x, level, texts).float(), wanted)
        guidance = torch.from_numpy(rng.uniform(1, 5, batch)).float()
        with torch.no_grad():
            wanted = self._guided(x, level, texts, guidance)
        return F.mse_loss(model(x, level, texts, guidance).float(), wanted)

    def _guided(self, x: Tensor, level: Tensor, texts: list[str], guidance: Tensor) -> Tensor:
        """The teacher's velocity with classifier-free guidance: what one pass of the student must give."""
        if self.teacher is None:
            self.teacher = trained(self.work, "mini-sd3", SD3())
            self.teacher.transformer.compile(dynamic=False)
        both = self.teacher(
            torch.cat([x, x]), torch.cat([level, level]), [*texts, *([""] * len(texts))]
        ).float()
        with_text, without = both.chunk(2)
        out: Tensor = without + guidance.view(-1, 1, 1, 1) * (with_text - without)
        return out


class Sheet:
    """Makes the unselected sample sheet when a run ends."""

    def __init__(self, family: str) -> None:
        self.family = family

    def __call__(self, model: nn.Module, work: Path) -> dict[str, Any]:
        pipe = pipeline(self.family, model, work)
        pipe.set_progress_bar_config(disable=True)
        extra = {"max_sequence_length": 16} if self.family != "mini-sdxl" else {}
        rows = []
        for seed in range(3):
            generator = torch.Generator().manual_seed(seed)
            out = pipe(
                list(CHECK), num_inference_steps=25, guidance_scale=3.0, generator=generator, **extra
            ).images
            rows.append(np.concatenate([np.asarray(image) for image in out], 1))
        Image.fromarray(np.concatenate(rows, 0)).save(work / f"{self.family}.png")
        return {}


def train_backbone(family: str, work: Path, minutes: float | None = None, workers: int | None = None) -> None:
    """Trains one family from its last checkpoint to the end of its plan; mini-flux needs a trained mini-sd3."""
    plan = PLANS[family]
    plan = Plan(**{**plan.__dict__, "minutes": minutes or plan.minutes, "workers": workers or plan.workers})
    fit(plan, work, FAMILIES[family], Trainer(family, work), Sheet(family))
