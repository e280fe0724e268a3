"""Counters by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from athena.counters import loading
from athena.counters.base import Counter
from athena.counters.settings import SETTINGS
from athena.errors import SettingsError, UnknownName


def _mini(name: str) -> Callable[..., Counter]:
    def load(**options: Any) -> Counter:
        from athena.mini.counter import load_counter

        return load_counter(name, **options)

    return load


COUNTERS: dict[str, Callable[..., Counter]] = {
    "mini": _mini("mini"),
    "mini-judge": _mini("mini-judge"),
    **{name: partial(loading.load_detector, name) for name in loading.DETECTORS},
}


def load(name: str | Path, **options: Any) -> Counter:
    """Load a counter by its name, a folder or a hub id; "grounding-dino@paper" has the paper's settings.

    A detector takes `settings`, every field of `counters.Settings` by its name, and `device` ("auto"),
    `dtype` ("float32"), `batch_size` (8), `revision`, `local_files_only`.
    """
    return find(name)(**options)


def find(name: str | Path) -> Callable[..., Counter]:
    """What loads the counter of that name; where there is none, the error comes now, before any loading."""
    if isinstance(name, Path):
        return partial(loading.load_detector, name)
    base, setting = _split(name.strip())
    source = base.removeprefix("hf:")
    known = base if base in COUNTERS else loading.known_as(source)
    if known is not None:
        if setting and known not in loading.DETECTORS:
            raise SettingsError(f'counter "{known}" has no settings to choose: load it as "{known}".')
        loader = COUNTERS[known]
    elif source and (source != base or loading.is_source(source)):
        loader = partial(loading.load_detector, source)
    else:
        raise UnknownName("counter", base, COUNTERS)
    return partial(loader, settings=setting) if setting else loader


def _split(name: str) -> tuple[str, str | None]:
    """ "grounding-dino@paper": the counter, and the name of its settings."""
    base, _, setting = name.rpartition("@")
    return (base, setting) if base and setting in SETTINGS and not Path(name).exists() else (name, None)
