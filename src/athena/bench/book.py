"""The run folder: what was asked, one line an image, the images. Safe against kill -9 at any moment."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from athena.errors import LoadError, SettingsError

RUN, RECORDS, IMAGES, LOCK, JUDGED = "run.json", "records.jsonl", "images", "run.lock", "judged"
GROWS = ("limit", "seeds", "strategies")  # what --extend may change


class Book:
    """A run folder open for writing; one process at a time."""

    def __init__(
        self, folder: Path, asked: dict[str, Any], *, extend: bool = False, say: Callable[[str], None] = print
    ) -> None:
        self.folder, self.asked, self.say = folder, asked, say
        try:
            (folder / IMAGES).mkdir(parents=True, exist_ok=True)
            self.lock = (folder / LOCK).open("a")
        except OSError as error:
            raise SettingsError(
                f"cannot write into {folder}: {error.strerror}; name another folder with --out"
            ) from error
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system lets go of it, however we end
        except OSError as error:
            self.lock.close()
            raise SettingsError(
                f"another process writes into {folder}: wait for it, or name another --out."
            ) from error
        try:
            self.run = self._opened(extend)
            self.file = appending(folder / RECORDS, say)
        except BaseException:
            self.lock.close()
            raise
        self.done = {record["key"] for record in lines(folder / RECORDS)}

    def _opened(self, extend: bool) -> dict[str, Any]:
        """run.json, new or as it was; another configuration is refused."""
        if not (self.folder / RUN).exists() or not any(lines(self.folder / RECORDS)):  # nothing to lose yet
            if not (self.folder / RUN).exists() and (self.folder / RECORDS).exists():
                raise LoadError(f"{self.folder} has {RECORDS} and no {RUN}: name another folder with --out")
            run: dict[str, Any] = {"format": 1, "asked": self.asked, "sessions": []}
            write_json(self.folder / RUN, run)  # before the first record: a kill may come between
            return run
        run = read_run(self.folder)
        differs = difference(run["asked"], self.asked)
        if extend:
            differs = {name: pair for name, pair in differs.items() if name not in GROWS}
            run["asked"] = grown(run["asked"], self.asked)
        if differs:
            told = "; ".join(f"{name}: {was!r} there, {now!r} asked" for name, (was, now) in differs.items())
            grow = set(differs) <= set(GROWS)
            raise SettingsError(
                f"{self.folder} holds a run of another configuration ({told}). Name another folder with --out"
                + (", or add to it with --extend." if grow else ".")
            )
        return run

    def begin(self, facts: dict[str, Any], session: dict[str, Any] | None = None) -> None:
        """Note what the run is made with; every start that makes images adds a session."""
        self.run |= facts
        self.run["sessions"] = [*self.run["sessions"], *([session] if session else [])]
        write_json(self.folder / RUN, self.run)

    def append(self, record: dict[str, Any]) -> bool:
        """One more line, on the disk when this returns; False for a record that is there already."""
        if record["key"] in self.done:
            return False
        append(self.file, record)
        self.done.add(record["key"])
        return True

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.file.close()
        self.lock.close()


def grown(was: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What is there and what is asked for together: --extend takes nothing away."""
    limits: list[Any] = [one.get("limit") for one in (was, now)]
    return {
        **was,
        "limit": None if None in limits else max(limits),
        "seeds": max(was.get("seeds") or 1, now.get("seeds") or 1),
        "strategies": [*dict.fromkeys([*(was.get("strategies") or []), *(now.get("strategies") or [])])],
    }


def difference(was: dict[str, Any], now: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two configurations do not share."""
    plain = json.loads(json.dumps(now, default=str))
    return {k: (was.get(k), plain.get(k)) for k in {**was, **plain} if was.get(k) != plain.get(k)}


def appending(path: Path, say: Callable[[str], None] = print) -> Any:
    """A file of lines open for appending, its last line whole."""
    repair(path, say)
    return path.open("ab", buffering=0)


def append(file: Any, record: dict[str, Any]) -> None:
    """The whole line in one write, and on the disk."""
    file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    os.fsync(file.fileno())


def repair(path: Path, say: Callable[[str], None]) -> None:
    """Take away a last line that a kill cut short; its image is made again."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        start, tail = size, b""
        while start > 0 and b"\n" not in tail:
            start = max(0, start - 2**16)
            file.seek(start)
            tail = file.read(size - start)
        rest = len(tail.rpartition(b"\n")[2])
        if rest:
            file.truncate(size - rest)
            os.fsync(file.fileno())
            say(
                f"{path}: the last line was cut short ({rest} bytes without an end); it is taken away and made again"
            )


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every record; a last line without an end is passed over, any other broken line is an error."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
                record["key"]
            except (ValueError, KeyError, TypeError) as error:
                raise LoadError(
                    f"{path}, line {number} is no record ({type(error).__name__}: {error}); "
                    "delete that line and start the run again: its image is made anew"
                ) from error
            yield record


def latest(folder: Path) -> list[dict[str, Any]]:
    """Every record; of a picture of another tool that was made anew, the last."""
    found: dict[Any, dict[str, Any]] = {}
    for one in lines(folder / RECORDS):
        foreign = "seed" in one and one["seed"] is None
        found[(one["strategy"], one["id"], one["draw"]) if foreign else one["key"]] = one
    return list(found.values())


def read_run(folder: Path) -> dict[str, Any]:
    """run.json of a run folder."""
    try:
        run: dict[str, Any] = json.loads((folder / RUN).read_text(encoding="utf-8"))
        run["asked"]
    except OSError as error:
        raise LoadError(f"{folder} is no run folder: {RUN} cannot be read ({error.strerror})") from error
    except (ValueError, KeyError) as error:
        raise LoadError(f"{folder / RUN} is broken ({type(error).__name__}: {error})") from error
    return run


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, default=str)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
