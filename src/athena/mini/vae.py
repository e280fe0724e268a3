"""The autoencoder all three models share: 64x64 pixels to a 16x16 latent of eight channels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import AutoencoderKL
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from athena.mini.loop import Plan, fit, trained
from athena.mini.render import SIDE, compose, draw, render
from athena.mini.words import MAX_DRAWN, NOUN_NAMES, SCENES

CHANNELS = 8
PLAN = Plan("vae", minutes=13, rate=2e-3, batch=4, seed=1)
DECODER_PLAN = Plan("decoder", minutes=5, rate=8e-4, batch=4, seed=2)


def build_vae() -> Any:
    """An untrained AutoencoderKL; narrow where the picture is large, for that is where the time goes."""
    return AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 3,
        up_block_types=["UpDecoderBlock2D"] * 3,
        block_out_channels=(16, 32, 64),
        layers_per_block=1,
        latent_channels=CHANNELS,
        norm_num_groups=8,
        sample_size=SIDE,
        scaling_factor=1.0,
        shift_factor=0.0,
        use_quant_conv=False,
        use_post_quant_conv=False,
        mid_block_add_attention=False,
    )


def to_tensor(pictures: np.ndarray[Any, Any]) -> Tensor:
    """Bytes, n x height x width x 3, to -1..1, n x 3 x height x width."""
    return torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float() / 127.5 - 1


def to_bytes(pictures: Tensor) -> np.ndarray[Any, Any]:
    """The way back from to_tensor."""
    scaled: np.ndarray[Any, Any] = (
        ((pictures.float().clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()
    )
    return scaled


def busy_picture(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A picture for the autoencoder: mostly objects, often of several nouns, as background is soon learned."""
    count = int(rng.integers(1, MAX_DRAWN + 1))
    nouns = rng.integers(len(NOUN_NAMES), size=count)
    if rng.random() < 0.3:
        nouns[:] = nouns[0]
    return draw(compose([int(n) for n in nouns], int(rng.integers(len(SCENES) + 1)), rng), rng)


def picture_loss(out: Tensor, wanted: Tensor) -> Tensor:
    """L1, squares (what PSNR sees) and L1 of the gradients, which keeps outlines sharp without a second network."""
    out = out.float()
    edges = sum((((out - wanted).diff(dim=d)).abs().mean() for d in (-1, -2)), torch.zeros(()))
    return F.l1_loss(out, wanted) + 2 * F.mse_loss(out, wanted) + 0.5 * edges


class Pool:
    """Pictures to draw batches from; each batch brings one new, as drawing them all anew costs a fifth of the time."""

    def __init__(self, size: int = 4000) -> None:
        self.size = size
        self.pictures: list[np.ndarray[Any, Any]] = []

    def draw(self, batch: int, rng: np.random.Generator) -> Tensor:
        """A batch, half of its pictures mirrored."""
        while len(self.pictures) < batch:
            self.pictures.append(busy_picture(rng))
        if len(self.pictures) < self.size:
            self.pictures.append(busy_picture(rng))
        else:
            self.pictures[int(rng.integers(self.size))] = busy_picture(rng)
        picks = [self.pictures[i] for i in rng.integers(len(self.pictures), size=batch)]
        return to_tensor(np.stack([p[:, ::-1] if rng.random() < 0.5 else p for p in picks]))


_pool = Pool()  # one in each worker


def vae_loss(model: nn.Module, rng: np.random.Generator, batch: int, progress: float) -> Tensor:
    """Reconstruction and a light pull towards a unit normal."""
    x = _pool.draw(batch, rng)
    latent = model.encode(x).latent_dist  # type: ignore[operator]
    out = model.decode(latent.sample()).sample  # type: ignore[operator]
    mean, logvar = latent.mean.float(), latent.logvar.float()
    kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).mean()
    total: Tensor = picture_loss(out, x) + 3e-4 * kl
    return total


class Decoder(nn.Module):
    """The decoder alone learning on, against a frozen encoder."""

    def __init__(self, vae: nn.Module) -> None:
        super().__init__()
        self.vae = vae
        vae.encoder.requires_grad_(False)


