"""The Kandinsky family: 2.1 and 2.2 are a prior and a decoder in one, 3 is a UNet that reads T5."""

from __future__ import annotations

import diffusers as d
from diffusers.pipelines.kandinsky.text_encoder import MCLIPConfig, MultilingualCLIP
from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModelWithProjection

from . import parts
from .tokens import clip_tokenizer, t5_tokenizer

BETAS = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "linear"}


def movq() -> d.VQModel:
    return d.VQModel(
        block_out_channels=(8, 8, 8, 8),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        latent_channels=4,
        vq_embed_dim=4,
        num_vq_embeddings=8,
        norm_num_groups=4,
        norm_type="group",
    )


def prior() -> dict:
    tokenizer = clip_tokenizer()
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=32,
        projection_dim=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=32,
        patch_size=16,
    )
    return {
        "prior_prior": parts.liven(
            d.PriorTransformer(num_attention_heads=2, attention_head_dim=16, num_layers=1, embedding_dim=32)
        ),
        "prior_image_encoder": parts.liven(CLIPVisionModelWithProjection(vision)),
        "prior_text_encoder": parts.clip_projected(tokenizer),
        "prior_tokenizer": tokenizer,
        "prior_scheduler": d.UnCLIPScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample=True, clip_sample_range=5.0
        ),
        "prior_image_processor": CLIPImageProcessor(crop_size=32, size=32),
    }


def unet(**more: object) -> d.UNet2DConditionModel:
    return parts.liven(
        d.UNet2DConditionModel(
            sample_size=8,
            in_channels=4,
            out_channels=8,  # noise and its learned variance
            block_out_channels=(16, 32),
            down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
            mid_block_type="UNetMidBlock2DSimpleCrossAttn",
            up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
            layers_per_block=1,
            attention_head_dim=4,
            norm_num_groups=4,
            cross_attention_dim=32,
            encoder_hid_dim=32,
            resnet_time_scale_shift="scale_shift",
            **more,
        ),
        gain=0.7,
    )


@parts.deterministic
def kandinsky() -> d.KandinskyCombinedPipeline:
    tokenizer = t5_tokenizer()
    reader = MCLIPConfig(
        transformerDimSize=32,
        imageDimSize=32,
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=128,
        pad_token_id=tokenizer.pad_token_id,
    )
    return d.KandinskyCombinedPipeline(
        text_encoder=parts.liven(MultilingualCLIP(reader)),
        tokenizer=tokenizer,
        unet=unet(
            encoder_hid_dim_type="text_image_proj",
            addition_embed_type="text_image",
            addition_embed_type_num_heads=2,
        ),
        scheduler=d.DDIMScheduler(
            **BETAS, clip_sample=False, set_alpha_to_one=False, prediction_type="epsilon", thresholding=False
        ),
        movq=movq(),
        **prior(),
    )


@parts.deterministic
def kandinsky22() -> d.KandinskyV22CombinedPipeline:
    return d.KandinskyV22CombinedPipeline(
        unet=unet(encoder_hid_dim_type="image_proj", addition_embed_type="image"),
        scheduler=d.DDPMScheduler(**BETAS, variance_type="learned_range", clip_sample=False),
        movq=movq(),
        **prior(),
    )


@parts.deterministic
def kandinsky3() -> d.Kandinsky3Pipeline:
    tokenizer = t5_tokenizer()
    return d.Kandinsky3Pipeline(
        tokenizer=tokenizer,
        text_encoder=parts.t5(tokenizer),
        unet=parts.liven(
            d.Kandinsky3UNet(
                in_channels=4,
                time_embedding_dim=32,
                groups=4,
                attention_head_dim=4,
                layers_per_block=2,
                block_out_channels=(16, 32),
                cross_attention_dim=16,
                encoder_hid_dim=32,
            ),
            gain=0.7,
        ),
        scheduler=d.DDPMScheduler(beta_schedule="squaredcos_cap_v2", clip_sample=False),
        movq=movq(),
    )
