"""A pipeline for tests of what stands around pipelines: it draws and counts by a digest of what it is asked."""

from __future__ import annotations

import os
import sys
import time
from hashlib import sha256
from pathlib import Path
from random import Random

from PIL import Image

from athena import datasets, models, strategies
from athena.bench import plan, runner, variants
from athena.bench.book import Book
from athena.counters import FunctionCounter
from athena.types import Attempt, Cost, Result


def look(image, noun):
    return image.getpixel((0, 0))[0] % 12


def judge(image, noun):
    return image.getpixel((0, 0))[1] % 12


class Steerer:
    """As much of an `athena.Athena` as the benchmark asks for; its costs depend on the company of an image."""

    def __init__(self, pause=0.0, dies_at=None):
        self.counter, self.judge = FunctionCounter(look, "look"), FunctionCounter(judge, "judge")
        self.pause, self.dies_at, self.made = pause, dies_at, 0

    def stream(self, prompts, seed, strategy, progress=None, **options):
        order = Random(str(seed)).sample(range(len(prompts)), len(prompts))
        for i in order:
            time.sleep(self.pause)
            if self.dies_at is not None and self.made == self.dies_at:
                os.kill(os.getpid(), 9)
            self.made += 1
            yield i, self.result(prompts[i], seed[i], strategies.name_of(strategy), len(prompts), options)

    def result(self, prompt, seed, strategy, company, options):
        digest = sha256(f"{prompt.text} {seed} {strategy} {options}".encode()).digest()
        near = max(0, prompt.count + digest[0] % 3 - 1)
        final = prompt.count if digest[1] % 2 and strategy != "unsteered" else near
        image = Image.new(
            "RGB", (32, 32), (12 * (digest[2] % 20) + near, 12 * (digest[3] % 20) + final, digest[4])
        )
        seen = None if strategy in ("unsteered", "static") else near
        attempts = (Attempt(seed=seed, count=seen, finished=True),)
        cost = Cost(company, 10 + digest[5] % 10, 1, 1, 2, time.perf_counter() % 1)
        settings = {"steps": 10, "estimate_step": 5}
        return Result(
            image, prompt, judge(image, ""), seed, strategy, attempts, cost, None, "look", "judge", settings
        )


def maker(device=None):
    return Steerer(pause=float(os.environ.get("PAUSE", "0")))


def dying(device=None):
    """The first worker to come dies at its ninth image; a file tells the others that it has."""
    try:
        Path(os.environ["DIED"]).touch(exist_ok=False)  # two may come at the same moment: one of them wins
    except FileExistsError:
        return Steerer()
    return Steerer(dies_at=9)


def always_dying(device=None):
    return Steerer(dies_at=3)


NAMES = ("unsteered", "adaptive", "reseed@max_attempts=2")


def laid_out(entries=None, names=NAMES, chunk=8, **how):
    making = plan.Making("scripted", "float32", "look", models.DEFAULT, {})
    entries = datasets.mini("tune") if entries is None else entries
    return plan.lay_out(entries, variants.parse_all(names), making, chunk=chunk, **how)


def bench(folder, chunks, asked=None, extend=False, **how):
    """Run to the end; gives how many images were made, and what was said."""
    said = []
    asked = {"dataset": "mini", "model": "scripted", "split": "tune"} if asked is None else asked
    how = runner.How(how.pop("maker", maker), progress=False, say=said.append, **how)
    with Book(Path(folder), asked, extend=extend, say=said.append) as book:
        return runner.run(book, chunks, {}, how, {"name": "scripted"}), said


if __name__ == "__main__":  # python tests/scripted.py FOLDER WORKERS
    bench(sys.argv[1], laid_out(), workers=int(sys.argv[2]))
