"""Measures the packaged models through `athena.Athena`: accuracy of each strategy, observability, seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw

from athena import datasets
from athena.mini.counter import load_counter
from athena.mini.package import WEIGHTS
from athena.mini.presets import PRESETS

FAMILY_NAMES = tuple(PRESETS)
COUNTS = range(2, 11)
EACH = 36  # prompts for each count: 324 in all
STRATEGIES: dict[str, dict[str, Any]] = {
    "unsteered": {"strategy": "unsteered"},
    "static": {"strategy": "static"},
    "feedback": {"strategy": "feedback"},
    "adaptive": {"strategy": "adaptive"},
    "reseed, 1 retry": {"strategy": "reseed", "max_attempts": 2},
    "reseed, 2 retries": {"strategy": "reseed", "max_attempts": 3},
}
# t_est, t_steer, gamma of a run of 25 steps; static makes no estimate
GRIDS: dict[str, list[tuple[int, int, float]]] = {
    "static": list(product((12,), (3, 5, 8, 12), (1.0, 2.0, 4.0))),
    "feedback": list(product((12,), (3, 5, 8), (1.0, 2.0, 4.0))),
    "adaptive": list(product((10, 12, 15), (3, 5, 8), (1.0, 2.0, 4.0))),
}
LOOKS = (2, 5, 8, 10, 12, 15, 20)


def prompts(split: str, each: int = EACH) -> list[tuple[str, int]]:
    """Prompts and seeds of a split, "test" or "tune", of the data set `mini`: no pair of noun and scene is in both."""
    return [(one.prompt, one.seed or 0) for one in datasets.mini(split, each)]


def call_of(family: str) -> dict[str, Any]:
    """What the pipeline is called with."""
    own = PRESETS[family]
    return {
        "num_inference_steps": own["steps"],
        "guidance_scale": own["guidance_scale"],
        "height": own["height"],
        "width": own["width"],
        **own["extra"],
    }


def steerer(family: str, batch: int = 32) -> Any:
    """The packaged model under ATHENA, counted by `mini` and judged by `mini-judge`."""
    import athena
    from athena import models

    return athena.Athena(
        models.load(family), load_counter("mini"), load_counter("mini-judge"), batch_size=batch, progress=False,
        preset=models.find(family),
    )  # fmt: skip


def measure(
    athena: Any, family: str, asked: list[tuple[str, int]], options: dict[str, Any]
) -> list[dict[str, Any]]:
    """One record for each prompt, with the final count by both counters."""
    results = athena(
        [text for text, _ in asked], seed=[seed for _, seed in asked], **call_of(family), **options
    )
    seen = load_counter("mini")([r.image for r in results], [r.prompt.noun for r in results])
    return [
        {
            "prompt": r.prompt.text, "seed": r.seed, "target": r.target, "judge": r.count, "mini": len(boxes),
            "rows": r.cost.denoiser_rows, "estimates": [a.count for a in r.attempts],
        }
        for r, boxes in zip(results, seen, strict=True)
    ]  # fmt: skip


def cached(path: Path, make: Any) -> list[dict[str, Any]]:
    """Records from a file, or made and written to it."""
    if not path.exists():
        records = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    return [json.loads(line) for line in path.read_text().splitlines()]


def wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """The 95% interval of a share, after Wilson."""
    p, n = right / total, total
    middle, half = p + z * z / (2 * n), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def share(records: list[dict[str, Any]], who: str) -> str:
    """Accuracy by one counter with its interval, in percent."""
    right = sum(r[who] == r["target"] for r in records)
    low, high = wilson(right, len(records))
    return f"{100 * right / len(records):.1f} ({100 * low:.1f} to {100 * high:.1f})"


def table(runs: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """A Markdown table, one line a strategy, against the first."""
    yield "| strategy | exact by mini-judge, % | exact by mini, % | MAE (judge) | rows an image | fixed | broken |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    plain = next(iter(runs.values()))
    for name, records in runs.items():
        mae = np.mean([abs(r["judge"] - r["target"]) for r in records])
        rows = np.mean([r["rows"] for r in records])
        before = [p["judge"] == p["target"] for p in plain]
        after = [r["judge"] == r["target"] for r in records]
        fixed = sum(b < a for b, a in zip(before, after, strict=True))
        broken = sum(b > a for b, a in zip(before, after, strict=True))
        cells = [
            name,
            share(records, "judge"),
            share(records, "mini"),
            f"{mae:.2f}",
            f"{rows:.1f}",
            fixed,
            broken,
        ]
        yield "| " + " | ".join(str(cell) for cell in cells) + " |"


def by_count(runs: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Accuracy by target count, and the mean count of the unsteered images."""
    yield "| count asked | " + " | ".join(str(k) for k in COUNTS) + " |"
    yield "| --- |" + " --- |" * len(COUNTS)
    for name, records in runs.items():
        of = [[r["judge"] for r in records if r["target"] == k] for k in COUNTS]
        if name == "unsteered":
            yield "| unsteered, mean count | " + " | ".join(f"{np.mean(o):.1f}" for o in of) + " |"
        right = (f"{100 * np.mean([c == k for c in o]):.0f}" for k, o in zip(COUNTS, of, strict=True))
        yield f"| {name}, % exact | " + " | ".join(right) + " |"


