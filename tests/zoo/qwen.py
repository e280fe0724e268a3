"""Pipelines whose text comes from a Qwen language model and keeps its own length."""

from __future__ import annotations

from diffusers import (
    AutoencoderKLQwenImage,
    FlowMatchEulerDiscreteScheduler,
    QwenImagePipeline,
    QwenImageTransformer2DModel,
    ZImagePipeline,
    ZImageTransformer2DModel,
)
from transformers import (
    PreTrainedTokenizerBase,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3Config,
    Qwen3Model,
)

from . import parts
from .tokens import qwen_tokenizer


def language_model(tokenizer: PreTrainedTokenizerBase) -> dict:
    ids = {
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 2048,
        **ids,
    }


def qwen_vae() -> AutoencoderKLQwenImage:
    return AutoencoderKLQwenImage(
        base_dim=8,
        z_dim=4,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    )


@parts.deterministic
def qwen() -> QwenImagePipeline:
    """True guidance by a second transformer call; prompts keep their length, padded and masked."""
    tokenizer = qwen_tokenizer()
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 2, 2]}
    vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32}
    return QwenImagePipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(
            use_dynamic_shifting=True,
            time_shift_type="exponential",
            shift_terminal=0.02,
            base_shift=0.5,
            max_shift=0.9,
            max_image_seq_len=8192,
        ),
        vae=qwen_vae(),
        text_encoder=parts.liven(
            Qwen2_5_VLForConditionalGeneration(
                Qwen2_5_VLConfig(
                    text_config={**language_model(tokenizer), "rope_parameters": rope},
                    vision_config=vision,
                    tie_word_embeddings=False,
                )
            )
        ),
        tokenizer=tokenizer,
        transformer=parts.liven(
            QwenImageTransformer2DModel(
                patch_size=2,
                in_channels=16,  # 2 x 2 latents of 4 channels
                out_channels=4,
                num_layers=2,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=32,
                axes_dims_rope=(4, 6, 6),
            )
        ),
    )


def zimage_transformer(**more: object) -> ZImageTransformer2DModel:
    return parts.liven(
        ZImageTransformer2DModel(
            in_channels=4,
            dim=32,
            n_layers=2,
            n_refiner_layers=1,
            n_heads=2,
            n_kv_heads=2,
            cap_feat_dim=32,
            axes_dims=[8, 4, 4],
            axes_lens=[256, 32, 32],
            **more,
        )
    )


@parts.deterministic
def zimage() -> ZImagePipeline:
    """Latents and prompts go into the transformer as lists of tensors, and a list comes back."""
    tokenizer = qwen_tokenizer()
    return ZImagePipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=parts.vae(scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=parts.liven(Qwen3Model(Qwen3Config(**language_model(tokenizer), head_dim=16))),
        tokenizer=tokenizer,
        transformer=zimage_transformer(),
    )
