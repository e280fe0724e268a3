"""The one entry: `python -m athena.mini.train FAMILY --work DIR`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from athena.mini.loop import MALLOC


def main() -> None:
    """Runs one stage, or all of them in order."""
    parser = argparse.ArgumentParser(prog="python -m athena.mini.train", description=__doc__)
    parser.add_argument("family", choices=["vae", "decoder"])
    parser.add_argument("--work", type=Path, default=Path("build/mini"), help="checkpoints, logs, sheets")
    parser.add_argument("--minutes", type=float, help="instead of the recipe's time")
    parser.add_argument("--workers", type=int, help="processes of one thread each")
    asked = parser.parse_args()
    if any(os.environ.get(key) != value for key, value in MALLOC.items()):  # malloc reads these only at start
        os.execve(sys.executable, [sys.executable, "-m", "athena.mini.train", *sys.argv[1:]], {**os.environ, **MALLOC})
    from athena.mini import vae

    if asked.family == "vae":
        vae.train_vae(asked.work, asked.minutes, asked.workers or 2)
    else:
        vae.train_decoder(asked.work, asked.minutes, asked.workers or 1)


if __name__ == "__main__":
    main()
