"""Schedulers to put into the tiny pipelines, and which pipeline takes which."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from diffusers import (
    DDIMScheduler,
    DDPMScheduler,
    DiffusionPipeline,
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    FlowMatchHeunDiscreteScheduler,
    HeunDiscreteScheduler,
    LCMScheduler,
    PNDMScheduler,
    SchedulerMixin,
    UniPCMultistepScheduler,
)

# Stable Diffusion's published configs all say this; the schedulers' own default clips latents to one.
_UNCLIPPED = {"clip_sample": False}
_AS_FLOW = {"use_flow_sigmas": True, "prediction_type": "flow_prediction"}

# Name -> a function from the config of the pipe's own scheduler to a new scheduler.
# First those that think in noise, then those that think in flows.
NOISE: dict[str, Callable[..., SchedulerMixin]] = {
    "euler": EulerDiscreteScheduler.from_config,
    "euler-karras": partial(EulerDiscreteScheduler.from_config, use_karras_sigmas=True),
    "euler-exponential": partial(EulerDiscreteScheduler.from_config, use_exponential_sigmas=True),
    "euler-v": partial(EulerDiscreteScheduler.from_config, prediction_type="v_prediction"),
    "euler-ancestral": EulerAncestralDiscreteScheduler.from_config,
    "ddim": partial(DDIMScheduler.from_config, **_UNCLIPPED),
    "ddim-eta": partial(DDIMScheduler.from_config, **_UNCLIPPED),  # eta comes with the call: EXTRA_CALL
    "ddim-v": partial(DDIMScheduler.from_config, **_UNCLIPPED, prediction_type="v_prediction"),
    "ddim-sample": partial(DDIMScheduler.from_config, **_UNCLIPPED, prediction_type="sample"),
    "ddpm": partial(DDPMScheduler.from_config, **_UNCLIPPED),
    "dpm++-2m": DPMSolverMultistepScheduler.from_config,
    "dpm++-2m-karras": partial(DPMSolverMultistepScheduler.from_config, use_karras_sigmas=True),
    "dpm++-sde": partial(DPMSolverMultistepScheduler.from_config, algorithm_type="sde-dpmsolver++"),
    "unipc": UniPCMultistepScheduler.from_config,
    "heun": HeunDiscreteScheduler.from_config,
    "lcm": partial(LCMScheduler.from_config, **_UNCLIPPED),
    "pndm": partial(PNDMScheduler.from_config, skip_prk_steps=True),
}

FLOW: dict[str, Callable[..., SchedulerMixin]] = {
    "flow-euler": FlowMatchEulerDiscreteScheduler.from_config,
    "flow-euler-terminal": partial(FlowMatchEulerDiscreteScheduler.from_config, shift_terminal=0.02),
    "flow-euler-karras": partial(FlowMatchEulerDiscreteScheduler.from_config, use_karras_sigmas=True),
    "flow-euler-stochastic": partial(FlowMatchEulerDiscreteScheduler.from_config, stochastic_sampling=True),
    "flow-heun": FlowMatchHeunDiscreteScheduler.from_config,
    "flow-unipc": partial(UniPCMultistepScheduler.from_config, **_AS_FLOW),
    "flow-dpm++-2m": partial(DPMSolverMultistepScheduler.from_config, **_AS_FLOW),
}

SCHEDULERS = {**NOISE, **FLOW}

# What a call must add for a scheduler to be itself.
EXTRA_CALL: dict[str, dict] = {"ddim-eta": {"eta": 1.0}}

# Those that draw from torch's global random state: the flow pipelines hand their generator to nobody.
DRAWS_GLOBALLY = {"flow-euler-stochastic"}

# What diffusers itself refuses: (pipeline, scheduler) -> why.
_NO_SIGMAS = "the pipeline gives its own sigmas=, and this set_timesteps takes none"
REFUSED: dict[tuple[str, str], str] = {
    ("flux", "flow-heun"): _NO_SIGMAS,
    ("qwen", "flow-heun"): _NO_SIGMAS,
    ("zimage", "flow-heun"): _NO_SIGMAS,
    ("qwen", "flow-dpm++-2m"): _NO_SIGMAS,
    ("zimage", "flow-dpm++-2m"): _NO_SIGMAS,
    ("zimage", "flow-unipc"): "the pipeline gives sigmas= as a list, this set_timesteps wants an array",
}

_KIND = {
    "sdxl": NOISE,
    "sd15": NOISE,
    "pixart": NOISE,
    "sd3": FLOW,
    "flux": FLOW,
    "qwen": FLOW,
    "zimage": FLOW,
}

# Every (pipeline, scheduler) that works with stock diffusers: made for pytest.mark.parametrize.
PAIRS = [(pipe, name) for pipe, kind in _KIND.items() for name in kind if (pipe, name) not in REFUSED]


def with_scheduler(pipe: DiffusionPipeline, name: str) -> DiffusionPipeline:
    """The same pipe, its scheduler replaced by the named one made from its own config."""
    pipe.scheduler = SCHEDULERS[name](pipe.scheduler.config)
    return pipe
