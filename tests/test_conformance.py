"""The conformance suite itself: what works passes, and for every check there is a pipe that fails it."""

from contextlib import nullcontext

import pytest
import torch

import athena
import zoo
from athena.testing import NAMES, conformance, judged
from athena.testing.subject import CATS, SEVEN, Subject


@pytest.fixture
def pipe():
    return zoo.sdxl()


def failure(pipe, name, **call):
    """Why a check fails; no other is run."""
    check = judged(Subject(pipe, {**zoo.CALL["sdxl"], **call}), name)
    assert check.passed is False
    return check.detail


def test_the_report_is_a_table_and_says_whether_all_is_well(pipe):
    report = athena.testing.conformance(pipe, **zoo.CALL["sdxl"])
    assert report.passed
    lines = str(report).splitlines()
    assert lines[0] == "StableDiffusionXLPipeline"
    assert [line[: len(name)] for line, name in zip(lines[1:-1], NAMES, strict=True)] == list(NAMES)
    assert lines[-1] == "11 of 11 checks passed"


def test_nothing_needs_to_be_given(pipe):
    assert conformance(pipe).passed


def test_a_slip_in_what_is_given_is_told(pipe):
    with pytest.raises(athena.errors.UnknownName, match="height"):
        conformance(pipe, hieght=64)


def test_what_is_no_pipeline_is_not_drivable():
    report = conformance(torch.nn.Linear(2, 2))
    assert not report.passed
    assert "expected a diffusers text-to-image pipeline" in report["drivable"].detail
    assert {check.passed for check in report.checks[1:]} == {None}


# --- one broken pipe for each check; most break no more than theirs


def test_not_drivable(pipe):
    assert "divisible by 8" in failure(pipe, "drivable", height=63)


def test_resume(pipe):
    """A scheduler that keeps its memory where no snapshot finds it."""
    memory, step = [0.0], type(pipe.scheduler).step

    class Hidden(type(pipe.scheduler)):
        def set_timesteps(self, *args, **kwargs):
            memory[0] = 0.0
            super().set_timesteps(*args, **kwargs)

        def step(self, model_output, *args, **kwargs):
            memory[0] += 1.0
            return step(self, model_output * (1 + memory[0]), *args, **kwargs)

    pipe.scheduler = Hidden.from_config(pipe.scheduler.config)
    assert "resumed after step" in failure(pipe, "resume equals the straight run")


def test_gamma_zero(pipe):
    """A denoiser that is not the same from call to call."""
    calls = []
    pipe.unet.register_forward_hook(lambda m, a, out: calls.append(1) or (out[0] + 1e-3 * len(calls),))
    assert "differs by" in failure(pipe, "gamma 0 equals the plain pipe")


def test_changed_rows(pipe, monkeypatch):
    """A driver that evaluates all of the control prompt's rows."""
    from athena.driver import rows

    every = lambda ours, theirs, layout: rows.Difference(frozenset(range(layout.rows)), True)  # noqa: E731
    monkeypatch.setattr(rows, "compare", every)
    assert "evaluated for the control prompt, which changes 2" in failure(pipe, NAMES[3])


def test_rows_that_need_each_other_are_told_apart_from_waste(pipe):
    from athena.testing import rows

    def first():
        return rows.first_step(Subject(pipe, zoo.CALL["sdxl"]), [SEVEN, CATS], [1, 2])[0]

    assert not rows.tied(first(), {2})
    pipe.unet.register_forward_hook(lambda m, a, out: (out[0] - out[0].mean(0, keepdim=True),))
    assert rows.tied(first(), {2})


def test_steering(pipe):
    """A denoiser that is deaf."""
    pipe.unet.register_forward_hook(lambda m, a, out: (torch.zeros_like(out[0]),))
    assert "moved by" in failure(pipe, "steering with another count changes the image")


def test_last_estimate(pipe):
    """A scheduler that takes the denoiser's answer for something else than it says."""

    class Other(type(pipe.scheduler)):
        def step(self, model_output, *args, **kwargs):
            return super().step(0.5 * model_output, *args, **kwargs)

    pipe.scheduler = Other.from_config(pipe.scheduler.config)
    assert "they differ by" in failure(pipe, "clean estimate at the last step equals the final latents")


def test_batches(pipe):
    """Rows that depend on who shares their batch."""
    pipe.unet.register_forward_hook(lambda m, a, out: (out[0] - out[0].mean(0, keepdim=True),))
    assert "the bare pipe's own batch by" in failure(pipe, "batch of three equals one by one")


@pytest.mark.parametrize("name", NAMES[7:10])
def test_traces(pipe, monkeypatch, name):
    """A driver that leaves something behind, whatever happens."""
    from athena.driver import Driver

    enter = Driver.enter

    def forgets(self, *args, **kwargs):
        try:
            return enter(self, *args, **kwargs)
        finally:
            self.pipe.unet.config_of_athena = object()

    monkeypatch.setattr(Driver, "enter", forgets)
    assert "traces left at unet..config_of_athena" in failure(pipe, name)


@pytest.mark.parametrize("name", NAMES[7:10])
def test_the_global_random_state_is_no_exception(pipe, monkeypatch, name):
    from athena.driver import Driver

    monkeypatch.setattr(Driver, "bill", lambda *_: torch.rand(1))
    monkeypatch.setattr("athena.driver.taps.same_random_state", nullcontext)
    assert failure(pipe, name) == "the global random state was changed"


def test_seeds(pipe):
    """A pipe that draws from the global random state."""

    class Stray(type(pipe.scheduler)):
        def step(self, model_output, *args, **kwargs):
            return super().step(model_output + 0.1 * torch.rand_like(model_output), *args, **kwargs)

    pipe.scheduler = Stray.from_config(pipe.scheduler.config)
    assert "the same seed again: differs" in failure(pipe, "seeds reproducible")


def test_every_seed_the_same(pipe):
    latents = torch.ones(1, 4, 8, 8)
    assert failure(pipe, "seeds reproducible", latents=latents) == "another seed makes the same image"
