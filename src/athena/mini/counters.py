"""Training and testing of the two counters, on renders, on what the autoencoder makes of them, and on estimates."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from athena.mini import captions
from athena.mini.backbones import SD3, SDXL
from athena.mini.counter_nets import CELL, MAP, NETS, UNIT, peaks
from athena.mini.diffusion import alphas
from athena.mini.loop import Plan, device, fit, trained
from athena.mini.pictures import Pictures, to_bytes, to_tensor
from athena.mini.render import SIDE
from athena.mini.text import clip_ids
from athena.mini.vae import white_vae
from athena.mini.words import NOUN_NAMES

PLANS = {
    "mini": Plan("counter-mini", steps=16_000, rate=3e-3, batch=96, seed=21, ema=0.998),
    "mini-judge": Plan("counter-mini-judge", steps=16_000, rate=3e-3, batch=96, seed=22, ema=0.998),
}
THRESHOLD = 0.3
GUIDANCE = 3.0


class Estimates:
    """Clean estimates of noisy latents, as steering sees them; the noise leaves the objects in place."""

    def __init__(self, work: Path, where: torch.device) -> None:
        self.sdxl = trained(work, "mini-sdxl", SDXL()).to(where)
        self.sd3 = trained(work, "mini-sd3", SD3()).to(where)
        self.alphas, self.empty = alphas().to(where), clip_ids([""]).to(where)

    def __call__(self, z: Tensor, lines: Tensor, rng: Generator) -> Tensor:
        """A random one of the two models looks at each half of the batch."""
        level = 0.15 + 0.5 * torch.rand(len(z), generator=rng, device=z.device)
        noise = torch.randn_like(z)
        tokens = {"clip": torch.cat([lines, self.empty.expand(len(z), -1)])}
        half = len(z) // 2
        return torch.cat(
            [self.by_sdxl(z, noise, level, tokens)[:half], self.by_sd3(z, noise, level, tokens)[half:]]
        )

    def by_sdxl(self, z: Tensor, noise: Tensor, level: Tensor, tokens: dict[str, Tensor]) -> Tensor:
        t = (level * 999).round().long()
        a, s = self.alphas[t].sqrt().view(-1, 1, 1, 1), (1 - self.alphas[t]).sqrt().view(-1, 1, 1, 1)
        x = a * z + s * noise
        v = guided(self.sdxl(torch.cat([x, x]), torch.cat([t, t]), tokens))
        return a * x - s * v

    def by_sd3(self, z: Tensor, noise: Tensor, level: Tensor, tokens: dict[str, Tensor]) -> Tensor:
        sigma = level.view(-1, 1, 1, 1)
        x = (1 - sigma) * z + sigma * noise
        return x - sigma * guided(self.sd3(torch.cat([x, x]), torch.cat([level, level]), tokens))


def guided(both: Tensor) -> Tensor:
    """Classifier-free guidance of a prediction whose first half had the caption."""
    with_text, without = both.float().chunk(2)
    return without + GUIDANCE * (with_text - without)


@torch.inference_mode()
def as_seen(pictures: Pictures, name: str, work: Path) -> Tensor:
    """The pool as a counter meets it: a third as drawn, a third rebuilt, a third half-way through sampling."""
    kept = work / f"seen-{name}.pt"
    if kept.exists():
        return torch.load(kept, weights_only=True).to(pictures.pixels.device)  # type: ignore[no-any-return]
    where = pictures.pixels.device
    vae, halfway = white_vae(work).to(where), Estimates(work, where)
    rng = Generator(where).manual_seed(PLANS[name].seed)
    torch.manual_seed(PLANS[name].seed)
    tokens = clip_ids(captions.table()).to(where)
    keys = captions.key(pictures.noun, pictures.count(), pictures.scene)
    pixels = pictures.pixels.clone()
    with torch.autocast(where.type, torch.bfloat16):
        for start in range(0, len(pixels), 192):
            part = slice(start, start + 192)
            z = vae.encode(to_tensor(pixels[part])).latent_dist.mean.float()
            third = len(z) // 3
            z[2 * third :] = halfway(z[2 * third :], tokens[keys[part][2 * third :]], rng)
            pixels[part][third:] = to_bytes(vae.decode(z[third:]).sample)
    torch.save(pixels.cpu(), kept.with_suffix(".tmp"))
    os.replace(kept.with_suffix(".tmp"), kept)
    return pixels


def target(things: Tensor, nouns: Tensor) -> tuple[Tensor, Tensor]:
    """The map a counter should draw (a bump on each centre) and the sizes near the centres, both n x MAP x MAP."""
    grid = (torch.arange(MAP, device=things.device) + 0.5) * CELL
    asked = (things[..., 0] == nouns[:, None])[..., None, None]
    x, y, size = (things[..., i, None, None] for i in (1, 2, 3))
    far = ((grid - x) ** 2 + (grid[:, None] - y) ** 2) / CELL**2
    far = torch.where(asked, far, torch.inf)
    nearest, which = far.min(1)
    sizes = (size / UNIT).expand_as(far).gather(1, which[:, None])[:, 0]
    return torch.exp(-nearest / (2 * 0.9**2)), torch.where(nearest < 6, sizes, 0.0)


class Loss:
    """Focal loss on the centres, L1 on the sizes."""

    def __init__(self, name: str, work: Path) -> None:
        self.pool = Pictures.read(name, work, device())
        self.pixels = as_seen(self.pool, name, work)

    def __call__(self, model: nn.Module, rng: Generator, batch: int) -> Tensor:
        where = self.pixels.device

        def dice(*shape: int) -> Tensor:
            return torch.rand(batch, *shape, generator=rng, device=where)

        picks = torch.randint(len(self.pixels), (batch,), generator=rng, device=where)
        # now and then a noun that is, most likely, not there
        nouns = torch.where(dice() < 0.15, (dice() * len(NOUN_NAMES)).long(), self.pool.noun[picks])
        heat, size = target(self.pool.things[picks], nouns)
        x = to_tensor(self.pixels[picks])
        half = batch // 2
        x, heat, size = (torch.cat([a[:half], a[half:].flip(-1)]) for a in (x, heat, size))
        x = x * (0.9 + 0.2 * dice(1, 1, 1)) + 0.1 * torch.randn(batch, 3, 1, 1, device=where)
        x = x + 0.06 * dice(1, 1, 1) * torch.randn_like(x)
        out = model(x, nouns).float()
        p = out[:, 0].sigmoid()
        focal = (
            F.binary_cross_entropy_with_logits(out[:, 0], heat, reduction="none") * (p - heat).abs() ** 1.5
        )
        near = (size > 0).float()
        off: Tensor = ((out[:, 1] - size).abs() * near).sum() / (near.sum() + 1)
        total: Tensor = focal.sum() / batch / 10 + off
        return total


@torch.inference_mode()
def exactness(net: nn.Module, vae: Any, work: Path) -> dict[str, float]:
    """The share of held-out pictures counted exactly, as drawn and as rebuilt by the autoencoder."""
    where = next(net.parameters()).device
    pool = Pictures.read("held-out", work, where)
    right = {"renders": 0, "rebuilt": 0}
    truth = pool.count().tolist()
    for start in range(0, len(truth), 50):
        part = slice(start, start + 50)
        drawn = to_tensor(pool.pixels[part])
        rebuilt = to_tensor(to_bytes(vae.decode(vae.encode(drawn).latent_dist.mean).sample))
        for key, pictures in (("renders", drawn), ("rebuilt", rebuilt)):
            found = peaks(net(pictures, pool.noun[part]), THRESHOLD)
            right[key] += sum(len(f) == k for f, k in zip(found, truth[part], strict=True))
    return {key: round(value / len(truth), 4) for key, value in right.items()}


def train_counter(name: str, work: Path, minutes: float | None = None) -> None:
    """Trains one counter, from its last checkpoint on."""

    def report(model: nn.Module, work: Path) -> dict[str, Any]:
        return exactness(model, white_vae(work).to(device()), work)

    fit(PLANS[name], work, NETS[name], Loss(name, work), report, minutes)


def package_counter(name: str, work: Path, weights: Path) -> None:
    """Writes one counter as fp16 safetensors, what it knows beside it."""
    net: nn.Module = trained(work, f"counter-{name}", NETS[name]())
    weights.mkdir(parents=True, exist_ok=True)
    state = {
        key: (v.half() if v.is_floating_point() else v).contiguous() for key, v in net.state_dict().items()
    }
    save_file(state, weights / f"{name}.safetensors")
    facts = {"name": name, "nouns": list(NOUN_NAMES), "side": SIDE, "threshold": THRESHOLD}
    (weights / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
