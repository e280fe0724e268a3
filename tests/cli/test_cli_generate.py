"""athena generate: what it makes, says and refuses."""

import json
from pathlib import Path

import pytest
from PIL import Image

from athena.types import Result


@pytest.fixture
def generate(say, tiny):
    return lambda *arguments, **more: say("generate", *arguments, "--model", tiny, **more)


def test_a_line_an_image(generate, counters):
    done = generate("two cats", "--counter", counters([2, 2]))
    assert done.code == 0, done.err
    assert done.err == ""
    [line] = done.lines
    assert line.startswith("2/2 cats  adaptive (1 attempt, 2)  8 rows  ")
    assert line.endswith("s  out/two-cats-adaptive-23.png")
    saved = Result.load("out/two-cats-adaptive-23.png")
    assert (saved.count, saved.exact, saved.counter, saved.settings["steps"]) == (2, True, "scripted", 4)
    assert Image.open("out/two-cats-adaptive-23.png").text["prompt"] == "two cats"


def test_three_when_one_misses(generate, counters, files):
    done = generate("two cats", "--n", 2, "--strategy", "unsteered", "--counter", counters([2, 5]))
    assert done.code == 3
    assert "of 2 images 1 missed" in done.err
    assert [line[:3] for line in done.lines] == ["2/2", "5/2"]
    assert files() == ["two-cats-unsteered-23.png", "two-cats-unsteered-24.png"]


def test_or_zero_when_that_is_allowed(generate, counters):
    done = generate("two cats", "--strategy", "static", "--counter", counters([5]), "--allow-inexact")
    assert (done.code, done.err) == (0, "")


def test_json_and_nothing_else(generate, counters):
    done = generate("two cats", "nine cups", "--counter", counters([2, 8, 9, 2, 9, 9]), "--json")
    assert len(done.json) == len(done.lines) == 2
    assert {one["prompt"]["text"] for one in done.json} == {"two cats", "nine cups"}
    for one in done.json:
        assert {"file", "count", "target", "exact", "seed", "attempts", "cost", "judge"} <= set(one)
        assert Result.load(one["file"]).count == one["count"]


def test_counter_and_judge_are_two(generate, counters):
    script = counters([5, 1])
    done = generate("two cats", "--counter", script, "--judge", f"{counters.file}:two", "--json")
    [one] = done.json
    assert (one["counter"], one["judge"], one["count"]) == ("scripted", "mine.py:two", 2)
    assert [a["count"] for a in one["attempts"]] == [5, 1, None]
    assert len(one["detections"]["xyxy"]) == 2


def test_what_is_typed_reaches_the_pipe(generate, counters):
    options = ["--steps", 3, "--gamma", 2.5, "--seed", 7, "--set", "width=32", "--set", "estimate_step=1"]
    done = generate("two cats", *options, "--counter", counters([1, 2, 2]), "--json")
    [one] = done.json
    assert one["settings"] == {"steps": 3, "gamma": 2.5, "estimate_step": 1, "steer_steps": 1}
    assert one["seed"] == 7
    assert Image.open(one["file"]).size == (32, 64)


def test_a_strategy_of_ones_own(generate, counters):
    done = generate("two cats", "--strategy", f"{counters.file}:mine", "--counter", counters([2]))
    assert done.lines[0].startswith("2/2 cats  mine (1 attempt)  ")


def test_no_picture_writes_over_another(generate, counters, files):
    for _ in range(2):
        generate("two cats", "two cats", "--strategy", "unsteered", "--counter", counters([2, 2]))
    stem = "two-cats-unsteered-23"
    assert files() == [f"{stem}-2.png", f"{stem}-3.png", f"{stem}-4.png", f"{stem}.png"]


def test_a_file_by_name_is_for_one_picture(generate, counters, say, tiny, files):
    done = generate("two cats", "--counter", counters([2, 2]), "--out", "new/cats.png")
    assert done.lines[0].endswith("new/cats.png")
    done = generate("two cats", "--n", 2, "--counter", counters([2, 2]), "--out", "new/cats.png")
    assert (done.code, files("new")) == (2, ["cats.png"])
    assert "name a folder" in done.err


def test_ctrl_c_keeps_what_is_done(generate, counters, files):
    options = ["--n", 3, "--strategy", "unsteered", "--batch-size", 2]
    done = generate("two cats", *options, "--counter", f"{counters.file}:stop")
    assert done.code == 130
    assert files() == ["two-cats-unsteered-23.png"]
    assert "1 of 3 images are done: see out" in done.err
    assert done.err.endswith("stopped\n")


# --- prompts from elsewhere


def test_prompts_from_a_file(generate, counters):
    entries = [
        {"prompt": "cups and a cat", "object": "cup", "count": 3, "seed": 5, "level": 1},
        {"prompt": "two cats"},
    ]
    text = "\ufefftwo dogs\n\n" + "\n".join(map(json.dumps, entries)) + "\n"
    Path("prompts.txt").write_text(text, encoding="utf-8")
    done = generate("--prompts", "prompts.txt", "--counter", f"{counters.file}:two", "--json", "--seed", 9)
    told = {(one["prompt"]["text"], one["prompt"]["noun"], one["target"], one["seed"]) for one in done.json}
    assert told == {("two dogs", "dog", 2, 9), ("cups and a cat", "cup", 3, 5), ("two cats", "cat", 2, 9)}


