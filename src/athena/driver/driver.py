"""The four verbs on any diffusers text-to-image pipeline: run, resume, estimate, decode.

The pipe is entered by its own `__call__` every time. While it runs it is touched at three seams (its
denoiser, `scheduler.step`, its text encoders); before and after that it is exactly as it was.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from athena.driver import traits
from athena.driver.entry import Entry, Request, Steering, Stop
from athena.driver.memo import EncoderMemo
from athena.driver.parts import denoisers, modules, pictures_are_rows
from athena.driver.rows import Call
from athena.driver.snapshot import Row, State
from athena.driver.taps import stepping, tapped, untouched
from athena.errors import PipelineError, SettingsError

LOCKS: WeakKeyDictionary[Any, Any] = (
    WeakKeyDictionary()
)  # a pipe serves one thread at a time, whoever drives it


class Driver:
    """Drives one pipe. Verbs inside one `request()` share encoded prompts and first predictions."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        self.parameters = check(pipe)
        self._lock = LOCKS.setdefault(pipe, threading.RLock())
        self._local = threading.local()  # the open request: every thread has its own
        self._silences: dict[Any, Any] = {}

    def knows(self, argument: str) -> bool:
        """Whether the pipe's call reads an argument of this name."""
        if argument in self.parameters:
            return True
        theirs = type(self.pipe).__call__.__module__.startswith(
            "diffusers."
        )  # those swallow slips of the pen
        open_ended = any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())
        return open_ended and (not theirs or argument in traits.LEGACY)

    # --- the verbs

    def run(
        self,
        prompts: Sequence[str],
        seeds: Sequence[int],
        steering: Sequence[Steering | None] | Steering | None = None,
        until: int | None = None,
        **call: Any,
    ) -> Any:
        """Sample, optionally steered: to the end (the pipe's images), or for `until` steps (a `State` an image)."""
        rows, shared = self.rows(prompts, seeds, **call)
        several = [steering] * len(rows) if isinstance(steering, Steering) else steering
        return self.sample(rows, shared, several, until, estimate=until is not None)

    def resume(self, states: State | Sequence[State], until: int | None = None, **changed: Any) -> Any:
        """Finish stopped runs, bit for bit as if they had never stopped; or stop them once more at a later step."""
        several = [states] if isinstance(states, State) else list(states)
        rows, shared = [s.row for s in several], {**several[0].call, **changed}
        order = int(getattr(self.pipe.scheduler, "order", 1))
        steering = [
            s.steering if s.steering and s.calls < s.steering.steps * order else None for s in several
        ]
        with self.request():
            how: dict[str, Any] = {"resumed": several, "until": until, "estimate": until is not None}
            if any(
                steering
            ):  # stopped while it was steered; prompts are encoded in the order they were before
                self.enter(rows, shared, listening=True)
                how |= {"steering": steering, "control": self.heard(rows, shared, steering)}
            return self.enter(rows, shared, **how)

    def estimate(self, states: State | Sequence[State]) -> Any:
        """What the images would be if the denoiser were right at this step: the clean estimates, decoded."""
        several = [states] if isinstance(states, State) else list(states)
        if any(s.clean is None for s in several):
            raise PipelineError("these states were stopped without a clean estimate: run with estimate=True.")
        clean = torch.cat([s.clean for s in several if s.clean is not None])
        return self.decode(clean, several, output_type="pil")

    def decode(self, latents: Tensor, like: Sequence[State] = (), **call: Any) -> Any:
        """Let the pipe turn latents into images with its own code: every step muted, its result replaced."""
        if like:
            rows, shared = [s.row for s in like], {**like[0].call, **call}
        else:
            rows, shared = self.rows([""] * len(latents), [0] * len(latents), **call)
        return self.enter(rows, shared, decoded=(latents,))

    # --- what they are made of

    def rows(
        self, prompts: Sequence[str], seeds: Sequence[int], **call: Any
    ) -> tuple[list[Row], dict[str, Any]]:
        """Part the pipe's arguments into those every image has its own of and those that all share."""
        n = len(prompts)
        own: list[dict[str, Any]] = [{} for _ in prompts]
        shared = dict(call)
        for name in call:
            value = shared[name]
            if name.startswith(traits.TEXTS) and isinstance(value, str | list | tuple):
                values = [value] * n if isinstance(value, str) else list(value)
            elif name in traits.PICTURES and isinstance(value, list) and pictures_are_rows(self.pipe, call):
                values = value
            elif name == "latents" and value is not None:
                if not isinstance(value, Tensor):
                    raise SettingsError(f"latents: expected a tensor, got {type(value).__name__}.")
                values = [value[i : i + 1] for i in range(len(value))]
            else:
                continue
            if len(values) != n:
                raise PipelineError(
                    f"{name} has {len(values)} entries for {n} images: give one, or one an image."
                )
            del shared[name]
            for mine, one in zip(own, values, strict=True):
                mine[name] = one
        return [Row(p, s, o) for p, s, o in zip(prompts, seeds, own, strict=True)], shared

    def sample(
        self,
        rows: Sequence[Row],
        shared: dict[str, Any],
        steering: Sequence[Steering | None] | None = None,
        until: int | None = None,
        estimate: bool = False,
        most_rows: int | None = None,
    ) -> Any:
        """Like `run`, for rows that the caller keeps; `TooManyRows` when the batch is too large for one call."""
        several = [
            s if s is not None and s.gamma != 0 and s.steps > 0 and s.control != row.prompt else None
            for s, row in zip(steering or [None] * len(rows), rows, strict=True)
        ]
        with self.request():
            limits = {"until": until, "estimate": estimate, "most_rows": most_rows}
            control = self.listen(rows, shared, several, **limits) if any(several) else []
            return self.enter(rows, shared, steering=several, control=control, **limits)

    def listen(
        self, rows: Sequence[Row], shared: dict[str, Any], steering: Sequence[Steering | None], **limits: Any
    ) -> list[Call]:
        """The denoiser's arguments under the control prompts: one step of the pipe with nothing computed."""
        request = self._request
        assert request is not None
        if not all(row.key in request.first for row in rows):
            self.enter(rows, shared, first_only=True, **limits)  # made now, not later: `Entry.main` keeps it
        return self.heard(rows, shared, steering)

    def heard(
        self, rows: Sequence[Row], shared: dict[str, Any], steering: Sequence[Steering | None]
    ) -> list[Call]:
        """The same, where the shape of an answer is known already."""
        controls = [
            Row(s.control if s else row.prompt, row.seed, row.own, row.spent)
            for s, row in zip(steering, rows, strict=True)
        ]
        entry = self.enter(controls, shared, listening=True)
        return entry.heard  # type: ignore[no-any-return]

    @contextmanager
    def request(self, opened: Request | None = None) -> Iterator[Request]:
        """A span in which each prompt is encoded once: a new one, the outer one, or one opened again.

        It belongs to its thread, so a generator that holds results over opens it anew for each piece of work.
        """
        outer = self._request
        request = self._local.request = opened or outer or Request()
        request.silences = self._silences
        try:
            yield request
        finally:
            self._local.request = outer

    @property
    def _request(self) -> Request | None:
        return getattr(self._local, "request", None)

    def enter(self, rows: Sequence[Row], shared: dict[str, Any], **how: Any) -> Any:
        """One call of the pipe. Gives its images, the states of a stopped run, or the entry that listened."""
        began = perf_counter()
        generators = [torch.Generator("cpu").manual_seed(row.seed) for row in rows]
        with self._lock, self.request() as request, ExitStack() as stack:
            entry = Entry(request, self.pipe.scheduler, rows, shared, generators, **how)
            stack.enter_context(untouched(self.pipe))
            if entry.resumed:
                entry.began = entry.resumed[0].began
                torch.set_rng_state(entry.began)
            encoded = self.install(entry, stack)
            call = self.arguments(rows, shared, generators, entry)
            try:
                images = self.pipe(**call).images
            except Stop:
                self.release()
                images = None
            except BaseException:
                self.release()
                raise
            finally:
                self.bill(rows, began, encoded)
        if entry.listening or entry.first_only:
            return entry
        if entry.until is None:
            return images
        if not entry.states:
            raise PipelineError(
                f"the pipe ended after {entry.calls} calls of its scheduler, before step {entry.until}."
            )
        return entry.states

    def install(self, entry: Entry, stack: ExitStack) -> Callable[[], int]:
        """Lay the taps for one call; gives a function that says how many encoder calls were made since."""
        memos = []
        for name, module in modules(self.pipe).items():
            if name in traits.DENOISERS:
                stack.enter_context(tapped(module, partial(entry.denoise, module)))
            elif name in traits.SIDE_NETWORKS:
                stack.enter_context(tapped(module, partial(entry.side, module)))
            elif name.startswith(traits.TEXT_ENCODERS):
                memos.append(entry.request.memos.setdefault(name, EncoderMemo()))
                stack.enter_context(tapped(module, memos[-1]))
        stack.enter_context(stepping(self.pipe.scheduler, entry.step))
        before = sum(memo.calls for memo in memos)
        return lambda: sum(memo.calls for memo in memos) - before

    def arguments(
        self, rows: Sequence[Row], shared: dict[str, Any], generators: list[torch.Generator], entry: Entry
    ) -> dict[str, Any]:
        call = {**shared, "prompt": [row.prompt for row in rows], "generator": generators}
        for name in rows[0].own:
            values = [row.own[name] for row in rows]
            call[name] = torch.cat(values) if isinstance(values[0], Tensor) else values
        if "return_dict" in self.parameters:
            call["return_dict"] = True
        for name in ("callback_on_step_end", "callback"):
            if call.get(name) is not None:
                hidden = heard_once(call[name], self.pipe, entry)
                if hasattr(call[name], "tensor_inputs"):
                    call["callback_on_step_end_tensor_inputs"] = call[name].tensor_inputs
                call[name] = hidden
        self.pipe.set_progress_bar_config(disable=True)  # a pipe's own bar would count muted steps
        return call

    def release(self) -> None:
        """What the pipe does at its own end, for a call that left early."""
        free = getattr(self.pipe, "maybe_free_model_hooks", None)
        if free is not None:
            free()

    def bill(self, rows: Sequence[Row], began: float, encoded: Callable[[], int]) -> None:
        seconds, calls = (perf_counter() - began) / len(rows), encoded()
        for row in rows:
            row.spent["seconds"] += seconds  # type: ignore[assignment]
            row.spent["text_encoder_calls"] += calls


