"""Which of a pipe's components is what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from athena.driver import traits


def modules(pipe: Any) -> dict[str, torch.nn.Module]:
    """Its components, and those of the pipes inside it, each once."""
    found: dict[str, torch.nn.Module] = {}
    for one in pipes(pipe):
        for name, x in vars(one).items():
            if isinstance(x, torch.nn.Module) and not any(x is y for y in found.values()):
                found[name] = x
    return found


def pipes(pipe: Any) -> Iterator[Any]:
    """The pipe and, where it is made of others, these."""
    yield pipe
    for x in vars(pipe).values():
        if hasattr(x, "components") and callable(x):
            yield x


def denoisers(pipe: Any) -> dict[str, torch.nn.Module]:
    return {name: x for name, x in modules(pipe).items() if name in traits.DENOISERS}


def own_of_each(pipe: Any, call: dict[str, Any], images: int) -> dict[str, Any]:
    """A call of the bare pipe for several images: a text, or a ControlNet's picture, for each of them."""
    pictures = pictures_are_rows(pipe, call)

    def each(name: str, value: Any) -> bool:
        text = name.startswith(traits.TEXTS) and isinstance(value, str)
        return text or (pictures and name in traits.PICTURES and not isinstance(value, list))

    return {name: [value] * images if each(name, value) else value for name, value in call.items()}


def pictures_are_rows(pipe: Any, call: dict[str, Any]) -> bool:
    """Whether a list of pictures has one an image: with several ControlNets, or modes, it has one for each."""
    side = getattr(pipe, traits.SIDE_NETWORKS[0], None)
    return side is not None and not hasattr(side, "nets") and call.get("control_mode") is None


def processors(module: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, Any]]:
    """Every attention of a denoiser that has one, with its processor."""
    for child in module.modules():
        slots = vars(child)  # asking the module itself takes much longer where it has none
        processor = slots.get("processor", slots["_modules"].get("processor"))
        if processor is not None:
            yield child, processor


def ties_rows(module: torch.nn.Module) -> bool:
    """Whether an image's rows must go through the denoiser together."""
    return any(type(x).__name__.startswith(traits.ROWS_TOGETHER) for _, x in processors(module))
