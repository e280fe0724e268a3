"""The `athena` command: help, the way out, and the installed script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena.cli import app, output
from athena.errors import CounterError, LoadError, MissingExtra, PipelineError, PromptError, SettingsError
from athena.prompts import parse_prompt
from athena.types import Attempt, Cost, Result

SCRIPT = Path(sys.executable).with_name("athena")
COMMANDS = [
    *("generate", "compare", "watch", "count", "models", "counters"),
    *("bench", "judge", "score", "report", "tune", "datasets", "check"),
]


def result(*, count=7, strategy="adaptive", attempts=(5, 7)):
    return Result(
        image=None,
        prompt=parse_prompt("a photo of seven apples"),
        count=count,
        seed=23,
        strategy=strategy,
        attempts=tuple(Attempt(count=seen) for seen in attempts),
        cost=Cost(denoiser_rows=145, seconds=1.26),
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "7/7 apples  adaptive (2 attempts, 5 -> 7)  145 rows  1.3 s  x.png"),
        ({"attempts": (), "strategy": "unsteered", "count": 5}, "5/7 apples  unsteered (0 attempts)  "),
        ({"attempts": (None,), "strategy": "static"}, "7/7 apples  static (1 attempt)  "),
        ({"attempts": (7,)}, "7/7 apples  adaptive (1 attempt, 7)  "),
        ({"attempts": (5, 6, None), "count": None}, "?/7 apples  adaptive (3 attempts, 5 -> 6)  "),
    ],
)
def test_the_line(given, said):
    assert output.line(result(**given), Path("x.png")).startswith(said)


def test_names_of_files(tmp_path):
    place = output.Place(tmp_path / "new")
    assert len(place.path("a photo of " + "very " * 40 + "red apples!", "adaptive", 23).name) < 80
    assert place.path("Two cats?", "static", 1).name == "two-cats-static-1.png"
    assert place.path("../../etc/passwd", "static", 1).parent == tmp_path / "new"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_two_examples(command):
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert done.stdout.count("\n    athena ") == 2


def test_the_list_of_commands_is_not_cut_short():
    done = CliRunner().invoke(app, ["--help"])
    assert [command for command in COMMANDS if f"  {command} " not in done.stdout] == []
    assert "..." not in done.stdout.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [(["genrate"], "generate"), (["generate", "two cats", "--modle", "x"], "--model"), (["count"], "IMAGE")],
)
def test_usage(arguments, hint):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert hint in done.stderr


def failing(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("athena.cli.asking.read", fail)
    return CliRunner().invoke(app, ["generate", "two cats"])


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
def test_our_errors_are_one_line(monkeypatch, error, code):
    done = failing(monkeypatch, error)
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr == f"error: {' '.join(str(error).split())}\n"


def test_arguments_are_told_as_options(monkeypatch):
    said = 'object="cat", num_inference_steps= and batch_size=1; https://x.org/?seed=1 stays'
    assert failing(monkeypatch, PromptError(said)).stderr == (
        'error: --object "cat", --steps and --batch-size 1; https://x.org/?seed=1 stays\n'
    )


def test_an_error_of_somebody_else_is_one_line_that_says_where(monkeypatch):
    done = failing(monkeypatch, ZeroDivisionError("division by zero"))
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ZeroDivisionError: division by zero (") and "line " in done.stderr
    monkeypatch.setenv("ATHENA_DEBUG", "1")
    assert isinstance(failing(monkeypatch, ZeroDivisionError()).exception, ZeroDivisionError)


def test_ctrl_c(monkeypatch):
    done = failing(monkeypatch, KeyboardInterrupt())
    assert (done.exit_code, done.stderr) == (130, "stopped\n")


def test_the_installed_script(tiny, counters, tmp_path):
    """In a pipe, with no network: JSON on stdout, nothing on stderr, 3 for a miss."""
    arguments = ["generate", "nine cats", "--model", tiny, "--counter", f"{counters.file}:two", "--json"]
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 3, done.stderr
    [line] = done.stdout.splitlines()
    assert (tmp_path / json.loads(line)["file"]).exists()
    assert done.stderr.splitlines() == [
        "the image misses the number asked for (exit code 3; --allow-inexact makes it 0)"
    ]


def test_the_installed_script_tells_its_version():
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("athena 0.")
