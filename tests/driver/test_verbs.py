"""The four verbs against the bare pipe and against the oracle, on every pipeline and scheduler of the zoo."""

import pytest
import torch

import reference
import zoo
from athena.driver import Driver, Steering
from drive import CATS, SEVEN, STEPS, THREE, bare, built, furthest

SEEDS = [1, 2]
OWN = [(name, None) for name in zoo.PIPELINES]


@pytest.fixture(autouse=True)
def _global_seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize(("name", "scheduler"), OWN + zoo.PAIRS)
def test_run_is_the_bare_pipe_and_resume_is_the_straight_run(name, scheduler):
    pipe, call = built(name, scheduler)
    torch.manual_seed(0)
    expected = bare(pipe, [SEVEN, CATS], SEEDS, call)
    driver = Driver(pipe)
    torch.manual_seed(0)
    straight = driver.run([SEVEN, CATS], SEEDS, **call)
    states = driver.run([SEVEN, CATS], SEEDS, until=2, **call)
    assert furthest(straight, expected) == 0.0
    assert furthest(driver.resume(states), expected) == 0.0
    assert furthest(driver.resume(states), expected) == 0.0, "a state can be resumed again"


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
@pytest.mark.parametrize("until", [1, 3])
def test_a_run_stopped_while_it_is_steered_goes_on_steering(name, until):
    pipe, call = built(name)
    steering = [Steering(THREE, 2.0, 4), None]
    straight = Driver(pipe).run([SEVEN, CATS], SEEDS, steering, **call)
    states = Driver(pipe).run([SEVEN, CATS], SEEDS, steering, until=until, **call)
    assert furthest(Driver(pipe).resume(states), straight) == 0.0
    assert furthest(straight[:1], bare(pipe, [SEVEN], SEEDS[:1], call)) > 1e-3


