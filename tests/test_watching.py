"""Watching one run: the estimates at its steps, then the image it would have had anyway."""

import numpy as np
import pytest

import zoo
from athena import Athena
from athena.counters import Scripted
from athena.errors import SettingsError
from athena.types import Result
from athena.watching import watch


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [("sdxl", "euler-ancestral"), ("sdxl", "dpm++-2m"), ("sdxl", "heun"), ("flux", "flow-unipc")],
)
def test_the_image_is_the_one_of_an_unwatched_run(name, scheduler):
    pipe = zoo.with_scheduler(zoo.PIPELINES[name](), scheduler)
    call = {**zoo.CALL[name], "num_inference_steps": 6, "seed": 3}
    counter = Scripted([0, 2, 5, 4])
    *looks, result = watch(Athena(pipe, counter), "four cats", 2, **call)
    assert [(look.step, look.count) for look in looks] == [(2, 0), (4, 2)]
    assert isinstance(result, Result)
    assert result.count == 5
    plain = Athena(pipe, Scripted([5]))("four cats", strategy="unsteered", **call)
    assert np.array_equal(np.asarray(result.image), np.asarray(plain.image))
    assert result.cost.denoiser_rows == plain.cost.denoiser_rows  # no step was computed twice
    assert (result.cost.vae_decodes, result.cost.counter_calls) == (3, 3)


def test_looks_come_nearer_to_the_image():
    athena = Athena(zoo.sdxl(), Scripted([0] * 9), Scripted([0]))
    *looks, result = watch(athena, "four cats", seed=1, num_inference_steps=8, **zoo.CALL["sdxl"])
    assert [look.step for look in looks] == list(range(1, 8))
    away = [
        np.abs(np.asarray(x.image).astype(int) - np.asarray(result.image)).mean()
        for x in (looks[0], looks[-1])
    ]
    assert away[1] < away[0]


def test_about_nine_looks_of_a_long_run():
    athena = Athena(zoo.sdxl(), Scripted([0] * 20))
    steps = [
        look.step
        for look in watch(athena, "four cats", num_inference_steps=20, **zoo.CALL["sdxl"])
        if not isinstance(look, Result)
    ]
    assert steps == list(range(2, 20, 2))


def test_a_run_of_one_step_has_only_its_image():
    [result] = watch(
        Athena(zoo.sdxl(), Scripted([4])), "four cats", num_inference_steps=1, **zoo.CALL["sdxl"]
    )
    assert result.exact


@pytest.mark.parametrize(
    ("counter", "prompt", "every", "said"),
    [
        (None, "four cats", 1, "without a counter"),
        (Scripted([]), ["two cats", "four cats"], 1, "one prompt"),
        (Scripted([]), "four cats", 0, "every"),
    ],
)
def test_refused(counter, prompt, every, said):
    with pytest.raises(SettingsError, match=said):
        list(watch(Athena(zoo.sdxl(), counter), prompt, every, num_inference_steps=2, **zoo.CALL["sdxl"]))
