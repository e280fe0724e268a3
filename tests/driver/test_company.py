"""What else may live on a pipe: LoRA, compiled denoisers, offloading and cache hooks, the user's callbacks."""

import gc

import pytest
import torch

import zoo
from athena.driver import Driver, Steering
from drive import CATS, SEVEN, THREE, bare, built, furthest

AWAY = Steering(THREE, 2.0, 2)


def test_lora_through_peft():
    from peft import LoraConfig

    pipe, call = built("sdxl")
    before = bare(pipe, [SEVEN], [1], call)
    torch.manual_seed(0)
    pipe.unet.add_adapter(LoraConfig(r=2, target_modules=["to_q", "to_v"], init_lora_weights=False))
    expected = bare(pipe, [SEVEN], [1], call)
    assert furthest(before, expected) > 1e-3
    driver = Driver(pipe)
    assert furthest(driver.resume(driver.run([SEVEN], [1], until=3, **call)), expected) == 0.0
    assert furthest(driver.run([SEVEN], [1], AWAY, **call), expected) > 1e-3
    assert furthest(bare(pipe, [SEVEN], [1], call), expected) == 0.0


@pytest.mark.parametrize("how", ["in place", "assigned"])
def test_compiled_denoisers(how):
    """The eager backend runs the whole of dynamo without a C++ compiler."""
    pipe, call = built("flux")
    steered = Driver(pipe).run([SEVEN], [1], AWAY, **call)
    calls = []

    def backend(graph, example_inputs):
        calls.append(graph)
        return graph.forward

    if how == "in place":
        pipe.transformer.compile(backend=backend)
    else:
        pipe.transformer = torch.compile(pipe.transformer, backend=backend)
    expected = bare(pipe, [SEVEN], [1], call)
    assert calls, "the backend was asked"
    driver = Driver(pipe)
    assert furthest(driver.resume(driver.run([SEVEN], [1], until=3, **call)), expected) == 0.0
    assert furthest(driver.run([SEVEN], [1], AWAY, **call), steered) < 1e-4
    assert furthest(bare(pipe, [SEVEN], [1], call), expected) == 0.0
    torch._dynamo.reset()


def offload(pipe):
    """What `enable_model_cpu_offload` does, on a machine that has nothing to load off to: accelerate's hooks on
    every model, taken off and laid on anew at the end of each call."""
    from accelerate import cpu_offload_with_hook
    from accelerate.hooks import remove_hook_from_module

    def lay_on():
        hook, pipe._all_hooks = None, []
        for name in ("text_encoder", "text_encoder_2", "unet", "vae"):
            _, hook = cpu_offload_with_hook(getattr(pipe, name), "cpu", prev_module_hook=hook)
            pipe._all_hooks.append(hook)

    def anew():
        for name in ("text_encoder", "text_encoder_2", "unet", "vae"):
            remove_hook_from_module(getattr(pipe, name), recurse=True)
        anew.calls += 1
        lay_on()

    anew.calls = 0
    pipe.maybe_free_model_hooks = anew
    lay_on()
    return anew


def test_offload_hooks():
    pipe, call = built("sdxl")
    expected = bare(pipe, [SEVEN], [1], call)
    anew = offload(pipe)
    driver = Driver(pipe)
    states = driver.run([SEVEN], [1], until=3, **call)
    assert anew.calls == 1, "a stop does what the pipe does at its end"
    assert furthest(driver.resume(states), expected) == 0.0
    driver.run([SEVEN], [1], AWAY, **call)
    hooks = pipe._all_hooks
    assert furthest(bare(pipe, [SEVEN], [1], call), expected) == 0.0
    assert hasattr(pipe.unet, "_hf_hook")
    assert pipe._all_hooks is not hooks
    gc.collect()


