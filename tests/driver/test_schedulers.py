"""Every scheduler class of diffusers, in a UNet's pipe and in a flow's: it works, is refused by name, or the bare
pipe refuses it itself."""

import inspect
from itertools import chain

import diffusers
import pytest
import torch

import zoo
from athena.driver import Driver
from athena.errors import PipelineError
from athena.testing.checks import last_estimate
from athena.testing.subject import Subject
from drive import CATS, SEVEN, bare, furthest

SIDES = {"unet": ("sd15", {"clip_sample": False}), "flow": ("sd3", {})}
AS_FLOW = {"use_flow_sigmas": True, "prediction_type": "flow_prediction"}


def names(text):
    return text.split()


WORKS = {
    "unet": names(
        """CogVideoXDDIM DDIM DDIMParallel DDPM DDPMParallel DEISMultistep DPMSolverMultistep DPMSolverSinglestep
        EulerAncestralDiscrete EulerDiscrete HeunDiscrete KDPM2AncestralDiscrete KDPM2Discrete LCM LMSDiscrete PNDM
        SASolver TCD UniPCMultistep"""
    ),
    "flow": names(
        """DPMSolverMultistep DPMSolverSinglestep FlowMapEulerDiscrete FlowMatchEulerDiscrete FlowMatchHeunDiscrete
        FlowMatchLCM LTXEulerAncestralRF UniPCMultistep DEISMultistep SASolver"""
    ),
}
ENDS_IN_NOISE = {
    ("flow", "DEISMultistep"),
    ("flow", "SASolver"),
}  # their last sigma is the one before it again

# Whose clean estimate nobody here can read, or who run from the image to the noise.
REFUSED = {
    "unet": names(
        """CMStochasticIterative DDIMInverse DPMSolverMultistepInverse EDMDPMSolverMultistep EDMEuler IPNDM"""
    ),
    "flow": names("MiniMaxH3 IPNDM CMStochasticIterative EDMEuler"),
}

# For other things than making images of text: the bare pipes of both sides fail with them.
ELSEWHERE = names(
    """Amused BlockRefinement CogVideoXDPM DDPMWuerstchen DiscreteDDIM EntropyBound Helios HeliosDMD KarrasVe Piflow
    RFD4Proteina RePaint SCM ScoreSdeVe UnCLIP VQDiffusion"""
)


def built(side, name):
    pipe_name, extra = SIDES[side]
    pipe, cls = zoo.PIPELINES[pipe_name](), getattr(diffusers, f"{name}Scheduler")
    taken = inspect.signature(cls.__init__).parameters
    extra = {k: v for k, v in (AS_FLOW if side == "flow" else extra).items() if k in taken}
    pipe.scheduler = cls.from_config(pipe.scheduler.config, **extra)
    return pipe, {**zoo.CALL[pipe_name], "num_inference_steps": 4, "output_type": "latent"}


@pytest.fixture(autouse=True)
def _global_seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # flow pipes give their generator to no scheduler
        yield


@pytest.mark.parametrize(("side", "name"), [(side, name) for side in SIDES for name in WORKS[side]])
def test_it_is_resumed_and_estimated(side, name):
    pipe, call = built(side, name)
    expected = bare(pipe, [SEVEN, CATS], [1, 2], call)
    driver = Driver(pipe)
    torch.manual_seed(0)
    states = driver.run([SEVEN, CATS], [1, 2], until=2, **call)
    torch.manual_seed(7)
    assert furthest(driver.resume(states), expected) == 0.0
    if (side, name) not in ENDS_IN_NOISE:
        last_estimate(Subject(pipe, call))


@pytest.mark.parametrize(("side", "name"), [(side, name) for side in SIDES for name in REFUSED[side]])
def test_it_is_refused_by_name_before_sampling(side, name):
    pipe, call = built(side, name)
    calls = []
    denoiser = getattr(pipe, "unet", None) or pipe.transformer
    denoiser.register_forward_pre_hook(lambda *_: calls.append(1))
    with pytest.raises(PipelineError, match=f"{name}Scheduler"):
        Driver(pipe).run([SEVEN], [1], until=2, **call)
    assert not calls


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("side", SIDES)
def test_the_bare_pipe_refuses_it(side, name):
    with pytest.raises((AttributeError, KeyError, RuntimeError, TypeError, ValueError)):
        pipe, call = built(side, name)
        bare(pipe, [SEVEN], [1], call)


def test_no_scheduler_is_forgotten():
    known = {*ELSEWHERE, *chain(*WORKS.values(), *REFUSED.values())}
    there = {
        name.removesuffix("Scheduler")
        for name in dir(diffusers)
        if name.endswith("Scheduler")
        and isinstance(cls := getattr(diffusers, name), type)
        and issubclass(cls, diffusers.SchedulerMixin)
        and not name.startswith("Flax")
    }
    assert there == known
