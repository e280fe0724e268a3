"""A zoo of tiny, randomly initialised text-to-image pipelines: no download, each built in a blink.

>>> pipe = zoo.PIPELINES["sdxl"]()
>>> pipe("two cats", num_inference_steps=3, generator=torch.manual_seed(0), **zoo.CALL["sdxl"]).images
"""

from __future__ import annotations

from collections.abc import Callable

from diffusers import DiffusionPipeline

from .dit import flux, pixart, sd3
from .qwen import qwen, zimage
from .unet import sd15, sdxl

PIPELINES: dict[str, Callable[[], DiffusionPipeline]] = {
    "sdxl": sdxl,
    "sd3": sd3,
    "flux": flux,
    "sd15": sd15,
    "pixart": pixart,
    "qwen": qwen,
    "zimage": zimage,
}

# The least a call needs, beside prompt, num_inference_steps and generator. Guidance is really on in each.
_SIZE = {"height": 64, "width": 64}
CALL: dict[str, dict] = {
    "sdxl": {**_SIZE, "guidance_scale": 5.0},
    "sd3": {**_SIZE, "guidance_scale": 7.0, "max_sequence_length": 32},
    "flux": {**_SIZE, "guidance_scale": 3.5, "max_sequence_length": 32},
    "sd15": {**_SIZE, "guidance_scale": 7.5},
    "pixart": {
        **_SIZE,
        "guidance_scale": 4.5,
        "max_sequence_length": 32,
        "use_resolution_binning": False,
        "clean_caption": False,
    },
    "qwen": {**_SIZE, "true_cfg_scale": 4.0, "negative_prompt": "blurry", "max_sequence_length": 64},
    "zimage": {**_SIZE, "guidance_scale": 3.0, "max_sequence_length": 64},
}
