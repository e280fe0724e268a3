"""An estimate of nothing: is the control prompt better with "no" (ours) or with "one" (the published code)?

    make zero          # writes docs/results/zero.md

On the embedded model, tuning split, counted so early that many images seem to be empty still. Both ways start from
the same noise, and only images whose estimate was 0 are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

from athena import Finish, Probe, datasets, engine, models
from athena.bench import facts
from athena.bench.metrics import mcnemar, wilson

PAGE = Path(__file__).parents[1] / "docs" / "results" / "zero.md"
MODEL, STEP, SEEDS = "mini", 2, 2


def told(least: int) -> object:
    """Feedback whose control prompt says at least this number."""

    def feedback(ask: object, gamma: float) -> Generator[object, object, object]:
        first = yield Probe()
        if first.count == ask.count:
            return first
        return Finish(ask.with_count(max(least, first.count)), gamma)

    return feedback


def main() -> None:
    entries = datasets.mini("tune") * SEEDS
    seeds = [one.seed + 10_000 * (i * SEEDS // len(entries)) for i, one in enumerate(entries)]
    how = {"seed": seeds, "batch_size": 32, "estimate_step": STEP}
    how |= {"steer_steps": 10, "gamma": 1.0, **models.find(MODEL).call()}
    athena = engine.loaded(MODEL, "mini", "mini-judge", "cpu", None, None)
    found = {
        name: athena([one.asked for one in entries], strategy=told(least), **how) for name, least in WAYS
    }
    empty = [i for i, r in enumerate(found["no"]) if r.attempts[0].count == 0]
    if not empty:
        sys.exit(f"no estimate of 0 after step {STEP}: nothing to compare")
    lines = [
        "# An estimate of nothing",
        "",
        f"Made by `make zero`: `{athena.pipe.name_or_path.rpartition('/')[2]}`, {len(entries)} images of the tuning "
        f"split, counted after step {STEP} of 25, gamma 1, ten steered steps. After so few steps {len(empty)} of the "
        "images showed nothing; of those, steered away from:",
        "",
        "| control prompt | exact | 95% interval | mean count minus target |",
        "| --- | --- | --- | --- |",
    ]
    for name, _ in WAYS:
        results = [found[name][i] for i in empty]
        right = sum(r.exact for r in results)
        share = wilson(right, len(results))
        off = sum(r.count - r.target for r in results) / len(results)
        lines.append(
            f'| "{name} ..." | {right} of {len(results)} | {share.low:.1%} to {share.high:.1%} | {off:+.2f} |'
        )
    pairs = [(found["no"][i].exact, found["one"][i].exact) for i in empty]
    ours, theirs = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    lines += [
        "",
        f'Right with "no" alone: {ours}; with "one" alone: {theirs}; McNemar\'s exact p = {mcnemar(ours, theirs):.2g}.',
        "",
        ", ".join(f"{name} {version}" for name, version in facts.session()["versions"].items()) + ".",
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


WAYS = (("no", 0), ("one", 1))

if __name__ == "__main__":
    main()
