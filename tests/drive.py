"""What the driver's tests share: prompts, a pipe with its call, the bare pipe's answer."""

import torch
from torch import Tensor

import zoo

SEVEN, THREE, CATS = "a photo of seven apples", "a photo of three apples", "a photo of two cats"
STEPS = 6


def built(name: str, scheduler: str | None = None):
    pipe = zoo.PIPELINES[name]()
    if scheduler:
        zoo.with_scheduler(pipe, scheduler)
    call = {**zoo.CALL[name], **zoo.EXTRA_CALL.get(scheduler, {})}
    return pipe, {**call, "num_inference_steps": STEPS, "output_type": "latent"}


def bare(pipe, prompts: list[str], seeds: list[int], call: dict) -> Tensor:
    texts = {k: [v] * len(prompts) for k, v in call.items() if k.startswith("negative_prompt")}
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    return pipe(prompt=list(prompts), generator=generators, **{**call, **texts}).images


def furthest(a: Tensor, b: Tensor) -> float:
    return float((a.float() - b.float()).abs().max())
