"""The checks, each a function of the subject: it raises `Failed`, or says what is worth knowing, or nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from athena.driver import Steering
from athena.engine import Athena
from athena.models import DEFAULT
from athena.testing import rows
from athena.testing.subject import (
    APPLES,
    CATS,
    LONG,
    SEVEN,
    THREE,
    Failed,
    Subject,
    furthest,
    global_seed,
    numbers,
    scale,
)

SEED = 1
STEERED = 2  # steps
AWAY = Steering(THREE, 2.0, STEERED)


def drivable(s: Subject) -> None:
    assert s.driver
    s.bare((SEVEN,), (SEED,))
    s.run([SEVEN], [SEED])


def resume(s: Subject) -> None:
    """Two images, so that the rows of a state are put together again; stopped early and late."""
    prompts, seeds = (SEVEN, CATS), (1, 2)
    straight = s.run(prompts, seeds)
    for until in {1, max(1, s.steps - 1)}:
        states = s.run(prompts, seeds, until=until)
        with global_seed(1):
            same(s.driver.resume(states), straight, f"resumed after step {until}")


def gamma_zero(s: Subject) -> str | None:
    bare = s.bare((SEVEN,), (SEED,))
    same(s.run([SEVEN], [SEED]), bare, "unsteered")
    same(s.run([SEVEN], [SEED], Steering(THREE, 0.0, STEERED)), bare, "gamma 0")
    same(s.run([SEVEN], [SEED], Steering(SEVEN, 2.0, STEERED)), bare, "the prompt itself as control prompt")
    if not s.batches:
        return "one by one: the bare pipe itself cannot make two images at once"
    same(s.run([SEVEN, CATS], [1, 2]), s.bare((SEVEN, CATS), (1, 2)), "two at once")
    return None


def changed_rows(s: Subject) -> str | None:
    """A batch of two of which one is steered: the bare pipe tells which rows its control prompt changes."""
    n = 2 if s.batches else 1
    theirs = rows.first_step(s, [THREE, CATS][:n], (1, 2)[:n])
    changes: list[set[int]] = []
    bound: list[int] = []

    def look(ours: list[rows.Heard]) -> None:
        if len(ours) != len(theirs):
            raise Failed(f"{len(ours)} denoiser calls a step for one prompt, {len(theirs)} for another")
        changes.extend(rows.changed(a, b) for a, b in zip(ours, theirs, strict=True))
        for one, found in zip(ours, changes, strict=True):
            together = found and rows.tied(one, found)
            bound.append(len(one.call.sample) // n if together else len(found))

    rows.first_step(s, [SEVEN, CATS][:n], (1, 2)[:n], look)
    if not any(changes):
        raise Failed("the prompt changes none of the denoiser's arguments")
    driver, asked = s.driver, ([SEVEN, CATS][:n], [1, 2][:n])
    call = s.for_images(n)
    with rows.listening(s) as plain, global_seed(0):
        driver.run(*asked, **call)
    with rows.listening(s) as steered, global_seed(0):
        driver.run(*asked, [AWAY, None][:n], **call)
    calls = STEERED * int(getattr(s.pipe.scheduler, "order", 1))
    extra = rows.rows_in(steered) - rows.rows_in(plain)
    fewest = calls * sum(len(found) for found in changes)
    if extra <= 0:
        raise Failed("no row of the control prompt was evaluated")
    if extra > calls * sum(bound):
        raise Failed(f"{extra} rows evaluated for the control prompt, which changes {fewest}")
    return "an image's rows depend on each other here, and are evaluated together" if extra > fewest else None


def steering_changes(s: Subject) -> None:
    gap = furthest(s.run([SEVEN], [SEED], AWAY), s.bare((SEVEN,), (SEED,)))
    if not 1e-3 < gap < float("inf"):
        raise Failed(f"steered from {THREE!r}, the final latents moved by {gap:.1g}")


def last_estimate(s: Subject) -> str | None:
    state = s.run([SEVEN], [SEED], until=s.steps)[0]
    final = s.bare((SEVEN,), (SEED,))
    with global_seed(0):
        clean = s.driver.decode(state.clean, [state], output_type=s.call.get("output_type", "pil"))
    apart = numbers(clean) - final
    gap = float(apart.norm() / final.norm())
    if gap <= 1e-3:
        return None
    if gap <= 0.05 and ends_roughly(s.pipe.scheduler):
        return f"within {gap:.1%}: {type(s.pipe.scheduler).__name__} ends so"
    raise Failed(f"they differ by {gap:.2%} of the latents' length")


def ends_roughly(scheduler: Any) -> bool:
    """Whether its last step clips, mixes in earlier steps, or ends at the least noise it was trained with."""
    clips = scheduler.config.get("thresholding") or scheduler.config.get("clip_sample")
    trained = hasattr(scheduler, "alphas_cumprod") and not hasattr(scheduler, "sigmas")
    return bool(clips or trained or any(hasattr(scheduler, past) for past in ("model_outputs", "ets")))


def batches(s: Subject) -> None:
    prompts, seeds = (SEVEN, LONG, THREE), (1, 2, 3)
    steering = [AWAY, None, Steering(APPLES, 1.0, 1)]
    together = numbers(s.run(prompts, seeds, steering))
    alone = [numbers(s.run([p], [n], [how])) for p, n, how in zip(prompts, seeds, steering, strict=True)]
    gap = furthest(together, torch.cat(alone))
    if gap <= s.tolerance * scale(together):
        return
    if not s.batches:
        raise Failed(f"they differ by {gap:.1g}; the bare pipe has no batches")
    pair = (SEVEN, LONG)
    bare = furthest(s.bare(pair, (1, 2)), torch.cat([s.bare((SEVEN,), (1,)), s.bare((LONG,), (2,))]))
    raise Failed(f"they differ by {gap:.1g}; the bare pipe's own batch by {bare:.1g}")


# --- leaving no trace


class Trouble(Exception):
    """What a counter raises on purpose."""


def after_success(s: Subject) -> None:
    untouched_by(s, lambda: ask(s, lambda image, noun: 5))


def after_exception(s: Subject) -> None:
    def fails(image: Any, noun: str) -> int:
        raise Trouble

    def attempt() -> None:
        with suppress(Trouble):
            ask(s, fails)
            raise Failed("the counter was not asked")

    untouched_by(s, attempt)


def after_interrupt(s: Subject) -> None:
    """Ctrl-C while the denoiser works, in the middle of a run and after it was steered."""

    def attempt() -> None:
        calls: list[int] = []

        def interrupts(*_: Any) -> None:
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt("on purpose")

        hooks = [module.register_forward_pre_hook(interrupts) for module in s.denoisers]
        try:
            s.driver.run([SEVEN], [SEED], AWAY, **s.call)
        except KeyboardInterrupt as stop:
            if stop.args != ("on purpose",):
                raise
        else:
            raise Failed("the interrupt was swallowed")
        finally:
            for hook in hooks:
                hook.remove()

    untouched_by(s, attempt)


def ask(s: Subject, counter: Callable[[Any, str], int]) -> None:
    """A whole adaptive request, whose estimates miss: it probes, decodes, counts, steers and finishes."""
    athena = Athena(s.pipe, counter, preset=DEFAULT, progress=False)
    athena(SEVEN, seed=SEED, estimate_step=2, steer_steps=1, gamma=2.0, **s.call)


def untouched_by(s: Subject, attempt: Callable[[], None]) -> None:
    """Attributes, the next plain call and the global random states are what they were."""
    before, scratch, once = s.bare((SEVEN,), (SEED,)), s.scratch, s.anatomy()
    with global_seed(SEED):
        random_before = global_state()
        attempt()
        random_after = global_state()
    after = s.anatomy()
    traces = sorted(k for k in once.keys() | after.keys() if once.get(k) != after.get(k) and k not in scratch)
    if traces:
        raise Failed(f"traces left at {', '.join(traces[:3])}{' and elsewhere' * (len(traces) > 3)}")
    if random_before != random_after:
        raise Failed("the global random state was changed")
    same(s.afresh((SEVEN,), (SEED,)), before, "the next plain call")


def global_state() -> tuple[Any, ...]:
    return (
        torch.get_rng_state().numpy().tobytes(),
        random.getstate(),
        str(np.random.get_state()),
    )


def seeds(s: Subject) -> None:
    """Under another global random state, which no seed may depend on."""
    first = s.run([SEVEN], [SEED], AWAY)
    with global_seed(99):
        again = s.driver.run([SEVEN], [SEED], AWAY, **s.call)
    same(again, first, "the same seed again")
    if furthest(s.run([SEVEN], [SEED + 1], AWAY), first) < 1e-3:
        raise Failed("another seed makes the same image")


def same(a: Any, b: Any, what: str) -> None:
    gap = furthest(a, b)
    if gap != 0.0:
        raise Failed(f"{what}: differs by {gap:.1g}")


CHECKS: dict[str, Callable[[Subject], str | None]] = {
    "drivable": drivable,
    "resume equals the straight run": resume,
    "gamma 0 equals the plain pipe": gamma_zero,
    "the control pass evaluates only changed rows": changed_rows,
    "steering with another count changes the image": steering_changes,
    "clean estimate at the last step equals the final latents": last_estimate,
    "batch of three equals one by one": batches,
    "pipe untouched after success": after_success,
    "pipe untouched after an exception in the counter": after_exception,
    "pipe untouched after an interrupt": after_interrupt,
    "seeds reproducible": seeds,
}
NAMES = tuple(CHECKS)
