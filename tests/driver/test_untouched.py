"""Nothing outlives a call: not after success, not after a failure, not after Ctrl-C."""

import random

import numpy as np
import pytest
import torch

import zoo
from athena.driver import Driver, Steering
from drive import SEVEN, THREE, bare, built, furthest

AWAY = Steering(THREE, 2.0, 2)


# Qwen's VAE makes these anew whenever it decodes, for anybody.
SCRATCH = {"_feat_map", "_conv_idx", "_conv_num", "_enc_feat_map", "_enc_conv_idx", "_enc_conv_num"}


def anatomy(pipe) -> dict:
    """Every attribute of the pipe, its scheduler and its modules, deep enough to notice a trace."""

    def of(thing):
        return {k: (id(v), repr(v)[:500]) for k, v in vars(thing).items() if k not in SCRATCH}

    modules = [x for x in vars(pipe).values() if isinstance(x, torch.nn.Module)]
    inner = [of(module) | {"training": module.training} for root in modules for module in root.modules()]
    return {"pipe": of(pipe), "scheduler": of(pipe.scheduler), "modules": inner}


def everything(driver, call):
    states = driver.run([SEVEN], [1], until=3, **call)
    driver.estimate(states)
    driver.run([SEVEN], [1], AWAY, **call)
    driver.resume(states)


class Trouble(Exception):
    pass


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_after_success(name):
    pipe, call = built(name)
    expected = bare(pipe, [SEVEN], [1], call)
    before = anatomy(pipe)
    everything(Driver(pipe), call)
    assert anatomy(pipe) == before
    assert furthest(bare(pipe, [SEVEN], [1], call), expected) == 0.0


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
@pytest.mark.parametrize("trouble", [Trouble, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["denoiser", "scheduler", "encoder", "decoder"])
def test_after_trouble(name, trouble, where):
    pipe, call = built(name)
    call["output_type"] = "pil"
    expected = bare(pipe, [SEVEN], [1], {**call, "output_type": "latent"})
    denoiser = getattr(pipe, "unet", None) or pipe.transformer
    target, method = {
        "denoiser": (denoiser, "forward"),
        "scheduler": (pipe.scheduler, "step"),
        "encoder": (pipe.text_encoder, "forward"),
        "decoder": (pipe.vae, "decode"),
    }[where]
    original = getattr(target, method)
    calls = []

    def fails(*args, **kwargs):
        calls.append(1)
        if len(calls) > 2 or where in ("encoder", "decoder"):
            raise trouble("on purpose")
        return original(*args, **kwargs)

    setattr(target, method, fails)
    before = anatomy(pipe)
    with pytest.raises(trouble):
        Driver(pipe).run([SEVEN], [1], AWAY, **call)
    assert anatomy(pipe) == before
    delattr(target, method)
    assert furthest(bare(pipe, [SEVEN], [1], {**call, "output_type": "latent"}), expected) == 0.0


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_global_random_state(name):
    pipe, call = built(name)
    torch.manual_seed(11), random.seed(11), np.random.seed(11)
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    everything(Driver(pipe), call)
    after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_half_precision_vae_that_was_interrupted_while_decoding():
    pipe, call = built("sdxl")
    pipe.vae.to(dtype=torch.float16)
    pipe.vae.register_to_config(force_upcast=True)

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    pipe.vae.decode = fails
    with pytest.raises(KeyboardInterrupt):
        Driver(pipe).run([SEVEN], [1], **{**call, "output_type": "pil"})
    assert pipe.vae.dtype == torch.float16
