"""One training loop for everything here: two one-thread workers, averaged gradients, cosine over time, EMA."""

from __future__ import annotations

import copy
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.multiprocessing as mp
from torch import Tensor, nn

# Big short-lived tensors otherwise go through mmap each time, and half of a small CPU is spent in page faults.
MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "34359738368", "MALLOC_TOP_PAD_": "268435456"}


@dataclass(frozen=True)
class Plan:
    """How long and how fast one model trains; the learning rate follows the time spent, not the steps.

    Minutes are processor time of one worker, so other work on the machine makes it take longer, not end worse.
    """

    name: str
    minutes: float
    rate: float
    batch: int
    seed: int = 0
    workers: int = 2
    ema: float = 0.998
    decay: float = 0.01
    warmup: int = 100
    bf16: bool = True
    compiled: str = ""  # the part that torch.compile makes faster
    save_every: float = 120.0


Build = Callable[[], nn.Module]
Loss = Callable[
    [nn.Module, np.random.Generator, int, float], Tensor
]  # (model, randomness, batch, progress 0..1)
Report = Callable[[nn.Module, Path], dict[str, Any]]


class Team:
    """Workers that share memory; sockets between them would not survive a suspended machine."""

    def __init__(self, workers: int, size: int) -> None:
        self.workers = workers
        self.sums = torch.zeros(workers, size).share_memory_()
        self.clock = torch.zeros(1, dtype=torch.float64).share_memory_()
        self.gate = mp.get_context("spawn").Barrier(workers)

    def average(self, rank: int, parameters: Sequence[Tensor]) -> None:
        """Replaces each gradient by its mean over the workers."""
        if self.workers == 1:
            return
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        torch.cat([g.reshape(-1) for g in grads], out=self.sums[rank])
        self.gate.wait()
        mean = self.sums.mean(0)
        self.gate.wait()
        for p, part in zip(parameters, mean.split([p.numel() for p in parameters]), strict=True):
            p.grad = part.view_as(p)

    def agree(self, rank: int, value: float) -> float:
        """Worker 0's clock, so that all stop at the same step."""
        if self.workers == 1:
            return value
        if rank == 0:
            self.clock[0] = value
        self.gate.wait()
        told = float(self.clock[0])
        self.gate.wait()
        return told


def _worker(
    rank: int, team: Team, plan: Plan, work: Path, build: Build, loss_of: Loss, report: Report | None
) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(plan.seed)
    model = build().train()
    average = copy.deepcopy(model).requires_grad_(False).eval()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=plan.rate, betas=(0.9, 0.99), weight_decay=plan.decay)
    step, spent, saved = 0, 0.0, 0.0
    checkpoint = work / f"{plan.name}.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["ema"])
        optimizer.load_state_dict(state["optimizer"])
        step, spent, saved = state["step"], state["spent"], state["spent"]
    log = (work / f"{plan.name}.jsonl").open("a") if rank == 0 else None
    last, running = time.process_time(), 0.0
    if plan.compiled:
        getattr(model, plan.compiled).compile(dynamic=False)
    torch.manual_seed(plan.seed + 7919 * (rank + 1) + step)
    while True:
        now = time.process_time()
        spent = team.agree(rank, spent + now - last)
        last = now
        progress = spent / (60 * plan.minutes)
        if progress >= 1:
            break
        rng = np.random.default_rng((plan.seed, rank, step))
        with torch.autocast("cpu", torch.bfloat16, enabled=plan.bf16):
            loss = loss_of(model, rng, plan.batch, progress)
        loss.backward()
        team.average(rank, parameters)
        nn.utils.clip_grad_norm_(parameters, 1.0)
        rate = plan.rate * min(1.0, (step + 1) / plan.warmup) * (0.5 + 0.5 * math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        keep = min(plan.ema, (step + 1) / (step + 10))
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                slow.lerp_(fast, 1 - keep)
            for kept, new in zip(average.buffers(), model.buffers(), strict=True):
                kept.copy_(new)
        step += 1
        running += (loss.item() - running) * (0.02 if step > 50 else 1 / step)
        if log and step % 100 == 0:
            seen = step * plan.batch * plan.workers
            log.write(json.dumps({"step": step, "seen": seen, "minutes": spent / 60, "loss": running}) + "\n")
            log.flush()
        if rank == 0 and spent - saved > plan.save_every:
            _save(checkpoint, model, average, optimizer, step, spent)
            saved = spent
    if rank == 0:
        _save(checkpoint, model, average, optimizer, step, spent)
        told = report(average, work) if report else {}
        print(
            json.dumps({"name": plan.name, "steps": step, "minutes": round(spent / 60, 1), **told}),
            flush=True,
        )


def _save(path: Path, model: nn.Module, average: nn.Module, optimizer: Any, step: int, spent: float) -> None:
    state = {"model": model.state_dict(), "ema": average.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**state, "step": step, "spent": spent}, path.with_suffix(".tmp"))
    os.replace(path.with_suffix(".tmp"), path)


def fit(plan: Plan, work: Path, build: Build, loss_of: Loss, report: Report | None = None) -> None:
    """Trains to the end of the plan, from the last checkpoint in `work` if there is one."""
    work.mkdir(parents=True, exist_ok=True)
    os.environ.update(MALLOC)
    size = sum(p.numel() for p in build().parameters() if p.requires_grad) if plan.workers > 1 else 0
    arguments = (Team(plan.workers, size), plan, work, build, loss_of, report)
    if plan.workers == 1:
        _worker(0, *arguments)
    else:
        mp.spawn(_worker, arguments, nprocs=plan.workers)  # type: ignore[attr-defined, no-untyped-call]


def trained(work: Path, name: str, model: nn.Module) -> nn.Module:
    """The averaged weights of a finished or interrupted run, in evaluation mode."""
    model.load_state_dict(torch.load(work / f"{name}.pt", weights_only=True)["ema"])
    return model.requires_grad_(False).eval()
