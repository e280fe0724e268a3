"""A request, checked: everything that can be refused before any denoising is refused here."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf, isfinite
from numbers import Real
from operator import index
from typing import Any

from athena import models, strategies
from athena.driver import Driver, Row, State, Steering
from athena.errors import PromptError, SettingsError, UnknownName
from athena.prompts import CountPrompt, parse_prompt
from athena.strategies import Finish, Probe, Strategy
from athena.types import Attempt, Cost

SPENT = ("denoiser_calls", "denoiser_rows", "text_encoder_calls", "seconds")


@dataclass(frozen=True)
class Options:
    """The keyword arguments of a call that are ours; all others go to the strategy or to the pipe."""

    strategy: str | Callable[..., Strategy] = "adaptive"
    seed: int | Sequence[int] | None = None
    gamma: float | None = None
    steer_steps: int | None = None
    estimate_step: int | None = None
    object: Any = None
    count: Any = None
    num_images_per_prompt: int = 1
    batch_size: int | None = None
    progress: bool | None = None


OURS = tuple(Options.__dataclass_fields__)
MOST_SEED = 2**64 - 1


@dataclass(eq=False)
class Task:
    """One image on its way: its strategy, what that wants next, and what it has seen."""

    index: int
    ask: CountPrompt
    seed: int
    strategy: Strategy
    own: dict[str, Any]
    wants: Probe | Finish | Attempt | None = None
    attempts: list[Attempt] = field(default_factory=list)
    states: dict[int, State] = field(default_factory=dict)  # by attempt
    rows: dict[int, Row] = field(default_factory=dict)  # by noise
    counted: int = 0
    decoded: int = 0

    def advance(self, attempt: Attempt | None) -> None:
        """Tell the strategy what its last probe showed, and note what it wants now."""
        fits: Any = Probe
        try:
            self.wants = next(self.strategy) if attempt is None else self.strategy.send(attempt)
        except StopIteration as done:
            self.wants, fits = done.value, Finish | Attempt
        if not isinstance(self.wants, fits):
            how = "yielded" if fits is Probe else "returned"
            raise SettingsError(
                f"the strategy {how} {self.wants!r}: yield Probe(...), and return Finish(...) or one of its attempts."
            )
        if isinstance(self.wants, Probe | Finish) and not isinstance(self.wants.control, CountPrompt | None):
            raise SettingsError(
                "control: expected a prompt, such as ask.with_count(3) or ask.without_count(), "
                f"got {self.wants.control!r}."
            )
        if isinstance(self.wants, Probe | Finish):
            self.wants = replace(self.wants, noise=whole("noise", self.wants.noise, 0))
        if isinstance(self.wants, Attempt) and not any(a is self.wants for a in self.attempts):
            raise SettingsError(
                "the strategy returned an attempt it was not given: return one that a yield gave."
            )

    def row(self) -> Row:
        noise = self.wants.noise if isinstance(self.wants, Probe | Finish) else 0
        if noise not in self.rows:
            self.rows[noise] = Row(self.ask.text, derived(self.seed, noise), self.own)
        return self.rows[noise]

    def steering(self, steps: int) -> Steering | None:
        wants = self.wants
        if (
            not isinstance(wants, Probe | Finish)
            or wants.control is None
            or wants.control.text == self.ask.text
        ):
            return None
        return Steering(wants.control.text, strength(wants.gamma), steps)

    def attempt(self, steering: Steering | None, count: int | None) -> Attempt:
        """Note one more trajectory."""
        control, gamma = (steering.control, steering.gamma) if steering else (None, 0.0)
        self.attempts.append(Attempt(control, gamma, self.row().seed, count))
        return self.attempts[-1]

    def cost(self) -> Cost:
        spent = {name: sum(row.spent[name] for row in self.rows.values()) for name in SPENT}
        return Cost(**spent, vae_decodes=self.decoded, counter_calls=self.counted)


@dataclass(frozen=True)
class Plan:
    tasks: list[Task]
    shared: dict[str, Any]  # the pipe's arguments that all images share
    settings: models.Settings
    steps: int
    strategy: str


def make(prompt: Any, options: Options, rest: dict[str, Any], driver: Driver, preset: models.Preset) -> Plan:
    """Check a call of `Athena` and lay out its images."""
    function, name = strategies.find(options.strategy), strategies.name_of(options.strategy)
    taken = [x for x in strategies.options_of(function) if x in rest and x not in driver.parameters]
    begin = strategies.prepare(function, {x: rest[x] for x in taken})
    call = {x: value for x, value in rest.items() if x not in taken}
    known(call, driver, strategies.options_of(function))
    if name == "reseed" and call.get("latents") is not None:
        raise SettingsError('latents: strategy "reseed" takes new noise every time: leave them out.')
    steps = steps_of(call, driver.parameters)
    enough(name, steps)
    settings = preset.settings(name, steps)
    settings = models.Settings(
        estimate_step=within("estimate_step", options.estimate_step, 1, steps, settings.estimate_step),
        steer_steps=within("steer_steps", options.steer_steps, 0, steps, settings.steer_steps),
        gamma=settings.gamma if options.gamma is None else strength(options.gamma),
    )
    asks, seeds = targets(prompt, options, preset)
    for ask in asks if name == "static" else ():
        if ask.without_count().text == ask.text:
            raise PromptError(
                f'strategy "static" steers away from the prompt without its number, and "{ask.text}" has none to leave '
                'out: write the number into the prompt, or choose strategy="adaptive".'
            )
    copies = whole("num_images_per_prompt", options.num_images_per_prompt, 1)
    call = {x: repeated(x, value, len(asks), copies) for x, value in call.items()}
    asks = [ask for ask in asks for _ in range(copies)]
    seeds = [whole("seed", seed + i, 0, MOST_SEED) for seed in seeds for i in range(copies)]
    rows, shared = driver.rows([ask.text for ask in asks], seeds, **call)
    tasks = [
        Task(i, ask, row.seed, begin(ask, settings.gamma), row.own)
        for i, (ask, row) in enumerate(zip(asks, rows, strict=True))
    ]
    return Plan(tasks, shared, settings, steps, name)


def targets(prompt: Any, options: Options, preset: models.Preset) -> tuple[list[CountPrompt], list[int]]:
    """What every image is asked for, and its seed."""
    if isinstance(prompt, bytes | dict) or not isinstance(prompt, CountPrompt | Iterable):
        raise PromptError(f"expected a prompt or a list of them, got {prompt!r}.")
    prompts = [prompt] if isinstance(prompt, str | CountPrompt) else list(prompt)
    n = len(prompts)
    each = zip(prompts, spread("object", options.object, n), spread("count", options.count, n), strict=True)
    asks = [target(*one) for one in each]
    for ask in asks:
        preset.check(ask.text)
    if options.seed is None:
        return asks, [secrets.randbits(32) for _ in asks]
    return asks, [whole("seed", seed, 0, MOST_SEED) for seed in spread("seed", options.seed, n)]


def target(prompt: Any, noun: Any, count: Any) -> CountPrompt:
    if not isinstance(prompt, CountPrompt):
        return parse_prompt(prompt, noun, count)
    if prompt.count is None or count not in (None, prompt.count) or noun not in (None, prompt.noun):
        raise PromptError(
            f"a CountPrompt brings its own count and noun, this one {prompt.count} and {prompt.noun!r}: change them "
            "with prompt.with_count(n) or parse_prompt(text, object, count), not with count= and object= here."
        )
    return prompt


def derived(seed: int, noise: int) -> int:
    """The n-th new noise of a seed: fixed, and far from its neighbours'."""
    return seed if noise == 0 else int.from_bytes(sha256(f"{seed}:{noise}".encode()).digest()[:4], "big")


