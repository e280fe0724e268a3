"""Pipelines around a transformer whose text comes from a language model of its own kind."""

from __future__ import annotations

from types import SimpleNamespace

import diffusers as d
from diffusers import AutoencoderDC, FlowMatchEulerDiscreteScheduler

from . import languages, parts
from .qwen import qwen_vae
from .tokens import glm_tokenizer, qwen_tokenizer, t5_tokenizer


def flow(**more: object) -> FlowMatchEulerDiscreteScheduler:
    return FlowMatchEulerDiscreteScheduler(**{"shift": 3.0, **more})


def vae(**more: object) -> d.AutoencoderKL:
    return parts.vae(scaling_factor=0.3611, shift_factor=0.1159)


def dc_ae() -> AutoencoderDC:
    """4 pixels a latent, not the 32 of the real one."""
    return AutoencoderDC(
        latent_channels=4,
        attention_head_dim=4,
        encoder_block_types=("ResBlock", "ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "ResBlock", "EfficientViTBlock"),
        encoder_block_out_channels=(8, 8, 8),
        decoder_block_out_channels=(8, 8, 8),
        encoder_qkv_multiscales=((), (), (5,)),
        decoder_qkv_multiscales=((), (), (5,)),
        encoder_layers_per_block=(1, 1, 1),
        decoder_layers_per_block=(1, 1, 1),
        downsample_block_type="conv",
        upsample_block_type="interpolate",
        decoder_norm_types="rms_norm",
        decoder_act_fns="silu",
        scaling_factor=0.41407,
    )


HEADS = {"num_attention_heads": 2, "attention_head_dim": 16}


@parts.deterministic
def sana() -> d.SanaPipeline:
    tokenizer = qwen_tokenizer()
    return d.SanaPipeline(
        tokenizer=tokenizer,
        text_encoder=languages.gemma2(tokenizer),
        vae=dc_ae(),
        transformer=parts.liven(
            d.SanaTransformer2DModel(
                in_channels=4,
                out_channels=4,
                num_layers=2,
                **HEADS,
                num_cross_attention_heads=2,
                cross_attention_head_dim=16,
                cross_attention_dim=32,
                caption_channels=32,
                sample_size=8,
            )
        ),
        scheduler=flow(),
    )


@parts.deterministic
def sana_pag() -> d.SanaPAGPipeline:
    return d.SanaPAGPipeline(**sana().components, pag_applied_layers="blocks.1")


@parts.deterministic
def hunyuan() -> d.HunyuanDiTPipeline:
    tokenizer, tokenizer_2 = qwen_tokenizer(), t5_tokenizer()
    return d.HunyuanDiTPipeline(
        vae=parts.vae(scaling_factor=0.13025),
        text_encoder=languages.bert(tokenizer),
        tokenizer=tokenizer,
        transformer=parts.liven(
            d.HunyuanDiT2DModel(
                **HEADS,
                in_channels=4,
                patch_size=2,
                sample_size=8,
                hidden_size=32,
                num_layers=2,
                cross_attention_dim=32,
                cross_attention_dim_t5=32,
                pooled_projection_dim=16,
            ),
            gain=0.7,
        ),
        scheduler=d.DDPMScheduler(
            beta_start=0.00085,
            beta_end=0.02,
            beta_schedule="scaled_linear",
            prediction_type="v_prediction",
            clip_sample=False,
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
        text_encoder_2=parts.t5(tokenizer_2),
        tokenizer_2=tokenizer_2,
    )


@parts.deterministic
def hunyuan_pag() -> d.HunyuanDiTPAGPipeline:
    return d.HunyuanDiTPAGPipeline(
        **hunyuan().components, pag_applied_layers="blocks.1", requires_safety_checker=False
    )


@parts.deterministic
def auraflow() -> d.AuraFlowPipeline:
    tokenizer = t5_tokenizer()
    return d.AuraFlowPipeline(
        tokenizer=tokenizer,
        text_encoder=languages.umt5(tokenizer),
        vae=parts.vae(scaling_factor=0.13025),
        transformer=parts.liven(
            d.AuraFlowTransformer2DModel(
                sample_size=8,
                in_channels=4,
                num_mmdit_layers=1,
                num_single_dit_layers=1,
                **HEADS,
                joint_attention_dim=32,
                caption_projection_dim=32,
                pos_embed_max_size=16,
            )
        ),
        scheduler=flow(shift=1.73),
    )


@parts.deterministic
def lumina() -> d.LuminaPipeline:
    """Time runs the other way; guidance touches three of the four channels."""
    tokenizer = glm_tokenizer()
    return d.LuminaPipeline(
        transformer=parts.liven(
            d.LuminaNextDiT2DModel(
                sample_size=8,
                hidden_size=32,
                num_layers=2,
                num_attention_heads=2,
                num_kv_heads=2,
                multiple_of=16,
                cross_attention_dim=32,
            )
        ),
        scheduler=flow(shift=1.0),
        vae=parts.vae(scaling_factor=0.13025),
        text_encoder=languages.gemma(tokenizer),
        tokenizer=tokenizer,
    )


@parts.deterministic
def lumina2() -> d.Lumina2Pipeline:
    tokenizer = qwen_tokenizer()
    return d.Lumina2Pipeline(
        transformer=parts.liven(
            d.Lumina2Transformer2DModel(
                sample_size=8,
                in_channels=4,
                hidden_size=32,
                num_layers=1,
                num_refiner_layers=1,
                num_attention_heads=2,
                num_kv_heads=2,
                multiple_of=16,
                axes_dim_rope=(8, 4, 4),
                axes_lens=(300, 32, 32),
                cap_feat_dim=32,
            )
        ),
        scheduler=flow(shift=6.0),
        vae=vae(),
        text_encoder=languages.gemma2(tokenizer),
        tokenizer=tokenizer,
    )


@parts.deterministic
def chroma() -> d.ChromaPipeline:
    tokenizer = t5_tokenizer()
    return d.ChromaPipeline(
        scheduler=flow(),
        vae=vae(),
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
        transformer=parts.liven(
            d.ChromaTransformer2DModel(
                in_channels=16,
                num_layers=1,
                num_single_layers=1,
                **HEADS,
                joint_attention_dim=32,
                axes_dims_rope=(4, 4, 8),
                approximator_num_channels=8,
                approximator_hidden_dim=16,
                approximator_layers=1,
            )
        ),
    )


@parts.deterministic
def cogview3() -> d.CogView3PlusPipeline:
    tokenizer = t5_tokenizer()
    return d.CogView3PlusPipeline(
        tokenizer=tokenizer,
        text_encoder=parts.t5(tokenizer),
        vae=parts.vae(scaling_factor=0.13025),
        transformer=parts.liven(
            d.CogView3PlusTransformer2DModel(
                in_channels=4,
                out_channels=4,
                num_layers=2,
                **HEADS,
                text_embed_dim=32,
                time_embed_dim=16,
                condition_dim=8,
                pos_embed_max_size=8,
                sample_size=8,
            )
        ),
        scheduler=d.CogVideoXDDIMScheduler(
            prediction_type="v_prediction", rescale_betas_zero_snr=True, timestep_spacing="trailing"
        ),
    )


def cogview4_parts(in_channels: int = 4) -> dict:
    tokenizer = glm_tokenizer()
    return {
        "tokenizer": tokenizer,
        "text_encoder": languages.glm(tokenizer),
        "vae": parts.vae(scaling_factor=1.0),
        "transformer": parts.liven(
            d.CogView4Transformer2DModel(
                in_channels=in_channels,
                out_channels=4,
                num_layers=2,
                **HEADS,
                text_embed_dim=32,
                time_embed_dim=16,
                condition_dim=8,
                pos_embed_max_size=8,
                sample_size=8,
                rope_axes_dim=(16, 16),
            )
        ),
        "scheduler": flow(
            use_dynamic_shifting=True, base_shift=0.25, max_shift=0.75, time_shift_type="linear"
        ),
    }


@parts.deterministic
def cogview4() -> d.CogView4Pipeline:
    return d.CogView4Pipeline(**cogview4_parts())


@parts.deterministic
def cogview4_control() -> d.CogView4ControlPipeline:
    return d.CogView4ControlPipeline(**cogview4_parts(in_channels=8))


@parts.deterministic
def ovis() -> d.OvisImagePipeline:
    tokenizer = qwen_tokenizer()
    return d.OvisImagePipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=vae(),
        text_encoder=languages.qwen3(tokenizer),
        tokenizer=tokenizer,
        transformer=parts.liven(
            d.OvisImageTransformer2DModel(
                in_channels=16,
                out_channels=16,
                num_layers=1,
                num_single_layers=1,
                **HEADS,
                joint_attention_dim=32,
                axes_dims_rope=(4, 4, 8),
            )
        ),
    )


@parts.deterministic
def prx() -> d.PRXPipeline:
    tokenizer = qwen_tokenizer()
    pipe = d.PRXPipeline(
        transformer=parts.liven(
            d.PRXTransformer2DModel(
                in_channels=4,
                context_in_dim=32,
                hidden_size=32,
                mlp_ratio=2.0,
                num_heads=2,
                depth=2,
                axes_dim=[8, 8],
            )
        ),
        scheduler=flow(),
        text_encoder=languages.t5gemma(tokenizer),
        tokenizer=tokenizer,
        vae=vae(),
    )
    pipe.text_preprocessor = SimpleNamespace(
        basic_clean=str.strip, clean_text=str.strip
    )  # the real one wants ftfy
    return pipe


@parts.deterministic
def krea2() -> d.Krea2Pipeline:
    tokenizer = qwen_tokenizer()
    return d.Krea2Pipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=qwen_vae(),
        text_encoder=languages.qwen3_vl(tokenizer),
        tokenizer=tokenizer,
        transformer=parts.liven(
            d.Krea2Transformer2DModel(
                in_channels=16,
                num_layers=2,
                **HEADS,
                num_key_value_heads=2,
                intermediate_size=32,
                timestep_embed_dim=16,
                text_hidden_dim=32,
                num_text_layers=2,
                text_num_attention_heads=2,
                text_num_key_value_heads=2,
                text_intermediate_size=32,
                num_layerwise_text_blocks=1,
                num_refiner_text_blocks=1,
                axes_dims_rope=(4, 4, 8),
            )
        ),
        text_encoder_select_layers=(1, 2),
    )


