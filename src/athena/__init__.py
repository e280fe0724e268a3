"""Images with the right number of things in them: `athena.generate("a photo of seven apples on the grass")`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from athena import errors
from athena.prompts import CountPrompt, parse_prompt

if TYPE_CHECKING:
    from athena import counters, models, strategies, testing
    from athena.engine import Athena, generate
    from athena.strategies import Finish, Probe
    from athena.types import Attempt, Cost, Result

__version__ = version("athena-t2i")
__all__ = [
    "Athena",
    "Attempt",
    "Cost",
    "CountPrompt",
    "Finish",
    "Probe",
    "Result",
    "counters",
    "errors",
    "generate",
    "models",
    "parse_prompt",
    "strategies",
    "testing",
]

# Loaded at first use, so that `import athena` brings no torch.
_LAZY = {
    "Athena": "athena.engine",
    "Attempt": "athena.types",
    "Cost": "athena.types",
    "Finish": "athena.strategies",
    "Probe": "athena.strategies",
    "Result": "athena.types",
    "counters": "",
    "generate": "athena.engine",
    "models": "",
    "strategies": "",
    "testing": "",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'athena' has no attribute {name!r}: it has {', '.join(__all__)}")
    room = _LAZY[name]
    return getattr(import_module(room), name) if room else import_module(f"athena.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
