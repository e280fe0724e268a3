"""The mathematics, against numbers worked by hand."""

import pytest
import torch

from athena import steering
from athena.steering import steer


def test_the_papers_formula_on_one_sample():
    eps, control = torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, 3.0]])
    # eps + 2 (eps - control) = (3, 6), of length sqrt(45); rescaled to 5
    expected = torch.tensor([[3.0, 6.0]]) * 5 / 45**0.5
    torch.testing.assert_close(steer(eps, control, 2.0), expected)


def test_gamma_zero_is_the_prediction_itself():
    eps = torch.randn(2, 4, 8, 8)
    assert steer(eps, torch.randn_like(eps), 0) is eps
    assert steer(eps, torch.randn_like(eps), torch.zeros(2)) is eps


def test_one_gamma_a_sample():
    eps, control = torch.randn(3, 4, 8, 8), torch.randn(3, 4, 8, 8)
    gammas = torch.tensor([0.0, 1.5, 4.0])
    together = steer(eps, control, gammas)
    assert torch.equal(together[0], eps[0])
    for i in range(3):
        torch.testing.assert_close(
            together[i : i + 1], steer(eps[i : i + 1], control[i : i + 1], float(gammas[i]))
        )


@pytest.mark.parametrize("shape", [(2, 16), (2, 16, 8), (2, 4, 8, 8), (2, 4, 1, 8, 8)])
def test_the_length_stays_sample_by_sample(shape):
    eps, control = (
        torch.randn(shape) * torch.tensor([1.0, 50.0]).reshape(2, *[1] * (len(shape) - 1)),
        torch.randn(shape),
    )
    lengths = steer(eps, control, 4.0).flatten(1).norm(dim=1)
    torch.testing.assert_close(lengths, eps.flatten(1).norm(dim=1))


def test_half_precision_does_not_overflow():
    eps = torch.full((1, 4, 128, 128), 300.0, dtype=torch.float16)  # the sum of squares is far beyond float16
    control = torch.full_like(eps, 299.0)
    steered = steer(eps, control, 5.0)
    assert steered.dtype == torch.float16
    torch.testing.assert_close(steered, eps, rtol=1e-2, atol=0)


def test_a_vanishing_prediction_does_not_divide_by_zero():
    eps = torch.zeros(1, 4)
    assert torch.equal(steer(eps, torch.zeros(1, 4), 4.0), eps)


def test_what_steering_cancels_out_is_zero_and_not_nan():
    eps = torch.ones(1, 128, 128)
    assert torch.equal(steer(eps, 2 * eps, 1.0), torch.zeros_like(eps))


@pytest.mark.parametrize("alpha", [1.0, 0.8])
def test_clean_estimates_undo_the_noise(alpha):
    """Every kind of prediction, made of a known z_0 and noise, gives z_0 back."""
    z_0, eps = torch.randn(2, 4), torch.randn(2, 4)
    a, s = torch.tensor(alpha), torch.tensor((1 - alpha**2) ** 0.5 if alpha < 1 else 3.0)
    z, r = a * z_0 + s * eps, (a**2 + s**2).sqrt()
    torch.testing.assert_close(steering.clean_from_epsilon(z, eps, a, s), z_0)
    torch.testing.assert_close(steering.clean_from_velocity(z, (a * eps - s * z_0) / r, a, s), z_0)
    torch.testing.assert_close(steering.clean_from_sample(z, z_0, a, s), z_0)
    flow = (1 - s) * z_0 + s * eps
    torch.testing.assert_close(steering.clean_from_flow(flow, eps - z_0, 1 - s, s), z_0)
