"""What the benchmark does not measure of the packaged models: counts made by eye, and seconds an image."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw

from athena import datasets
from athena.mini.counter import load_counter

LABELS = Path(__file__).parents[3] / "docs" / "results" / "mini-labels.json"
EACH = 60  # images of a family
ACROSS, TILE = 6, 256


def steerer(family: str) -> Any:
    """The packaged model under ATHENA, counted by `mini` and judged by `mini-judge`."""
    from athena import engine

    return engine.loaded(family, load_counter("mini"), load_counter("mini-judge"), "cpu", None, None)


def unselected(family: str, each: int = EACH, **options: Any) -> list[Any]:
    """Images of the tuning split, unsteered, taken by their place alone."""
    from athena import models

    every = datasets.mini("tune")  # sorted by count: a stride that shares no factor with it takes all alike
    asked = [every[i * 7 % len(every)] for i in range(each)]
    call = {
        **models.find(family).call(),
        "strategy": "unsteered",
        "seed": [one.seed for one in asked],
        **options,
    }
    found: list[Any] = steerer(family)([one.prompt for one in asked], **call)
    return found


def labels(work: Path, families: Iterable[str]) -> None:
    """Sheets to be counted by eye, before looking at what the counters say, and a table to write the counts into."""
    folder, told = work / "labels", []
    folder.mkdir(parents=True, exist_ok=True)
    for family in families:
        results = unselected(family)
        for start in range(0, len(results), 2 * ACROSS):
            sheet = Image.new("RGB", (ACROSS * (TILE + 8), 2 * (TILE + 26)), "white")
            for i, r in enumerate(results[start : start + 2 * ACROSS]):
                x, y = i % ACROSS * (TILE + 8), i // ACROSS * (TILE + 26)
                ImageDraw.Draw(sheet).text((x, y), f"{start + i}: {r.prompt.noun_plural}", fill="black")
                sheet.paste(r.image.resize((TILE, TILE), Image.Resampling.NEAREST), (x, y + 16))
            sheet.save(folder / f"{family}-{start // (2 * ACROSS)}.png")
        told += [{"family": family, "prompt": r.prompt.text, "seed": r.seed, "count": None} for r in results]
    (folder / "labels.json").write_text(json.dumps(told, indent=1) + "\n")


def agree(work: Path, families: Iterable[str]) -> None:
    """Both counters against the counts written down by eye before seeing theirs; null is what no eye could count."""
    told = json.loads(LABELS.read_text())
    print("| family | images | countable by eye | `mini` right | `mini-judge` right | both say the same |")
    print("| --- | --- | --- | --- | --- | --- |")
    for family in families:
        by_eye = {(one["prompt"], one["seed"]): one["count"] for one in told if one["family"] == family}
        if not by_eye:
            continue
        results = unselected(family)
        images, nouns = [r.image for r in results], [r.prompt.noun for r in results]
        truth = [by_eye[r.prompt.text, r.seed] for r in results]
        seen, judged = (
            [len(found) for found in load_counter(n)(images, nouns)] for n in ("mini", "mini-judge")
        )
        pairs = ((seen, truth), (judged, truth), (seen, judged))
        same = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in pairs]
        countable = sum(t is not None for t in truth)
        print(
            f"| {family} | {len(truth)} | {countable} | " + " | ".join(str(n) for n in same) + " |",
            flush=True,
        )


def quality(work: Path, families: Iterable[str]) -> None:
    """The packaged autoencoder and counters on renders that nothing learned from."""
    from diffusers import AutoencoderKL

    from athena.mini.counters import exactness
    from athena.mini.package import WEIGHTS
    from athena.mini.pools import write_pools
    from athena.mini.vae import quality as psnr

    write_pools(work, ("held-out",))
    vae = AutoencoderKL.from_pretrained(WEIGHTS / next(iter(families)) / "vae")
    print("autoencoder", psnr(vae, work, "packaged"), flush=True)
    for name in ("mini", "mini-judge"):
        print(name, exactness(load_counter(name)._net, vae, work), flush=True)


def seconds(work: Path, families: Iterable[str]) -> None:
    """Wall time of an unsteered image of 50 steps, alone and in a batch of sixteen, best of three."""
    print(f"| family | steps | batch 1 | batch 16 |  ({torch.get_num_threads()} threads)")
    print("| --- | --- | --- | --- |")
    for family in families:
        best = {1: float("inf"), 16: float("inf")}
        for size in best:
            for _ in range(3):
                began = time.perf_counter()
                unselected(family, size, num_inference_steps=50, batch_size=32)
                best[size] = min(best[size], (time.perf_counter() - began) / size)
        print(f"| {family} | 50 | {best[1]:.2f} s | {best[16]:.2f} s |", flush=True)
