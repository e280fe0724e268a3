"""Prompt in, `Result` out: many strategies at once over one pipe, each image on a branch of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from athena import counters, models, planning, strategies
from athena.driver import Driver, Request, Row, TooManyRows, as_pictures
from athena.errors import SettingsError
from athena.planning import Options, Plan, Task
from athena.progress import Progress
from athena.prompts import CountPrompt
from athena.strategies import Finish, Probe
from athena.types import Attempt, Result


class Athena:
    """Steers a loaded pipe with a counter; `judge` counts the final images (the counter itself when not given).

    pipe        any diffusers text-to-image pipeline
    counter     a name ("grounding-dino"), a Counter, or a function f(image, noun) -> int
    preset      where t_est, t_steer and gamma come from; by the pipe's class when not given
    batch_size  the most rows in one call of the denoiser
    progress    True, False, or None: on a terminal, once two seconds have passed
    """

    def __init__(
        self,
        pipe: Any,
        counter: Any = None,
        judge: Any = None,
        *,
        preset: models.Preset | None = None,
        batch_size: int = 16,
        progress: bool | None = None,
    ) -> None:
        self.driver = Driver(pipe)
        self.counter = None if counter is None else counters.as_counter(counter)
        self.judge = (
            self.counter if judge is None else counters.apart(counters.as_counter(judge), self.counter)
        )
        if not isinstance(preset, models.Preset | None):
            raise SettingsError(f'preset: expected a Preset, such as models.find("sdxl"), got {preset!r}.')
        self.preset = preset or models.preset_for(pipe)
        self.batch_size = planning.whole("batch_size", batch_size, 1)
        self.progress = progress

    @property
    def pipe(self) -> Any:
        return self.driver.pipe

    def __call__(self, prompt: Any, **options: Any) -> Any:
        """Make an image of a prompt: a `Result`. A list of prompts, or num_images_per_prompt=, gives a list.

        strategy        "adaptive", "feedback", "static", "unsteered", "reseed", or your own generator function
        seed            one for all prompts, one for each, or None: drawn anew, and told in the result
        gamma, steer_steps, estimate_step   how strongly, for how many steps, and when to count
        object, count   the counted noun and its number, where the prompt leaves a choice
        keep, max_attempts, ...   options of the strategy
        Everything else goes to the pipe unchanged.
        """
        results = dict(self.stream(prompt, **options))
        one = isinstance(prompt, str | CountPrompt) and options.get("num_images_per_prompt", 1) == 1
        return results[0] if one else [results[i] for i in sorted(results)]

    def stream(self, prompt: Any, **options: Any) -> Iterator[tuple[int, Result]]:
        """Like a call, but yields (index, result) as images get done."""
        ours = Options(**{name: options.pop(name) for name in planning.OURS if name in options})
        plan = planning.make(prompt, ours, options, self.driver, self.preset)
        if self.counter is None and plan.strategy not in ("unsteered", "static"):
            raise SettingsError(
                f'strategy "{plan.strategy}" needs a counter, such as Athena(pipe, "grounding-dino"), '
                "or a function f(image, noun) -> int."
            )
        size = (
            self.batch_size if ours.batch_size is None else planning.whole("batch_size", ours.batch_size, 1)
        )
        bar = Progress(
            self.progress if ours.progress is None else ours.progress, len(plan.tasks) * plan.steps
        )
        with bar:
            yield from Run(self, plan, size, bar)


class Run:
    """One request under way. Groups that fill a batch go first, new prompts fill up, the rest follows."""

    def __init__(self, athena: Athena, plan: Plan, size: int, bar: Progress) -> None:
        self.athena, self.driver, self.plan, self.size, self.bar = athena, athena.driver, plan, size, bar
        self.request = Request(on_step=bar.advance)
        self.waiting = list(plan.tasks)
        self.going: list[Task] = []

    def __iter__(self) -> Iterator[tuple[int, Result]]:
        while self.waiting or self.going:
            full = max(1, self.size // (self.request.each or 2))  # two: with guidance, until seen
            batch = self.largest_group()
            if len(batch) < full and self.waiting:
                fresh, self.waiting = self.waiting[:full], self.waiting[full:]
                for task in fresh:
                    task.advance(None)
                self.going += fresh
                continue
            batch = batch[:full]
            try:
                with self.driver.request(self.request):
                    if isinstance(batch[0].wants, Probe):
                        self.probe(batch)
                        continue
                    results = self.finish(batch)
            except TooManyRows:
                continue  # now it is known how many rows an image has
            self.going = [task for task in self.going if task not in batch]
            yield from results

    def largest_group(self) -> list[Task]:
        groups: dict[type, list[Task]] = {}
        for task in self.going:
            groups.setdefault(type(task.wants), []).append(task)
        return max(groups.values(), key=len, default=[])

    def sample(self, batch: list[Task], **how: Any) -> Any:
        steering = [task.steering(self.plan.settings.steer_steps) for task in batch]
        rows: list[Row] = [task.row() for task in batch]
        return steering, self.driver.sample(rows, self.plan.shared, steering, most_rows=self.size, **how)

    def probe(self, batch: list[Task]) -> None:
        """Run to t_est, look, and tell every strategy what its image holds there."""
        self.bar.say(describe("probing", batch))
        steering, states = self.sample(batch, until=self.plan.settings.estimate_step, estimate=True)
        self.bar.say(describe("counting", batch))
        images = self.driver.estimate(states)
        assert self.athena.counter is not None
        seen = counters.count(self.athena.counter, images, *asked(batch), estimate=True)
        for task, state, (count, _), steered in zip(batch, states, seen, steering, strict=True):
            task.counted += 1
            task.decoded += 1
            attempt = task.attempt(steered, count)
            task.states[id(attempt)] = state
            task.advance(attempt)

    def finish(self, batch: list[Task]) -> list[tuple[int, Result]]:
        """Run to the end, anew or from where an attempt stopped, and judge."""
        self.bar.say(describe("finishing", batch))
        if isinstance(batch[0].wants, Attempt):
            images = self.driver.resume([task.states[id(task.wants)] for task in batch])
            kept = [task.wants for task in batch]
        else:
            steering, images = self.sample(batch)
            kept = [task.attempt(steered, None) for task, steered in zip(batch, steering, strict=True)]
        judge = self.athena.judge
        pictures = as_pictures(images, self.plan.shared.get("output_type", "pil"))
        judged: list[tuple[int | None, Any]] = [(None, None)] * len(batch)
        if pictures is not None and judge is not None:
            self.bar.say(describe("judging", batch))
            judged = list(counters.count(judge, pictures, *asked(batch)))
        for task in batch:
            task.decoded += pictures is not None
            task.counted += pictures is not None and judge is not None
        results = [
            (task.index, self.result(task, image, keep, *seen))
            for task, image, keep, seen in zip(batch, images, kept, judged, strict=True)
        ]
        for task in batch:  # a long request holds only what is under way
            for row in task.rows.values():
                self.request.first.pop(row.key, None)
            task.states.clear()
        return results

    def result(self, task: Task, image: Any, kept: Any, count: int | None, detections: Any) -> Result:
        counter, judge = self.athena.counter, self.athena.judge
        return Result(
            image=image,
            prompt=task.ask,
            count=count,
            detections=detections,
            seed=task.seed,
            strategy=self.plan.strategy,
            attempts=tuple(replace(a, finished=a is kept) for a in task.attempts),
            cost=task.cost(),
            counter=counter.name if counter else "",
            judge=judge.name if judge else "",
            settings={**vars(self.plan.settings), "steps": self.plan.steps},
        )


def asked(batch: list[Task]) -> tuple[list[str], list[str]]:
    """The nouns to count, and the prompts they stand in."""
    return [task.ask.noun for task in batch], [task.ask.text for task in batch]


def describe(doing: str, batch: list[Task]) -> str:
    """ "probing 8 images", or "steering 3: 4 -> 7 apples" where some are being steered."""
    steered = [t for t in batch if isinstance(t.wants, Probe | Finish) and t.wants.control is not None]
    if not steered or doing in ("counting", "judging"):
        return f"{doing} {len(batch)} image{'s' * (len(batch) > 1)}"
    one = steered[0]
    seen = next((f"{a.count} -> " for a in one.attempts if a.count is not None), "")
    return f"steering {len(steered)}: {seen}{one.ask.count} {one.ask.noun_plural}"


# --- the door for those who have not loaded anything


def generate(
    prompt: Any,
    *,
    model: str = "mini",
    counter: Any = None,
    judge: Any = None,
    device: str = "auto",
    dtype: Any = None,
    offload: str | None = None,
    **options: Any,
) -> Any:
    """`Athena` with the loading done: `model` by name, path or hub id; the rest as there."""
    prompt = list(prompt) if isinstance(prompt, Iterator) else prompt  # it is read twice
    ours = Options(**{name: options[name] for name in planning.OURS if name in options})
    strategies.find(ours.strategy)  # a slip of the pen is told before gigabytes are loaded
    planning.targets(prompt, ours, models.find(model))
    models.check(model)
    counter = default_counter(model) if counter is None else counter
    athena = loaded(model, counter, judge, device, dtype, offload)
    return athena(prompt, **{**models.find(model).call(), **options})


def default_counter(model: str) -> str:
    """The embedded models have a counter of their own; every other is counted by Grounding DINO."""
    return "mini" if models.find(model).name in models.MINIS else "grounding-dino"


def loaded(
    model: str,
    counter: Any,
    judge: Any,
    device: str,
    dtype: Any,
    offload: Any,
    preset: models.Preset | None = None,
    revision: str | None = None,
) -> Athena:
    """The last model stays loaded, and the last two counters that were called by name."""
    steering = counter_of(counter)  # first: it is the smaller download
    pipe = pipe_of(model, device, dtype, offload, revision)
    return Athena(pipe, steering, None if judge is None else counter_of(judge), preset=preset)


@lru_cache(maxsize=1)
def pipe_of(model: str, device: str, dtype: Any, offload: Any, revision: str | None = None) -> Any:
    return models.load(model, device=device, dtype=dtype, offload=offload, revision=revision)


def counter_of(counter: Any) -> counters.Counter:
    return counter_named(counter) if isinstance(counter, str | Path) else counters.as_counter(counter)


@lru_cache(maxsize=2)
def counter_named(name: str | Path) -> counters.Counter:
    return counters.as_counter(name)