def look_once(ask: Any, gamma: float) -> Any:
    """A strategy that counts half-way and goes on whatever it saw."""
    from athena.strategies import Probe

    seen = yield Probe()
    return seen


def observability(athena: Any, family: str, folder: Path) -> Iterator[str]:
    """How often the count seen after t steps is the final one."""
    asked = prompts("test", 8)
    yield "| steps done | " + " | ".join(str(t) for t in LOOKS) + " |"
    yield "| --- |" + " --- |" * len(LOOKS)
    same = []
    for t in LOOKS:
        options = {"strategy": look_once, "estimate_step": t}
        records = cached(folder / f"look-{t}.jsonl", partial(measure, athena, family, asked, options))
        same.append(100 * np.mean([r["estimates"][0] == r["mini"] for r in records]))
    yield f"| same as the final count, % of {len(asked)} | " + " | ".join(f"{s:.0f}" for s in same) + " |"


def seconds(athena: Any, family: str) -> str:
    """Wall time of an unsteered image, alone and in a batch of sixteen; the machine's other work is in it."""
    asked = prompts("tune", 2)[:16]
    told = []
    for size in (1, 16):
        texts, seeds = [text for text, _ in asked[:size]], [seed for _, seed in asked[:size]]
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            athena(texts, seed=seeds, strategy="unsteered", **call_of(family))
            best = min(best, (time.perf_counter() - began) / size)
        told.append(f"batch {size}: {best:.2f} s")
    return f"Seconds an image, unsteered, {torch.get_num_threads()} threads, best of three: " + ", ".join(
        told
    )


def evaluate(work: Path, families: Iterable[str], part: str = "0/1") -> None:
    """Writes records and one Markdown page for each packaged family; what is there is not measured again.

    A part such as 1/2 measures every second strategy only, for a second process, and writes no page.
    """
    first, every = (int(number) for number in part.split("/"))
    for family in families:
        if not (WEIGHTS / family / "model_index.json").exists():
            continue
        athena = steerer(family)
        folder = work / "evaluation" / family
        asked = prompts("test")
        runs = {}
        for name, options in list(STRATEGIES.items())[first::every]:
            path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.jsonl"
            runs[name] = cached(path, partial(measure, athena, family, asked, options))
            print(family, name, share(runs[name], "judge"), flush=True)
        if every == 1:
            page = write_page(athena, family, folder, runs)
            print(page, flush=True)


def write_page(athena: Any, family: str, folder: Path, runs: dict[str, list[dict[str, Any]]]) -> str:
    """The family's part of docs/mini.md."""
    agree = np.mean([r["judge"] == r["mini"] for r in runs["unsteered"]])
    lines = [f"### {family}", "", *table(runs), "", *by_count(runs), ""]
    lines += [f"The two counters agree on {100 * agree:.1f}% of the unsteered images.", ""]
    lines += [*observability(athena, family, folder), "", seconds(athena, family), ""]
    (folder / "page.md").write_text("\n".join(lines))
    return "\n".join(lines)


