"""The evidence: the paper's table on the embedded models, from nothing to docs/results/mini.md.

    make results                       # every family that is in this installation
    make results FAMILIES=mini-sdxl    # one of them

Everything is done by the command line, in run folders under out/results; stopped at any moment and started again,
it goes on. Without the embedded models it stops with a word, and writes nothing.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from athena import models
from athena.bench import gallery, metrics, records, report, verdict
from athena.errors import LoadError

ROOT = Path(__file__).parents[1]
WORK = Path("out/results")
PAGE = ROOT / "docs" / "results" / "mini.md"
STRATEGIES = "unsteered,static,feedback,adaptive,reseed@max_attempts=2,reseed"
LOOKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)  # of the steps, for the observability curve
LOOKED = 72  # prompts of that curve
LEAST = 324


def families(asked: list[str]) -> list[str]:
    found = []
    for name in asked or models.MINIS:
        try:
            models.find(name)
        except LoadError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        found.append(name)
    return found


def athena(*arguments: object) -> str:
    """Run a command of ours; gives it as it would be typed."""
    typed = ["athena", *map(str, arguments)]
    print(f"$ {shlex.join(typed)}", flush=True)
    subprocess.run([sys.executable, "-m", *typed], check=True)
    return shlex.join(typed)


def bench(name: str) -> list[str]:
    """Both runs of a family."""
    steps = models.find(name).steps
    looks = ",".join(f"reseed@max_attempts=1@estimate_step={max(1, round(x * steps))}" for x in LOOKS)
    common = ("mini", "--model", name, "--batch-size", 32)
    return [
        athena("bench", *common, "--strategies", STRATEGIES, "--out", WORK / name),
        athena("bench", *common, "--strategies", looks, "--limit", LOOKED, "--out", WORK / f"{name}-looks"),
    ]


def write(names: list[str], commands: list[str]) -> None:
    """The page, its figures and its grids."""
    main, looks = [WORK / name for name in names], [WORK / f"{name}-looks" for name in names]
    frame = records.frame(main)
    least = frame.groupby(["model", "strategy"]).size().min()
    if least < LEAST:
        raise SystemExit(f"expected at least {LEAST} images of each model and strategy, got {least}")
    data = report.analysed(frame)
    data["observability"] = metrics.observed(records.frame([*main, *looks]))
    beside = PAGE.with_suffix("")
    shutil.rmtree(beside, ignore_errors=True)
    figures = report.drawn(data, beside / "figures")
    parts = report.laid_out(data, figures, gallery.grids(frame, beside / "grids"), frame)
    head = [
        "Made by `make results`, which typed these commands:",
        "",
        "```",
        *commands,
        "```",
        "",
        *(line for said in verdict.sentences(data) for line in (said, "")),
    ]
    runs = records.runs_of([*main, *looks])
    text = report.markdown(
        parts, runs, title="The paper's table on the embedded models", head=head, beside="mini/"
    )
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)


def main() -> None:
    names = families(sys.argv[1:])
    if not names:
        raise SystemExit(
            "no embedded model is in this installation: nothing was measured, no page is written"
        )
    commands = [command for name in names for command in bench(name)]
    commands.append(athena("report", *(WORK / name for name in names), "--out", WORK / "report"))
    write(names, commands)


if __name__ == "__main__":
    main()
