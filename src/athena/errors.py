"""Everything ATHENA raises on purpose.

    AthenaError
    ├── PromptError        no number in the prompt, or more than one to choose from   (ValueError)
    ├── SettingsError      a setting outside its range, or one nobody here knows      (ValueError)
    │   └── UnknownName    a model, strategy or counter that does not exist
    ├── PipelineError      a pipeline or a scheduler that cannot be driven            (TypeError)
    ├── CounterError       a counter that is none, or that answered nonsense          (TypeError)
    ├── LoadError          a model that cannot be loaded: no network, no licence      (OSError)
    └── MissingExtra       an optional package that is not installed                  (ImportError)

Every message says what was expected, what came, and what to type next.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AthenaError(Exception):
    """The root: catch it to catch all of ours."""


class PromptError(AthenaError, ValueError):
    """The prompt names no count, or more than one."""


class SettingsError(AthenaError, ValueError):
    """A setting is out of range or unknown."""


class UnknownName(SettingsError):
    """Nothing of that name; the message suggests the nearest."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        choices = sorted(known)
        near = get_close_matches(str(name).lower(), choices, n=1, cutoff=0.5)
        hint = f' Did you mean "{near[0]}"?' if near else ""
        super().__init__(f'no {kind} is called "{name}".{hint} There are: {", ".join(choices)}')
        self.kind, self.name, self.known = kind, name, choices


class PipelineError(AthenaError, TypeError):
    """The pipeline cannot be driven, or its scheduler cannot be read."""


class CounterError(AthenaError, TypeError):
    """The counter is not one, or gave something that is not a count."""


class LoadError(AthenaError, OSError):
    """A model could not be loaded."""


class MissingExtra(AthenaError, ImportError):
    """An optional package is missing; the message names the command that installs it."""
