"""Pipelines around a transformer whose text comes from CLIP, T5 or both."""

from __future__ import annotations

import torch
from diffusers import (
    DPMSolverMultistepScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    PixArtSigmaPipeline,
    PixArtTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
)

from . import parts
from .tokens import clip_tokenizer, t5_tokenizer


def flux_transformer(**more: object) -> FluxTransformer2DModel:
    return parts.liven(
        FluxTransformer2DModel(
            **{
                "in_channels": 16,  # 2 x 2 latents of 4 channels
                "num_layers": 1,
                "num_single_layers": 1,
                "attention_head_dim": 16,
                "num_attention_heads": 2,
                "joint_attention_dim": 32,
                "pooled_projection_dim": 32,
                "guidance_embeds": True,
                "axes_dims_rope": (4, 4, 8),
                **more,
            }
        )
    )


@parts.deterministic
def flux() -> FluxPipeline:
    tokenizer, tokenizer_2 = clip_tokenizer(), t5_tokenizer()
    return FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True),
        vae=parts.vae(scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=parts.clip(tokenizer),
        tokenizer=tokenizer,
        text_encoder_2=parts.t5(tokenizer_2),
        tokenizer_2=tokenizer_2,
        transformer=flux_transformer(),
    )


@parts.deterministic
def sd3() -> StableDiffusion3Pipeline:
    tokenizer, tokenizer_2, tokenizer_3 = clip_tokenizer(), clip_tokenizer(pad_token="!"), t5_tokenizer()
    return StableDiffusion3Pipeline(
        transformer=parts.liven(
            SD3Transformer2DModel(
                sample_size=8,
                patch_size=2,
                in_channels=4,
                out_channels=4,
                num_layers=2,
                attention_head_dim=16,
                num_attention_heads=2,
                caption_projection_dim=32,
                joint_attention_dim=72,  # T5's width; both CLIPs side by side (64) are padded to it
                pooled_projection_dim=64,
                pos_embed_max_size=16,
                qk_norm="rms_norm",
                dual_attention_layers=(0,),
            )
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=parts.vae(scaling_factor=1.5305, shift_factor=0.0609),
        text_encoder=parts.clip_projected(tokenizer),
        tokenizer=tokenizer,
        text_encoder_2=parts.clip_projected(tokenizer_2),
        tokenizer_2=tokenizer_2,
        text_encoder_3=parts.t5(tokenizer_3, d_model=72),
        tokenizer_3=tokenizer_3,
    )


@parts.deterministic
def pixart() -> PixArtSigmaPipeline:
    tokenizer = t5_tokenizer()
    return PixArtSigmaPipeline(
        tokenizer=tokenizer,
        text_encoder=parts.t5(tokenizer),
        vae=parts.vae(scaling_factor=0.13025),
        transformer=let_noise_through(
            parts.liven(
                PixArtTransformer2DModel(
                    sample_size=8,
                    patch_size=2,
                    in_channels=4,
                    out_channels=8,  # noise and its learned sigma
                    num_layers=2,
                    attention_head_dim=16,
                    num_attention_heads=2,
                    cross_attention_dim=32,
                    caption_channels=32,
                    use_additional_conditions=False,
                ),
                gain=0.7,
            )
        ),
        scheduler=DPMSolverMultistepScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", algorithm_type="dpmsolver++"
        ),
    )


@torch.no_grad()
def let_noise_through(transformer: PixArtTransformer2DModel) -> PixArtTransformer2DModel:
    """Predict the input plus something prompt-dependent: the last layer undoes the first, past the blocks."""
    embed, out = transformer.pos_embed.proj.weight, transformer.proj_out.weight
    width, channels, patch, _ = embed.shape  # and out's rows are (row in patch, column in patch, channel)
    torch.nn.init.orthogonal_(embed.view(width, -1))
    noise_rows = out.view(patch, patch, -1, width)[:, :, :channels]
    noise_rows.mul_(0.3).add_(embed.permute(2, 3, 1, 0) / 2**0.5)
    embed.mul_(3)  # louder than the positions added to it
    return transformer
