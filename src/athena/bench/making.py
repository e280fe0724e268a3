"""From a chunk to its records, on one device: the only place where the benchmark generates."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from athena import counters, strategies
from athena.bench import facts
from athena.bench.plan import Chunk, Job
from athena.bench.variants import fitting
from athena.types import Result

Steerer = Any
"""Something with `stream(prompts, **options)`, `counter` and `judge`: an `athena.Athena`."""
Maker = Callable[[str | None], Steerer]
"""Loads it on a device (None: the one that was asked for); goes to worker processes, so it can be pickled."""


def made(
    steerer: Steerer,
    chunk: Chunk,
    call: dict[str, Any],
    find: Callable[[str], Any],
    folder: Path,
    device: str,
    skip: set[str] | frozenset[str] = frozenset(),
) -> Iterator[dict[str, Any]]:
    """The records of a chunk as they get done, each image saved before its record; `skip` are kept ones."""
    strategy = find(chunk.variant.strategy)
    options = {**fitting(call, strategies.find(strategy)), **chunk.variant.options}
    facts.settle(device)
    for index, result in steerer.stream(
        [job.entry.asked for job in chunk.jobs],
        seed=[job.seed for job in chunk.jobs],
        strategy=strategy,
        progress=False,
        **options,
    ):
        job = chunk.jobs[index]
        if job.key in skip:
            continue
        peak = facts.memory_mb(device)
        save(result, folder / job.image)
        yield record(job, result, counts(steerer, result), peak)


def counts(steerer: Steerer, result: Result) -> dict[str, int]:
    """The final image counted by the judge, and by the counter that steered."""
    found = {} if result.count is None else {result.judge: result.count}
    counter = steerer.counter
    if counter is not None and counter.name not in found and hasattr(result.image, "save"):
        [(number, _)] = counters.count(counter, [result.image], [result.prompt.noun], [result.prompt.text])
        found[counter.name] = number
    return found


def save(result: Result, path: Path) -> None:
    """Under its name only once it is whole."""
    part = path.with_name(f".{path.stem}.{os.getpid()}.png")
    result.save(part)
    part.replace(path)


def record(job: Job, result: Result, counted: dict[str, int], memory_mb: float) -> dict[str, Any]:
    """One line of records.jsonl."""
    entry, cost = job.entry, result.cost
    finished = [i for i, attempt in enumerate(result.attempts) if attempt.finished]
    return {
        "key": job.key,
        "id": entry.id,
        "prompt": entry.prompt,
        "noun": entry.object,
        "target": entry.int_number,
        "level": entry.level,
        "scene": entry.scene,
        "source": entry.source,
        "strategy": job.variant.label,
        "seed": job.seed,
        "draw": job.draw,
        "place": job.place,
        "counts": counted,
        "judge": result.judge,
        "counter": result.counter,
        "estimates": [attempt.count for attempt in result.attempts],
        "gammas": [attempt.gamma for attempt in result.attempts],
        "controls": [attempt.control for attempt in result.attempts],
        "finished": finished[0] if finished else None,
        "steps": result.settings.get("steps"),
        "estimate_step": result.settings.get("estimate_step") if job.variant.counts else None,
        "rows": cost.denoiser_rows,
        "calls": cost.denoiser_calls,
        "text_calls": cost.text_encoder_calls,
        "decodes": cost.vae_decodes,
        "counter_calls": cost.counter_calls,
        "seconds": round(cost.seconds, 6),
        "memory_mb": memory_mb,
        "image": job.image,
    }
