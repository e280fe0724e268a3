"""The pipeline under test: the least call it needs, its bare answer, and what can be seen of it from outside."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import numpy as np
import torch
from torch import Tensor

from athena.driver import Driver, denoisers, own_of_each

SEVEN, THREE, CATS = "a photo of seven apples", "a photo of three apples", "a photo of two cats"
LONG = f"{CATS} on the long road that goes on over the hills and far away, past the mill and the old town"
APPLES = "a photo of apples"
PICTURES = ("control_image", "image", "mask_image")  # what ControlNets call theirs
SMALL: dict[str, Any] = {
    "num_inference_steps": 4,
    "prior_num_inference_steps": 2,
    "use_resolution_binning": False,  # or a small picture is made a large one
    "clean_caption": False,  # which needs packages nobody asked for
    "complex_human_instruction": None,  # a page of text before the prompt
    "guidance_schedule": None,  # which has the length of the default number of steps
}


class Failed(Exception):
    """A check found what must not be."""


def in_short(error: BaseException) -> str:
    """An error on one line of a table."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return line if len(line) <= 300 else f"{line[:297]}..."


class Subject:
    def __init__(self, pipe: Any, given: dict[str, Any]) -> None:
        self.pipe, self.given = pipe, given
        self.bare = lru_cache(maxsize=None)(self.afresh)

    @property
    def driver(self) -> Driver:
        """A new one each time: nothing is remembered from one check to the next."""
        return Driver(self.pipe)

    @cached_property
    def call(self) -> dict[str, Any]:
        """The arguments of every call: what was given, and the least for the rest."""
        least = self.least()
        for kind in ("latent", "pt", "np"):  # not every pipe gives its latents
            call = {**least, **({"output_type": kind} if "output_type" in self.taken else {}), **self.given}
            try:
                self.plain(call, (SEVEN,), (1,))
                return call
            except ValueError as error:
                if "output" not in str(error) or "output_type" in self.given:
                    raise
        return {**least, **self.given}

    @property
    def taken(self) -> Any:
        return inspect.signature(type(self.pipe).__call__).parameters

    def least(self) -> dict[str, Any]:
        """What makes a small and quick call, and what a pipe cannot do without."""
        factor = int(getattr(self.pipe, "vae_scale_factor", 8))
        side = ceil(8 * factor / 32) * 32  # about 8 x 8 latents
        small = {**SMALL, "height": side, "width": side, "max_area": side * side}
        net = getattr(self.pipe, "controlnet", None)
        if net is not None or PICTURES[0] in self.taken:
            photo = picture(int(self.given.get("height", side)), int(self.given.get("width", side)))
            wanted = PICTURES if "mask_image" in self.taken else PICTURES[:1]
            names = [name for name in wanted if name in self.taken] or ["image"]
            small |= dict.fromkeys(names, photo)
        if "num_control_type" in getattr(net, "config", {}):
            small["control_mode"] = 0
        if "guidance_schedule" in self.taken:
            small["guidance_scale"] = 3.0  # in its place
        return {k: v for k, v in small.items() if k in self.taken}

    def for_images(self, images: int, **more: Any) -> dict[str, Any]:
        return own_of_each(self.pipe, {**self.call, **more}, images)

    def afresh(self, prompts: tuple[str, ...], seeds: tuple[int, ...], **more: Any) -> Tensor:
        """The answer of the bare pipe, which ATHENA never touches."""
        return self.plain({**self.call, **more}, prompts, seeds)

    def plain(self, call: dict[str, Any], prompts: tuple[str, ...], seeds: tuple[int, ...]) -> Tensor:
        call = own_of_each(self.pipe, call, len(prompts))
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        with global_seed(0):
            return numbers(self.pipe(prompt=list(prompts), generator=generators, **call).images)

    def run(self, prompts: Sequence[str], seeds: Sequence[int], *how: Any, **more: Any) -> Any:
        """`Driver.run` of a new driver."""
        with global_seed(0):
            return self.driver.run(prompts, seeds, *how, **self.for_images(len(prompts), **more))

    @property
    def batches(self) -> bool:
        """Whether the bare pipe itself can make two images at once."""
        try:
            self.bare((SEVEN, CATS), (1, 2))
        except Exception:
            return False
        return True

    @property
    def steps(self) -> int:
        """As its scheduler counts them, which may be one more than was asked for."""
        self.bare((SEVEN,), (1,))
        return ceil(len(self.pipe.scheduler.timesteps) / int(getattr(self.pipe.scheduler, "order", 1)))

    @property
    def tolerance(self) -> float:
        """How far a batch may be from single runs, against unit scale: the last bits of half precision."""
        half = any(next(m.parameters()).dtype in (torch.float16, torch.bfloat16) for m in self.denoisers)
        return 5e-2 if half else 1e-4

    @cached_property
    def scratch(self) -> set[str]:
        """What the bare pipe itself makes anew in its modules, as some decoders do."""
        before = self.anatomy()
        self.afresh((SEVEN,), (1,), output_type="pil")
        after = self.anatomy()
        moved = {name for name in after if after[name] != before.get(name)}
        return {name for name in moved if not name.startswith(("pipe.", "scheduler."))}

    @property
    def denoisers(self) -> list[torch.nn.Module]:
        return list(denoisers(self.pipe).values())

    def anatomy(self) -> dict[str, Any]:
        """Every attribute of the pipe, its scheduler and its modules, deep enough to notice a trace."""
        modules = {name: x for name, x in vars(self.pipe).items() if isinstance(x, torch.nn.Module)}
        found = {f"pipe.{k}": told(v) for k, v in vars(self.pipe).items()}
        found |= {f"scheduler.{k}": told(v) for k, v in vars(self.pipe.scheduler).items()}
        for root, module in modules.items():
            for name, inner in module.named_modules():
                found |= {f"{root}.{name}.{k}": told(v) for k, v in vars(inner).items()}
        return found


class Held:
    """An object itself: kept, so that no other can come to lie at its address."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.x is other.x

    __hash__ = None  # type: ignore[assignment]


def told(x: Any) -> Any:
    """Enough of a value to notice another one in its place."""
    if isinstance(x, dict):
        return (Held(x), tuple((str(k), Held(v)) for k, v in x.items()))
    if isinstance(x, list | tuple | set):
        return (Held(x), tuple(Held(v) for v in x))
    return (Held(x), x._version) if isinstance(x, Tensor) else Held(x)


def numbers(images: Any) -> Tensor:
    """Whatever a pipe returns, as one tensor."""
    if isinstance(images, Tensor):
        return images.detach().float().cpu()
    if isinstance(images, np.ndarray):
        return torch.from_numpy(images).float()
    return torch.stack([torch.from_numpy(np.array(x)).float() if hasattr(x, "save") else x for x in images])


def furthest(a: Any, b: Any) -> float:
    a, b = numbers(a), numbers(b)
    if a.shape != b.shape:
        raise Failed(f"shapes differ: {tuple(a.shape)} and {tuple(b.shape)}")
    gap = (a - b).abs().max()
    return float(gap) if torch.isfinite(gap) else float("inf")


def scale(x: Any) -> float:
    return max(1.0, float(numbers(x).abs().max()))


def picture(height: int, width: int) -> Any:
    """Something for a ControlNet to look at."""
    from PIL import Image

    slope = np.linspace(0, 255, height * width * 3).reshape(height, width, 3)
    return Image.fromarray(slope.astype(np.uint8))


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """For pipes that draw from the global random state, which is put back."""
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()
    torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(before[0])
        random.setstate(before[1])
        np.random.set_state(before[2])
