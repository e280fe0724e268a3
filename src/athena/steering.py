"""The mathematics of the paper, as pure functions on tensors.

z is the latent at a step, eps the denoiser's prediction, p the prompt, p^ the control prompt.
The first dimension of every tensor is the sample.
"""

from __future__ import annotations

import torch
from torch import Tensor


def steer(eps: Tensor, control: Tensor, gamma: float | Tensor) -> Tensor:
    """Push the prediction away from the control prompt's and keep its length (paper, eq. 6 and alg. 2)."""
    gamma = torch.as_tensor(gamma, dtype=torch.float32, device=eps.device)
    if not bool(gamma.any()):
        return eps
    gamma = per_sample(gamma.expand(eps.shape[0]) if gamma.ndim == 0 else gamma, eps)
    steered = eps + gamma.to(eps.dtype) * (eps - control)  # eps~ = eps + gamma (eps - eps^)
    steered = steered / norm(steered).clamp_min(torch.finfo(torch.float32).tiny) * norm(eps)
    return torch.where(gamma == 0, eps, steered.to(eps.dtype))  # |eps~| = |eps|


def norm(x: Tensor) -> Tensor:
    """The length of each sample over all its dimensions, in float32: half precision overflows."""
    return per_sample(x.float().flatten(1).norm(dim=1), x)


def per_sample(values: Tensor, like: Tensor) -> Tensor:
    """Shape (B,) to (B, 1, 1, ...), so that it multiplies sample by sample."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


# Clean estimates z^_0 = D_t(z_t, eps_t) (paper, eq. 2 and 3), for z_t = alpha z_0 + sigma eps.
# The paper's own three models have alpha = 1 (Euler) or alpha = 1 - sigma (flow).


def clean_from_epsilon(z: Tensor, eps: Tensor, alpha: Tensor, sigma: Tensor) -> Tensor:
    return (z - sigma * eps) / alpha  # eps is the noise


def clean_from_velocity(z: Tensor, v: Tensor, alpha: Tensor, sigma: Tensor) -> Tensor:
    r2 = alpha**2 + sigma**2  # v = (alpha eps - sigma z_0) / r; r = 1 but for Euler's z_0 + sigma eps
    return (alpha * z - sigma * r2.sqrt() * v) / r2


def clean_from_sample(z: Tensor, z_0: Tensor, alpha: Tensor, sigma: Tensor) -> Tensor:
    return z_0  # the model predicts the clean latent itself


def clean_from_flow(z: Tensor, v: Tensor, alpha: Tensor, sigma: Tensor) -> Tensor:
    return z - sigma * v  # v = eps - z_0, alpha = 1 - sigma
