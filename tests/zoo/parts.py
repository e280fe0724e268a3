"""Parts the tiny pipelines share: the seeded build, lively weights, a VAE and the text encoders."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TypeVar

import torch
from diffusers import AutoencoderKL, DiffusionPipeline
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    PreTrainedTokenizerBase,
    T5Config,
    T5EncoderModel,
)

Pipe = TypeVar("Pipe", bound=DiffusionPipeline)
Module = TypeVar("Module", bound=torch.nn.Module)


def deterministic(build: Callable[[], Pipe]) -> Callable[[], Pipe]:
    """Build the same pipeline each time, quiet, for evaluation, and leave the global random state alone."""

    @functools.wraps(build)
    def seeded() -> Pipe:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            pipe = build()
        for component in pipe.components.values():
            if isinstance(component, torch.nn.Module):
                component.eval().requires_grad_(False)
        pipe.set_progress_bar_config(disable=True)
        return pipe

    return seeded


def liven(module: Module, gain: float = 1.0) -> Module:
    """Redraw every weight, std gain / sqrt(fan_in): fresh DiTs end in zeros and would ignore their prompt."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if weight.ndim >= 2 and weight.numel():
                weight.normal_(0, gain / math.sqrt(weight[0].numel()))
            elif "norm" not in name:
                weight.normal_(0, 0.02)
    return module


def vae(scaling_factor: float, shift_factor: float | None = None) -> AutoencoderKL:
    """8 pixels per latent, as in the real ones; those for flow matching shift the latents too."""
    return AutoencoderKL(
        block_out_channels=(8, 8, 8, 8),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=64,
        scaling_factor=scaling_factor,
        shift_factor=shift_factor,
        use_quant_conv=shift_factor is None,
        use_post_quant_conv=shift_factor is None,
    )


def clip_config(tokenizer: PreTrainedTokenizerBase, hidden_size: int = 32, **more: object) -> CLIPTextConfig:
    return CLIPTextConfig(
        hidden_size=hidden_size,
        intermediate_size=2 * hidden_size,
        projection_dim=hidden_size,
        num_attention_heads=4,
        num_hidden_layers=3,
        max_position_embeddings=77,
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **more,
    )


def clip(tokenizer: PreTrainedTokenizerBase, **more: object) -> CLIPTextModel:
    return liven(CLIPTextModel(clip_config(tokenizer, **more)))


def clip_projected(tokenizer: PreTrainedTokenizerBase, **more: object) -> CLIPTextModelWithProjection:
    return liven(CLIPTextModelWithProjection(clip_config(tokenizer, **more)))


def t5(tokenizer: PreTrainedTokenizerBase, d_model: int = 32) -> T5EncoderModel:
    return liven(
        T5EncoderModel(
            T5Config(
                vocab_size=len(tokenizer),
                d_model=d_model,
                d_kv=8,
                d_ff=64,
                num_layers=2,
                num_heads=4,
                feed_forward_proj="gated-gelu",
                dropout_rate=0.0,
            )
        )
    )
