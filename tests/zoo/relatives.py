"""Relatives of SD3, FLUX, PixArt, Qwen-Image and Z-Image: ControlNets, control by channels, perturbed attention."""

from __future__ import annotations

import diffusers as d

from . import parts
from .dit import flux, flux_transformer, pixart, sd3
from .qwen import qwen, zimage, zimage_transformer


@parts.deterministic
def sd3_pag() -> d.StableDiffusion3PAGPipeline:
    base = {k: v for k, v in sd3().components.items() if k not in ("image_encoder", "feature_extractor")}
    return d.StableDiffusion3PAGPipeline(**base, pag_applied_layers="blocks.1")


@parts.deterministic
def sd3_controlnet() -> d.StableDiffusion3ControlNetPipeline:
    base = sd3()
    net = d.SD3ControlNetModel.from_transformer(
        base.transformer, num_layers=1, num_extra_conditioning_channels=0
    )
    return d.StableDiffusion3ControlNetPipeline(**base.components, controlnet=parts.liven(net, 0.3))


@parts.deterministic
def pixart_alpha() -> d.PixArtAlphaPipeline:
    return d.PixArtAlphaPipeline(**pixart().components)


@parts.deterministic
def pixart_pag() -> d.PixArtSigmaPAGPipeline:
    return d.PixArtSigmaPAGPipeline(**pixart().components, pag_applied_layers="blocks.1")


@parts.deterministic
def flux_control() -> d.FluxControlPipeline:
    """The picture comes in as more channels of the latents."""
    base = {k: v for k, v in flux().components.items() if k not in ("image_encoder", "feature_extractor")}
    return d.FluxControlPipeline(**{**base, "transformer": flux_transformer(in_channels=32, out_channels=16)})


@parts.deterministic
def flux_controlnet() -> d.FluxControlNetPipeline:
    base = flux()
    net = d.FluxControlNetModel.from_transformer(
        base.transformer, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2
    )
    return d.FluxControlNetPipeline(**base.components, controlnet=parts.liven(net, 0.3))


@parts.deterministic
def flux_kontext() -> d.FluxKontextPipeline:
    return d.FluxKontextPipeline(**flux().components)


@parts.deterministic
def qwen_controlnet() -> d.QwenImageControlNetPipeline:
    base = qwen()
    same = (
        "in_channels attention_head_dim num_attention_heads joint_attention_dim axes_dims_rope out_channels"
    )
    config = {name: base.transformer.config[name] for name in same.split()}
    net = d.QwenImageControlNetModel(**config, num_layers=1)
    return d.QwenImageControlNetPipeline(**base.components, controlnet=parts.liven(net, 0.3))


def zimage_control(transformer: d.ZImageTransformer2DModel, channels: int) -> d.ZImageControlNetModel:
    net = d.ZImageControlNetModel(
        control_layers_places=[0],
        control_refiner_layers_places=[0],
        control_in_dim=channels,
        add_control_noise_refiner="control_noise_refiner",
        dim=32,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
    )
    return d.ZImageControlNetModel.from_transformer(parts.liven(net, 0.3), transformer)


@parts.deterministic
def zimage_controlnet() -> d.ZImageControlNetPipeline:
    base = zimage()
    return d.ZImageControlNetPipeline(**base.components, controlnet=zimage_control(base.transformer, 4))


@parts.deterministic
def zimage_controlnet_inpaint() -> d.ZImageControlNetInpaintPipeline:
    base = zimage()
    return d.ZImageControlNetInpaintPipeline(
        **base.components, controlnet=zimage_control(base.transformer, 9)
    )


@parts.deterministic
def zimage_omni() -> d.ZImageOmniPipeline:
    """Each row's latents and prompt are lists again: pictures to go by, then the one to make."""
    from transformers import Siglip2VisionConfig, Siglip2VisionModel

    vision = Siglip2VisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_patches=16
    )
    return d.ZImageOmniPipeline(
        **{**zimage().components, "transformer": zimage_transformer(siglip_feat_dim=16)},
        siglip=parts.liven(Siglip2VisionModel(vision)),
        siglip_processor=None,
    )
