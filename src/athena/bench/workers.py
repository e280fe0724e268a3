"""Chunks made by several processes: a queue in this one, a pipe to each, and a new worker for one that dies.

A queue shared by all would be left locked by a worker that is killed while it takes from it. So the queue stays
here; a worker gets its next chunk when it has given back all of the last one. Only this process writes records.
A cluster has the same three parts: what hands out chunks, what makes them (`making.made`), what keeps the records.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athena.bench import making
from athena.bench.plan import Chunk
from athena.errors import AthenaError, LoadError, SettingsError, UnknownName

if TYPE_CHECKING:
    from athena.bench.book import Book
    from athena.bench.runner import How

LEAVE = 2.0  # seconds a worker has to end by itself
DEATHS = 3  # of workers on the same chunk, until we believe that it is the chunk


@dataclass
class Worker:
    """One process and what it is at."""

    number: int
    process: Any
    pipe: Connection
    chunk: Chunk | None = None


@dataclass(frozen=True)
class Post:
    """What a worker needs to know, once."""

    maker: making.Maker
    find: Callable[[str], Any]
    call: dict[str, Any]
    folder: Path
    device: str | None
    threads: int


def produced(
    chunks: Sequence[Chunk], call: dict[str, Any], how: How, book: Book
) -> Generator[dict[str, Any]]:
    """The records of all chunks, as workers give them."""
    queue, deaths = deque(chunks), Counter[int]()
    team = [begin(n, call, how, book.folder) for n in range(min(how.workers, len(chunks)))]
    try:
        while queue or any(worker.chunk for worker in team):
            for worker in team:
                if worker.chunk is None and queue:
                    hand(worker, queue.popleft(), book.done)
            for pipe in wait([worker.pipe for worker in team if worker.chunk]):
                worker = next(one for one in team if one.pipe is pipe)
                try:
                    said, content = worker.pipe.recv()
                except (EOFError, ConnectionError):
                    team[team.index(worker)] = replaced(worker, queue, deaths, call, how, book.folder)
                    continue
                if said == "record":
                    yield content
                elif said == "error":
                    raise content
                else:
                    worker.chunk = None
    finally:
        for worker in team:
            worker.pipe.close()  # who waits for work goes home, who is at it stops at the next record
        for worker in team:
            worker.process.join(LEAVE)
            worker.process.terminate()
            worker.process.join()


def hand(worker: Worker, chunk: Chunk, done: set[str]) -> None:
    worker.chunk = chunk
    with suppress(OSError):  # it is dead: waiting for its answer will tell, and the chunk is known
        worker.pipe.send((chunk, {job.key for job in chunk.jobs} & done))


def replaced(
    worker: Worker, queue: deque[Chunk], deaths: Counter[int], call: dict[str, Any], how: How, folder: Path
) -> Worker:
    """A new worker for one that died; its chunk goes to the head of the queue."""
    worker.process.join()
    worker.pipe.close()
    chunk = worker.chunk
    assert chunk is not None
    deaths[chunk.number] += 1
    told = f"worker {worker.number} died (exit code {worker.process.exitcode})"
    if deaths[chunk.number] == DEATHS:
        raise LoadError(
            f"{told}, the third on the same {len(chunk.jobs)} images ({chunk.variant.label}: "
            f'"{chunk.jobs[0].entry.prompt}", ...). Not enough memory for --workers {how.workers}? '
            "What is done is kept: start again with fewer workers or a smaller --batch-size"
        )
    how.say(f"{told}: a new one takes its place, and its images")
    queue.appendleft(chunk)
    return begin(worker.number, call, how, folder)


def begin(number: int, call: dict[str, Any], how: How, folder: Path) -> Worker:
    context = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA
    ours, theirs = context.Pipe()
    device = how.devices[number % len(how.devices)] if how.devices else how.device
    threads = max(1, (os.cpu_count() or 1) // how.workers)
    post = Post(how.maker, how.find, how.call(call), folder, device, threads)
    process = context.Process(target=work, args=(theirs, post), daemon=True, name=f"athena bench {number}")
    process.start()
    theirs.close()  # so that the end of the process is the end of the pipe
    return Worker(number, process, ours)


def work(pipe: Connection, post: Post) -> None:
    """A worker's life: a chunk comes, its records go, until there is nobody at the other end."""
    os.environ.setdefault("OMP_NUM_THREADS", str(post.threads))  # before the maker imports torch
    try:
        steerer = None
        while True:
            chunk, skip = pipe.recv()
            steerer = steerer or post.maker(post.device)
            device = str(getattr(getattr(steerer, "pipe", None), "device", post.device or "cpu"))
            for record in making.made(steerer, chunk, post.call, post.find, post.folder, device, skip):
                pipe.send(("record", record))
            pipe.send(("done", chunk.number))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except AthenaError as error:
        pipe.send(("error", plain(error)))


def plain(error: AthenaError) -> AthenaError:
    """The same error, sure to survive the way between processes."""
    kind = SettingsError if isinstance(error, UnknownName) else type(error)
    return kind(str(error))
