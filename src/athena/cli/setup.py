"""From what was typed to a loaded `Athena`; every name is checked before anything heavy is imported."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athena import models, strategies
from athena.cli.output import waiting
from athena.errors import LoadError, SettingsError

if TYPE_CHECKING:
    from athena.engine import Athena


@dataclass(frozen=True)
class Setup:
    """Who makes the images and who counts them."""

    model: str
    counter: str | None = None
    judge: str | None = None
    device: str = "auto"
    dtype: str | None = None
    offload: str | None = None
    preset: str | None = None
    revision: str | None = None

    def __post_init__(self) -> None:
        self.own()  # a slip of the pen is told at once
        models.check(self.model)
        check_counter(self.counter)
        check_counter(self.judge)

    def own(self) -> models.Preset:
        """The model's preset, with the file's settings in its place where one was given."""
        found = models.find(self.model)
        return found if self.preset is None else models.with_file(found, self.preset)

    def load(self) -> Athena:
        with waiting(f"loading {self.model}"):
            from athena import engine

            counter = self.counter or engine.default_counter(self.model)
            try:
                steering = load_counter(counter, self.device)  # the smaller download goes first
            except LoadError as error:
                raise LoadError(f"{error}{self.missing_too()}") from error
            return engine.loaded(
                self.model,
                steering,
                None if self.judge in (None, counter) else load_counter(str(self.judge), self.device),
                self.device,
                self.dtype,
                self.offload,
                None if self.preset is None else self.own(),
                self.revision,
            )

    def missing_too(self) -> str:
        """That the model has to be fetched as well, so that one error tells of both."""
        from athena.cli.disk import cached

        source = self.own().source or self.model
        if Path(source).expanduser().exists() or source in cached():
            return ""
        return f". Nor is the model on this disk: `hf download {source}`"

    def call(self, gamma: float | None, steps: int | None, more: Iterable[str] | None) -> dict[str, Any]:
        """The model's own arguments, and over them those that were typed."""
        typed = {"gamma": gamma, "num_inference_steps": steps}
        return {
            **self.own().call(),
            **{name: value for name, value in typed.items() if value is not None},
            **settings(more),
        }


# What --set may not say, because something else does.
ELSEWHERE = {
    "prompt": "the prompt itself",
    "strategy": "--strategy",
    "seed": "--seed",
    "gamma": "--gamma",
    "num_inference_steps": "--steps",
    "num_images_per_prompt": "--n (or --seeds)",
    "batch_size": "--batch-size",
    "object": "--object",
    "count": "--count",
    "generator": "--seed",
}


def settings(more: Iterable[str] | None, elsewhere: dict[str, str] = ELSEWHERE) -> dict[str, Any]:
    """What --set says: NAME=VALUE, the value in JSON where it is JSON."""
    found: dict[str, Any] = {}
    for pair in more or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip().isidentifier():
            raise SettingsError(f"--set: expected NAME=VALUE, as in --set height=512, got {pair!r}.")
        if name.strip() in elsewhere:
            raise SettingsError(f"--set {pair}: that is said with {elsewhere[name.strip()]}.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def find_strategy(name: str) -> Any:
    """A strategy's name, or the user's own generator function, checked."""
    found = own(name) or name
    strategies.find(found)
    return found


def check_counter(name: str | None) -> None:
    """Refuse a counter that does not exist."""
    from athena import counters

    if name is not None and own(name) is None:
        counters.find(name)


def load_counter(name: str, device: str = "auto") -> Any:
    from athena import counters

    mine = own(name)
    if mine is not None:
        made = counters.as_counter(mine)
        plain = isinstance(made, counters.FunctionCounter)  # goes by its file too: two may share a name
        return counters.FunctionCounter(made.function, called(name)) if plain else made  # type: ignore[attr-defined]
    embedded = name in counters.COUNTERS and name not in counters.DETECTORS
    return counters.load(name) if embedded else counters.load(name, device=device)


def own(name: str) -> Any:
    """What FILE.py:NAME or package.module:NAME means; None for any other shape."""
    shape = re.fullmatch(r"(?P<file>.+\.py)?(?P<module>(?!hf:)[A-Za-z_][\w.]*)?:(?P<name>[A-Za-z_]\w*)", name)
    if shape is None or bool(shape["file"]) == bool(shape["module"]):
        return None
    try:
        room: Any = (
            _run(Path(shape["file"]).expanduser())
            if shape["file"]
            else importlib.import_module(shape["module"])
        )
    except Exception as error:  # whatever somebody's own file may raise
        raise SettingsError(
            f"{name}: {shape['file'] or shape['module']} cannot be imported: {type(error).__name__}: {error}."
        ) from error
    if not hasattr(room, shape["name"]):
        names = ", ".join(x for x in vars(room) if not x.startswith("_"))
        raise SettingsError(f"{name}: there is no {shape['name']} in it. There are: {names}.")
    return getattr(room, shape["name"])


def called(name: str) -> str:
    """What a counter goes by in records and captions: FILE.py:FUNCTION without the folders before it."""
    file, colon, function = name.rpartition(":")
    return f"{Path(file).name}:{function}" if colon and file.endswith(".py") else name


def _run(file: Path) -> Any:
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
