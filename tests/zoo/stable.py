"""Relatives of Stable Diffusion and SDXL: ControlNets, perturbed attention, latent consistency, pixels."""

from __future__ import annotations

import diffusers as d
import torch

from . import parts
from .tokens import chatglm_tokenizer, t5_tokenizer
from .unet import BETAS, sd15, sdxl, unet

MID = {"pag_applied_layers": "mid"}


def controlnet(net: d.UNet2DConditionModel) -> d.ControlNetModel:
    made = d.ControlNetModel.from_unet(net, conditioning_embedding_out_channels=(8, 8, 8, 8))
    parts.liven(
        parts.liven(made, 0.3).controlnet_cond_embedding, 2.0
    )  # its picture is seen through eight layers
    return made


@parts.deterministic
def sd_pag() -> d.StableDiffusionPAGPipeline:
    return d.StableDiffusionPAGPipeline(**sd15().components, **MID, requires_safety_checker=False)


@parts.deterministic
def sd_controlnet() -> d.StableDiffusionControlNetPipeline:
    base = sd15()
    return d.StableDiffusionControlNetPipeline(
        **base.components, controlnet=controlnet(base.unet), requires_safety_checker=False
    )


@parts.deterministic
def sd_controlnet_pag() -> d.StableDiffusionControlNetPAGPipeline:
    base = sd15()
    return d.StableDiffusionControlNetPAGPipeline(
        **base.components, controlnet=controlnet(base.unet), **MID, requires_safety_checker=False
    )


@parts.deterministic
def lcm() -> d.LatentConsistencyModelPipeline:
    """Distilled: guidance is an embedding, and the last step's own clean estimate is the image."""
    base = sd15()
    return d.LatentConsistencyModelPipeline(
        **{
            **base.components,
            "unet": unet(cross_attention_dim=32, time_cond_proj_dim=8),
            "scheduler": d.LCMScheduler(**BETAS),
        },
        requires_safety_checker=False,
    )


@parts.deterministic
def sdxl_pag() -> d.StableDiffusionXLPAGPipeline:
    return d.StableDiffusionXLPAGPipeline(**sdxl().components, **MID, add_watermarker=False)


@parts.deterministic
def sdxl_controlnet() -> d.StableDiffusionXLControlNetPipeline:
    base = sdxl()
    return d.StableDiffusionXLControlNetPipeline(
        **base.components, controlnet=controlnet(base.unet), add_watermarker=False
    )


@parts.deterministic
def sdxl_controlnet_pag() -> d.StableDiffusionXLControlNetPAGPipeline:
    base = sdxl()
    return d.StableDiffusionXLControlNetPAGPipeline(
        **base.components, controlnet=controlnet(base.unet), **MID, add_watermarker=False
    )


@parts.deterministic
def sdxl_controlnet_union() -> d.StableDiffusionXLControlNetUnionPipeline:
    base = sdxl()
    taken = dict(base.unet.config)
    same = (
        "block_out_channels layers_per_block attention_head_dim norm_num_groups cross_attention_dim down_block_types "
        "transformer_layers_per_block use_linear_projection addition_embed_type addition_time_embed_dim "
        "projection_class_embeddings_input_dim"
    )
    union = d.ControlNetUnionModel(
        **{name: taken[name] for name in same.split()},
        conditioning_embedding_out_channels=(8, 8, 8, 8),
        num_trans_channel=16,
        num_trans_head=2,
        num_proj_channel=16,
    )
    return d.StableDiffusionXLControlNetUnionPipeline(
        **base.components, controlnet=parts.liven(union, 0.3), add_watermarker=False
    )


@parts.deterministic
def deepfloyd() -> d.IFPipeline:
    """Denoises pixels: there is no VAE, and no latents to ask for."""
    tokenizer = t5_tokenizer()
    net = d.UNet2DConditionModel(
        sample_size=8,
        in_channels=3,
        out_channels=6,  # noise and its learned variance
        block_out_channels=(16, 32),
        down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
        mid_block_type="UNetMidBlock2DSimpleCrossAttn",
        up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        layers_per_block=1,
        attention_head_dim=4,
        norm_num_groups=4,
        cross_attention_dim=32,
        encoder_hid_dim=32,
        addition_embed_type="text",
        addition_embed_type_num_heads=2,
        resnet_time_scale_shift="scale_shift",
    )
    return d.IFPipeline(
        tokenizer=tokenizer,
        text_encoder=parts.t5(tokenizer),
        unet=parts.liven(net, 0.7),
        scheduler=d.DDPMScheduler(
            beta_schedule="squaredcos_cap_v2",
            variance_type="learned_range",
            thresholding=True,
            dynamic_thresholding_ratio=0.95,
            sample_max_value=1.5,
        ),
        safety_checker=None,
        feature_extractor=None,
        watermarker=None,
        requires_safety_checker=False,
    )


def chatglm_unet() -> d.UNet2DConditionModel:
    return unet(
        cross_attention_dim=32,
        encoder_hid_dim=32,
        encoder_hid_dim_type="text_proj",
        transformer_layers_per_block=(1, 2),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=32 + 6 * 8,
    )


def with_norms(reader: torch.nn.Module) -> torch.nn.Module:
    """ChatGLM leaves its norms as memory happened to be."""
    for name, weight in reader.named_parameters():
        if weight.ndim == 1 and "norm" in name:
            torch.nn.init.ones_(weight)
    return reader


def kolors_parts() -> dict:
    from diffusers.pipelines.kolors.text_encoder import ChatGLMConfig, ChatGLMModel

    tokenizer = chatglm_tokenizer()
    reader = ChatGLMConfig(
        num_layers=3,
        padded_vocab_size=len(tokenizer),
        hidden_size=32,
        ffn_hidden_size=32,
        kv_channels=16,
        num_attention_heads=2,
        multi_query_attention=True,
        multi_query_group_num=1,
        rmsnorm=True,
        original_rope=True,
    )
    return {
        "vae": parts.vae(scaling_factor=0.13025),
        "text_encoder": parts.liven(with_norms(ChatGLMModel(reader))),
        "tokenizer": tokenizer,
        "unet": chatglm_unet(),
        "scheduler": d.EulerDiscreteScheduler(**BETAS, timestep_spacing="leading"),
        "force_zeros_for_empty_prompt": False,
    }


@parts.deterministic
def kolors() -> d.KolorsPipeline:
    """The text encoder answers with the words first and the images second."""
    return d.KolorsPipeline(**kolors_parts())


@parts.deterministic
def kolors_pag() -> d.KolorsPAGPipeline:
    return d.KolorsPAGPipeline(**kolors_parts(), **MID)
