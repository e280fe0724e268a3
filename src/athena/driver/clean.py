"""Where a scheduler stands: its noise level, and so the clean estimate, at one of its steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from athena import steering
from athena.errors import PipelineError

FORMULAS = {
    "epsilon": steering.clean_from_epsilon,
    "v_prediction": steering.clean_from_velocity,
    "sample": steering.clean_from_sample,
    "flow_prediction": steering.clean_from_flow,
}

UNREADABLE = ("precondition_outputs", "mid_point_sigma")  # EDM's scaled outputs, DPM-SDE's halfway points


def noise_level(scheduler: Any, index: int, timestep: Any) -> tuple[Tensor, Tensor]:
    """alpha and sigma of z_t = alpha z_0 + sigma eps at the `index`-th call of `step`."""
    if hasattr(scheduler, "sigmas") and hasattr(scheduler, "timesteps"):
        halfway = hasattr(scheduler, "sigmas_interpol") and not scheduler.state_in_first_order  # KDPM2
        sigmas = scheduler.sigmas_interpol if halfway else scheduler.sigmas
        sigma = sigmas[index + (getattr(scheduler, "begin_index", None) or 0)].float()
        if hasattr(scheduler, "_sigma_to_alpha_sigma_t"):  # DPM-Solver, UniPC, DEIS, SA: unit variance
            return scheduler._sigma_to_alpha_sigma_t(sigma)  # type: ignore[no-any-return]
        return torch.ones_like(sigma), sigma  # Euler, Heun, LMS: z_t = z_0 + sigma eps; flow: alpha unused
    cumulative = scheduler.alphas_cumprod[torch.as_tensor(timestep).long().cpu()].float()
    return cumulative.sqrt(), (1 - cumulative).sqrt()  # DDIM, DDPM, LCM, PNDM


def kind_of_prediction(scheduler: Any) -> str:
    """What the scheduler takes the denoiser's answer for; flow schedulers do not name it."""
    kind = scheduler.config.get("prediction_type")
    if kind is None and hasattr(scheduler, "sigmas") and not hasattr(scheduler, "alphas_cumprod"):
        kind = "flow_prediction"
    readable = hasattr(scheduler, "sigmas") or hasattr(scheduler, "alphas_cumprod")
    if kind not in FORMULAS or not readable or any(hasattr(scheduler, x) for x in UNREADABLE):
        raise PipelineError(
            f"no clean estimate is known for {type(scheduler).__name__} (prediction type {kind!r}). "
            'Choose another scheduler, such as EulerDiscreteScheduler, or strategy="static", which needs none.'
        )
    return str(kind)


def clean_estimate(scheduler: Any, z: Tensor, output: Tensor, level: tuple[Tensor, Tensor]) -> Tensor:
    """z^_0 from the last prediction, in the latents' own precision."""
    if output.ndim > 1 and output.shape[1] == 2 * z.shape[1]:
        output = output[:, : z.shape[1]]  # the second half is a learned variance
    alpha, sigma = (x.to(z.device) for x in level)
    return FORMULAS[kind_of_prediction(scheduler)](z.float(), output.float(), alpha, sigma)
