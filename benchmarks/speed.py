"""What ATHENA costs over the bare pipe, and what a batch saves: ratios measured in one run, on tiny pipelines.

    make bench          # writes docs/results/speed.md

The models are so small that the overhead of ATHENA, which does not grow with them, weighs the most here.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import zoo  # noqa: E402
from athena import Athena, models  # noqa: E402
from athena.counters import Scripted  # noqa: E402

PROMPT = "a photo of seven apples"
STEPS, REPEATS = 50, 25  # of the first column; the others are far from their limits and take fewer


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def ratio(one: Callable[[], object], other: Callable[[], object], repeats: int = REPEATS) -> float:
    """One's time over the other's: the least of each, measured in turns, so that a busy machine hits both."""
    one()
    other()
    times = [(seconds(one), seconds(other)) for _ in range(repeats)]
    return min(a for a, _ in times) / min(b for _, b in times)


def measure(name: str) -> dict[str, float]:
    if name == "mini":  # the one real model that is here
        pipe = models.load("mini", device="cpu")
        pipe.set_progress_bar_config(disable=True)
        call = {**models.find("mini").call(), "num_inference_steps": STEPS}
    else:
        pipe, call = zoo.PIPELINES[name](), {**zoo.CALL[name], "num_inference_steps": STEPS}
    short = {**call, "num_inference_steps": 10}
    athena = Athena(pipe, lambda image, noun: 7, progress=False, batch_size=64)
    judge_free = Athena(pipe, progress=False)

    def bare() -> None:
        pipe(prompt=[PROMPT], generator=[torch.Generator().manual_seed(1)], **call)

    def unsteered() -> None:
        judge_free(PROMPT, strategy="unsteered", seed=1, **call)

    def adaptive() -> None:
        """A mismatch and an adjusted gamma: the longest way. 1.86 times the rows of the bare pipe with guidance."""
        Athena(pipe, Scripted([5, 6, 7]), progress=False)(
            PROMPT, seed=1, estimate_step=20, steer_steps=5, gamma=1, **call
        )

    def batch() -> None:
        athena([PROMPT] * 8, seed=list(range(8)), **short)

    def singly() -> None:
        for seed in range(8):
            athena(PROMPT, seed=seed, **short)

    return {
        "unsteered / bare pipe": ratio(unsteered, bare),
        "adaptive, adjusted / bare pipe": ratio(adaptive, bare, 3),
        "8 in a batch / 8 one at a time": ratio(batch, singly, 2),
    }


def startup(*arguments: str) -> float:
    """Seconds from the shell; the least of five, which a busy machine disturbs the least."""
    command = [sys.executable, *arguments]
    return min(seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(5))


def main() -> None:
    torch.set_num_threads(1)
    table: dict[str, dict[str, float]] = {}
    for name in (*zoo.PIPELINES, "mini"):
        print(f"measuring {name} ...", file=sys.stderr)
        table[name] = measure(name)
    columns = list(next(iter(table.values())))
    lines = [
        "# Speed",
        "",
        f"Made by `make bench`. Ratios of wall-clock times, {STEPS} steps, tiny random pipelines and the embedded "
        f"model, on one thread of {platform.processor() or platform.machine()}; Python {platform.python_version()}, "
        + ", ".join(f"{x} {version(x)}" for x in ("torch", "diffusers", "transformers"))
        + f". The least of {REPEATS}, 3 and 2 runs taken in turns; the last column with 10 steps.",
        "",
        "| pipeline | " + " | ".join(columns) + " |",
        "| --- |" + " ---: |" * len(columns),
        *(
            f"| {name} | " + " | ".join(f"{row[c]:.2f}" for c in columns) + " |"
            for name, row in table.items()
        ),
        "",
        f"From the shell: `import athena` {startup('-c', 'import athena'):.2f} s, `athena --help` "
        f"{startup('-m', 'athena', '--help'):.2f} s, Python alone {startup('-c', 'pass'):.2f} s (least of five).",
        "",
    ]
    (ROOT / "docs" / "results").mkdir(parents=True, exist_ok=True)
    (ROOT / "docs" / "results" / "speed.md").write_text("\n".join(lines))
    print("\n".join(lines[4:]))
    slow = [name for name, row in table.items() if row["unsteered / bare pipe"] > 1.03]
    print(f"unsteered over bare is at most 1.03: {'yes' if not slow else 'no, not for ' + ', '.join(slow)}")


if __name__ == "__main__":
    main()
