"""One entry into a pipe: what happens at the denoiser and at `scheduler.step` during a single call of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import torch
from torch import Generator, Tensor

from athena.driver import rows as rw
from athena.driver.answers import named, pack, unpack
from athena.driver.clean import check_readable, clean_estimate, noise_level
from athena.driver.memo import EncoderMemo, leaves, silence
from athena.driver.parts import ties_rows
from athena.driver.rows import Call, Layout, Tree
from athena.driver.snapshot import Row, State, restore_scheduler, scheduler_states
from athena.driver.taps import Forward, is_cached, own_cache, same_random_state
from athena.errors import PipelineError, SettingsError
from athena.steering import steer


@dataclass(frozen=True)
class Steering:
    """Away from the control prompt, with strength gamma, for the first `steps` steps."""

    control: str
    gamma: float
    steps: int


class TooManyRows(Exception):
    """The batch is larger than `most_rows` allows: make it smaller and enter again."""


class Stop(BaseException):  # not an Exception: no pipe may swallow it
    """Leaves the pipe's loop early."""


@dataclass
class Request:
    """What the entries of one request share."""

    memos: dict[str, EncoderMemo] = field(default_factory=dict)
    silences: dict[Any, Tree] = field(default_factory=dict)  # a row of zeros, by module and shape
    first: dict[Any, list[Tree]] = field(default_factory=dict)  # step 0's predictions, by image
    each: int | None = None  # rows an image, once the denoiser was called
    on_step: Callable[[int], None] = lambda images: None


