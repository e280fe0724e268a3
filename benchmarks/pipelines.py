"""Which pipelines ATHENA drives: every class diffusers maps, held to the conformance suite.

make pipelines      # writes docs/pipelines.md, in about two minutes
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
os.environ.update(HF_HUB_OFFLINE="1", DIFFUSERS_VERBOSITY="error", TRANSFORMERS_VERBOSITY="error")

import torch  # noqa: E402

import zoo  # noqa: E402
from athena.testing import conformance  # noqa: E402
from zoo.page import PAGE, page, row  # noqa: E402


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for name in zoo.MAPPED:
        entry = zoo.EVERY.get(name)
        report = conformance(entry.build(), **entry.call) if entry else None
        rows.append(row(name, report))
        print(report or f"{name}\nout of scope", end="\n\n", flush=True)
    PAGE.write_text(page(rows), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
