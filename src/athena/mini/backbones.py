"""The three denoisers with their text encoders, each a module that turns captions and noisy latents into a loss."""

from __future__ import annotations

from typing import Any

import torch
from diffusers import FluxTransformer2DModel, SD3Transformer2DModel, UNet2DConditionModel
from torch import Generator, Tensor, nn

from athena.mini.render import SIDE
from athena.mini.text import WIDTH, clip_encoder, clip_tokenizer, t5_encoder, t5_tokenizer
from athena.mini.vae import CHANNELS

GRID = 16  # side of the latent
SHORT = 16  # text tokens of a T5, or zero states in the place of one; max_sequence_length=16 in the presets

LONG = {
    "mini-sd3": 256,
    "mini-flux": 512,
}  # what their pipelines use when not told; seen now and then in training

Tokens = dict[str, Tensor]  # "clip" and "t5", as text.py makes them


class SDXL(nn.Module):
    """A UNet with cross-attention at the low resolution and SDXL's size embedding; predicts v."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenizer = clip_tokenizer()
        self.text_encoder: Any = clip_encoder(projection=False)
        self.text_encoder_2: Any = clip_encoder(projection=True)
        self.unet: Any = UNet2DConditionModel(
            sample_size=GRID,
            in_channels=CHANNELS,
            out_channels=CHANNELS,
            block_out_channels=(64, 128),
            layers_per_block=1,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=1,
            attention_head_dim=(4, 4),
            norm_num_groups=16,
            cross_attention_dim=2 * WIDTH,
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=WIDTH + 6 * 8,
        )
        self.register_buffer(
            "sizes", torch.tensor([[SIDE, SIDE, 0, 0, SIDE, SIDE]]).float(), persistent=False
        )

    def read(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """What the pipeline would hand to the UNet: the states of both encoders, the second's pooled one."""
        ids = tokens["clip"]
        one = self.text_encoder(ids, output_hidden_states=True)
        two = self.text_encoder_2(ids, output_hidden_states=True)
        return torch.cat([one.hidden_states[-2], two.hidden_states[-2]], -1), two.text_embeds

    def forward(self, x: Tensor, t: Tensor, tokens: Tokens) -> Tensor:
        """The prediction for noisy latents at training steps t."""
        states, pooled = self.read(tokens)
        added = {"text_embeds": pooled, "time_ids": self.sizes.expand(len(x), -1)}  # type: ignore[operator]
        out: Tensor = self.unet(x, t, states, added_cond_kwargs=added, return_dict=False)[0]
        return out


class SD3(nn.Module):
    """A small MMDiT; predicts the velocity noise - data."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenizer = clip_tokenizer()
        self.text_encoder: Any = clip_encoder(projection=True)
        self.text_encoder_2: Any = clip_encoder(projection=True)
        self.transformer: Any = SD3Transformer2DModel(
            sample_size=GRID,
            patch_size=2,
            in_channels=CHANNELS,
            out_channels=CHANNELS,
            num_layers=5,
            attention_head_dim=32,
            num_attention_heads=4,
            joint_attention_dim=2 * WIDTH,
            caption_projection_dim=128,
            pooled_projection_dim=2 * WIDTH,
            pos_embed_max_size=GRID,
            qk_norm="rms_norm",
        )

    def read(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """States of both encoders side by side, their pooled outputs side by side."""
        encoders = (self.text_encoder, self.text_encoder_2)
        outs = [encoder(tokens["clip"], output_hidden_states=True) for encoder in encoders]
        states, pooled = [o.hidden_states[-2] for o in outs], [o.text_embeds for o in outs]
        return torch.cat(states, -1), torch.cat(pooled, -1)

    def forward(self, x: Tensor, sigma: Tensor, tokens: Tokens, length: int = SHORT) -> Tensor:
        """The velocity at noise level sigma; `length` zero states stand in for the missing T5, as in the pipeline."""
        states, pooled = self.read(tokens)
        states = torch.cat([states, states.new_zeros(len(x), length, states.shape[-1])], 1)
        out: Tensor = compiled_for(self.transformer, length)(
            x, states, pooled, sigma * 1000, return_dict=False
        )[0]
        return out


class Flux(nn.Module):
    """A small FLUX transformer with guidance as an input; predicts the guided velocity in one pass."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenizer = clip_tokenizer()
        self.tokenizer_2 = t5_tokenizer()
        self.text_encoder: Any = clip_encoder(projection=False)
        self.text_encoder_2: Any = t5_encoder()
        self.transformer: Any = FluxTransformer2DModel(
            patch_size=1,
            in_channels=4 * CHANNELS,
            num_layers=2,
            num_single_layers=4,
            attention_head_dim=32,
            num_attention_heads=4,
            joint_attention_dim=WIDTH,
            pooled_projection_dim=WIDTH,
            guidance_embeds=True,
            axes_dims_rope=(8, 12, 12),
        )
        half = GRID // 2
        rows, columns = torch.meshgrid(torch.arange(half), torch.arange(half), indexing="ij")
        places = torch.stack([torch.zeros_like(rows), rows, columns], -1).reshape(-1, 3)
        self.register_buffer("places", places.float(), persistent=False)

    def read(self, tokens: Tokens, length: int) -> tuple[Tensor, Tensor]:
        """The T5 states, padded to a length, and CLIP's pooled output."""
        ids = nn.functional.pad(tokens["t5"], (0, length - SHORT), value=self.tokenizer_2.pad_token_id)
        return self.text_encoder_2(ids)[0], self.text_encoder(tokens["clip"]).pooler_output

    def forward(
        self, x: Tensor, sigma: Tensor, tokens: Tokens, guidance: Tensor, length: int = SHORT
    ) -> Tensor:
        """The guided velocity at noise level sigma."""
        states, pooled = self.read(tokens, length)
        n, c, h, w = x.shape
        packed = x.view(n, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, h * w // 4, c * 4)
        out: Tensor = compiled_for(self.transformer, length)(
            hidden_states=packed,
            timestep=sigma,
            guidance=guidance,
            pooled_projections=pooled,
            encoder_hidden_states=states,
            txt_ids=torch.zeros(states.shape[1], 3, device=x.device),
            img_ids=self.places,
            return_dict=False,
        )[0]
        return out.view(n, h // 2, w // 2, c, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(n, c, h, w)


def compiled_for(transformer: Any, length: int) -> Any:
    """The transformer as it was compiled, or its plain forward for the rare long texts: no second compilation."""
    return transformer if length == SHORT else transformer.forward


FAMILIES: dict[str, type[nn.Module]] = {"mini-sdxl": SDXL, "mini-sd3": SD3, "mini-flux": Flux}


def noise_levels(batch: int, rng: Generator) -> Tensor:
    """Times 0..1, half of them from the noisier half, where the number of objects is decided."""
    u = torch.rand(batch, generator=rng, device=rng.device)
    noisier = torch.rand(batch, generator=rng, device=rng.device) < 0.5
    return torch.where(noisier, 0.5 + 0.5 * u, u)
