"""A tiny instance of every class that diffusers maps text-to-image models to, by the name of the class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from diffusers import DiffusionPipeline
from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING
from PIL import Image

from . import dit, kandinsky, qwen, relatives, stable, transformers, unet

MAPPED = tuple(cls.__name__ for cls in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values())


@dataclass(frozen=True)
class Entry:
    """How to build it, and what its call needs beside prompt, steps and generator."""

    build: Callable[[], DiffusionPipeline]
    call: dict = field(default_factory=dict)


PHOTO = Image.linear_gradient("L").resize((64, 64)).convert("RGB")
SIZE = {"height": 64, "width": 64}
SHORT = {"max_sequence_length": 32}
GUIDED = {**SIZE, "guidance_scale": 3.0}
TRUE_CFG = {"true_cfg_scale": 3.0, "negative_prompt": "blurry"}
SANA = {"height": 32, "width": 32, "guidance_scale": 3.0, **SHORT, "complex_human_instruction": None}
KANDINSKY = {**GUIDED, "prior_num_inference_steps": 2}
PAG = {**GUIDED, "pag_scale": 2.0}

EVERY: dict[str, Entry] = {
    "StableDiffusionPipeline": Entry(unet.sd15, GUIDED),
    "StableDiffusionXLPipeline": Entry(unet.sdxl, GUIDED),
    "StableDiffusion3Pipeline": Entry(dit.sd3, {**GUIDED, **SHORT}),
    "StableDiffusion3PAGPipeline": Entry(relatives.sd3_pag, {**PAG, **SHORT}),
    "IFPipeline": Entry(stable.deepfloyd, {"guidance_scale": 3.0, "height": 8, "width": 8}),
    "StableDiffusionControlNetPipeline": Entry(stable.sd_controlnet, GUIDED),
    "StableDiffusionXLControlNetPipeline": Entry(stable.sdxl_controlnet, GUIDED),
    "StableDiffusionXLControlNetUnionPipeline": Entry(
        stable.sdxl_controlnet_union, {**GUIDED, "control_mode": 0}
    ),
    "StableDiffusion3ControlNetPipeline": Entry(relatives.sd3_controlnet, {**GUIDED, **SHORT}),
    "LatentConsistencyModelPipeline": Entry(stable.lcm, GUIDED),
    "PixArtAlphaPipeline": Entry(relatives.pixart_alpha, {**GUIDED, **SHORT}),
    "PixArtSigmaPipeline": Entry(dit.pixart, {**GUIDED, **SHORT}),
    "StableDiffusionPAGPipeline": Entry(stable.sd_pag, PAG),
    "StableDiffusionControlNetPAGPipeline": Entry(stable.sd_controlnet_pag, PAG),
    "StableDiffusionXLPAGPipeline": Entry(stable.sdxl_pag, PAG),
    "StableDiffusionXLControlNetPAGPipeline": Entry(stable.sdxl_controlnet_pag, PAG),
    "PixArtSigmaPAGPipeline": Entry(relatives.pixart_pag, {**PAG, **SHORT}),
    "FluxPipeline": Entry(dit.flux, {**GUIDED, **SHORT}),
    "FluxControlPipeline": Entry(relatives.flux_control, {**GUIDED, **SHORT}),
    "FluxControlNetPipeline": Entry(relatives.flux_controlnet, {**SIZE, **SHORT, **TRUE_CFG}),
    "FluxKontextPipeline": Entry(
        relatives.flux_kontext, {**SIZE, **SHORT, **TRUE_CFG, "max_area": 64 * 64, "_auto_resize": False}
    ),
    "QwenImagePipeline": Entry(qwen.qwen, {**SIZE, **TRUE_CFG, "max_sequence_length": 64}),
    "QwenImageControlNetPipeline": Entry(
        relatives.qwen_controlnet, {**SIZE, **TRUE_CFG, "max_sequence_length": 64}
    ),
    "ZImagePipeline": Entry(qwen.zimage, {**GUIDED, "max_sequence_length": 64}),
    "ZImageControlNetPipeline": Entry(relatives.zimage_controlnet, {**GUIDED, "max_sequence_length": 64}),
    "ZImageControlNetInpaintPipeline": Entry(
        relatives.zimage_controlnet_inpaint,
        {**GUIDED, "max_sequence_length": 64, "image": PHOTO, "mask_image": PHOTO.convert("L")},
    ),
    "ZImageOmniPipeline": Entry(relatives.zimage_omni, {**GUIDED, "max_sequence_length": 64}),
    "SanaPipeline": Entry(transformers.sana, SANA),
    "SanaPAGPipeline": Entry(transformers.sana_pag, {**SANA, "pag_scale": 2.0}),
    "HunyuanDiTPipeline": Entry(transformers.hunyuan, {**GUIDED, "use_resolution_binning": False}),
    "HunyuanDiTPAGPipeline": Entry(transformers.hunyuan_pag, {**PAG, "use_resolution_binning": False}),
    "AuraFlowPipeline": Entry(transformers.auraflow, {**GUIDED, **SHORT}),
    "LuminaPipeline": Entry(transformers.lumina, {**GUIDED, **SHORT, "clean_caption": False}),
    "Lumina2Pipeline": Entry(
        transformers.lumina2, {**GUIDED, "max_sequence_length": 64, "system_prompt": "Describe"}
    ),
    "ChromaPipeline": Entry(transformers.chroma, {**GUIDED, **SHORT}),
    "CogView3PlusPipeline": Entry(transformers.cogview3, {**GUIDED, **SHORT}),
    "CogView4Pipeline": Entry(transformers.cogview4, {**GUIDED, **SHORT}),
    "CogView4ControlPipeline": Entry(transformers.cogview4_control, {**GUIDED, **SHORT}),
    "OvisImagePipeline": Entry(transformers.ovis, {**GUIDED, **SHORT}),
    "PRXPipeline": Entry(
        transformers.prx, {**GUIDED, "tokenizer_max_length": 32, "skip_text_cleaning": True}
    ),
    "Krea2Pipeline": Entry(transformers.krea2, {**GUIDED, **SHORT}),
    "Flux2Pipeline": Entry(
        transformers.flux2, {**GUIDED, "max_sequence_length": 64, "text_encoder_out_layers": (1, 2)}
    ),
    "Flux2KleinPipeline": Entry(
        transformers.flux2_klein, {**GUIDED, **SHORT, "text_encoder_out_layers": (1, 2)}
    ),
    "NucleusMoEImagePipeline": Entry(transformers.nucleus, {**GUIDED, "return_index": -2}),
    "QwenImage21Pipeline": Entry(transformers.qwen21, {"height": 128, "width": 128, **TRUE_CFG}),
    "Ideogram4Pipeline": Entry(
        transformers.ideogram,
        {**GUIDED, "guidance_schedule": None, "max_sequence_length": 96},
    ),
    "KandinskyCombinedPipeline": Entry(kandinsky.kandinsky, {**KANDINSKY, "output_type": "pt"}),
    "KandinskyV22CombinedPipeline": Entry(kandinsky.kandinsky22, KANDINSKY),
    "Kandinsky3Pipeline": Entry(kandinsky.kandinsky3, GUIDED),
    "KolorsPipeline": Entry(stable.kolors, {**GUIDED, **SHORT}),
    "KolorsPAGPipeline": Entry(stable.kolors_pag, {**PAG, **SHORT}),
}

_CASCADE = (
    "a cascade of two: its prior decides what is in the picture, in latents and on a scheduler of its own, before "
    "the decoder that is stepped here begins"
)
OUT_OF_SCOPE: dict[str, str] = {
    "WuerstchenCombinedPipeline": _CASCADE,
    "StableCascadeCombinedPipeline": _CASCADE,
    "GlmImagePipeline": (
        "two stages: a language model writes the picture as tokens, with one generator for all images of a batch, "
        "before the transformer begins"
    ),
    "HeliosPipeline": "video only",
    "HeliosPyramidPipeline": "video only",
}

# Why a class does not pass every check, as looked up in its own code.
_DRAWS = (
    "it encodes the control picture with noise from the global random state, whatever generator it is given, so the "
    "bare pipe's images do not follow from the seed either"
)
_PADS = (
    "it pads prompts to the longest of the batch and lets the padding be read, so the bare pipe's images depend on who "
    "shares the batch (`batch_size=1` avoids it)"
)

REASONS: dict[str, str] = {
    "NucleusMoEImagePipeline": _PADS,
    "CogView4Pipeline": _PADS,
    "StableDiffusion3ControlNetPipeline": _DRAWS,
    "CogView4ControlPipeline": _DRAWS,
    "QwenImage21Pipeline": (
        "it pads prompts to the longest of the batch and counts the padding in the positions of the pixels, so the "
        "bare pipe's images depend on who shares the batch (`batch_size=1` avoids it)"
    ),
    "Kandinsky3Pipeline": (
        "it cuts prompts to the longest of the batch and averages over the padding, so the bare pipe's images depend "
        "on who shares the batch (`batch_size=1` avoids it)"
    ),
}
