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
from torch import Generator, Tensor, distributed, nn

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
    rank, ranks = together()
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
        average.load_state_dict(state["ema"])
        model.load_state_dict(state.get("model", state["ema"]))
        if "optimizer" in state:  # else it brought averaged weights only, and a new plan begins from them
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
            seed = (
                ranks * (plan.seed * 10_000_000 + step) + rank
            )  # a run that was stopped goes on with the same
            randomness.manual_seed(seed)
            torch.manual_seed(seed)
            with torch.autocast(where.type, torch.bfloat16):
                loss = loss_of(model, randomness, plan.batch // ranks)
            loss.backward()
            if ranks > 1:
                average_over_ranks([p.grad for p in parameters if p.grad is not None])
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
                if ranks > 1:  # all must end at the same step
                    clock = torch.tensor([spent], dtype=torch.float64)
                    average_over_ranks([clock])
                    spent = clock.item()
                record = {"step": step, "seen": step * plan.batch, "minutes": round(spent / 60, 3)}
                if rank == 0:
                    log.write(json.dumps({**record, "loss": torch.stack(losses).mean().item()}) + "\n")
                    log.flush()
                losses.clear()
                if rank == 0 and now - saved > plan.save_every:
                    _save(checkpoint, model, average, optimizer, step, spent)
                    saved = now
    if rank:
        return
    spent += time.monotonic() - last
    _save(checkpoint, model, average, optimizer, step, spent)
    told = report(average, work) if report else {}
    told = {"name": plan.name, "steps": step, "minutes": round(spent / 60, 2), "on": kind(where), **told}
    (work / f"{plan.name}.done.json").write_text(json.dumps(told) + "\n")
    print(json.dumps(told), flush=True)


def together() -> tuple[int, int]:
    """Which process of how many this is: `python -m torch.distributed.run` starts several that learn as one."""
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    if ranks > 1 and not distributed.is_initialized():
        distributed.init_process_group("gloo")
    return int(os.environ.get("RANK", 0)), ranks


def average_over_ranks(tensors: list[Tensor]) -> None:
    flat = torch.cat([x.flatten() for x in tensors])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for x, new in zip(tensors, flat.split([x.numel() for x in tensors]), strict=True):
        x.copy_(new.view_as(x))


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