def flux2_vae() -> d.AutoencoderKLFlux2:
    return d.AutoencoderKLFlux2(
        block_out_channels=(8, 8, 8, 8),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=64,
    )


def flux2_transformer(guidance_embeds: bool) -> d.Flux2Transformer2DModel:
    return parts.liven(
        d.Flux2Transformer2DModel(
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            **HEADS,
            joint_attention_dim=2 * 32,  # two of the text encoder's layers side by side
            timestep_guidance_channels=16,
            mlp_ratio=2.0,
            axes_dims_rope=(4, 4, 4, 4),
            guidance_embeds=guidance_embeds,
        )
    )


@parts.deterministic
def flux2() -> d.Flux2Pipeline:
    processor = languages.Processor()
    pipe = d.Flux2Pipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=flux2_vae(),
        text_encoder=languages.mistral3(processor.tokenizer),
        tokenizer=processor,
        transformer=flux2_transformer(guidance_embeds=True),
    )
    pipe.system_message = "Describe the image"
    return pipe


@parts.deterministic
def flux2_klein() -> d.Flux2KleinPipeline:
    tokenizer = qwen_tokenizer()
    return d.Flux2KleinPipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=flux2_vae(),
        text_encoder=languages.qwen3_writer(tokenizer),
        tokenizer=tokenizer,
        transformer=flux2_transformer(guidance_embeds=False),
    )


