"""docs/pipelines.md: one row for each class of the mapping, one column for each check."""

from __future__ import annotations

from pathlib import Path

import diffusers

from athena.testing import NAMES, Report

from .every import EVERY, MAPPED, OUT_OF_SCOPE, REASONS

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"

# What a tick with a star means, by the check.
STARS = {
    "gamma 0 equals the plain pipe": (
        "compared one by one, because the bare pipe itself cannot make images of two prompts at once"
    ),
    "the control pass evaluates only changed rows": (
        "all rows of an image that is steered are evaluated, because perturbed attention reads them together; rows of "
        "other images are not"
    ),
    "clean estimate at the last step equals the final latents": (
        "within five percent of their length, because this pipeline's own scheduler ends a little short of the clean "
        "latents or clips them"
    ),
}


def row(name: str, report: Report | None) -> str:
    if report is None:
        return f"| {name} {'| ' * len(NAMES)}| out of scope: {OUT_OF_SCOPE[name]} |"
    marks = [
        "-" if c.passed is None else "✗" if not c.passed else "✓*" if c.detail else "✓" for c in report.checks
    ]
    return f"| {name} | {' | '.join(marks)} | {REASONS.get(name, '')} |"


def page(rows: list[str]) -> str:
    fine = [line for line in rows if "✗" not in line and "✓" in line]
    good, plain = len(fine), sum("✓*" not in line for line in fine)
    columns = "\n".join(
        f"{i}. {name}{f' (with a star: {STARS[name]})' if name in STARS else ''}"
        for i, name in enumerate(NAMES, 1)
    )
    numbers = " | ".join(str(i) for i in range(1, len(NAMES) + 1))
    body = "\n".join(rows)
    return f"""# Pipelines

Made by `make pipelines`, which holds a tiny, randomly initialised instance of every class that
`AutoPipelineForText2Image` knows (diffusers {diffusers.__version__}) to `athena.testing.conformance`; every run of the
tests compares the rows (`tests/test_pipelines.py`). Of {len(MAPPED)} classes **{good} pass every check**
({plain} of them without a star, {good - plain} with one, which says below what it grants), {len(EVERY) - good} fail one
or two for a reason of their own, and {len(OUT_OF_SCOPE)} are out of scope.

What is shown is that the mechanism fits the pipeline, bit for bit where it says "equals". How well a real model then
counts is another question: see `docs/results/`.

Hold your own pipeline to the same: `athena check PATH_OR_HUB_ID`, or

```python
print(athena.testing.conformance(pipe))
```

{columns}

| class | {numbers} | why not |
| --- {"| --- " * (len(NAMES) + 1)}|
{body}
"""
