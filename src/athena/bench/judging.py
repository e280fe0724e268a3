"""Counts saved images: those of a run by another judge, those of any other tool as a run of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from athena import counters
from athena.bench import facts
from athena.bench.book import JUDGED, Book, append, appending, latest, lines, read_run
from athena.bench.identity import digest
from athena.counters import Counter
from athena.datasets import Entry
from athena.drawing.pictures import opened
from athena.errors import LoadError, SettingsError

AT_ONCE = 8
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
UNKNOWN = (
    "finished", "steps", "estimate_step", "rows", "calls", "text_calls", "decodes", "counter_calls", "memory_mb",
)  # fmt: skip
Say = Callable[[str], None]


def judge(
    folder: Path, counter: Counter, say: Say = print, again: bool = False, code: str | None = None
) -> tuple[int, int]:
    """Count every image of a run; (how many now, how many in all). Killed, it goes on where it stopped.

    `code` is a digest of somebody's own counter: once that is edited, all is counted anew.
    """
    read_run(folder)
    records = latest(folder)
    file = folder / JUDGED / f"{slug(counter.name)}.jsonl"
    file.parent.mkdir(exist_ok=True)
    if again:
        file.unlink(missing_ok=True)
    done = {line["key"] for line in lines(file) if line.get("code") == code}
    left = [one for one in records if one["key"] not in done]
    gone = [one["image"] for one in left if not (folder / one["image"]).is_file()]
    if gone:
        raise LoadError(
            f"{folder}: {len(gone)} of {len(records)} images are not there, first {gone[0]}; put them back, or make "
            "the run anew in another folder"
        )
    with closing(appending(file, say)) as kept:
        for some in batches(left):
            pictures = [opened(folder / one["image"]) for one in some]
            nouns, prompts = [one["noun"] for one in some], [one["prompt"] for one in some]
            for one, (count, _) in zip(some, counters.count(counter, pictures, nouns, prompts), strict=True):
                append(kept, {"key": one["key"], "judge": counter.name, "count": count, "code": code})
    return len(left), len(records)


def score(
    images: Path,
    entries: Sequence[Entry],
    counter: Counter,
    out: Path,
    name: str,
    *,
    model: str = "",
    dataset: str = "",
    split: str = "all",
    seconds: float | None = None,
    say: Say = print,
) -> tuple[int, int, list[str]]:
    """Judge images that another tool made, as a run that stands in the table.

    Gives how many were counted now, how many there are, and the ids without an image.
    """
    found = matched(images, entries)
    asked = {
        "dataset": dataset,
        "split": split,
        "model": model or name,
        "strategies": [name],
        "images": str(images.resolve()),
        "judge": counter.name,
        "prompts": digest({"prompts": [[one.id, one.prompt, one.object, one.int_number] for one in entries]}),
        "seconds": seconds,
    }
    with Book(out, asked, say=say) as book:
        book.begin({"name": model or name}, facts.session())
        left = [pair for pair in found if key_of(*pair, name) not in book.done]
        for some in batches(left):
            pictures = [opened(path) for _, path in some]
            nouns, prompts = [one.object for one, _ in some], [one.prompt for one, _ in some]
            for (one, path), (count, _) in zip(
                some, counters.count(counter, pictures, nouns, prompts), strict=True
            ):
                book.append(record(one, path, name, count, counter.name, seconds))
    with_image = {one.id for one, _ in found}
    return len(left), len(found), [one.id for one in entries if one.id not in with_image]


def matched(images: Path, entries: Sequence[Entry]) -> list[tuple[Entry, Path]]:
    """Each entry with its image: the file is called by its id, leading zeros apart, as in 7.png or 0007.jpg."""
    if not images.is_dir():
        raise SettingsError(
            f"there is no folder {images}: expected images called by the ids of the data set."
        )
    files: dict[str, Path] = {}
    for path in sorted(path for path in images.iterdir() if path.suffix.lower() in PICTURES):
        other = files.setdefault(bare(path.stem), path)
        if other is not path:
            raise SettingsError(
                f"{other.name} and {path.name} in {images} are both called by the id {bare(path.stem)}."
            )
    found = [(one, files[bare(one.id)]) for one in entries if bare(one.id) in files]
    if not found:
        some = ", ".join(path.name for path in list(files.values())[:3]) or "no pictures at all"
        raise SettingsError(
            f"no image in {images} is called by an id of the data set, as in {entries[0].id}.png; there is {some}."
        )
    return found


def bare(stem: str) -> str:
    return stem.lstrip("0") or "0" if stem.isdigit() else stem


def key_of(entry: Entry, path: Path, name: str) -> str:
    picture = sha256(path.read_bytes()).hexdigest()
    return digest({"prompt": entry.prompt, "id": entry.id, "strategy": name, "image": picture})


def record(
    entry: Entry, path: Path, name: str, count: int, judge: str, seconds: float | None
) -> dict[str, Any]:
    """As much of a record as somebody else's image has; the rest is missing, not zero."""
    known = {
        "key": key_of(entry, path, name),
        "id": entry.id,
        "prompt": entry.prompt,
        "noun": entry.object,
        "target": entry.int_number,
        "level": entry.level,
        "scene": entry.scene,
        "source": entry.source,
        "strategy": name,
        "seed": None,  # their noise is not that of our seed: no pairs
        "draw": 0,
        "counts": {judge: count},
        "judge": judge,
        "counter": "",
        "estimates": [],
        "gammas": [],
        "controls": [],
        "seconds": seconds,
        "image": str(path.resolve()),
    }
    return {**known, **dict.fromkeys(UNKNOWN)}


def batches(listed: Sequence[Any]) -> Iterator[Sequence[Any]]:
    yield from (listed[i : i + AT_ONCE] for i in range(0, len(listed), AT_ONCE))


def slug(name: str) -> str:
    """A judge's name as a file's; a short digest keeps apart what would become the same."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-")
    return plain if plain == name else f"{plain[:60]}-{digest({'name': name})[:6]}"
