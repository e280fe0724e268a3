"""Training and testing of the two counters, on renders, on what the autoencoder makes of them, and on estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from athena.mini.backbones import SDXL
from athena.mini.counter_nets import MAP, NETS, peaks
from athena.mini.data import caption
from athena.mini.diffusion import alphas
from athena.mini.loop import Plan, fit, trained
from athena.mini.render import SIDE, Scene, compose, draw
from athena.mini.vae import to_bytes, to_tensor, white_vae
from athena.mini.words import MAX_DRAWN, NOUN_NAMES, SCENES

PLANS = {
    "mini": Plan("counter-mini", minutes=5, rate=3e-3, batch=16, seed=21, workers=1, ema=0.99, bf16=False),
    "mini-judge": Plan(
        "counter-mini-judge", minutes=5, rate=3e-3, batch=16, seed=22, workers=1, ema=0.99, bf16=False
    ),
}
POOLS = {"mini": 300_000_000, "mini-judge": 400_000_000}
POOL = 7500
THRESHOLD = 0.3


def scene_with_others(rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], Scene, int]:
    """A picture, its layout and the noun to ask for; in 4 of 10, other nouns are among the objects."""
    noun, count = int(rng.integers(len(NOUN_NAMES))), int(rng.integers(0, MAX_DRAWN + 1))
    nouns = [noun] * count
    if rng.random() < 0.4:
        others = int(rng.integers(1, 5))
        nouns = (nouns + [int(n) for n in rng.integers(len(NOUN_NAMES), size=others)])[: MAX_DRAWN + 2]
    layout = compose(nouns, int(rng.integers(len(SCENES) + 1)), rng)
    return draw(layout, rng), layout, noun


def target(layout: Scene, noun: int) -> tuple[Tensor, Tensor]:
    """The map a counter should draw (a bump on each centre) and the sizes near the centres, in units of 16 pixels."""
    grid = torch.arange(MAP) * 1.0
    heat, sizes = torch.zeros(MAP, MAP), torch.zeros(MAP, MAP)
    for thing in layout.things:
        if thing.noun != noun:
            continue
        x, y = (
            (thing.x - 2) / 4,
            (thing.y - 2) / 4,
        )  # canvas pixels to cells; a cell's centre is at its middle
        far = (grid[None] - x) ** 2 + (grid[:, None] - y) ** 2
        heat = torch.maximum(heat, torch.exp(-far / (2 * 0.9**2)))
        sizes = torch.where(far < 6, torch.tensor(thing.size / 32), sizes)
    return heat, sizes


class Trainer:
    """Focal loss on the centres, L1 on the sizes."""

    def __init__(self, name: str, work: Path) -> None:
        self.name, self.work = name, work
        self.pictures = torch.empty(0)
        self.scenes: list[tuple[Scene, int]] = []

    def fill(self) -> None:
        """Makes the pool of pictures, or reads it."""
        kept = self.work / f"pool-{self.name}.pt"
        if kept.exists():
            self.pictures, self.scenes = torch.load(kept, weights_only=False)
            return
        rng = np.random.default_rng(POOLS[self.name])
        made = [scene_with_others(rng) for _ in range(POOL)]
        self.scenes = [(layout, noun) for _, layout, noun in made]
        x = to_tensor(np.stack([picture for picture, _, _ in made]))
        vae = white_vae(self.work)
        # a third stays as drawn, a third is rebuilt, a third is what a model half-way through sampling would show
        halfway = Estimates(self.work)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            for start in range(POOL // 3, POOL, 50):
                z = vae.encode(x[start : start + 50]).latent_dist.mean.float()
                if start >= 2 * POOL // 3:
                    z = halfway(z, self.scenes[start : start + 50], rng)
                x[start : start + 50] = vae.decode(z).sample.float().clamp(-1, 1)
        self.pictures = (x * 127).to(torch.int8)
        torch.save((self.pictures, self.scenes), kept)

    def __call__(self, model: nn.Module, rng: np.random.Generator, batch: int, progress: float) -> Tensor:
        picks = rng.integers(POOL, size=batch)
        asked = []
        heats, sizes = [], []
        for pick in picks:
            layout, noun = self.scenes[pick]
            if rng.random() < 0.15:  # a noun that is, most likely, not there
                noun = int(rng.integers(len(NOUN_NAMES)))
            asked.append(noun)
            heat, size = target(layout, noun)
            heats.append(heat)
            sizes.append(size)
        x = self.pictures[torch.from_numpy(picks)].float() / 127
        heat, size = torch.stack(heats), torch.stack(sizes)
        if rng.random() < 0.5:
            x, heat, size = x.flip(-1), heat.flip(-1), size.flip(-1)
        x = x * (0.9 + 0.2 * torch.rand(batch, 1, 1, 1)) + 0.1 * torch.randn(batch, 3, 1, 1)
        x = x + 0.06 * torch.rand(batch, 1, 1, 1) * torch.randn_like(x)
        out = model(x, torch.tensor(asked)).float()
        p = out[:, 0].sigmoid()
        focal = (
            F.binary_cross_entropy_with_logits(out[:, 0], heat, reduction="none") * (p - heat).abs() ** 1.5
        )
        near = (size > 0).float()
        total: Tensor = focal.sum() / batch / 10 + ((out[:, 1] - size).abs() * near).sum() / (near.sum() + 1)
        return total


class Estimates:
    """Clean estimates of noisy latents by mini-sdxl, as steering sees them; the noise leaves the objects in place."""

    def __init__(self, work: Path) -> None:
        self.model = trained(work, "mini-sdxl", SDXL())
        self.alphas = alphas()

    def __call__(self, z: Tensor, scenes: list[tuple[Scene, int]], rng: np.random.Generator) -> Tensor:
        texts = [describe(layout, noun, rng) for layout, noun in scenes]
        t = torch.from_numpy(rng.integers(150, 650, size=len(z)))
        a, s = self.alphas[t].sqrt().view(-1, 1, 1, 1), (1 - self.alphas[t]).sqrt().view(-1, 1, 1, 1)
        x = a * z + s * torch.from_numpy(rng.standard_normal(z.shape)).float()
        with_text, without = self.model(
            torch.cat([x, x]), torch.cat([t, t]), [*texts, *([""] * len(texts))]
        ).float().chunk(2)  # fmt: skip
        v = without + 3.0 * (with_text - without)
        clean: Tensor = a * x - s * v
        return clean


def describe(layout: Scene, noun: int, rng: np.random.Generator) -> str:
    """A caption that is true of the counted noun."""
    where = "" if layout.scene == len(SCENES) else SCENES[layout.scene]
    return caption(NOUN_NAMES[noun], layout.count(noun), where, rng)


@torch.no_grad()
def exactness(net: nn.Module, vae: Any, count: int = 2000) -> dict[str, float]:
    """The share of held-out pictures counted exactly, as drawn and as rebuilt by the autoencoder."""
    rng = np.random.default_rng(900_000_001)
    made = [scene_with_others(rng) for _ in range(count)]
    nouns = torch.tensor([noun for _, _, noun in made])
    truth = [layout.count(noun) for _, layout, noun in made]
    x = to_tensor(np.stack([picture for picture, _, _ in made]))
    right = {"renders": 0, "rebuilt": 0}
    for part, asked, wanted in zip(
        x.split(50), nouns.split(50), np.array_split(truth, count // 50), strict=True
    ):
        rebuilt = to_tensor(to_bytes(vae.decode(vae.encode(part).latent_dist.mean).sample))
        for key, pictures in (("renders", part), ("rebuilt", rebuilt)):
            found = peaks(net(pictures, asked), THRESHOLD)
            right[key] += sum(len(f) == int(w) for f, w in zip(found, wanted, strict=True))
    return {key: round(value / count, 4) for key, value in right.items()}


class Report:
    """Tests a counter when its run ends."""

    def __call__(self, model: nn.Module, work: Path) -> dict[str, Any]:
        return exactness(model, white_vae(work))


def train_counter(name: str, work: Path, minutes: float | None = None) -> None:
    """Trains one counter from its last checkpoint to the end of its plan."""
    plan = PLANS[name]
    plan = Plan(**{**plan.__dict__, "minutes": minutes or plan.minutes})
    trainer = Trainer(name, work)
    trainer.fill()  # before the clock of the plan starts
    fit(plan, work, NETS[name], trainer, Report())


def package_counter(name: str, work: Path, weights: Path) -> None:
    """Writes one counter as fp16 safetensors, what it knows beside it."""
    net = trained(work, f"counter-{name}", NETS[name]())
    weights.mkdir(parents=True, exist_ok=True)
    state = {
        key: (v.half() if v.is_floating_point() else v).contiguous() for key, v in net.state_dict().items()
    }
    save_file(state, weights / f"{name}.safetensors")
    facts = {"name": name, "nouns": list(NOUN_NAMES), "side": SIDE, "threshold": THRESHOLD}
    (weights / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