def tune(work: Path, families: Iterable[str], part: str = "0/1") -> None:
    """Tries settings on prompts that no evaluation uses, and prints the best of each strategy for presets.py."""
    first, every = (int(number) for number in part.split("/"))
    asked = prompts("tune", 12)
    for family in families:
        athena = steerer(family)
        for strategy, grid in GRIDS.items():
            tried = []
            for t_est, t_steer, gamma in list(grid)[first::every]:
                options = {
                    "strategy": strategy, "estimate_step": t_est, "steer_steps": t_steer, "gamma": gamma,
                }  # fmt: skip
                path = work / "tuning" / family / f"{strategy}-{t_est}-{t_steer}-{gamma}.jsonl"
                records = cached(path, partial(measure, athena, family, asked, options))
                right = sum(r["judge"] == r["target"] for r in records)
                tried.append((right, -float(np.mean([r["rows"] for r in records])), (t_est, t_steer, gamma)))
            for right, rows, settings in sorted(tried, reverse=True):
                told = dict(zip(("t_est", "t_steer", "gamma"), settings, strict=True))
                print(family, strategy, told, f"{right}/{len(asked)}", f"{-rows:.1f} rows", flush=True)


LABELS = Path(__file__).parents[3] / "docs" / "results" / "mini-labels.json"


def labelled(family: str, each: int = 20) -> list[Any]:
    """The unselected images of a family that a person counted: the same prompts and seeds give them again."""
    asked = prompts("tune", 8)[FAMILY_NAMES.index(family) :: 3][:each]
    texts, seeds = [text for text, _ in asked], [seed for _, seed in asked]
    found: list[Any] = steerer(family)(texts, seed=seeds, strategy="unsteered", **call_of(family))
    return found


def labels(work: Path, families: Iterable[str] = (), part: str = "") -> None:
    """Sheets of unselected images, 20 a family, to be counted by eye, and a table to write the counts into."""
    (work / "labels").mkdir(parents=True, exist_ok=True)
    told = []
    for family in families:
        results = labelled(family)
        sheet = Image.new("RGB", (5 * 264, 4 * 282), "white")
        for i, r in enumerate(results):
            told.append({"family": family, "prompt": r.prompt.text, "seed": r.seed, "count": None})
            place = (i % 5 * 264, i // 5 * 282)
            ImageDraw.Draw(sheet).text(place, f"{i}: {r.prompt.noun}", fill="black")
            sheet.paste(r.image.resize((256, 256), Image.Resampling.NEAREST), (place[0], place[1] + 16))
        sheet.save(work / "labels" / f"{family}.png")
    (work / "labels" / "labels.json").write_text(json.dumps(told, indent=1) + "\n")


def agree(work: Path, families: Iterable[str] = (), part: str = "") -> None:
    """Both counters against the counts that a person wrote down before seeing what they say."""
    told = json.loads(LABELS.read_text())
    print("| family | images | mini right | mini-judge right | both say the same |")
    print("| --- | --- | --- | --- | --- |")
    for family in families:
        by_eye = {(one["prompt"], one["seed"]): one["count"] for one in told if one["family"] == family}
        results = [r for r in labelled(family) if (r.prompt.text, r.seed) in by_eye]
        images, nouns = [r.image for r in results], [r.prompt.noun for r in results]
        truth = [by_eye[r.prompt.text, r.seed] for r in results]
        one, two = (
            [len(found) for found in load_counter(name)(images, nouns)] for name in ("mini", "mini-judge")
        )
        right = [
            sum(a == b for a, b in zip(x, y, strict=True))
            for x, y in ((one, truth), (two, truth), (one, two))
        ]
        print(f"| {family} | {len(truth)} | " + " | ".join(str(n) for n in right) + " |", flush=True)
