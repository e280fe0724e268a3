"""What a detector's boxes have to be to count; two settings have a name, every other is made from one of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from athena.errors import SettingsError, UnknownName


@dataclass(frozen=True)
class Settings:
    """How boxes become a count."""

    box_threshold: float | None = None  # the least confidence of a box; None: the detector's own
    text_threshold: float = 0.25  # the least confidence of a word to be in the label of a box
    estimate_threshold: float | None = None  # box_threshold for half denoised images; None: the same
    strict: bool = False  # a label equals the noun to the letter, or the box does not count
    jpeg: bool = False  # count in the image as JPEG gives it back
    nms: float | None = 0.7  # of two boxes of one label with more IoU than this, the surer counts; None: both
    drop_groups: bool = True  # drop a box round two or more other boxes of its label

    def __post_init__(self) -> None:
        for name in ("box_threshold", "text_threshold", "estimate_threshold", "nms"):
            value = getattr(self, name)
            if value is None and name != "text_threshold":
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= 1:
                raise SettingsError(f"{name}: expected a number from 0 to 1, got {value!r}.")
        for name in ("strict", "jpeg", "drop_groups"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name}: expected True or False, got {getattr(self, name)!r}.")

    def __str__(self) -> str:
        """As it stands behind a counter's name: nothing, "@paper", or what differs from the default."""
        for name, settings in SETTINGS.items():
            if self == settings:
                return "" if self == DEFAULT else f"@{name}"
        changed = [f.name for f in fields(self) if getattr(self, f.name) != getattr(DEFAULT, f.name)]
        return f"({', '.join(f'{name}={getattr(self, name)}' for name in changed)})"


DEFAULT = Settings()
# The judge published with the paper.
PAPER = Settings(box_threshold=0.35, strict=True, jpeg=True, nms=None, drop_groups=False)
SETTINGS = {"default": DEFAULT, "paper": PAPER}


def settle(settings: str | Settings, **changes: Any) -> Settings:
    """The settings of that name, with these changes."""
    if isinstance(settings, str):
        if settings not in SETTINGS:
            raise UnknownName("counter setting", settings, SETTINGS)
        settings = SETTINGS[settings]
    if not isinstance(settings, Settings):
        raise SettingsError(
            f'settings: expected "default", "paper" or a counters.Settings, got {settings!r}.'
        )
    known = [f.name for f in fields(Settings)]
    for name in changes:
        if name not in known:
            raise UnknownName("option of a detector", name, [*known, *LOADING])
    return replace(settings, **changes)


LOADING = ("settings", "device", "dtype", "batch_size", "revision", "local_files_only")
"""The other options of `counters.load`."""