@dataclass
class Entry:
    """The state of one entry. `calls` counts `scheduler.step`, `nth` the denoiser calls since the last."""

    request: Request
    scheduler: Any
    rows: Sequence[Row]
    shared: dict[str, Any]
    generators: list[Generator]
    until: int | None = None
    estimate: bool = False  # a stop that will be asked for its clean estimate
    steering: Sequence[Steering | None] = ()
    control: list[Call] = field(default_factory=list)  # the control prompts' calls of one step
    resumed: Sequence[State] = ()
    decoded: tuple[Tensor, ...] | None = None
    listening: bool = False  # only note the calls of one step, compute nothing
    most_rows: int | None = None  # in one call of the denoiser
    first_only: bool = False  # leave before the first `scheduler.step`, having made the first prediction

    began: Tensor = field(default_factory=torch.get_rng_state)
    calls: int = 0
    nth: int = 0
    heard: list[Call] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    started: list[tuple[Call, Layout, rw.Difference]] = field(default_factory=list)
    free: float = 1  # the call from which on the denoiser is left alone
    plain: set[tuple[int, int]] = field(default_factory=set)  # calls that go as they come: module, nth
    learned: set[tuple[int, int]] = field(default_factory=set)  # what was heard in this entry: module, nth
    changed: set[int] = field(default_factory=set)  # calls after which the user's callback changed the run

    def __post_init__(self) -> None:
        self.changed.update(*(state.changed for state in self.resumed))
        passed = self.resumed[0].calls if self.resumed else 0
        steered = self.steered_calls if self.control else 0
        muted = self.listening or self.first_only or self.decoded is not None
        self.free = inf if muted else max(1, passed, steered)

    @property
    def muted(self) -> bool:
        passed = self.resumed[0].calls if self.resumed else 0
        return self.listening or self.decoded is not None or self.calls < passed

    @property
    def order(self) -> int:
        return int(getattr(self.scheduler, "order", 1))

    # --- the denoiser

    def denoise(
        self, module: torch.nn.Module, forward: Forward, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tree:
        given = Call(args, kwargs)
        if self.calls >= self.free and (id(module), self.nth) in self.plain:
            each, odd = divmod(len(given.sample), len(self.rows))
            if not odd:
                self.nth += 1
                return self.unchanged(forward, given, each)
        call = given.even()
        layout = Layout.of(call)
        nth, self.nth = self.nth, self.nth + 1
        if call is given:
            self.plain.add((id(module), nth))
        if self.calls == 0 and nth == 0:
            self.check(layout)
        if self.listening:
            self.heard.append(call)
        if self.calls == 0 and nth < len(self.control):
            self.started.append((call, layout, rw.compare(call.tree, self.control[nth].tree, layout)))
        if self.muted and not (self.resumed and call.remembers and self.calls == 0):
            return self.silent(module, forward, call, layout)
        if self.calls < self.steered_calls and nth < len(self.control):
            return self.steered(module, forward, call, layout, nth)
        return self.main(module, forward, call, layout, nth)

    def check(self, layout: Layout) -> None:
        """Refuse what cannot work, before anything is computed."""
        if layout.rows % len(self.rows):
            raise PipelineError(
                f"the denoiser was given {layout.rows} rows for {len(self.rows)} images: rows and images do "
                "not match, so no image can be steered by itself. Try batch_size=1."
            )
        self.request.each = layout.rows // len(self.rows)
        if self.most_rows is not None and layout.rows > self.most_rows and len(self.rows) > 1:
            raise TooManyRows
        steps = ceil(len(self.scheduler.timesteps) / self.order)
        if self.until is not None and not 1 <= self.until <= steps:
            raise SettingsError(
                f"estimate_step={self.until}, but this run has {steps} steps: choose 1 to {steps}, "
                "or raise num_inference_steps."
            )
        if self.estimate:
            with same_random_state():
                check_readable(self.scheduler)

    def side(
        self, module: torch.nn.Module, forward: Forward, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tree:
        """A network beside the denoiser (ControlNet): silent when the denoiser is."""
        call = Call(args, kwargs)
        layout = Layout.of(call)
        if self.muted:
            return self.silent(module, forward, call, layout)
        answer = forward(*args, **kwargs)
        self.learn_silence(module, call, layout, answer)
        return answer

    def silent(self, module: torch.nn.Module, forward: Forward, call: Call, layout: Layout) -> Tree:
        """Zeros in the shape of an answer; a module never heard before has to speak once."""
        zeros = self.request.silences.get(voice(module, call))
        if zeros is None:
            answer = self.evaluate(forward, call, layout)
            self.learn_silence(module, call, layout, answer)
            return answer
        return rw.take(zeros, [0] * layout.rows, Layout(1, layout.lists))

    def learn_silence(self, module: torch.nn.Module, call: Call, layout: Layout, answer: Tree) -> None:
        if (id(module), self.nth) in self.learned:  # the shapes of a step are those of the last
            return
        self.learned.add((id(module), self.nth))
        key = voice(module, call)
        if key not in self.request.silences:
            self.request.silences[key] = silence(answer, layout)

    def evaluate(
        self, forward: Forward, call: Call, layout: Layout, images: Sequence[int] | None = None
    ) -> Tree:
        """Run the denoiser, and put every row on the bill of its image."""
        bill = rw.images_of(layout.rows, len(self.rows)) if images is None else images
        for image in bill:
            self.rows[image].spent["denoiser_rows"] += 1
        for image in set(bill):
            self.rows[image].spent["denoiser_calls"] += 1
        return forward(*call.args, **call.kwargs)

    def unchanged(self, forward: Forward, call: Call, each: int) -> Tree:
        """A step with nothing to do but to put it on the bill: most are, so it takes no detours."""
        for row in self.rows:
            row.spent["denoiser_rows"] += each
            row.spent["denoiser_calls"] += 1
        return forward(*call.args, **call.kwargs)

    def main(self, module: torch.nn.Module, forward: Forward, call: Call, layout: Layout, nth: int) -> Tree:
        """The prompts' own predictions. The first depends on prompt and noise alone: restarts share it."""
        if self.calls or is_cached(module) or call.remembers or call.padded:
            if self.first_only:  # nothing can be kept: only the shape of an answer is wanted
                return self.silent(module, forward, call, layout)
            answer = self.evaluate(forward, call, layout)
            self.learn_silence(module, call, layout, answer)
            return answer
        first, images = self.request.first, len(self.rows)
        new = {i for i, row in enumerate(self.rows) if len(first.setdefault(row.key, [])) <= nth}
        wanted = [row for row in range(layout.rows) if row % images in new]
        if wanted:
            whole = len(wanted) == layout.rows
            part = call if whole else Call.from_tree(rw.take(call.tree, wanted, layout))
            held = Layout(len(wanted), layout.lists)
            answer = self.evaluate(forward, part, held, [row % images for row in wanted])
            self.learn_silence(module, part, held, answer)
            for i in new:
                mine = [n for n, row in enumerate(wanted) if row % images == i]
                if len(first[self.rows[i].key]) == nth:
                    first[self.rows[i].key].append(rw.take(answer, mine, held))
            if whole:
                return answer
        each = layout.rows // images
        by_image = rw.join([first[row.key][nth] for row in self.rows], [Layout(each, layout.lists)] * images)
        return rw.take(by_image, [row % images * each + row // images for row in range(layout.rows)], layout)

    # --- steering

    @property
    def steered_calls(self) -> int:
        return max((s.steps for s in self.steering if s is not None), default=0) * self.order

    def steered(
        self, module: torch.nn.Module, forward: Forward, call: Call, layout: Layout, nth: int
    ) -> Tree:
        """Evaluate the prompt's rows and, of the control prompt's, those that differ from them."""
        theirs, (first, first_layout, difference) = self.control[nth], self.started[nth]
        if layout != first_layout:
            theirs, first, difference = self.narrowed(nth, layout)
        images = rw.images_of(layout.rows, len(self.rows))
        when = 0 if call.remembers else self.calls  # what a row was begun with, it is gone on with
        chosen = [r for r in sorted(difference.rows) if self.strength(images[r], when)]
        if not chosen:
            return self.main(module, forward, call, layout, nth)
        tied = ties_rows(module)
        taken = (
            [r for r in range(layout.rows) if images[r] in {images[c] for c in chosen}] if tied else chosen
        )
        grafted = rw.graft(call.tree, theirs.tree, first.tree, layout)
        part, part_layout = rw.take(grafted, taken, layout), Layout(len(taken), layout.lists)
        bill = [images[r] for r in taken]
        whole = Layout(layout.rows + len(taken), layout.lists)
        fits = self.most_rows is None or whole.rows <= self.most_rows
        alone = tied or call.remembers or is_cached(module)
        if (self.calls or call.padded) and difference.joinable and fits and not alone:
            both = Call.from_tree(rw.join([call.tree, part], [layout, part_layout]))
            answer = self.evaluate(forward, both, whole, [*images, *bill])
            main = rw.take(answer, range(layout.rows), whole)
            control = rw.take(answer, range(layout.rows, whole.rows), whole)
        else:
            main = self.main(module, forward, call, layout, nth)
            with own_cache(module):
                control = self.evaluate(forward, Call.from_tree(part), part_layout, bill)
        gammas = [self.strength(images[r], self.calls) for r in chosen]
        if tied:
            control = rw.take(control, [taken.index(r) for r in chosen], part_layout)
        return steer_rows(main, control, chosen, gammas, call.sample)

    def narrowed(self, nth: int, layout: Layout) -> tuple[Call, Call, rw.Difference]:
        """What was heard, for the rows that are left once guidance was switched off: those that a prompt can change."""
        theirs, (first, first_layout, difference) = self.control[nth], self.started[nth]
        images = len(
            self.rows
        )  # guidance stacks whole batches: one that the prompt changes somewhere is left whole
        left = [b * images + i for b in sorted({r // images for r in difference.rows}) for i in range(images)]
        if len(left) != layout.rows:
            raise PipelineError(
                f"the denoiser was given {layout.rows} rows after {first_layout.rows}, while it was steered: which of "
                "them to steer cannot be told. Steer fewer steps (steer_steps), or change the rows later."
            )
        ours, other = (Call.from_tree(rw.take(one.tree, left, first_layout)) for one in (first, theirs))
        return other, ours, rw.compare(ours.tree, other.tree, layout)

    def strength(self, image: int, calls: int) -> float:
        steering = self.steering[image]
        return steering.gamma if steering and calls < steering.steps * self.order else 0.0

    # --- the scheduler

    def step(self, inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        index, self.calls, self.nth = self.calls, self.calls + 1, 0
        if self.listening or self.first_only:
            raise Stop
        passed = self.resumed[0].calls if self.resumed else 0
        last = self.until is not None and self.calls == min(
            self.until * self.order, len(self.scheduler.timesteps)
        )
        if index >= passed and self.decoded is None and not last:
            answer = inner(*args, **kwargs)
            self.request.on_step(len(self.rows))
            return answer
        given = named(inner, args, kwargs)
        if self.decoded is not None:
            return pack(self.decoded)
        if index < passed:
            return pack(self.inject() if self.calls == passed else (given["sample"],))
        level = noise_level(self.scheduler, index, given["timestep"]) if self.estimate else None
        answer = inner(*args, **kwargs)
        self.request.on_step(len(self.rows))
        clean = (
            clean_estimate(self.scheduler, given["sample"], given["model_output"], level) if level else None
        )
        self.snapshot(unpack(answer), given["sample"], clean)
        raise Stop

    def snapshot(self, answer: tuple[Tensor, ...], sample: Tensor, clean: Tensor | None) -> None:
        schedulers, elsewhere = scheduler_states(self.scheduler, sample), torch.get_rng_state()
        for i, row in enumerate(self.rows):
            one = slice(i, i + 1)
            self.states.append(
                State(
                    row=row,
                    step=self.until or 0,
                    calls=self.calls,
                    answer=tuple(x[one].clone() for x in answer),
                    scheduler=schedulers[i],
                    generator=self.generators[i].get_state(),
                    elsewhere=elsewhere,
                    began=self.began,
                    clean=None if clean is None else clean[one].to(answer[0].dtype),
                    call=self.shared,
                    steering=self.steering[i] if self.steering else None,
                    changed=frozenset(self.changed),
                )
            )

    def inject(self) -> tuple[Tensor, ...]:
        """Put the stopped run back in place of the steps that were passed over."""
        restore_scheduler(self.scheduler, [state.scheduler for state in self.resumed])
        for generator, state in zip(self.generators, self.resumed, strict=True):
            generator.set_state(state.generator)
        torch.set_rng_state(self.resumed[0].elsewhere)
        return tuple(
            torch.cat(parts) for parts in zip(*(state.answer for state in self.resumed), strict=True)
        )


def voice(module: torch.nn.Module, call: Call) -> Any:
    """What the shape of an answer depends on."""
    row = [(tuple(x.shape), x.dtype, x.device) for x in leaves(call.sample[0]) if isinstance(x, Tensor)]
    return (id(module), *row)


def steer_rows(
    main: Tree, control: Tree, chosen: Sequence[int], gammas: Sequence[float], sample: Tree
) -> Tree:
    """Steer the chosen rows of the denoiser's answer and leave the others as they are (paper, alg. 2)."""
    ours, theirs = rw.prediction(main), rw.prediction(control)
    new = list(ours)
    for row, eps_hat, gamma in zip(chosen, theirs, gammas, strict=True):
        eps = new[row]
        if eps.ndim == 2 and len(eps) > len(
            sample[row]
        ):  # words before the latents, as many as the prompt has
            n = len(sample[row])
            new[row] = torch.cat([eps[:-n], steer(eps[None, -n:], eps_hat[None, -n:], gamma)[0]])
        else:
            new[row] = steer(eps[None], eps_hat[None], gamma)[0]
    return rw.with_prediction(main, torch.stack(new) if isinstance(ours, Tensor) else type(ours)(new))