@pytest.mark.parametrize("name", ["flux", "qwen"])
def test_cache_hooks(name):
    """FirstBlockCache: the control pass keeps a cache of its own and gives the caller's back."""
    from diffusers import FirstBlockCacheConfig

    pipe, call = built(name)
    plain = Driver(pipe).run([SEVEN], [1], AWAY, **call)
    pipe.transformer.enable_cache(FirstBlockCacheConfig(threshold=0.0))  # caches, and never skips
    expected = bare(pipe, [SEVEN], [1], call)
    driver = Driver(pipe)
    assert furthest(driver.run([SEVEN], [1], **call), expected) == 0.0
    assert furthest(driver.run([SEVEN], [1], AWAY, **call), plain) < 1e-4
    pipe.transformer.disable_cache()
    pipe.transformer.enable_cache(FirstBlockCacheConfig(threshold=1e9))  # skips whatever it may
    expected = bare(pipe, [SEVEN, CATS], [1, 2], call)
    assert furthest(driver.run([SEVEN, CATS], [1, 2], **call), expected) == 0.0
    assert driver.run([SEVEN, CATS], [1, 2], [AWAY, None], **call).isfinite().all()
    assert furthest(bare(pipe, [SEVEN, CATS], [1, 2], call), expected) == 0.0


def test_the_control_pass_does_not_disturb_the_callers_cache():
    from diffusers import FirstBlockCacheConfig

    pipe, call = built("flux")
    pipe.transformer.enable_cache(FirstBlockCacheConfig(threshold=1e9))
    driver = Driver(pipe)
    plain = driver.run([SEVEN], [1], **call)
    tiny = driver.run([SEVEN], [1], Steering(THREE, 1e-6, 2), **call)
    assert furthest(plain, tiny) < 1e-4, "the main pass reuses what it would have reused"


def test_the_users_callback_sees_every_step_once():
    pipe, call = built("sdxl")
    seen = []

    def watch(pipe, i, t, kwargs):
        seen.append(i)
        return {"latents": kwargs["latents"] * 1.01}

    call = {**call, "callback_on_step_end": watch}
    expected = bare(pipe, [SEVEN], [1], call)
    assert seen == [0, 1, 2, 3, 4, 5]
    seen.clear()
    driver = Driver(pipe)
    states = driver.run([SEVEN], [1], until=3, **call)
    driver.estimate(states)
    assert furthest(driver.resume(states), expected) == 0.0, "and what it changes stays changed"
    assert seen == [0, 1, 2, 3, 4, 5]


def test_diffusers_own_callbacks():
    from diffusers.callbacks import SDXLCFGCutoffCallback

    pipe, call = built("sdxl")
    call = {**call, "callback_on_step_end": SDXLCFGCutoffCallback(cutoff_step_ratio=0.5)}
    expected = bare(pipe, [SEVEN], [1], call)
    driver = Driver(pipe)
    assert furthest(driver.run([SEVEN], [1], **call), expected) == 0.0
    assert driver.run([SEVEN], [1], AWAY, **call).isfinite().all()


def test_what_a_callback_changed_before_the_stop_is_changed_after_it():
    """Guidance cut off in step 2 stays cut off in a run that was stopped in step 4."""
    from diffusers.callbacks import SDXLCFGCutoffCallback

    pipe, call = built("sdxl")
    call = {**call, "callback_on_step_end": SDXLCFGCutoffCallback(cutoff_step_ratio=0.2)}
    expected = bare(pipe, [SEVEN], [1], call)
    driver = Driver(pipe)
    states = driver.run([SEVEN], [1], until=4, **call)
    assert furthest(driver.resume(states), expected) == 0.0
    later = driver.resume(states, until=5)
    assert furthest(driver.resume(later), expected) == 0.0


def test_own_latents():
    pipe, call = built("sdxl")
    noise = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(5))
    expected = bare(pipe, [SEVEN, CATS], [1, 2], {**call, "latents": noise})
    driver = Driver(pipe)
    states = driver.run([SEVEN, CATS], [1, 2], until=3, **call, latents=noise)
    assert furthest(driver.resume(states), expected) == 0.0
    assert furthest(driver.resume(states[1]), expected[1:]) < 1e-4


def test_nobody_in_the_zoo_is_named_in_the_driver():
    from pathlib import Path

    import athena.driver

    text = "".join(file.read_text() for file in Path(athena.driver.__file__).parent.glob("*.py"))
    for name in zoo.PIPELINES:
        assert type(zoo.PIPELINES[name]()).__name__ not in text
