"""A tiny pipeline on disk, counters in a file, and the command in this process."""

import json
from pathlib import Path
from types import SimpleNamespace

import diffusers
import pytest
import transformers
from typer.testing import CliRunner

import zoo
from athena.cli import app

COUNTERS = """
import numpy as np
import supervision as sv
from scipy import ndimage
from athena.counters import Scripted

def circles(image, noun):
    "Boxes round whatever is red."
    red = np.asarray(image.convert("RGB")).astype(int)
    found = ndimage.find_objects(ndimage.label((red[..., 0] > 180) & (red[..., 1] < 90))[0])
    boxes = [[x.start, y.start, x.stop, y.stop] for y, x in found]
    return sv.Detections(xyxy=np.array(boxes, dtype=float).reshape(-1, 4))

def two(image, noun):
    "A box on the left and a box on the right, whatever the picture."
    w, h = image.size
    return sv.Detections(xyxy=np.array([[2, 2, w / 2 - 2, h - 2], [w / 2 + 2, 2, w - 2, h - 2]]))

def broken(image, noun):
    return "many"

def stop(image, noun, seen=[]):
    "Ctrl-C at the second picture."
    seen.append(noun)
    if len(seen) % 2 == 0:
        raise KeyboardInterrupt
    return 2

def mine(ask, gamma):
    "Somebody's own strategy."
    from athena import Finish
    return Finish(ask.with_count(1), gamma)
    yield
"""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A folder that `--model` takes, with a preset of its own: four steps."""
    diffusers.utils.logging.disable_progress_bar()  # the command asks tqdm for that before it is imported
    transformers.utils.logging.disable_progress_bar()
    folder = tmp_path_factory.mktemp("tiny")
    zoo.sdxl().save_pretrained(folder)
    how = {"t_est": 2, "t_steer": 1, "gamma": 4.0}
    preset = {"steps": 4, "guidance_scale": 3.0, "height": 64, "width": 64, "adaptive": how}
    (folder / "athena.json").write_text(json.dumps(preset))
    return folder


@pytest.fixture
def counters(tmp_path):
    """The file of counters; `counters([5, 7])` is one that answers so."""
    file = tmp_path / "mine.py"
    file.write_text(COUNTERS)

    def script(counts):
        file.write_text(f"{COUNTERS}\nscript = Scripted({counts})\n")
        return f"{file}:script"

    script.file = file
    return script


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run the command from an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments, input=None):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)
        known = (type(None), SystemExit)
        if not isinstance(done.exception, known):
            raise done.exception
        return SimpleNamespace(
            code=done.exit_code,
            out=done.stdout,
            err=done.stderr,
            lines=done.stdout.splitlines(),
            json=[json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")],
        )

    return run


@pytest.fixture
def files():
    """The names in a folder."""
    return lambda folder="out": sorted(file.name for file in Path(folder).glob("*"))