def heard_once(callback: Callable[..., Any], pipe: Any, entry: Entry) -> Callable[..., Any]:
    """The user's own callback, called for every step that is taken.

    A step that is passed over is told again only where the callback changed more than the latents there, such
    as the guidance or the embeddings: a snapshot does not hold those.
    """

    def hidden(*args: Any, **kwargs: Any) -> Any:
        given = args[3] if len(args) > 3 else kwargs.get("callback_kwargs", {})
        passed = entry.resumed[0].calls if entry.resumed else 0  # the step it stopped in was not told yet
        if entry.decoded is not None or (entry.calls < passed and entry.calls not in entry.changed):
            return given
        before, attributes = dict(given), dict(vars(pipe))
        answer = callback(*args, **kwargs)
        if changed(before, answer or {}) or changed(attributes, vars(pipe)):
            entry.changed.add(entry.calls)
        return answer

    return hidden


def changed(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return any(x is not before.get(name) for name, x in after.items() if name != "latents")


def check(pipe: Any) -> dict[str, inspect.Parameter]:
    """The parameters of the pipe's call; an error when it is not one that can be driven."""
    name = type(pipe).__name__
    if not callable(pipe) or not hasattr(pipe, "scheduler"):
        raise PipelineError(
            f"expected a diffusers text-to-image pipeline, got {name}: load one with "
            'athena.models.load("sdxl") or diffusers.DiffusionPipeline.from_pretrained(...).'
        )
    parameters = dict(inspect.signature(type(pipe).__call__).parameters)
    missing = [x for x in ("prompt", "generator") if x not in parameters]
    if missing:
        raise PipelineError(
            f"{name} takes no {' and no '.join(missing)}: it is not a text-to-image pipeline."
        )
    if not hasattr(pipe.scheduler, "step"):
        raise PipelineError(f"the scheduler of {name} ({type(pipe.scheduler).__name__}) has no step().")
    if not denoisers(pipe):
        raise PipelineError(f"{name} has no denoiser under the names {', '.join(traits.DENOISERS)}.")
    return parameters
