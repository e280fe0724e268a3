"""Pipelines around a transformer, text encoded by CLIP and T5."""

from __future__ import annotations

from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel

from . import parts
from .tokens import clip_tokenizer, t5_tokenizer


@parts.deterministic
def flux() -> FluxPipeline:
    tokenizer, tokenizer_2 = clip_tokenizer(), t5_tokenizer()
    return FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True),
        vae=parts.vae(latent_channels=4, scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=parts.clip(tokenizer),
        tokenizer=tokenizer,
        text_encoder_2=parts.t5(tokenizer_2),
        tokenizer_2=tokenizer_2,
        transformer=parts.liven(
            FluxTransformer2DModel(
                in_channels=16,  # 2 x 2 latents of 4 channels
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=32,
                pooled_projection_dim=32,
                guidance_embeds=True,
                axes_dims_rope=(4, 4, 8),
            )
        ),
    )
