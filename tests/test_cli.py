"""The `athena` command: what it prints, what it writes, and how it leaves."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import athena
from athena.cli import app
from athena.cli.generate import file_name, line
from athena.errors import CounterError, LoadError, MissingExtra, PipelineError, PromptError, SettingsError
from athena.prompts import parse_prompt
from athena.types import Attempt, Cost, Result

SCRIPT = Path(sys.executable).with_name("athena")


def athena_says(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def result(text="a photo of seven apples", *, count=7, strategy="adaptive", seed=23, attempts=(5, 7)):
    from PIL import Image

    return Result(
        image=Image.new("RGB", (8, 8)),
        prompt=parse_prompt(text),
        count=count,
        seed=seed,
        strategy=strategy,
        attempts=tuple(Attempt(count=seen) for seen in attempts),
        cost=Cost(denoiser_rows=145, seconds=1.26),
    )


@pytest.fixture
def generate(monkeypatch):
    """A stand-in for `athena.generate` that remembers what it was asked."""
    asked = []

    def fake(prompts, **options):
        asked.append({"prompts": prompts, **options})
        return [result(text) for text in prompts]

    monkeypatch.setattr(athena, "generate", fake, raising=False)
    return asked


def failing(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(athena, "generate", fail, raising=False)


# --- generate


def test_one_line_for_each_image(generate, tmp_path):
    done = athena_says("generate", "a photo of seven apples", "two cats", "--out", tmp_path)
    assert done.exit_code == 0
    apples, cats = done.stdout.splitlines()
    file = tmp_path / "a-photo-of-seven-apples-adaptive-23.png"
    assert apples == f"7/7 apples  adaptive (2 attempts, 5 -> 7)  145 rows  1.3 s  {file}"
    assert cats.startswith("7/2 cats")
    assert Result.load(file).prompt.text == "a photo of seven apples"


def test_what_is_not_said_is_left_to_the_model(generate, tmp_path):
    athena_says("generate", "two cats", "--out", tmp_path)
    assert generate == [{"prompts": ["two cats"], "model": "mini", "strategy": "adaptive", "seed": 23}]


def test_what_is_said_is_handed_on(generate, tmp_path):
    said = "--model sdxl --strategy feedback --seed 5 --gamma 2.5 --steps 30"
    assert athena_says("generate", "two cats", *said.split(), "--out", tmp_path).exit_code == 0
    assert generate == [
        {
            "prompts": ["two cats"],
            "model": "sdxl",
            "strategy": "feedback",
            "seed": 5,
            "gamma": 2.5,
            "num_inference_steps": 30,
        }
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attempts": (), "strategy": "unsteered", "count": 5}, "5/7 apples  unsteered (0 attempts)  "),
        ({"attempts": (None,), "strategy": "static"}, "7/7 apples  static (1 attempt)  "),
        ({"attempts": (7,)}, "7/7 apples  adaptive (1 attempt, 7)  "),
        ({"attempts": (5, 6, None), "count": None}, "?/7 apples  adaptive (3 attempts, 5 -> 6)  "),
    ],
)
def test_the_line(given, said):
    assert line(result(**given), Path("x.png")).startswith(said)


def test_no_image_writes_over_another():
    taken = set()
    long = "a photo of " + "very " * 40 + "red seven apples!"
    names = [file_name(result(text), taken) for text in ("two cats", "Two Cats", "two cats", long)]
    assert names[:3] == [
        "two-cats-adaptive-23.png",
        "two-cats-adaptive-23-2.png",
        "two-cats-adaptive-23-3.png",
    ]
    assert len(names[3]) < 80
    assert taken == set(names)


# --- leaving


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PromptError("no number"), 2),
        (SettingsError("no such\n  thing"), 2),
        (LoadError("no network"), 1),
        (PipelineError("cannot be driven"), 1),
        (CounterError("nonsense"), 1),
        (MissingExtra("pip install"), 1),
    ],
)
def test_our_errors_are_one_line(monkeypatch, tmp_path, error, code):
    failing(monkeypatch, error)
    done = athena_says("generate", "two cats", "--out", tmp_path)
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr == f"error: {' '.join(str(error).split())}\n"


def test_an_error_of_somebody_else_is_not_hidden(monkeypatch, tmp_path):
    failing(monkeypatch, ZeroDivisionError())
    assert isinstance(athena_says("generate", "two cats", "--out", tmp_path).exception, ZeroDivisionError)


def test_ctrl_c(monkeypatch, tmp_path):
    failing(monkeypatch, KeyboardInterrupt())
    done = athena_says("generate", "two cats", "--out", tmp_path)
    assert done.exit_code == 130
    assert done.stderr.strip() == "stopped"


def test_a_folder_that_cannot_be_written(generate, tmp_path):
    (tmp_path / "file").touch()
    done = athena_says("generate", "two cats", "--out", tmp_path / "file")
    assert done.exit_code == 2
    assert "--out" in done.stderr
    assert generate == []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["genrate"], "generate"),
        (["generate"], "PROMPT"),
        (["generate", "two cats", "--seed", "x"], "--seed"),
    ],
)
def test_usage(arguments, hint):
    done = athena_says(*arguments)
    assert done.exit_code == 2
    assert hint in done.stderr


# --- the rest


def test_models_tells_what_each_needs():
    done = athena_says("models")
    assert done.exit_code == 0
    for part in ("mini-sdxl", "sdxl", "stabilityai/stable-diffusion-xl-base-1.0", "14 GB", "accept it at"):
        assert part in done.stdout


@pytest.mark.parametrize("command", ["generate", "models"])
def test_every_help_has_two_examples(command):
    done = athena_says(command, "--help")
    assert done.exit_code == 0
    assert done.stdout.count("\n    athena ") == 2


def test_the_installed_script():
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("athena 0.")
    wrong = subprocess.run([SCRIPT, "generate", "two cats", "--modle", "x"], capture_output=True, check=False)
    assert wrong.returncode == 2
