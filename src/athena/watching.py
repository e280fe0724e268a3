"""Look at one run on its way: what its image would be at every few steps, and how many objects are seen there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from athena import counters, planning
from athena.engine import Athena, Run
from athena.errors import SettingsError
from athena.planning import Options
from athena.progress import Progress
from athena.types import Result


@dataclass(frozen=True)
class Look:
    """A clean estimate: the final image, were the denoiser right at this step."""

    step: int
    image: Any
    count: int
    detections: Any = None


def watch(
    athena: Athena, prompt: Any, every: int | None = None, progress: bool | None = None, **options: Any
) -> Iterator[Look | Result]:
    """Sample one image unsteered; yields a `Look` every few steps (about eight in all), at last the `Result`.

    The steering counter counts the estimates and the judge the final image. No step is computed twice.
    """
    if athena.counter is None:
        raise SettingsError(
            'nothing can be seen without a counter: give one, as in Athena(pipe, "grounding-dino").'
        )
    ours = Options(
        **{name: options.pop(name) for name in planning.OURS if name in options}, strategy="unsteered"
    )
    plan = planning.make(prompt, ours, options, athena.driver, athena.preset)
    if len(plan.tasks) != 1:
        raise SettingsError(f"expected one prompt and one image to watch, got {len(plan.tasks)}.")
    every = max(1, round(plan.steps / 9)) if every is None else planning.whole("every", every, 1)
    if every >= plan.steps > 1:
        raise SettingsError(
            f"every: this run has {plan.steps} steps; look at every {plan.steps - 1} at most."
        )
    task, bar = plan.tasks[0], Progress(progress, plan.steps)
    run = Run(athena, plan, athena.batch_size, bar)
    with bar:
        task.advance(None)
        state = None
        for step in range(every, plan.steps, every):
            with athena.driver.request(run.request):
                if state is None:
                    _, (state,) = run.sample([task], until=step, estimate=True)
                else:
                    (state,) = athena.driver.resume(state, until=step)
                images = athena.driver.estimate(state)
            [(count, found)] = counters.count(
                athena.counter, images, [task.ask.noun], [task.ask.text], estimate=True
            )
            task.counted, task.decoded = task.counted + 1, task.decoded + 1
            yield Look(step, images[0], count, found)
        if state is not None:  # finish what was begun, not a new run
            task.wants = task.attempt(None, None)
            task.states[id(task.wants)] = state
        with athena.driver.request(run.request):
            [(_, result)] = run.finish([task])
    yield result
