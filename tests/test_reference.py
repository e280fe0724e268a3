"""The oracle agrees with the pipelines themselves, wherever those can speak."""

from itertools import count as counting

import numpy as np
import pytest
import torch
from torch import Tensor

import reference
import zoo

SEVEN, THREE = "a photo of seven apples", "a photo of three apples"
SEED, STEPS = 1, 5
OWN = [(name, None) for name in zoo.PIPELINES]


def built(name: str, scheduler: str | None = None):
    """A pipe, and its call."""
    pipe = zoo.PIPELINES[name]()
    if scheduler:
        zoo.with_scheduler(pipe, scheduler)
    return pipe, {**zoo.CALL[name], **zoo.EXTRA_CALL.get(scheduler, {})}


def bare(pipe, call: dict, output_type: str = "latent") -> Tensor:
    generator = torch.Generator().manual_seed(SEED)
    return pipe(SEVEN, num_inference_steps=STEPS, generator=generator, output_type=output_type, **call).images


@pytest.fixture(autouse=True)
def global_seed():
    """For the one scheduler that draws from the global random state."""
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.mark.parametrize(("name", "scheduler"), OWN + zoo.PAIRS)
def test_unsteered_is_the_pipeline_itself(name, scheduler):
    pipe, call = built(name, scheduler)
    torch.manual_seed(0)
    expected = bare(pipe, call)
    torch.manual_seed(0)
    torch.testing.assert_close(
        reference.sample(pipe, SEVEN, SEED, STEPS, **call), expected, atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("name", ["sdxl", "sd15", "sd3", "zimage"])
def test_without_guidance_too(name):
    pipe, call = built(name)
    call["guidance_scale"] = 0.0 if name == "zimage" else 1.0
    torch.testing.assert_close(
        reference.sample(pipe, SEVEN, SEED, STEPS, **call), bare(pipe, call), atol=1e-5, rtol=0
    )


# Not flux: its guidance is distilled into the model.
@pytest.mark.parametrize("name", sorted(zoo.PIPELINES.keys() - {"flux"}))
def test_a_negative_prompt_is_heard(name):
    pipe, call = built(name)
    call["negative_prompt"] = "a dog"
    torch.testing.assert_close(
        reference.sample(pipe, SEVEN, SEED, STEPS, **call), bare(pipe, call), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("name", zoo.PIPELINES)
def test_gamma_zero_and_equal_prompts_change_nothing_and_steering_does(name):
    pipe, call = built(name)
    plain = reference.sample(pipe, SEVEN, SEED, STEPS, **call)
    zero = reference.sample(pipe, SEVEN, SEED, STEPS, THREE, 0.0, 2, **call)
    equal = reference.sample(pipe, SEVEN, SEED, STEPS, SEVEN, 4.0, 2, **call)
    other = reference.sample(pipe, SEVEN, SEED, STEPS, THREE, 4.0, 2, **call)
    longer = reference.sample(pipe, SEVEN, SEED, STEPS, THREE, 4.0, 3, **call)
    assert torch.equal(zero, plain)
    # A row alone rounds otherwise than a row of two.
    torch.testing.assert_close(equal, plain, atol=2e-4, rtol=0)
    assert (other - plain).abs().max() > 1e-2
    assert (longer - other).abs().max() > 1e-3


def test_steering_keeps_each_sample_at_its_own_norm():
    eps, control = torch.randn(2, 3, 4, 5, 6).unbind()
    out = reference.steered(eps, control, 4.0)
    torch.testing.assert_close(out.flatten(1).norm(dim=1), eps.flatten(1).norm(dim=1))
    one = reference.steered(eps[:1], control[:1], 4.0)
    torch.testing.assert_close(out[:1], one)


def spied(pipe) -> list:
    """Each call of scheduler.step from now on: (i, t, prediction, z, the scheduler's own clean estimate)."""
    seen, number, step = [], counting(), pipe.scheduler.step

    def spy(prediction, t, z, **more):
        convert = getattr(pipe.scheduler, "convert_model_output", None)
        if convert is not None and pipe.scheduler.step_index is None:
            pipe.scheduler._init_step_index(t)
        clean = convert(prediction, sample=z) if convert else None
        output = step(prediction, t, z, **more)
        if clean is None:
            clean = output.pred_original_sample
        seen.append((next(number), t, prediction, z, clean))
        return output

    pipe.scheduler.step = spy
    spy.__wrapped__ = step
    return seen


SAYS_SO = ["euler", "euler-karras", "euler-v", "euler-ancestral", "ddim", "ddim-v", "ddim-sample", "ddpm"]
CONVERTS = ["dpm++-2m", "dpm++-2m-karras", "dpm++-sde", "unipc"]


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [("sdxl", scheduler) for scheduler in SAYS_SO + CONVERTS]
    + [("flux", "flow-unipc"), ("flux", "flow-dpm++-2m"), ("sd3", "flow-dpm++-2m")],
)
def test_the_clean_estimate_is_the_schedulers_own(name, scheduler):
    """At every step, against the schedulers that tell what they think the clean latents are."""
    pipe, call = built(name, scheduler)
    seen = spied(pipe)
    reference.sample(pipe, SEVEN, SEED, STEPS, **call)
    assert len(seen) == STEPS
    for i, t, prediction, z, clean in seen:
        estimate = reference.clean_estimate(pipe.scheduler, i, t, prediction, z)
        torch.testing.assert_close(estimate, clean, atol=1e-4, rtol=1e-4)


# PNDM mixes its last predictions; DDIM with Stable Diffusion's `set_alpha_to_one=False` stops short of clean.
ENDS_ELSEWHERE = {"pndm", "ddim", "ddim-eta", "ddim-v", "ddim-sample"}


@pytest.mark.parametrize(("name", "scheduler"), [pair for pair in zoo.PAIRS if pair[1] not in ENDS_ELSEWHERE])
def test_the_last_clean_estimate_is_the_result(name, scheduler):
    pipe, call = built(name, scheduler)
    final, clean = reference.sample(pipe, SEVEN, SEED, STEPS, until=STEPS, **call)
    torch.testing.assert_close(clean, final, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", zoo.PIPELINES)
def test_decode_is_the_pipelines_own(name):
    pipe, call = built(name)
    picture = reference.decode(pipe, bare(pipe, call), **call)
    assert np.array_equal(np.asarray(picture), np.asarray(bare(pipe, call, "pil")[0]))


APPLES = "a photo of {} apples"
SETTINGS = {"gamma": 4.0, "t_steer": 2, "t_est": 3}


def saying(*counts: int):
    """A counter that gives these answers, in this order, whatever it sees."""
    answers = iter(counts)
    return lambda image: next(answers)


def test_control_prompts():
    assert reference.ask(APPLES, 3) == THREE
    assert reference.ask(APPLES, None) == "a photo of apples"


def test_static():
    pipe, call = built("flux")
    outcome = reference.static(pipe, APPLES, 7, SEED, STEPS, gamma=4.0, t_steer=2, **call)
    expected = reference.sample(pipe, SEVEN, SEED, STEPS, "a photo of apples", 4.0, 2, **call)
    assert torch.equal(outcome.latents, expected)


@pytest.mark.parametrize(
    ("count", "control"), [(7, None), (3, (THREE, 4.0, 2)), (0, ("a photo of no apples", 4.0, 2))]
)
def test_feedback(count, control):
    pipe, call = built("flux")
    outcome = reference.feedback(pipe, APPLES, 7, SEED, STEPS, saying(count), **SETTINGS, **call)
    assert torch.equal(outcome.latents, reference.sample(pipe, SEVEN, SEED, STEPS, *(control or ()), **call))
    assert len(outcome.attempts) == (2 if control else 1)


@pytest.mark.parametrize(
    ("counts", "gamma"),
    [
        ((7,), None),  # right at once: unsteered
        ((3, 7), 4.0),  # right after steering: that trajectory goes on
        ((3, 5), 8.0),  # closer, too little
        ((3, 3), 8.0),  # unmoved
        ((3, 9), 2.0),  # across, too much
        ((3, 2), 2.0),  # away: the paper halves, its code doubles
        ((9, 8), 8.0),
        ((9, 9), 8.0),
        ((9, 6), 2.0),
        ((9, 11), 2.0),
    ],
)
def test_adaptive(counts, gamma):
    pipe, call = built("flux")
    outcome = reference.adaptive(pipe, APPLES, 7, SEED, STEPS, saying(*counts), **SETTINGS, **call)
    control = () if gamma is None else (reference.ask(APPLES, counts[0]), gamma, 2)
    assert torch.equal(outcome.latents, reference.sample(pipe, SEVEN, SEED, STEPS, *control, **call))
    assert outcome.attempts[-1][1] == (gamma or 0.0)
