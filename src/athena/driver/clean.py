"""Where a scheduler stands: its noise level, and so the clean estimate, at one of its steps."""

from __future__ import annotations

import copy
import inspect
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
    kind = scheduler.config.get("prediction_type") if names_its_prediction(scheduler) else None
    if kind is None and hasattr(scheduler, "sigmas") and not hasattr(scheduler, "alphas_cumprod"):
        kind = "flow_prediction"
    readable = hasattr(scheduler, "sigmas") or hasattr(scheduler, "alphas_cumprod")
    if kind not in FORMULAS or not readable or any(hasattr(scheduler, x) for x in UNREADABLE):
        raise unreadable(scheduler, f"prediction type {kind!r}")
    return str(kind)


def check_readable(scheduler: Any) -> None:
    """Refuse a scheduler whose clean estimate would be wrong, once its timesteps are set."""
    kind_of_prediction(scheduler)
    times = torch.as_tensor(scheduler.timesteps).float().flatten()
    if len(times) > 1 and times[0] < times[-1]:
        raise unreadable(scheduler, "it runs from the image to the noise")
    if not names_its_prediction(scheduler) and not flows(scheduler):
        raise unreadable(scheduler, "it does not say what its denoiser predicts, and it is no flow")


def names_its_prediction(scheduler: Any) -> bool:
    """Whether it has such a setting itself; a config may have brought another scheduler's along."""
    inits = [
        vars(c)["__init__"] for c in type(scheduler).__mro__ if "__init__" in vars(c) and c is not object
    ]
    return any("prediction_type" in inspect.signature(init).parameters for init in inits)


def flows(scheduler: Any) -> bool:
    """Whether its last step, tried on a copy, leads where the flow does: to z - sigma v."""
    trial = copy.copy(scheduler)
    state = {k: copy.deepcopy(v) for k, v in vars(scheduler).items() if k not in ("step", "_internal_dict")}
    vars(trial).clear()
    vars(trial).update(state, _internal_dict=scheduler._internal_dict, _step_index=None, _begin_index=None)
    z, v = torch.linspace(-1, 1, 16).reshape(1, 1, 4, 4), torch.linspace(2, -1, 16).reshape(1, 1, 4, 4)
    try:
        t = trial.timesteps[-1]
        z, v = z.to(trial.timesteps.device), v.to(trial.timesteps.device)
        clean = steering.clean_from_flow(z, v, *noise_level(trial, len(trial.timesteps) - 1, t))
        return torch.allclose(trial.step(v, t, z, return_dict=False)[0].float(), clean.float(), atol=1e-3)
    except Exception:  # whatever it wants, it is not what a flow wants
        return False


def unreadable(scheduler: Any, why: str) -> PipelineError:
    return PipelineError(
        f"no clean estimate is known for {type(scheduler).__name__} ({why}). "
        'Choose another scheduler, such as EulerDiscreteScheduler, or strategy="static", which needs none.'
    )


def clean_estimate(scheduler: Any, z: Tensor, output: Tensor, level: tuple[Tensor, Tensor]) -> Tensor:
    """z^_0 from the last prediction, in the latents' own precision."""
    if output.ndim > 1 and output.shape[1] == 2 * z.shape[1]:
        output = output[:, : z.shape[1]]  # the second half is a learned variance
    alpha, sigma = (x.to(z.device) for x in level)
    return FORMULAS[kind_of_prediction(scheduler)](z.float(), output.float(), alpha, sigma)