def decoder_loss(model: nn.Module, rng: np.random.Generator, batch: int, progress: float) -> Tensor:
    """Reconstruction from latents with a little noise, as a sampler leaves some behind."""
    x = _pool.draw(batch, rng)
    vae: Any = model.vae
    with torch.no_grad():
        z = vae.encode(x).latent_dist.mean
        z = z + 0.05 * torch.randn_like(z)
    return picture_loss(vae.decode(z).sample, x)


def held_out(count: int, seed: int = 900_000_000) -> np.ndarray[Any, Any]:
    """Renders no training run has seen: their seeds are far from all others."""
    return np.stack([render(seed + i)[0] for i in range(count)])


@torch.no_grad()
def quality(vae: Any, work: Path, name: str = "vae") -> dict[str, Any]:
    """Mean PSNR over held-out renders, and a sheet of originals above reconstructions."""
    pictures = held_out(256)
    seen = [
        to_bytes(vae.decode(vae.encode(part).latent_dist.mean).sample)
        for part in to_tensor(pictures).split(16)
    ]
    back = np.concatenate(seen)
    error = ((pictures.astype(np.float64) - back) ** 2).mean(axis=(1, 2, 3))
    rows = [np.concatenate(list(part[i : i + 8]), 1) for i in (0, 8, 16) for part in (pictures, back)]
    Image.fromarray(np.concatenate(rows, 0)).save(work / f"{name}.png")
    return {"psnr": round(float((10 * np.log10(255**2 / error)).mean()), 2)}


@torch.no_grad()
def whiten(vae: Any, work: Path) -> Any:
    """Folds mean and deviation of each latent channel into the two convolutions around it, so scaling is 1."""
    x = to_tensor(np.stack([render(800_000_000 + i)[0] for i in range(512)]))
    z = torch.cat([vae.encode(part).latent_dist.mean for part in x.split(16)])
    mean, std = z.mean(dim=(0, 2, 3)), z.std(dim=(0, 2, 3))
    end, start = vae.encoder.conv_out, vae.decoder.conv_in
    end.weight[:CHANNELS] /= std[:, None, None, None]
    end.bias[:CHANNELS] = (end.bias[:CHANNELS] - mean) / std
    end.bias[CHANNELS:] -= 2 * std.log()
    # Exact inside the picture; at the border the zero padding now means "mean", which the decoder's last run learns.
    start.bias += (start.weight * mean[None, :, None, None]).sum(dim=(1, 2, 3))
    start.weight *= std[None, :, None, None]
    torch.save(vae.state_dict(), work / "vae-white.pt")
    return vae


def white_vae(work: Path) -> Any:
    """The autoencoder the latents were made with; its decoder is the newest one trained."""
    vae = build_vae()
    vae.load_state_dict(torch.load(work / "vae-white.pt", weights_only=True))
    if (work / "decoder.pt").exists():
        trained(work, "decoder", Decoder(vae))
    return vae.requires_grad_(False).eval()


def _white_decoder(work: Path) -> Decoder:
    vae = build_vae()
    vae.load_state_dict(torch.load(work / "vae-white.pt", weights_only=True))
    return Decoder(vae)


def train_vae(work: Path, minutes: float | None = None, workers: int = 2) -> None:
    """Trains the autoencoder, then whitens its latents."""
    plan = Plan(**{**PLAN.__dict__, "minutes": minutes or PLAN.minutes, "workers": workers})
    fit(plan, work, build_vae, vae_loss, quality)
    whiten(trained(work, "vae", build_vae()), work)


def _decoder_quality(model: nn.Module, work: Path) -> dict[str, Any]:
    return quality(model.vae, work, "decoder")


class _Start:
    """Picklable builder, as the workers are processes of their own."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def __call__(self) -> nn.Module:
        return _white_decoder(self.work)


def train_decoder(work: Path, minutes: float | None = None, workers: int = 1) -> None:
    """Improves the decoder while the latents stay as they are, so the backbones need not wait for it."""
    plan = Plan(**{**DECODER_PLAN.__dict__, "minutes": minutes or DECODER_PLAN.minutes, "workers": workers})
    fit(plan, work, _Start(work), decoder_loss, _decoder_quality)
