"""One line that says what is happening."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """Steps taken, and a word on what for. None shows it on a terminal once two seconds have passed."""

    def __init__(self, show: bool | None, total: int) -> None:
        self.show, self.total = show, total
        self.bar: Any = None

    def __enter__(self) -> Progress:
        from tqdm.auto import tqdm

        if self.show is not False:
            wait, hide = (0, False) if self.show else (2, None)  # None: hidden where nobody looks
            self.bar = tqdm(total=self.total, delay=wait, disable=hide, leave=False, unit="step")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()

    def say(self, what: str) -> None:
        if self.bar is not None:
            self.bar.set_description_str(what, refresh=bool(self.show))

    def advance(self, images: int) -> None:
        if self.bar is not None:
            if self.bar.n + images > self.bar.total:  # restarts were not foreseen
                self.bar.total = self.bar.n + images
            self.bar.update(images)
