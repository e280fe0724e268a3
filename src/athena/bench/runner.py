"""Makes what is missing of a run, here or in worker processes; the book has one writer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from athena import strategies
from athena.bench import facts, making, workers
from athena.bench.book import Book
from athena.bench.making import Maker
from athena.bench.plan import Chunk

Say = Callable[[str], None]


@dataclass(frozen=True)
class How:
    """What may differ from one start of a run to the next: it changes no image."""

    maker: Maker
    find: Callable[[str], Any] = strategies.find  # a strategy's function by its name
    device: str | None = None
    devices: Sequence[str] = ()  # of the workers, in turn
    workers: int = 1
    batch_size: int | None = None
    progress: bool | None = None
    say: Say = print

    def call(self, call: dict[str, Any]) -> dict[str, Any]:
        return call if self.batch_size is None else {**call, "batch_size": self.batch_size}


def run(book: Book, chunks: Sequence[Chunk], call: dict[str, Any], how: How, about: dict[str, Any]) -> int:
    """Make every image that has no record yet; how many that were."""
    left = [chunk for chunk in chunks if any(job.key not in book.done for job in chunk.jobs)]
    total = sum(len(chunk.jobs) for chunk in chunks)
    missing = sum(job.key not in book.done for chunk in left for job in chunk.jobs)
    if len(book.done) and missing:
        how.say(f"{book.folder}: {total - missing} of {total} images are there; making the other {missing}")
    if not left:
        book.begin(about)
        return 0
    if how.workers > 1:
        records = workers.produced(left, call, how, book)
    else:
        records = here(left, call, how, book, how.maker(how.device))
    used = {"workers": how.workers, "device": how.device, "batch_size": how.batch_size}
    book.begin(about, facts.session(**used, missing=missing))
    new = 0
    with closing(records), bar(how.progress, total, total - missing) as shown:
        for record in records:
            if book.append(record):
                new += 1
                shown.update(1)
    return new


def here(
    chunks: Sequence[Chunk], call: dict[str, Any], how: How, book: Book, steerer: Any
) -> Generator[dict[str, Any]]:
    """All chunks in this process."""
    for chunk in chunks:
        kept = {job.key for job in chunk.jobs} & book.done
        yield from making.made(
            steerer, chunk, how.call(call), how.find, book.folder, device_of(steerer, how.device), kept
        )


def device_of(steerer: Any, asked: str | None) -> str:
    """Where a steerer's pipe computes."""
    found = getattr(getattr(steerer, "pipe", None), "device", None)
    return str(found if found is not None else asked or "cpu")


def bar(show: bool | None, total: int, done: int) -> Any:
    from tqdm.auto import tqdm

    hide = None if show is None else not show
    return tqdm(total=total, initial=done, unit="image", delay=2, disable=hide, leave=False, smoothing=0.05)
