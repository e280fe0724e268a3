"""The search: what it prefers, that it resumes, that it sees the tuning split only; and preset files everywhere."""

import json
from pathlib import Path

import pytest

from athena import models
from athena.bench import tuning
from athena.bench.tuning import Tried
from athena.errors import LoadError, SettingsError, UnknownName

PRESET = models.Preset(
    "m", "", steps=20, adaptive=models.Settings(8, 4, 4.0), static=models.Settings(8, 4, 4.0)
)


def hill(strategy, chosen):
    """Best at t_est 10, t_steer 3, gamma 2; rows grow with t_est and t_steer."""
    off = abs(chosen.estimate_step - 10) + abs(chosen.steer_steps - 3) + abs(chosen.gamma - 2)
    return Tried(max(0, round(50 - 3 * off)), 50, 40.0 + chosen.estimate_step + chosen.steer_steps)


def searched(folder, trials, evaluate=hill, strategies=("adaptive",), asked=None, **how):
    said = []
    best = tuning.tune(evaluate, PRESET, strategies, trials, folder, asked or {}, say=said.append, **how)
    return best, said


def test_accuracy_first_then_rows():
    assert tuning.objective(Tried(31, 50, 9e9)) > tuning.objective(Tried(30, 50, 1))
    assert tuning.objective(Tried(30, 50, 60)) > tuning.objective(Tried(30, 50, 61))


def test_the_search_finds_the_hill_and_begins_with_the_preset(tmp_path):
    best, said = searched(tmp_path, 24)
    chosen, tried = best["adaptive"]
    assert "estimate_step 8, gamma 4, steer_steps 4" in said[0]
    assert tried.right > hill("adaptive", PRESET.adaptive).right
    assert hill("adaptive", chosen) == tried


def test_cut_short_and_resumed_it_goes_the_same_way(tmp_path):
    _, whole = searched(tmp_path / "whole", 10)
    calls = []

    def dies(strategy, chosen):
        calls.append(chosen)
        if len(calls) in (1, 6, 11):
            raise KeyboardInterrupt
        return hill(strategy, chosen)

    said = []
    while len(said) < 10:
        try:
            tuning.tune(dies, PRESET, ["adaptive"], 10, tmp_path / "cut", {}, say=said.append)
        except KeyboardInterrupt:
            continue
    assert said == whole and len(calls) == 13
    assert searched(tmp_path / "cut", 10)[1] == [], "there is nothing left to try"
    assert searched(tmp_path / "other", 3, seed=1)[1] != whole[:3]


def test_another_question_is_refused(tmp_path):
    searched(tmp_path, 2, asked={"model": "a"})
    with pytest.raises(SettingsError, match="another question"):
        searched(tmp_path, 2, asked={"model": "b"})
    with pytest.raises(UnknownName, match="adaptive"):
        searched(tmp_path, 2, strategies=["adaptiv"])


def test_static_has_no_estimate():
    assert "estimate_step" not in tuning.space("static", 20)
    assert tuning.settings({"steer_steps": 2, "gamma": 1.23456}, PRESET, "static") == models.Settings(
        8, 2, 1.235
    )


# --- preset files


def written(tmp_path, **content):
    file = tmp_path / "preset.json"
    file.write_text(json.dumps(content))
    return file


def test_a_preset_file_lies_over_the_models_own(tmp_path):
    file = written(tmp_path, model="x", adaptive={"t_est": 12, "t_steer": 3, "gamma": 1.5}, tuned={"a": 1})
    base = models.PRESETS["sdxl"]
    laid = models.with_file(base, file)
    assert laid.adaptive == models.Settings(12, 3, 1.5)
    assert (laid.feedback, laid.steps, laid.call()) == (base.feedback, 50, base.call())
    steps = models.with_file(models.DEFAULT, written(tmp_path, steps=8))
    assert steps.call()["num_inference_steps"] == 8
    static = models.with_file(base, written(tmp_path, static={"t_steer": 3, "gamma": 1}))
    assert static.static == models.Settings(30, 3, 1.0)


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        ({"adaptive": {"t_est": 1}}, SettingsError, "t_steer"),
        ({"adptive": {}}, UnknownName, "adaptive"),
        ({"adaptive": 3}, SettingsError, "expected"),
    ],
)
def test_a_wrong_preset_file_is_told(tmp_path, content, error, told):
    with pytest.raises(error, match=told):
        models.with_file(models.DEFAULT, written(tmp_path, **content))


def test_a_preset_file_that_is_none(tmp_path):
    with pytest.raises(LoadError, match="athena tune"):
        models.with_file(models.DEFAULT, tmp_path / "none.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(SettingsError, match="JSON"):
        models.with_file(models.DEFAULT, tmp_path / "x.json")


# --- the command


def test_the_command_and_its_preset_everywhere(say, tiny, counters, monkeypatch):
    counters([0])
    asked = []
    loaded = tuning.evaluation
    monkeypatch.setattr(tuning, "evaluation", lambda *given: asked.extend(given[1]) or loaded(*given))
    who = ("--model", tiny, "--counter", f"{counters.file}:two", "--judge", f"{counters.file}:two")
    search = ("tune", *who, "--trials", "2", "--limit", "3", "--strategies", "static,adaptive", "--out", "t")
    done = say(*search)
    assert done.code == 0 and "--preset t/preset.json" in done.out and "adaptive 2/2" in done.err
    assert {one.id.split("-")[0] for one in asked} == {"tune"}
    file = json.loads(Path("t/preset.json").read_text())
    assert set(file) == {"model", "steps", "static", "adaptive", "tuned"} and file["tuned"]["split"] == "tune"
    again = say(*search)
    assert again.code == 0 and again.err == ""
    file["adaptive"]["t_steer"] = 2
    Path("p.json").write_text(json.dumps(file))
    made = say("generate", "two cats", *who, "--preset", "p.json", "--json")
    assert made.json[0]["settings"]["steer_steps"] == 2
    assert (
        say("compare", "two cats", *who, "--preset", "p.json", "--strategies", "adaptive", "--json").json[0][
            "settings"
        ]["steer_steps"]
        == 2
    )
    assert say("watch", "two cats", *who, "--preset", "p.json").code in (0, 3)
    ran = say("bench", "mini", *who, "--preset", "p.json", "--limit", "2", "--strategies", "adaptive", "--split", "all",
              "--out", "r")  # fmt: skip
    assert ran.code == 0 and "was tuned on prompts of mini" in ran.err
    assert say("generate", "two cats", *who, "--preset", "none.json").code == 1


def test_without_optuna_one_sentence_helps(say, tiny, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    done = say("tune", "--model", tiny, "--counter", "mini", "--out", "t")
    assert done.code == 1 and 'pip install "athena-t2i[tune]"' in done.err