def steps_of(call: dict[str, Any], parameters: dict[str, inspect.Parameter]) -> int:
    """How many steps this call of the pipe will take."""
    for name in ("timesteps", "sigmas"):
        given = call.get(name)
        if given is not None:
            if not hasattr(given, "__len__"):
                raise SettingsError(f"{name}: expected a list with one entry a step, got {given!r}.")
            return len(given)
    parameter = parameters.get("num_inference_steps")
    steps = call.get("num_inference_steps", parameter.default if parameter else 50)
    return whole("num_inference_steps", steps, 1)


def enough(strategy: str, steps: int) -> None:
    """A distilled model may take one step, and then there is nothing to steer by and nothing left to steer."""
    if steps == 1 and strategy in ("static", "feedback", "adaptive"):
        raise SettingsError(
            f'strategy "{strategy}" needs at least two steps, and this run has one: choose strategy="reseed" (new '
            'noise until the count is right) or "unsteered", or raise num_inference_steps.'
        )


def repeated(name: str, value: Any, n: int, copies: int) -> Any:
    """A list with one entry a prompt, made one with an entry an image."""
    listed = isinstance(value, list) and len(value) == n and name.startswith(("prompt", "negative_prompt"))
    return [one for one in value for _ in range(copies)] if listed else value


# --- what was expected, what came


def known(call: dict[str, Any], driver: Driver, options: Sequence[str]) -> None:
    """Every argument is one of ours, of the strategy's or of the pipe's."""
    for name in call:
        if name == "generator":
            raise SettingsError("generator: give seed= instead, one number an image.")
        if name.endswith("prompt_embeds"):
            raise SettingsError(f"{name}: the prompt is needed as text, to write another number into it.")
        if not driver.knows(name):
            beside = {"self", "args", "kwargs", "prompt", "generator"}
            raise UnknownName("setting", name, {*driver.parameters, *OURS, *options} - beside)


def whole(name: str, value: Any, least: int, most: float = inf) -> int:
    if not is_whole(value) or not least <= int(value) <= most:
        to = f" to {most}" if most < inf else ""
        raise SettingsError(f"{name}: expected a whole number from {least}{to}, got {value!r}.")
    return int(value)


def is_whole(value: Any) -> bool:
    try:
        index(value)
    except (TypeError, ValueError):  # an array of several has an __index__ that fails
        return False
    return not isinstance(value, bool)


def within(name: str, value: Any, least: int, most: int, default: int) -> int:
    if value is None:
        return default
    if not is_whole(value) or not least <= int(value) <= most:
        raise SettingsError(
            f"{name}: expected a whole number from {least} to {most}, the steps of this run, got {value!r}. "
            "num_inference_steps= sets how many there are."
        )
    return int(value)


def strength(gamma: Any) -> float:
    number = isinstance(gamma, Real) and not isinstance(gamma, bool)  # numpy's numbers are Real too
    if not number or not isfinite(gamma) or gamma < 0:
        raise SettingsError(f"gamma: expected a number from 0 (the paper uses 4 and 5), got {gamma!r}.")
    return float(gamma)


def spread(name: str, value: Any, n: int) -> list[Any]:
    """One for all, or one for each prompt."""
    if hasattr(value, "tolist"):  # an array or a tensor
        value = value.tolist()
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [value] * n
    if len(value) != n:
        raise SettingsError(f"{name}: {len(value)} given for {n} prompts: give one for all, or one for each.")
    return list(value)
