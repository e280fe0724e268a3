"""Denoiser rows for one image, T=50, t_est=20, t_steer=5, with guidance: measured here, beside the published code's.

    .venv/bin/python benchmarks/rows.py          # draws docs/pictures/rows.png

Ours are counted by a hook on the denoiser of a tiny SDXL pipeline; tests/test_engine.py holds the same numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import zoo  # noqa: E402
from athena import Athena  # noqa: E402
from athena.counters import Scripted  # noqa: E402

CASES = [  # what happens, strategy, the counts seen, the published code's rows
    ("unsteered", "unsteered", [7], 100),
    ("static", "static", [7], 110),
    ("feedback, right at once", "feedback", [7, 7], 102),
    ("feedback, wrong at first", "feedback", [5, 7], 150),
    ("adaptive, right after steering", "adaptive", [5, 7, 7], 162),
    ("adaptive, gamma adjusted", "adaptive", [5, 6, 7], 200),
]


def measure(strategy: str, counts: list[int]) -> int:
    pipe, rows = zoo.sdxl(), 0

    def hook(module: object, args: tuple[object, ...]) -> None:
        nonlocal rows
        rows += len(args[0])  # type: ignore[arg-type]

    pipe.unet.register_forward_pre_hook(hook)
    Athena(pipe, Scripted(counts), progress=False)(
        "a photo of seven apples",
        strategy=strategy,
        seed=1,
        gamma=1,
        num_inference_steps=50,
        estimate_step=20,
        steer_steps=5,
        **zoo.CALL["sdxl"],
    )
    return rows


def main() -> None:
    ours = [measure(strategy, counts) for _, strategy, counts, _ in CASES]
    fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for i, ((_, _, _, theirs), rows) in enumerate(zip(CASES, ours, strict=True)):
        ax.barh(i - 0.19, theirs, 0.36, color="#c9c9c9", label="published code" if i == 0 else None)
        ax.barh(i + 0.19, rows, 0.36, color="#0072b2", label="ATHENA, here" if i == 0 else None)
        ax.text(theirs + 2, i - 0.19, str(theirs), va="center", fontsize=8.5, color="#555555")
        ax.text(rows + 2, i + 0.19, str(rows), va="center", fontsize=8.5, color="#0072b2")
    ax.set_yticks(range(len(CASES)), [name for name, *_ in CASES])
    ax.invert_yaxis()
    ax.set_xlim(0, 225)
    ax.set_xlabel("denoiser rows for one image (50 steps, guidance)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper right")
    out = ROOT / "docs" / "pictures" / "rows.png"
    out.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(out, dpi=130)
    print(dict(zip([name for name, *_ in CASES], ours, strict=True)))


if __name__ == "__main__":
    main()
