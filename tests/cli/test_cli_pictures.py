"""athena compare, watch and count: what they draw and say."""

import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from athena.counters import DETECTORS


@pytest.fixture
def apples():
    """Three red apples on green, as a file."""
    image = Image.new("RGB", (64, 64), "#70A050")
    for x, y in ((8, 8), (40, 10), (24, 44)):
        ImageDraw.Draw(image).ellipse((x, y, x + 12, y + 12), fill="#D02020")
    image.save("apples.png")
    return "apples.png"


# --- compare


def test_compare(say, tiny, counters, files):
    done = say(
        "compare", "two cats", "nine cups", "--model", tiny, "--seeds", 2, "--counter", f"{counters.file}:two"
    )
    assert done.code == 3
    head, *rows, _, path = done.lines
    assert head.split() == ["seed", "unsteered", "static", "feedback", "adaptive"]
    assert [row.split()[:3] for row in rows] == [
        ["two", "cats", "23"],
        ["two", "cats", "24"],
        ["nine", "cups", "23"],
        ["nine", "cups", "24"],
    ]
    assert [(row.count("2/2 ok"), row.count("2/9 --")) for row in rows] == [(4, 0), (4, 0), (0, 4), (0, 4)]
    assert path == "out/two-cats-compare-23.png"
    assert files() == ["two-cats-compare-23.png"]
    picture = Image.open(path)
    assert picture.width > 4 * 256
    assert picture.height > 4 * 256


def test_compare_chosen_strategies_as_json(say, tiny, counters):
    options = ["--strategies", "unsteered, reseed", "--counter", f"{counters.file}:two", "--out", "it.png"]
    done = say("compare", "two cats", "--model", tiny, *options, "--json")
    assert done.code == 0
    assert [(one["strategy"], one["seed"], one["file"]) for one in done.json] == [
        ("unsteered", 23, "it.png"),
        ("reseed", 23, "it.png"),
    ]
    assert len(done.lines) == 2
    assert Path("it.png").exists()


def test_compare_starts_from_the_same_noise(say, tiny, counters):
    """A strategy that is content with what it sees leaves the image alone."""
    options = ["--strategies", "unsteered,adaptive", "--counter", f"{counters.file}:two", "--json"]
    plain, content = say("compare", "two cats", "--model", tiny, *options).json
    assert plain["cost"]["denoiser_rows"] == content["cost"]["denoiser_rows"] == 8
    picture = Image.open(plain["file"])
    half = picture.crop((270, 60, 530, 300)), picture.crop((270 + 284, 60, 530 + 284, 300))
    assert half[0].tobytes() == half[1].tobytes()


def test_ctrl_c_draws_what_is_done(say, tiny, counters, files):
    done = say(
        "compare", "two cats", "--model", tiny, "--judge", f"{counters.file}:stop", "--counter", counters([2])
    )
    assert done.code == 130
    assert "1 of 4 images are done: see out/two-cats-compare-23.png" in done.err
    assert files() == ["two-cats-compare-23.png"]


def test_compare_refuses(say):
    done = say("compare", "two cats", "--model", "sdxl", "--strategies", "unsteered,adaptative")
    assert done.code == 2
    assert 'Did you mean "adaptive"?' in done.err


# --- watch


def test_watch(say, tiny, counters):
    done = say("watch", "two cats", "--model", tiny, "--counter", counters([0, 1, 3, 2]))
    assert done.code == 0, done.err
    assert done.lines[:3] == ["step   1  0/2 cats", "step   2  1/2 cats", "step   3  3/2 cats"]
    assert done.lines[3].startswith("2/2 cats  unsteered (1 attempt)  8 rows")
    assert Image.open("out/two-cats-watch-23.png").width > 4 * 256


def test_watch_as_json(say, tiny, counters):
    options = ["--every", 2, "--counter", counters([3, 4]), "--judge", f"{counters.file}:two", "--steps", 5]
    done = say("watch", "nine cups", "--model", tiny, *options, "--set", "height=32", "--json")
    assert (done.code, len(done.lines)) == (3, 1)
    [one] = done.json
    assert one["seen"] == [{"step": 2, "count": 3}, {"step": 4, "count": 4}]
    assert (one["count"], one["judge"], one["cost"]["counter_calls"]) == (2, "mine.py:two", 3)


def test_watch_one(say):
    done = say("watch", "two", "cats", "--model", "sdxl")
    assert done.code == 2


# --- count


