"""A zoo of tiny, randomly initialised text-to-image pipelines: nothing is downloaded, each is built in a blink.

    pipe = zoo.PIPELINES["sdxl"]()
    image = pipe("two cats", num_inference_steps=3, generator=torch.Generator().manual_seed(0), **zoo.CALL["sdxl"])
"""

from __future__ import annotations

from collections.abc import Callable

from diffusers import DiffusionPipeline

from .dit import flux
from .unet import sd15, sdxl

PIPELINES: dict[str, Callable[[], DiffusionPipeline]] = {
    "sdxl": sdxl,
    "flux": flux,
    "sd15": sd15,
}

# The least a call needs, beside prompt, num_inference_steps and generator. Guidance is really on in each.
_SIZE = {"height": 64, "width": 64}
CALL: dict[str, dict] = {
    "sdxl": {**_SIZE, "guidance_scale": 5.0},
    "flux": {**_SIZE, "guidance_scale": 3.5, "max_sequence_length": 32},
    "sd15": {**_SIZE, "guidance_scale": 7.5},
}
