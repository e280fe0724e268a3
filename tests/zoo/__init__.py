"""A zoo of tiny, randomly initialised text-to-image pipelines: no download, each built in a blink.

>>> pipe = zoo.PIPELINES["sdxl"]()
>>> pipe("two cats", num_inference_steps=3, generator=torch.manual_seed(0), **zoo.CALL["sdxl"]).images
"""

from __future__ import annotations

from collections.abc import Callable

from diffusers import DiffusionPipeline

from . import tokens
from .dit import flux, pixart, sd3
from .every import EVERY, MAPPED, OUT_OF_SCOPE, REASONS
from .qwen import qwen, zimage
from .schedulers import DRAWS_GLOBALLY, EXTRA_CALL, PAIRS, REFUSED, SCHEDULERS, with_scheduler
from .unet import sd15, sdxl

__all__ = [
    "CALL",
    "DRAWS_GLOBALLY",
    "EVERY",
    "EXTRA_CALL",
    "MAPPED",
    "OUT_OF_SCOPE",
    "PAIRS",
    "PIPELINES",
    "REASONS",
    "REFUSED",
    "SCHEDULERS",
    "flux",
    "pixart",
    "qwen",
    "sd3",
    "sd15",
    "sdxl",
    "tokens",
    "with_scheduler",
    "zimage",
]

PIPELINES: dict[str, Callable[[], DiffusionPipeline]] = {
    "sdxl": sdxl,
    "sd3": sd3,
    "flux": flux,
    "sd15": sd15,
    "pixart": pixart,
    "qwen": qwen,
    "zimage": zimage,
}

# The least a call needs, beside prompt, num_inference_steps and generator. Guidance is really on in each,
# but modest, so that rounding errors stay small over fifty steps.
_SIZE = {"height": 64, "width": 64}
CALL: dict[str, dict] = {
    "sdxl": {**_SIZE, "guidance_scale": 3.0},
    "sd3": {**_SIZE, "guidance_scale": 3.0, "max_sequence_length": 32},
    "flux": {**_SIZE, "guidance_scale": 3.5, "max_sequence_length": 32},
    "sd15": {**_SIZE, "guidance_scale": 3.0},
    "pixart": {
        **_SIZE,
        "guidance_scale": 3.0,
        "max_sequence_length": 32,
        "use_resolution_binning": False,
        "clean_caption": False,
    },
    "qwen": {**_SIZE, "true_cfg_scale": 3.0, "negative_prompt": "blurry", "max_sequence_length": 64},
    "zimage": {**_SIZE, "guidance_scale": 3.0, "max_sequence_length": 64},
}
