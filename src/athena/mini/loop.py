"""One training loop for everything here: seeded by step, cosine over the plan, averaged weights, checkpoints."""

from __future__ import annotations

import copy
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn

# Big short-lived tensors otherwise go through mmap each time, and half of a small CPU is spent in page faults.
MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "34359738368", "MALLOC_TOP_PAD_": "268435456"}


@dataclass(frozen=True)
class Plan:
    """How long and how fast one model trains."""

    name: str
    steps: int
    rate: float
    batch: int
    seed: int = 0
    ema: float = 0.999
    decay: float = 0.01
    warmup: int = 200
    compiled: str = ""  # the parts that torch.compile makes faster
    save_every: float = 90.0  # seconds


Build = Callable[[], nn.Module]
Loss = Callable[[nn.Module, Generator, int], Tensor]  # (model, randomness, batch)
Report = Callable[[nn.Module, Path], dict[str, Any]]


def device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(
    plan: Plan,
    work: Path,
    build: Build,
    loss_of: Loss,
    report: Report | None = None,
    minutes: float | None = None,
) -> None:
    """Trains to the end of the plan, or for so many minutes; goes on from the checkpoint in `work` if there is one."""
    where = device()
    work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(plan.seed)
    fresh: Any = build().to(where)
    model: nn.Module = fresh.to(memory_format=torch.channels_last).train()
    average = copy.deepcopy(model).requires_grad_(False).eval()
    parameters: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    slow: list[Tensor] = [
        a for a, p in zip(average.parameters(), model.parameters(), strict=True) if p.requires_grad
    ]
    optimizer = torch.optim.AdamW(
        parameters, lr=plan.rate, betas=(0.9, 0.99), weight_decay=plan.decay, fused=True
    )
    checkpoint = work / f"{plan.name}.pt"
    step, spent = 0, 0.0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True, map_location=where)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["ema"])
        optimizer.load_state_dict(state["optimizer"])
        step, spent = state["step"], state["spent"]
    for part in plan.compiled.split():
        model.get_submodule(part).compile(dynamic=False)

    randomness = Generator(where)
    losses: list[Tensor] = []
    last = saved = time.monotonic()
    with (work / f"{plan.name}.jsonl").open("a") as log:
        while True:
            progress = max(step / plan.steps, spent / (60 * minutes) if minutes else 0.0)
            if progress >= 1:
                break
            rate = plan.rate * min(1.0, (step + 1) / plan.warmup) * (0.5 + 0.5 * math.cos(math.pi * progress))
            for group in optimizer.param_groups:
                group["lr"] = rate
            randomness.manual_seed(
                plan.seed * 10_000_000 + step
            )  # a run that was stopped goes on with the same
            torch.manual_seed(plan.seed * 10_000_000 + step)
            with torch.autocast(where.type, torch.bfloat16):
                loss = loss_of(model, randomness, plan.batch)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            with torch.no_grad():
                torch._foreach_lerp_(slow, parameters, 1 - min(plan.ema, step / (step + 10)))
                for kept, new in zip(average.buffers(), model.buffers(), strict=True):
                    kept.copy_(new)
            losses.append(loss.detach())
            if len(losses) == 100:
                now = time.monotonic()
                spent, last = spent + now - last, now
                record = {"step": step, "seen": step * plan.batch, "minutes": round(spent / 60, 3)}
                log.write(json.dumps({**record, "loss": torch.stack(losses).mean().item()}) + "\n")
                log.flush()
                losses.clear()
                if now - saved > plan.save_every:
                    _save(checkpoint, model, average, optimizer, step, spent)
                    saved = now
    spent += time.monotonic() - last
    _save(checkpoint, model, average, optimizer, step, spent)
    told = report(average, work) if report else {}
    told = {"name": plan.name, "steps": step, "minutes": round(spent / 60, 2), "on": kind(where), **told}
    (work / f"{plan.name}.done.json").write_text(json.dumps(told) + "\n")
    print(json.dumps(told), flush=True)


def kind(where: torch.device) -> str:
    """What a run was made on, for the record."""
    if where.type == "cuda":
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()} CPU cores"


def _save(path: Path, model: nn.Module, average: nn.Module, optimizer: Any, step: int, spent: float) -> None:
    state = {"model": model.state_dict(), "ema": average.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**state, "step": step, "spent": spent}, path.with_suffix(".tmp"))
    os.replace(path.with_suffix(".tmp"), path)


def trained(work: Path, name: str, model: nn.Module) -> Any:
    """The averaged weights of a finished or interrupted run, in evaluation mode."""
    state = torch.load(work / f"{name}.pt", weights_only=True, map_location="cpu")["ema"]
    model.load_state_dict(state)
    return model.requires_grad_(False).eval()