@pytest.mark.parametrize("name", ["sdxl", "sd15"])
def test_guidance_may_be_switched_off_while_steering(name):
    """diffusers' own recipe: the rows that are left are those of the prompt, and they are steered on."""
    pipe, call = built(name)

    def off(pipe, index, timestep, kwargs):
        if index == 0:
            pipe._guidance_scale = 0.0
            kwargs = {
                key: value[len(value) // 2 :] if key != "latents" else value for key, value in kwargs.items()
            }
        return kwargs

    inputs = ["latents", "prompt_embeds"] + (["add_text_embeds", "add_time_ids"] if name == "sdxl" else [])
    call |= {"callback_on_step_end": off, "callback_on_step_end_tensor_inputs": inputs}
    plain = bare(pipe, [SEVEN], [1], call)
    far = [furthest(Driver(pipe).run([SEVEN], [1], Steering(THREE, 2.0, n), **call), plain) for n in (1, 3)]
    assert far[0] > 1e-3 and far[1] > far[0]
    both = Driver(pipe).run([SEVEN, CATS], SEEDS, [Steering(THREE, 2.0, 3), None], **call)
    alone = Driver(pipe).run([SEVEN], SEEDS[:1], Steering(THREE, 2.0, 3), **call)
    assert furthest(both[:1], alone) < 1e-4, "beside an image that is not steered"
    assert furthest(both[1:], bare(pipe, [CATS], SEEDS[1:], call)) < 1e-4


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
@pytest.mark.parametrize("until", [1, 5, STEPS])
def test_a_run_may_stop_anywhere(name, until):
    pipe, call = built(name)
    driver = Driver(pipe)
    states = driver.run([SEVEN], [1], until=until, **call)
    assert states[0].step == until
    assert furthest(driver.resume(states), bare(pipe, [SEVEN], [1], call)) == 0.0


@pytest.mark.parametrize(("name", "scheduler"), OWN + zoo.PAIRS)
def test_steering_is_the_oracles(name, scheduler):
    if scheduler in zoo.DRAWS_GLOBALLY:
        pytest.skip("draws from the global random state: nothing to compare with")
    pipe, call = built(name, scheduler)
    how = {**call}
    steps = how.pop("num_inference_steps")
    how.pop("output_type")
    expected = reference.sample(pipe, SEVEN, 1, steps, control=THREE, gamma=2.0, steer_steps=2, **how)
    steered = Driver(pipe).run([SEVEN], [1], Steering(THREE, 2.0, 2), **call)
    assert furthest(steered, expected) < 1e-4
    assert furthest(steered, bare(pipe, [SEVEN], [1], call)) > 1e-3


@pytest.mark.parametrize(("name", "scheduler"), OWN + zoo.PAIRS)
def test_the_clean_estimate_is_the_oracles(name, scheduler):
    pipe, call = built(name, scheduler)
    how = {**call}
    steps = how.pop("num_inference_steps")
    how.pop("output_type")
    torch.manual_seed(0)
    latents, clean = reference.sample(pipe, SEVEN, 1, steps, until=3, **how)
    torch.manual_seed(0)
    state = Driver(pipe).run([SEVEN], [1], until=3, **call)[0]
    assert furthest(state.answer[0], latents) < 1e-4
    assert furthest(state.clean, clean) < 1e-4


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
@pytest.mark.parametrize(
    "steering", [Steering(SEVEN, 4.0, 3), Steering(THREE, 0.0, 3), Steering(THREE, 4.0, 0)]
)
def test_steering_that_changes_nothing_costs_nothing(name, steering):
    pipe, call = built(name)
    driver = Driver(pipe)
    plain = driver.run([SEVEN], [1], until=4, **call)[0]
    steered = driver.run([SEVEN], [1], steering, until=4, **call)[0]
    assert furthest(steered.answer[0], plain.answer[0]) == 0.0
    assert steered.row.spent["denoiser_rows"] == plain.row.spent["denoiser_rows"]


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_rows_of_a_batch_go_their_own_ways(name):
    """Per-row control prompts, strengths and seeds, in one batch and one by one."""
    pipe, call = built(name)
    driver = Driver(pipe)
    prompts, seeds = [SEVEN, CATS, SEVEN, THREE], [1, 2, 3, 1]
    steering = [Steering(THREE, 2.0, 2), None, Steering("a photo of apples", 1.0, 3), Steering(SEVEN, 1.0, 1)]
    together = driver.run(prompts, seeds, steering, **call)
    for i, (prompt, seed, one) in enumerate(zip(prompts, seeds, steering, strict=True)):
        assert furthest(together[i : i + 1], driver.run([prompt], [seed], one, **call)) < 1e-4


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_states_change_company(name):
    """Rows stopped in one batch are resumed alone, in another order, and with strangers."""
    pipe, call = built(name)
    driver = Driver(pipe)
    expected = driver.run([SEVEN, CATS, THREE], [1, 2, 3], **call)
    a, b = driver.run([SEVEN, CATS], [1, 2], until=3, **call)
    (c,) = driver.run([THREE], [3], until=3, **call)
    mixed = driver.resume([c, a, b])
    assert furthest(mixed, expected[[2, 0, 1]]) < 1e-4
    assert furthest(driver.resume(b), expected[1:2]) < 1e-4


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_decode_is_the_pipes_own(name):
    import numpy as np

    pipe, call = built(name)
    driver = Driver(pipe)
    latents = bare(pipe, [SEVEN, CATS], SEEDS, call)
    expected = bare(pipe, [SEVEN, CATS], SEEDS, {**call, "output_type": "np"})
    images = driver.decode(latents, **{**call, "output_type": "np"})
    assert np.abs(images - expected).max() == 0.0


def test_an_estimate_is_a_picture_for_each_image():
    pipe, call = built("sdxl")
    driver = Driver(pipe)
    states = driver.run([SEVEN, CATS], SEEDS, until=3, **call)
    assert [image.size for image in driver.estimate(states)] == [(64, 64), (64, 64)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", ["sdxl", "sd3", "flux", "zimage"])
def test_half_precision(name, dtype):
    pipe, call = built(name)
    pipe.to(dtype=dtype)
    driver = Driver(pipe)
    states = driver.run([SEVEN], [1], until=3, **call)
    assert furthest(driver.resume(states), bare(pipe, [SEVEN], [1], call)) == 0.0
    steered = driver.run([SEVEN], [1], Steering(THREE, 2.0, 2), **call)
    assert steered.dtype == bare(pipe, [SEVEN], [1], call).dtype
    assert steered.isfinite().all()
    assert driver.estimate(states)[0].size == (64, 64)


def test_the_pipes_own_sigmas_and_timesteps():
    pipe, call = built("flux")
    del call["num_inference_steps"]
    call["sigmas"] = [1.0, 0.8, 0.5, 0.3]
    driver = Driver(pipe)
    assert (
        furthest(driver.resume(driver.run([SEVEN], [1], until=2, **call)), bare(pipe, [SEVEN], [1], call))
        == 0.0
    )
    pipe, call = built("sdxl", "ddpm")
    del call["num_inference_steps"]
    call["timesteps"] = [900, 600, 300, 10]
    driver = Driver(pipe)
    assert (
        furthest(driver.resume(driver.run([SEVEN], [1], until=2, **call)), bare(pipe, [SEVEN], [1], call))
        == 0.0
    )


def test_several_images_of_one_prompt_are_rows_of_their_own():
    pipe, call = built("flux")
    call["num_images_per_prompt"] = 1
    driver = Driver(pipe)
    both = driver.run([SEVEN, SEVEN], [1, 2], **call)
    assert furthest(both[:1], driver.run([SEVEN], [1], **call)) < 1e-5
    assert furthest(both[:1], both[1:]) > 1e-2
