"""What the benchmark's own machinery costs: runner, records, queue; and a report of very many records.

    make bench-runner          # writes docs/results/runner.md

The pipeline is scripted (tests/scripted.py): it draws 32 pixels by a digest of the prompt, so that what is measured is
everything around a pipeline. What it takes by itself is measured too and taken off.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import scripted  # noqa: E402
from athena import datasets  # noqa: E402
from athena.bench import book, facts  # noqa: E402

PROMPTS, RECORDS, PICTURES = 648, 100_000, 600
STRATEGIES = ("unsteered", "static", "feedback", "adaptive", "reseed@max_attempts=2")


def entries(n: int) -> list[datasets.Entry]:
    """So many prompts of the embedded models' kind, each with an id of its own."""
    every = [one for seed in range(-(-n // 324)) for one in datasets.mini("test", seed=seed)]
    return [
        datasets.entry({**one.to_dict(), "id": i, "seed": i, "raw": None}, i)
        for i, one in enumerate(every[:n])
    ]


def overhead(workers: int, folder: Path) -> float:
    """Milliseconds an image, over 648 prompts, above what the scripted pipeline takes by itself."""
    chunks = scripted.laid_out(entries(PROMPTS), names=("adaptive",), chunk=32)
    bare = time.perf_counter()
    steerer = scripted.maker()
    for chunk in chunks:
        for _ in steerer.stream(
            [j.entry.asked for j in chunk.jobs], [j.seed for j in chunk.jobs], "adaptive"
        ):
            pass
    bare = time.perf_counter() - bare
    began = time.perf_counter()
    made, _ = scripted.bench(folder, chunks, workers=workers)
    assert made == PROMPTS
    return 1000 * (time.perf_counter() - began - bare / workers) / PROMPTS


def large(folder: Path) -> None:
    """A run of 100,000 records, with pictures for the gallery."""
    chunks = scripted.laid_out(entries(PICTURES // len(STRATEGIES)), names=STRATEGIES)
    scripted.bench(folder, chunks, asked={"dataset": "large", "split": "all", "model": "scripted"})
    made = list(book.lines(folder / book.RECORDS))
    with (folder / book.RECORDS).open("a", encoding="utf-8") as file:
        for i in range(len(made), RECORDS):
            one = made[i % len(made)]
            turn = i // len(made)
            file.write(json.dumps({**one, "key": f"{i:016x}", "id": f"{one['id']}-{turn}"}) + "\n")


def reported(folder: Path, out: Path) -> tuple[float, float, float]:
    """Seconds, those of the processor, and peak megabytes of `athena report`, in a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "athena", "report", str(folder), "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    taken = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10


def main() -> None:
    work = Path(tempfile.mkdtemp())
    try:
        large(work / "large")
        taken, spent, memory = reported(work / "large", work / "report")
        page = (work / "report" / "index.html").stat().st_size / 2**20
        costs = {
            workers: min(overhead(workers, work / f"{workers}-{i}") for i in range(3)) for workers in (1, 2)
        }
    finally:
        shutil.rmtree(work)
    versions = facts.versions()
    lines = [
        "# What the benchmark's own machinery costs",
        "",
        "`make bench-runner` wrote this page (`benchmarks/runner.py`).",
        "",
        "| what | measured | wanted |",
        "| --- | --- | --- |",
        f"| runner, records (fsync) and images, 648 prompts, ms an image | {costs[1]:.2f} | under 5 |",
        f"| the same with `--workers 2`: queue, pipes, their start | {costs[2]:.2f} | under 5 |",
        f"| `athena report` of {RECORDS:,} records, seconds | {taken:.1f} | under 30 |",
        f"| of these the processor worked for it, seconds | {spent:.1f} | |",
        f"| its peak memory, MB | {memory:.0f} | under 2048 |",
        f"| its page, with {PICTURES} images, MB | {page:.1f} | |",
        "",
        "The pipeline is scripted and its own time is taken off. The first two rows are the best of three. "
        f"The load of the machine was {os.getloadavg()[0]:.1f} at the end: other work is in these times.",
        "",
        f"{facts.cpu()}, {platform.platform()}; {', '.join(f'{k} {v}' for k, v in versions.items())}",
        "",
    ]
    page_file = ROOT / "docs" / "results" / "runner.md"
    page_file.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