def test_prompts_from_stdin(generate, counters):
    done = generate("--prompts", "-", "--counter", f"{counters.file}:two", input="two dogs\ntwo cats\n")
    assert (done.code, len(done.lines)) == (0, 2)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("two cats\na cat\n", "stdin, line 2"),
        ('{"prompt": "two cats", "seed": -1}', "seed"),
        ('{"prompt": 3}', "line 1"),
        ("{two cats}", "line 1"),
        ('[{"prompt": "two cats"}]', "JSONL"),
        ("\n", "no PROMPT"),
    ],
)
def test_prompts_that_cannot_be_read(generate, text, hint):
    done = generate("--prompts", "-", input=text)
    assert done.code == 2
    assert hint in done.err


def test_no_file_of_prompts(generate):
    done = generate("--prompts", "nothing.txt")
    assert done.code == 2
    assert "nothing.txt cannot be read: No such file" in done.err


# --- zero and eleven


@pytest.mark.parametrize(
    ("prompt", "count"), [("no cats on a sofa", 0), ("zero cats", 0), ("eleven cats", 11)]
)
def test_zero_and_eleven(generate, counters, prompt, count):
    done = generate(prompt, "--counter", counters([4, 5, count]), "--json")
    assert done.code == 0, done.err
    [one] = done.json
    assert one["target"] == one["count"] == count


def test_none_seen_of_eleven(generate, counters):
    done = generate("eleven cats", "--counter", counters([0, 12, 11]))
    assert done.lines[0].startswith("11/11 cats  adaptive (3 attempts, 0 -> 12)")


# --- refused, before anything is loaded or written


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["a photo of cats"], "--count 3"),
        (["five cats and five dogs"], '--object "cat" or --object "dog"'),
        (["two cats", "--model", "sdlx"], 'Did you mean "sdxl"?'),
        (["two cats", "--model", "sdxl", "--strategy", "adpative"], 'Did you mean "adaptive"?'),
        (["two cats", "--model", "sdxl", "--counter", "grounding-dnio"], 'Did you mean "grounding-dino"?'),
        (["two cats", "--model", "sdxl", "--judge", "mini-jugde"], 'Did you mean "mini-judge"?'),
        (["two cats", "--model", "sdxl", "--counter", "nowhere.py:f"], "there is no file nowhere.py"),
        (["two cats", "--model", "sdxl", "--counter", "os:nothing_such"], "there is no nothing_such in it"),
        (["two cats", "--model", "sdxl", "--set", "height"], "--set height=512"),
        (["two cats", "--dtype", "int4"], "bfloat16"),
        (["two cats", "--seed", "-1"], "--seed"),
        ([], "no PROMPT"),
    ],
)
def test_refused(say, arguments, hint):
    done = say("generate", *arguments)
    assert done.code == 2
    assert hint in " ".join(done.err.split())
    assert done.out == ""
    assert not Path("out").exists()


def test_a_setting_out_of_its_range(generate, counters):
    done = generate("two cats", "--set", "steer_steps=9", "--counter", f"{counters.file}:broken")
    assert done.code == 2
    assert "from 0 to 4" in done.err
    assert "--steps sets how many" in done.err


@pytest.mark.parametrize("out", ["file/folder", "file", "/proc/nothing"])
def test_a_folder_that_cannot_be_written(generate, counters, out):
    Path("file").touch()
    done = generate("two cats", "--out", out, "--counter", f"{counters.file}:broken")
    assert done.code == 2  # the broken counter was not asked
    assert "--out" in done.err


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("sdxl", "hf download stabilityai/"),
        ("someone/some-model", "hf download someone/"),
        ("./no", "no folder no;"),
    ],
)
def test_a_model_that_cannot_be_had(say, counters, model, hint):
    done = say("generate", "two cats", "--model", model, "--counter", f"{counters.file}:two")
    assert done.code == 1
    assert hint in done.err
    assert len(done.err.splitlines()) == 1


def test_a_counter_that_talks_nonsense(generate, counters):
    done = generate("two cats", "--counter", f"{counters.file}:broken")
    assert done.code == 1
    assert "answered 'many'" in done.err


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("hieght=512", "height"),
        ("seed=3", "--seed"),
        ("strategy=foo", "--strategy"),
        ("num_inference_steps=5", "--steps"),
        ("num_images_per_prompt=2", "--n"),
    ],
)
def test_a_setting_that_is_none_or_said_elsewhere(generate, counters, setting, hint):
    done = generate("two cats", "--counter", f"{counters.file}:two", "--set", setting)
    assert done.code == 2 and hint in done.err and len(done.err.splitlines()) == 1


def test_what_the_pipe_refuses_is_one_line(generate, counters):
    done = generate("two cats", "--counter", f"{counters.file}:two", "--set", "width=130")
    assert done.code == 1 and len(done.err.splitlines()) == 1
    assert "divisible by 8" in done.err and "ATHENA_DEBUG=1" in done.err


def test_words_without_quotes(say, tiny):
    done = say("generate", "seven", "apples", "--model", tiny)
    assert done.code == 2 and 'in quotes: "seven apples"' in done.err


def test_both_downloads_are_told_of_at_once(say):
    done = say("generate", "two cats", "--model", "sdxl")
    assert done.code == 1 and "grounding-dino" in done.err and "stable-diffusion-xl" in done.err


def test_a_folder_that_is_no_model_is_told_before_the_counter(say, tmp_path):
    done = say("generate", "two cats", "--model", tmp_path)
    assert done.code == 1 and "model_index.json" in done.err


def test_a_picture_of_another_kind(say, tiny):
    done = say("generate", "two cats", "--model", tiny, "--out", "x.jpg")
    assert done.code == 2 and ".png" in done.err
