"""The sentences of docs/results/mini.md say it as plainly when it is worse."""

import pandas as pd

from athena.bench import verdict

WHO = {"model": "mini-sdxl", "dataset": "mini, test"}


def data(adaptive, low, reseed, static=0.55):
    table = [
        {**WHO, "strategy": name, "accuracy": value, "rows": rows, "seconds": rows / 40}
        for name, value, rows in (("unsteered", 0.5, 50), ("static", static, 55), ("adaptive", adaptive, 75))
    ]
    change = {"change": adaptive - 0.5, "change_low": low, "change_high": adaptive - 0.4, "p": 0.001}
    pair = {**WHO, "strategy": "adaptive", "fixed": 80, "broken": 15, **change}
    rival = {**WHO, "strategy": "adaptive", "rows": 75.0, "accuracy": adaptive, "reseed": reseed}
    rival["ahead"] = adaptive - reseed
    return {"table1": pd.DataFrame(table), "pairs": pd.DataFrame([pair]), "equal_rows": pd.DataFrame([rival])}


def test_what_is_better():
    (said,) = verdict.sentences(data(0.72, 0.15, 0.65))
    assert (
        "+22.0 points" in said
        and "this is at least that" in said
        and "1.50 times the denoiser rows and 1.50 times the seconds" in said
    )
    assert (
        "2.19 times the seconds: here it is cheaper" in said
        and "order holds: unsteered, static, adaptive" in said
    )
    assert "ahead of new noise: 72.0% against 65.0%" in said and "luck" not in said


def test_what_is_worse():
    (said,) = verdict.sentences(data(0.53, -0.02, 0.65))
    assert "no gain that could not be luck" in said and "this is less than that" in said
    assert "does not hold: adaptive (53.0%) is below static (55.0%)" in said
    assert "behind new noise: 53.0% against 65.0%" in said


def test_what_is_missing():
    (said,) = verdict.sentences(data(0.72, 0.15, float("nan")))
    assert "has no rival" in said
    none = pd.DataFrame(columns=["model", "dataset", "strategy"])
    (said,) = verdict.sentences({**data(0.72, 0.15, 0.6), "pairs": none})
    assert "cannot be compared" in said
    assert verdict.CLAIMS["mini-sd3"].gain == 0.656 - 0.448
