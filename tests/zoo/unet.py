"""Pipelines around a UNet."""

from __future__ import annotations

import torch
from diffusers import (
    DDIMScheduler,
    EulerDiscreteScheduler,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)

from . import parts
from .tokens import clip_tokenizer

# Stable Diffusion's training schedule, as published.
BETAS = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "steps_offset": 1}


def unet(**more: object) -> UNet2DConditionModel:
    return let_noise_through(
        parts.liven(
            UNet2DConditionModel(
                block_out_channels=(16, 32),
                down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
                layers_per_block=1,
                sample_size=8,
                attention_head_dim=4,
                norm_num_groups=4,
                **more,
            )
        )
    )


@torch.no_grad()
def let_noise_through(unet: UNet2DConditionModel) -> UNet2DConditionModel:
    """Predict the normalised input plus something prompt-dependent: samples end near unit scale, not at 30.

    The input travels as (x, -x) over the outermost skip connection, and silu(x) - silu(-x) = x at the end.
    """
    width = unet.config.block_out_channels[0]
    eye = torch.eye(4)
    skip = unet.up_blocks[-1].resnets[-1].conv_shortcut
    for layer in (unet.conv_in, skip):
        layer.weight[:8] = 0
        layer.bias[:8] = 0
    unet.conv_in.weight[:8, :, 1, 1] = torch.cat([eye, -eye])
    skip.weight[:8, width : width + 8, 0, 0] = torch.eye(8)
    unet.conv_out.weight *= 0.3
    unet.conv_out.weight[:, :8, 1, 1] += torch.cat([eye, -eye], dim=1)
    return unet


@parts.deterministic
def sd15() -> StableDiffusionPipeline:
    tokenizer = clip_tokenizer()
    return StableDiffusionPipeline(
        vae=parts.vae(scaling_factor=0.18215),
        text_encoder=parts.clip(tokenizer),
        tokenizer=tokenizer,
        unet=unet(cross_attention_dim=32),
        scheduler=DDIMScheduler(**BETAS, clip_sample=False, set_alpha_to_one=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


@parts.deterministic
def sdxl() -> StableDiffusionXLPipeline:
    tokenizer, tokenizer_2 = clip_tokenizer(), clip_tokenizer(pad_token="!")
    return StableDiffusionXLPipeline(
        vae=parts.vae(scaling_factor=0.13025),
        text_encoder=parts.clip(tokenizer),
        text_encoder_2=parts.clip_projected(tokenizer_2),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer_2,
        unet=unet(
            cross_attention_dim=64,  # both text encoders side by side
            transformer_layers_per_block=(1, 2),
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=32 + 6 * 8,  # pooled text and six sizes
        ),
        scheduler=EulerDiscreteScheduler(**BETAS, timestep_spacing="leading"),
        add_watermarker=False,
    )