@parts.deterministic
def nucleus() -> d.NucleusMoEImagePipeline:
    """A mixture of experts, each of which chooses its tokens."""
    processor = languages.Processor()
    return d.NucleusMoEImagePipeline(
        transformer=parts.liven(
            d.NucleusMoEImageTransformer2DModel(
                in_channels=16,
                out_channels=4,
                num_layers=2,
                **HEADS,
                num_key_value_heads=2,
                joint_attention_dim=32,
                axes_dims_rope=(4, 4, 8),
                mlp_ratio=2.0,
                dense_moe_strategy="leave_first_block_dense",
                num_experts=4,
                moe_intermediate_dim=16,
                capacity_factors=2.0,
            )
        ),
        scheduler=flow(use_dynamic_shifting=True),
        vae=qwen_vae(),
        text_encoder=languages.qwen3_vl_writer(processor.tokenizer),
        processor=processor,
    )


@parts.deterministic
def qwen21() -> d.QwenImage21Pipeline:
    """Text is read once: its keys and values are kept from the first step on."""
    processor = languages.Processor()
    return d.QwenImage21Pipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=d.AutoencoderKLQwenImage21(
            base_dim=8,
            decoder_base_dim=8,
            z_dim=4,
            dim_mult=[1, 1, 1, 1, 1],
            num_res_blocks=1,
            latents_mean=[0.0] * 4,
            latents_std=[1.0] * 4,
        ),
        text_encoder=languages.qwen3_vl_writer(processor.tokenizer),
        processor=processor,
        transformer=parts.liven(
            d.QwenImage21Transformer2DModel(
                in_channels=4,
                out_channels=4,
                num_layers=2,
                **HEADS,
                context_in_dim=32,
                axes_dims_rope=(4, 4, 8),
            )
        ),
    )


@parts.deterministic
def ideogram() -> d.Ideogram4Pipeline:
    """Guidance by a second network of its own; the text is read layer by layer, at thirteen fixed ones of 36."""
    tokenizer = qwen_tokenizer()

    def transformer() -> d.Ideogram4Transformer2DModel:
        return parts.liven(
            d.Ideogram4Transformer2DModel(
                in_channels=16,
                num_layers=2,
                **HEADS,
                intermediate_size=32,
                adaln_dim=16,
                llm_features_dim=13 * 32,
                mrope_section=(4, 2, 2),
            )
        )

    return d.Ideogram4Pipeline(
        scheduler=flow(shift=1.0),
        vae=flux2_vae(),
        text_encoder=languages.qwen3_vl(tokenizer, layers=36),
        tokenizer=tokenizer,
        transformer=transformer(),
        unconditional_transformer=transformer(),
    )
