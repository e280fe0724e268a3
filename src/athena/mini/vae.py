"""The autoencoder all three models share: 128x128 pixels to a 16x16 latent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL
from PIL import Image
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from athena.mini.loop import Plan, device, fit, trained
from athena.mini.pictures import Pictures, to_bytes, to_tensor
from athena.mini.render import SIDE

CHANNELS = 12
PLAN = Plan("vae", steps=16_000, rate=1.5e-3, batch=64, seed=1, compiled="encoder decoder")
DECODER_PLAN = Plan("decoder", steps=6000, rate=7e-4, batch=64, seed=2, compiled="vae.encoder vae.decoder")


def build_vae() -> Any:
    """An untrained AutoencoderKL; narrow where the picture is large, for that is where the time goes."""
    return AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 4,
        up_block_types=["UpDecoderBlock2D"] * 4,
        block_out_channels=(32, 48, 64, 64),
        layers_per_block=1,
        latent_channels=CHANNELS,
        norm_num_groups=8,
        sample_size=SIDE,
        scaling_factor=1.0,
        shift_factor=0.0,
        use_quant_conv=False,
        use_post_quant_conv=False,
        force_upcast=False,  # it decodes in half precision; and SDXL's upcast looks for that convolution
        mid_block_add_attention=False,
    )


def picture_loss(out: Tensor, wanted: Tensor) -> Tensor:
    """L1, squares (what PSNR sees) and L1 of the gradients, which keeps outlines sharp without a second network."""
    out = out.float()
    edges = (out - wanted).diff(dim=-1).abs().mean() + (out - wanted).diff(dim=-2).abs().mean()
    return F.l1_loss(out, wanted) + 4 * F.mse_loss(out, wanted) + 0.5 * edges


class Loss:
    """Reconstruction and a light pull to a unit normal; for the decoder alone, from latents with a little noise."""

    def __init__(self, work: Path, decoder_only: bool = False) -> None:
        self.pictures = Pictures.read("vae", work, device())
        self.decoder_only = decoder_only

    def __call__(self, model: Any, rng: Generator, batch: int) -> Tensor:
        pixels = self.pictures.pixels
        picks = torch.randint(len(pixels), (batch,), generator=rng, device=pixels.device)
        x = to_tensor(pixels[picks])
        x = torch.cat([x[: batch // 2], x[batch // 2 :].flip(-1)])
        if self.decoder_only:
            with torch.no_grad():
                z = model.vae.encode(x).latent_dist.mean
                z = z + 0.05 * torch.randn_like(z)
            return picture_loss(model.vae.decode(z).sample, x)
        latent = model.encode(x).latent_dist
        mean, logvar = latent.mean.float(), latent.logvar.float()
        kl: Tensor = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).mean()
        return picture_loss(model.decode(latent.sample()).sample, x) + 3e-4 * kl


class Decoder(nn.Module):
    """The decoder alone learning on, against a frozen encoder."""

    def __init__(self, vae: nn.Module) -> None:
        super().__init__()
        self.vae = vae
        vae.encoder.requires_grad_(False)


@torch.no_grad()
def quality(vae: Any, work: Path, name: str = "vae") -> dict[str, Any]:
    """Mean PSNR over held-out renders, and a sheet of originals above reconstructions."""
    pictures = Pictures.read("held-out", work, device(), most=512).pixels
    back = torch.cat(
        [
            to_bytes(vae.decode(vae.encode(to_tensor(part)).latent_dist.mean).sample)
            for part in pictures.split(32)
        ]
    )
    error = (pictures.double() - back.double()).square().mean(dim=(1, 2, 3))
    rows = [torch.cat([*part[i : i + 8]], 1) for i in (0, 8, 16) for part in (pictures, back)]
    Image.fromarray(torch.cat(rows).cpu().numpy()).save(work / f"{name}.png")
    return {"psnr": round(float((10 * (255**2 / error).log10()).mean()), 2)}


@torch.no_grad()
def whiten(vae: Any, work: Path) -> None:
    """Folds mean and deviation of each latent channel into the two convolutions around it, so scaling is 1."""
    pictures = Pictures.read("vae", work, torch.device("cpu"), most=512).pixels
    z = torch.cat([vae.encode(to_tensor(part)).latent_dist.mean for part in pictures.split(32)])
    mean, std = z.mean(dim=(0, 2, 3)), z.std(dim=(0, 2, 3))
    end, start = vae.encoder.conv_out, vae.decoder.conv_in
    end.weight[:CHANNELS] /= std[:, None, None, None]
    end.bias[:CHANNELS] = (end.bias[:CHANNELS] - mean) / std
    end.bias[CHANNELS:] -= 2 * std.log()
    # Exact inside the picture; at the border the zero padding now means "mean", which the decoder's last run learns.
    start.bias += (start.weight * mean[None, :, None, None]).sum(dim=(1, 2, 3))
    start.weight *= std[None, :, None, None]
    torch.save(vae.state_dict(), work / "vae-white.pt")


def white_vae(work: Path) -> Any:
    """The autoencoder the latents were made with; its decoder is the newest one trained."""
    vae = _white(work)
    if (work / "decoder.pt").exists():
        trained(work, "decoder", Decoder(vae))
    return vae.requires_grad_(False).eval()


def _white(work: Path) -> Any:
    vae = build_vae()
    vae.load_state_dict(torch.load(work / "vae-white.pt", weights_only=True))
    return vae


def train_vae(work: Path, minutes: float | None = None) -> None:
    """Trains the autoencoder, then whitens its latents."""
    fit(PLAN, work, build_vae, Loss(work), quality, minutes)
    whiten(trained(work, "vae", build_vae()), work)


def train_decoder(work: Path, minutes: float | None = None) -> None:
    """Improves the decoder while the latents stay as they are, so the backbones need not wait for it."""

    def report(model: nn.Module, work: Path) -> dict[str, Any]:
        return quality(model.vae, work, "decoder")

    fit(DECODER_PLAN, work, lambda: Decoder(_white(work)), Loss(work, decoder_only=True), report, minutes)
