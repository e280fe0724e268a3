"""The one entry: `python -m athena.mini.train FAMILY --work DIR` trains, packages and measures the mini models."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from athena.mini.loop import MALLOC

FAMILIES = ("mini-sdxl", "mini-sd3", "mini-flux")
COUNTERS = ("mini", "mini-judge")
# In the order in which the parts need each other.
STAGES = (
    "pools",
    "vae",
    "latents",
    "decoder",
    *FAMILIES,
    *(f"counter-{name}" for name in COUNTERS),
    "package",
)
MEASURES = ("labels", "agree", "quality", "seconds", "curves")


def run(stage: str, work: Path, minutes: float | None) -> None:
    """Runs one stage in this process; heavy imports only for the stage that needs them."""
    from athena.mini import counters, data, diffusion, package, pools, vae

    if stage == "pools":
        pools.write_pools(work)
    elif stage == "vae":
        vae.train_vae(work, minutes)
    elif stage == "decoder":
        vae.train_decoder(work, minutes)
    elif stage == "latents":
        data.write_latents(work)
    elif stage.startswith("counter-"):
        counters.train_counter(stage.removeprefix("counter-"), work, minutes)
    elif stage in FAMILIES:
        diffusion.train_backbone(stage, work, minutes)
    elif stage == "package":
        for family in FAMILIES:
            if (work / f"{family}.pt").exists():
                package.package(family, work)
        for name in COUNTERS:
            counters.package_counter(name, work, package.WEIGHTS / "counters")


def measure(what: str, work: Path, only: list[str] | None) -> None:
    """What stands in docs/mini.md beside the benchmark's own tables."""
    from athena.mini import labels, package, report

    packaged = [family for family in only or FAMILIES if (package.WEIGHTS / family).is_dir()]
    if what == "curves":
        print(report.curves(work, ("vae", "decoder", *FAMILIES)))
    else:
        getattr(labels, what)(work, packaged)


def needs(family: str) -> tuple[str, ...]:
    """Every stage up to a family."""
    before = STAGES[: STAGES.index(family) + 1]
    rivals = {*FAMILIES} - {family}
    if family == "mini-flux":
        rivals -= {"mini-sd3"}  # its teacher
    return tuple(stage for stage in before if stage not in rivals)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m athena.mini.train", description=__doc__)
    parser.add_argument(
        "stage", nargs="+", choices=[*STAGES, *MEASURES, "all"], help="what to do, one after the other"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("build/mini"), help="pools, checkpoints, logs, sheets"
    )
    parser.add_argument("--minutes", type=float, help="end each training after so long, wherever it is")
    parser.add_argument("--alone", action="store_true", help="not what a stage needs before it")
    parser.add_argument("--only", nargs="*", help="measure only these families")
    spelled = [f"mini-{word}" if f"mini-{word}" in FAMILIES else word for word in sys.argv[1:]]
    asked = parser.parse_args(spelled)
    if any(os.environ.get(key) != value for key, value in MALLOC.items()):  # malloc reads these only at start
        again = [sys.executable, "-m", "athena.mini.train", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, **MALLOC})
    for stage in asked.stage:
        if stage in MEASURES:
            measure(stage, asked.work, asked.only)
            continue
        before = (
            STAGES if stage == "all" else needs(stage) if stage in FAMILIES and not asked.alone else (stage,)
        )
        for each in before:
            run(each, asked.work, asked.minutes)


if __name__ == "__main__":
    main()
