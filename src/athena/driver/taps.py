"""Taps: what is laid on a pipeline for one call and taken off again, whatever happens.

A module is tapped at the slot `nn.Module.__call__` looks into first (`_compiled_call_impl`). That lies
outside its `forward`, its hooks, accelerate's offloading and `torch.compile`, so none of them notices.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch

from athena.driver.parts import denoisers, pipes, processors

SLOT = "_compiled_call_impl"
Forward = Callable[..., Any]


@contextmanager
def tapped(
    module: torch.nn.Module, tap: Callable[[Forward, tuple[Any, ...], dict[str, Any]], Any]
) -> Iterator[None]:
    """Route the module's calls through `tap(forward, args, kwargs)`."""
    slots = vars(module)
    before = slots.get(SLOT)
    forward = before or module._call_impl
    ours = lambda *args, **kwargs: tap(forward, args, kwargs)  # noqa: E731
    slots[SLOT] = ours
    try:
        yield
    finally:
        if slots.get(SLOT) is ours:
            restore(slots, SLOT, before)


@contextmanager
def stepping(scheduler: Any, tap: Callable[..., Any]) -> Iterator[None]:
    """Route `scheduler.step` through `tap(step, *args, **kwargs)`.

    `wraps` keeps the signature: pipelines read it to decide whether to hand over `generator` and `eta`.
    """
    slots = vars(scheduler)
    before = slots.get("step")
    step = scheduler.step
    slots["step"] = functools.wraps(step)(functools.partial(tap, step))
    try:
        yield
    finally:
        restore(slots, "step", before)


def restore(slots: dict[str, Any], name: str, before: Any) -> None:
    if before is None:
        slots.pop(name, None)
    else:
        slots[name] = before


@contextmanager
def untouched(pipe: Any) -> Iterator[None]:
    """Give the pipe, its scheduler and the global random state back as they were."""
    with ExitStack() as stack:
        stack.enter_context(same_precision(getattr(pipe, "vae", None)))
        for one in pipes(pipe):
            stack.enter_context(same_attributes(one))
        for denoiser in denoisers(pipe).values():
            stack.enter_context(same_processors(denoiser))
        stack.enter_context(same_attributes(pipe.scheduler))
        stack.enter_context(same_random_state())
        yield


@contextmanager
def same_attributes(thing: Any) -> Iterator[None]:
    """Restore an object's attributes, except the offload bookkeeping that accelerate renews at every call."""
    slots = vars(thing)
    lists = {name: copy.copy(x) for name, x in slots.items() if type(x) in (list, dict)}
    before = dict(slots)
    try:
        yield
    finally:
        renewed = {name: x for name, x in slots.items() if name == "_all_hooks"}
        for name, x in lists.items():  # the same list, with what it held
            if name not in renewed:
                x_now = before[name]
                x_now.clear()
                x_now.update(x) if isinstance(x, dict) else x_now.extend(x)
        slots.clear()
        slots.update({**before, **renewed})


@contextmanager
def same_processors(denoiser: torch.nn.Module) -> Iterator[None]:
    """Perturbed attention lays its processors on for one call, and leaves them there when that is interrupted."""
    before = list(processors(denoiser))
    try:
        yield
    finally:
        for attention, processor in before:
            if attention.processor is not processor:
                del attention.processor
                attention.processor = processor


@contextmanager
def same_precision(vae: Any) -> Iterator[None]:
    """SDXL decodes in float32 and goes back to half precision only if nothing interrupts it."""

    def precision() -> torch.dtype | None:  # diffusers' `dtype` goes through all weights
        weight = next(vae.parameters(), None) if isinstance(vae, torch.nn.Module) else None
        return None if weight is None else weight.dtype

    before = precision()
    try:
        yield
    finally:
        if precision() != before:
            vae.to(dtype=before)


@contextmanager
def same_random_state() -> Iterator[None]:
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    state = torch.get_rng_state(), random.getstate(), np.random.get_state()
    devices = torch.cuda.get_rng_state_all() if cuda else []
    try:
        yield
    finally:
        torch.set_rng_state(state[0])
        random.setstate(state[1])
        np.random.set_state(state[2])
        if cuda:
            torch.cuda.set_rng_state_all(devices)


def is_cached(denoiser: Any) -> bool:
    """Whether a cache hook (FirstBlockCache and its kin) is on."""
    return bool(getattr(denoiser, "is_cache_enabled", False))


@contextmanager
def own_cache(denoiser: Any, name: str = "athena control") -> Iterator[None]:
    """Let the control pass keep a cache of its own, then give the caller's context back."""
    if not is_cached(denoiser):
        yield
        return
    managers = list(state_managers(denoiser))
    before = [manager._context for manager in managers]
    try:
        with denoiser.cache_context(name) if hasattr(denoiser, "cache_context") else nullcontext():
            yield
    finally:
        for manager, context in zip(managers, before, strict=True):
            manager.set_context(context)


def state_managers(module: torch.nn.Module) -> Iterator[Any]:
    seen: set[int] = set()
    for child in module.modules():
        registry = getattr(child, "_diffusers_hook", None)
        for hook in registry.hooks.values() if registry is not None else ():
            for x in vars(hook).values():
                if hasattr(x, "set_context") and id(x) not in seen:
                    seen.add(id(x))
                    yield x
