"""The one entry: `python -m athena.mini.train FAMILY --work DIR` trains, packages and measures the mini models."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from athena.mini.loop import MALLOC

FAMILIES = ("mini-sdxl", "mini-sd3", "mini-flux")
COUNTERS = ("mini", "mini-judge")
STAGES = ("vae", "latents", "decoder", *(f"counter-{name}" for name in COUNTERS), *FAMILIES)
MEASURES = ("tune", "labels", "evaluate")
CLOSING = ("package", *MEASURES)


def run(stage: str, work: Path, minutes: float | None, workers: int | None, part: str) -> None:
    """Runs one stage in this process; heavy imports only for the stage that needs them."""
    from athena.mini import counters, data, diffusion, package, vae

    if stage == "vae":
        vae.train_vae(work, minutes, workers or 2)
    elif stage == "decoder":
        vae.train_decoder(work, minutes, workers or 1)
    elif stage == "latents":
        first, every = (int(number) for number in part.split("/"))
        data.write_latents(work, first=first, every=every)
    elif stage.startswith("counter-"):
        counters.train_counter(stage.removeprefix("counter-"), work, minutes)
    elif stage in FAMILIES:
        diffusion.train_backbone(stage, work, minutes, workers)
    elif stage == "package":
        for family in FAMILIES:
            if (work / f"{family}.pt").exists():
                package.package(family, work)
        for name in COUNTERS:
            counters.package_counter(name, work, package.WEIGHTS / "counters")


def together(work: Path, *chains: list[str]) -> None:
    """Runs chains of stages side by side, one core each, and stops when one fails."""
    started = [
        subprocess.Popen([sys.executable, "-m", "athena.mini.train", *chain, "--work", str(work)])
        for chain in chains
    ]
    codes = [process.wait() for process in started]
    if any(codes):
        raise SystemExit("a stage failed; what is done is kept, so run the same command again")


def everything(work: Path) -> None:
    """The whole recipe on two cores, in the order the parts need each other."""
    together(work, ["vae"])
    together(work, ["latents", "--part", "0/2"], ["latents", "--part", "1/2"])
    together(
        work,
        ["decoder", "mini-sdxl", "counter-mini", "counter-mini-judge"],
        ["mini-sd3", "mini-flux"],
    )
    together(work, ["package", "evaluate"])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m athena.mini.train", description=__doc__)
    parser.add_argument(
        "family", nargs="+", choices=[*STAGES, *CLOSING, "all"], help="what to do, one after the other"
    )
    parser.add_argument("--work", type=Path, default=Path("build/mini"), help="checkpoints, logs, sheets")
    parser.add_argument("--minutes", type=float, help="instead of the recipe's time")
    parser.add_argument("--workers", type=int, help="processes of one thread each")
    parser.add_argument(
        "--part", default="0/1", help="which part of the latents or of the strategies: FIRST/EVERY"
    )
    parser.add_argument("--only", nargs="*", help="evaluate only these families")
    spelled = [f"mini-{word}" if f"mini-{word}" in FAMILIES else word for word in sys.argv[1:]]
    asked = parser.parse_args(spelled)
    if any(os.environ.get(key) != value for key, value in MALLOC.items()):  # malloc reads these only at start
        os.execve(
            sys.executable,
            [sys.executable, "-m", "athena.mini.train", *sys.argv[1:]],
            {**os.environ, **MALLOC},
        )
    for stage in asked.family:
        if stage == "all":
            everything(asked.work)
        elif stage in MEASURES:
            from athena.mini import evaluate

            chosen = tuple(asked.only or FAMILIES)
            {"evaluate": evaluate.evaluate, "tune": evaluate.tune, "labels": evaluate.labels}[stage](
                asked.work, chosen, asked.part
            )
        else:
            run(stage, asked.work, asked.minutes, asked.workers, asked.part)


if __name__ == "__main__":
    main()