def test_count(say, counters, apples):
    Image.open(apples).save("again.jpg", quality=95)
    done = say("count", apples, "again.jpg", "--object", "apples", "--counter", f"{counters.file}:circles")
    assert (done.code, done.err) == (0, "")
    assert done.lines == ["   3  apples  apples.png", "   3  apples  again.jpg"]
    assert not Path("out").exists()


def test_count_draws_and_tells_json(say, counters, apples):
    options = ["--counter", f"{counters.file}:circles", "--draw", "--json"]
    done = say("count", apples, "--object", "an Apple", *options)
    [one] = done.json
    assert (one["file"], one["object"], one["count"], one["counter"]) == (
        "apples.png",
        "apple",
        3,
        "mine.py:circles",
    )
    assert one["drawn"] == "out/apples-counted.png"
    assert len(one["detections"]["xyxy"]) == 3
    assert Image.open(one["drawn"]).width > 256


def test_a_picture_of_athena_knows_what_it_shows(say, tiny, counters, monkeypatch):
    say("generate", "two cats", "--model", tiny, "--counter", f"{counters.file}:two")
    done = say("count", "out/two-cats-adaptive-23.png", "--counter", f"{counters.file}:two", "--json")
    assert [(one["object"], one["count"]) for one in done.json] == [("cat", 2)]


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["apples.png"], 2, "--object apple"),
        (["nothing.png", "--object", "apple"], 2, "there is no picture nothing.png"),
        (["text.png", "--object", "apple"], 1, "text.png cannot be read as a picture"),
        (["apples.png", "text.png", "--object", "apple"], 1, "text.png cannot be read as a picture"),
        (["half.png", "--object", "apple"], 1, "half.png cannot be read as a picture"),
        (["apples.png", "--object", "apple", "--counter", "minni"], 2, 'Did you mean "mini"?'),
        (["apples.png", "--object", "apple", "--draw", "--out", "text.png/x"], 2, "--out"),
        (["apples.png", "--object", ""], 2, "--object"),
        ([], 2, "IMAGE"),
    ],
)
def test_count_refuses(say, apples, arguments, code, hint):
    Path("text.png").write_text("no picture")
    whole = Path(apples).read_bytes()
    Path("half.png").write_bytes(whole[: len(whole) // 2])
    done = say("count", *arguments)
    assert done.code == code
    assert hint in " ".join(done.err.split())
    assert done.out == ""


# --- lists


def test_models_and_counters_tell_what_each_needs(say):
    told = " ".join(say("models").out.split())
    for part in (
        "mini-sdxl",
        "stabilityai/stable-diffusion-xl-base-1.0",
        "14 GB",
        "10 GB of memory",
        "accept it at",
    ):
        assert part in told
    told = " ".join(say("counters").out.split())
    for part in ("mini-judge", "IDEA-Research/grounding-dino-tiny", "0.69 GB", "of memory", "Apache-2.0"):
        assert part in told
    for known in DETECTORS.values():  # the same numbers as in docs/counters.md
        assert f"{known.download_gb:g} GB to download, about {known.memory_gb:g} GB of memory" in told


def test_what_is_on_this_disk(say, monkeypatch, tmp_path):
    from athena import models
    from athena.cli import disk

    here = {"stabilityai/stable-diffusion-xl-base-1.0": 13.9, "CompVis/stable-diffusion-v1-4": 1.0}
    monkeypatch.setattr(disk, "cached", lambda: {**here, "IDEA-Research/grounding-dino-tiny": 0.69})
    told = say("models").out
    assert "stable-diffusion-xl-base-1.0: on this disk, 13.9 GB" in told
    assert "stable-diffusion-v1-4: partly on this disk, 1 GB" in told
    assert "FLUX.1-dev: not on this disk" in told
    assert "grounding-dino-tiny: on this disk, 0.69 GB" in say("counters").out

    own = {"steps": 40, "height": 64, "width": 64, "adaptive": {"t_est": 20, "t_steer": 8, "gamma": 3.0}}
    monkeypatch.setattr(models, "_WEIGHTS", tmp_path)
    (tmp_path / "mini-sdxl").mkdir()
    (tmp_path / "mini-sdxl" / "athena.json").write_text(json.dumps(own))
    told = say("models").out
    assert "embedded: nothing to download" in told
    assert "40 steps at 64x64" in told
    assert "python -m athena.mini.train sd3" in told


def test_an_empty_cache_is_no_error(tmp_path, monkeypatch):
    import huggingface_hub.constants

    from athena.cli import disk

    disk.cached.cache_clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "none"))
    assert disk.cached() == {} or all(isinstance(gb, float) for gb in disk.cached().values())
    disk.cached.cache_clear()
