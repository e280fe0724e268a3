"""What commands say and write: lines, JSON, file names, the folder, and the way out."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import typer

from athena.errors import SettingsError

if TYPE_CHECKING:
    from athena.types import Result

INEXACT = 3
OTHER = (".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")


class Place:
    """Where pictures go: a folder in which no picture writes over another, or the one .png that was named."""

    def __init__(self, out: Path, pictures: int = 1) -> None:
        out = out.expanduser()
        self.file = out if out.suffix.lower() == ".png" and not out.is_dir() else None
        if out.suffix.lower() in OTHER and not out.is_dir():
            raise SettingsError(
                f"--out {out}: pictures are written as PNG, which keeps their story: give a name in .png, or a folder."
            )
        if self.file and pictures > 1:
            raise SettingsError(f"--out {out} is one file, and there will be {pictures}: name a folder.")
        self.folder = out.parent if self.file else out
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise SettingsError(
                f"cannot write into {self.folder}: {error.strerror}; name another folder with --out"
            ) from error

    def path(self, *words: object) -> Path:
        """A file that says what the picture is, and that is not there yet."""
        if self.file:
            return self.file
        text, *rest = [slug(word) for word in words]
        stem = "-".join([text[:60].strip("-"), *rest])
        path, again = self.folder / f"{stem}.png", 2
        while path.exists():
            path, again = self.folder / f"{stem}-{again}.png", again + 1
        return path


def slug(word: object) -> str:
    return re.sub(r"[^\w]+", "-", str(word).lower()).strip("-")


def line(result: Result, path: Path) -> str:
    """As in `7/7 apples  adaptive (2 attempts, 5 -> 7)  145 rows  1.3 s  out/seven-apples.png`."""
    seen = " -> ".join(str(attempt.count) for attempt in result.attempts if attempt.count is not None)
    many = len(result.attempts)
    how = f"{many} attempt{'s' * (many != 1)}" + (f", {seen}" if seen else "")
    return "  ".join(
        (
            f"{tally(result)} {result.prompt.noun_plural}",
            f"{result.strategy} ({how})",
            f"{result.cost.denoiser_rows} rows",
            f"{result.cost.seconds:.1f} s",
            str(path),
        )
    )


def tally(result: Result) -> str:
    return f"{'?' if result.count is None else result.count}/{result.target}"


def say(text: str) -> None:
    """A line on stdout; a progress bar that stands on the terminal is wiped first and draws itself anew."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    typer.echo(text)


def say_json(record: dict[str, Any]) -> None:
    say(json.dumps(record))


def record(result: Result, path: Path | None = None) -> dict[str, Any]:
    """A result as JSON, with what is asked for most at its head."""
    head = {"file": None if path is None else str(path), "count": result.count, "target": result.target}
    return {**head, "exact": result.exact, **result.to_dict()}


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Cells under each other, two spaces apart."""
    wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, wide, strict=True)).rstrip() for row in rows)


def leave(results: Sequence[Result], allow_inexact: bool) -> None:
    """3 when an image misses its number, unless that is allowed."""
    missed = sum(not result.exact for result in results)
    if missed and not allow_inexact:
        which = "the image misses" if len(results) == 1 else f"of {len(results)} images {missed} missed"
        typer.echo(
            f"{which} the number asked for (exit code {INEXACT}; --allow-inexact makes it 0)", err=True
        )
        raise typer.Exit(INEXACT)


@contextmanager
def kept(done: Sized, where: object, total: int | None = None) -> Iterator[None]:
    """On Ctrl-C, say what there is already: images, or looks at one where their number is not known."""
    try:
        yield
    except KeyboardInterrupt:
        what = f"{len(done)} looks are" if total is None else f"{len(done)} of {total} images are"
        typer.echo(f"\n{what} done" + (f": see {where}" if done else ""), err=True)
        raise


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A line on the terminal once two seconds have passed, gone when it is over; nothing in a pipe."""
    terminal = sys.stderr.isatty()
    timer = Timer(2, lambda: print(f"{what} ...", end="\r", file=sys.stderr, flush=True))
    timer.daemon = True
    if terminal:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if terminal:
            print("\033[K", end="", file=sys.stderr, flush=True)
