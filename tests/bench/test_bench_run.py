"""The runner: kills, resumes, workers, identity, configurations."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

import scripted
from athena import datasets, models, strategies
from athena.bench import book, identity, plan, records, variants
from athena.errors import LoadError, SettingsError, UnknownName
from scripted import bench, laid_out

TESTS = Path(__file__).parents[1]
MEASURED = ("seconds", "memory_mb")


def by_key(folder):
    """The records without what was measured; that none is there twice is checked on the way."""
    listed = list(book.lines(Path(folder) / book.RECORDS))
    found = {r["key"]: {k: v for k, v in r.items() if k not in MEASURED} for r in listed}
    assert len(found) == len(listed)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    made, said = bench(folder, laid_out())
    assert made == 324 and said == []
    return folder


def started(folder, workers=1, **environment):
    paths = os.pathsep.join([str(TESTS), *sys.path])
    return subprocess.Popen(
        [sys.executable, str(TESTS / "scripted.py"), str(folder), str(workers)],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        stderr=subprocess.PIPE,
    )


def size(folder):
    file = Path(folder) / book.RECORDS
    return file.stat().st_size if file.exists() else 0


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_ten_random_moments_and_resumed_it_is_the_uninterrupted_run(whole, tmp_path, workers):
    moments, kills = random.Random(workers), 0
    for _ in range(10):
        before = size(tmp_path)
        process = started(tmp_path, workers, PAUSE="0.02")
        while size(tmp_path) == before and process.poll() is None:  # it has come to work
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.12))
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert kills == 10
    left = len(by_key(tmp_path))
    assert 10 <= left < 324
    made, said = bench(tmp_path, laid_out())
    assert made == 324 - left and f"{left} of 324" in " ".join(said)
    assert by_key(tmp_path) == by_key(whole)
    for record in by_key(tmp_path).values():
        assert (tmp_path / record["image"]).read_bytes()[:4] == b"\x89PNG"
    assert not list((tmp_path / "images").glob("athena-*"))
    assert bench(tmp_path, laid_out())[0] == 0


def test_killed_while_it_starts(whole, tmp_path):
    moments = random.Random(0)
    for _ in range(6):
        process = started(tmp_path, PAUSE="0.004")
        time.sleep(moments.uniform(0.05, 0.45))
        process.kill()
        process.communicate()
    bench(tmp_path, laid_out())
    assert by_key(tmp_path) == by_key(whole)


def test_no_worker_outlives_its_run(tmp_path):
    process = started(tmp_path, 2, PAUSE="0.05")
    while size(tmp_path) == 0 and process.poll() is None:
        time.sleep(0.005)
    children = [int(p) for p in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    process.kill()
    process.communicate()
    assert children
    until = time.time() + 10
    while time.time() < until and any(alive(child) for child in children):
        time.sleep(0.02)
    assert not [child for child in children if alive(child)]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("cut", [1, 40, 10_000_000])
def test_a_line_that_was_cut_short_is_taken_away_with_a_word(whole, tmp_path, cut):
    bench(tmp_path, laid_out(limit=16), asked={"dataset": "mini"})
    file = tmp_path / book.RECORDS
    content = file.read_bytes()
    if cut > len(content):  # cut in the first line of all
        file.write_bytes(content[:30])
    else:
        file.write_bytes(content[:-cut])
    kept = file.read_bytes().count(b"\n")
    assert len(list(book.lines(file))) == kept
    made, said = bench(tmp_path, laid_out(limit=16), asked={"dataset": "mini"})
    assert made == 48 - kept and "cut short" in said[0]
    assert {k: by_key(whole)[k] for k in by_key(tmp_path)} == by_key(tmp_path)


def test_a_broken_line_in_the_middle_is_an_error_that_names_it(tmp_path):
    bench(tmp_path, laid_out(limit=8), asked={})
    file = tmp_path / book.RECORDS
    lines = file.read_text().split("\n")
    file.write_text("\n".join([lines[0], lines[1][:50], *lines[2:]]))
    with pytest.raises(LoadError, match="line 2"):
        bench(tmp_path, laid_out(limit=8), asked={})


# --- workers


def test_workers_make_the_same_run(whole, tmp_path):
    made, _ = bench(tmp_path, laid_out(), workers=2)
    assert made == 324
    assert by_key(tmp_path) == by_key(whole)


def test_a_worker_that_dies_is_replaced_and_its_images_are_made(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    made, said = bench(tmp_path / "run", laid_out(), workers=2, maker=scripted.dying)
    assert made == 324 and by_key(tmp_path / "run") == by_key(whole)
    assert ["died" in word and "-9" in word for word in said] == [True]


def test_what_kills_every_worker_is_told(tmp_path):
    with pytest.raises(LoadError, match="the third on the same 8 images"):
        bench(tmp_path, laid_out(limit=8), workers=2, maker=scripted.always_dying)
    assert 0 < len(by_key(tmp_path)) < 24


# --- configurations


def test_another_configuration_in_the_same_folder_is_refused(tmp_path):
    asked = {"dataset": "mini", "seeds": 1, "limit": 8, "call": {"height": 64}}
    bench(tmp_path, laid_out(limit=8), asked=asked)
    with pytest.raises(SettingsError, match=r"'height': 64.*'height': 128"):
        bench(tmp_path, laid_out(limit=8), asked={**asked, "call": {"height": 128}})
    with pytest.raises(SettingsError, match=r"limit: 8 there, 16 asked.*--extend"):
        bench(tmp_path, laid_out(limit=16), asked={**asked, "limit": 16})
    assert len(by_key(tmp_path)) == 24
    made, _ = bench(tmp_path, laid_out(limit=16), asked={**asked, "limit": 16}, extend=True)
    assert made == 24 and book.read_run(tmp_path)["asked"]["limit"] == 16
    with pytest.raises(SettingsError, match="dataset"):
        bench(tmp_path, laid_out(limit=16), asked={**asked, "dataset": "other", "limit": 16}, extend=True)


def test_one_process_at_a_time(tmp_path):
    with book.Book(tmp_path, {}), pytest.raises(SettingsError, match="another process"):
        book.Book(tmp_path, {})
    book.Book(tmp_path, {}).__exit__(None, None, None)


def test_records_without_a_run_are_nobodys(tmp_path):
    (tmp_path / book.RECORDS).write_text("")
    with pytest.raises(LoadError, match=r"run\.json"):
        book.Book(tmp_path, {})


# --- the plan


def test_the_order_is_shuffled_and_fixed_and_a_prefix_compares_like_with_like():
    entries = datasets.make()
    first = [job.entry.id for job in laid_out(entries, limit=90, chunk=90)[0].jobs]
    assert first == [job.entry.id for job in laid_out(entries, limit=90, chunk=90)[0].jobs]
    assert first != [job.entry.id for job in laid_out(entries, limit=90, chunk=90, order=1)[0].jobs]
    assert first == [job.entry.id for job in laid_out(entries, chunk=90)[0].jobs]
    assert {entries[int(i) - 1].level for i in first} == {1, 2, 3, 4}
    chunks = laid_out(limit=16)
    assert [chunk.variant.label for chunk in chunks] == [*scripted.NAMES] * 2
    assert {tuple((j.entry.id, j.seed) for j in c.jobs) for c in chunks[:3]} == {
        tuple((j.entry.id, j.seed) for j in chunks[0].jobs)
    }


def test_seeds():
    own = laid_out(limit=4, seeds=3, chunk=99)[0].jobs
    assert [job.seed for job in own] == [job.entry.seed + job.draw for job in own]
    assert {job.seed for job in laid_out(limit=4, seed=0)[0].jobs} == {0}
    bare = [datasets.entry({"prompt": "two cats"})]
    assert [job.seed for job in laid_out(bare)[0].jobs] == [plan.SEED] == [23]
    assert len({job.image for job in own}) == 12


def keys(names, preset=models.DEFAULT, call=None, **making):
    fields = {"revision": "a", "dtype": "float32", "counter": "look", **making}
    made = plan.Making(preset=preset, call=call or {}, **fields)
    chunks = plan.lay_out([datasets.entry({"prompt": "two cats"})], variants.parse_all(names), made)
    return [job.key for chunk in chunks for job in chunk.jobs]


def test_the_identity_is_what_would_change_the_image_and_nothing_else():
    base = keys(["adaptive"])
    assert keys(["adaptive@gamma=4"]) == base, "the preset's own gamma"
    assert keys(["adaptive@keep=last"]) == base, "the default"
    assert keys(["adaptive"], call={"gamma": 4.0}) == base
    for other in (
        keys(["adaptive@gamma=2"]),
        keys(["adaptive@keep=nearest"]),
        keys(["adaptive"], call={"gamma": 2.0}),
        keys(["adaptive"], call={"num_inference_steps": 10}),
        keys(["adaptive"], revision="b"),
        keys(["adaptive"], dtype="bfloat16"),
        keys(["adaptive"], counter="another"),
        keys(["adaptive"], preset=models.PRESETS["sdxl"]),
        keys(["feedback"]),
    ):
        assert other != base
    assert keys(["unsteered"], call={"keep": "nearest"}) == keys(["unsteered"]), "that is no option of it"
    assert keys(["adaptive"], call={"keep": "nearest"}) == keys(["adaptive@keep=nearest"]) != base
    assert keys(["unsteered"], counter="another") == keys(["unsteered"]), "it counts nothing half-way"
    assert keys(["unsteered"], preset=models.PRESETS["sdxl"]) == keys(["unsteered"])
    assert keys(["reseed"], call={"gamma": 1}) == keys(["reseed@max_attempts=3"])
    assert keys(["reseed@max_attempts=2"]) != keys(["reseed"])


def test_what_is_asked_twice_is_refused():
    with pytest.raises(SettingsError, match="make the same images"):
        keys(["reseed", "reseed@max_attempts=3"])
    with pytest.raises(SettingsError, match="twice"):
        keys(["reseed", "reseed"])
    again = [datasets.entry({"prompt": "two cats", "id": i}) for i in (1, 2)]
    with pytest.raises(SettingsError, match="the same noise"):
        laid_out(again)
    with pytest.raises(SettingsError, match="PARAMETER=VALUE"):
        variants.parse("adaptive@gamma")
    with pytest.raises(UnknownName, match="adaptive"):
        laid_out(names=["adaptve"])


def test_weights_are_known_by_their_contents(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "unet").mkdir(parents=True)
        (tmp_path / name / "unet" / "x.safetensors").write_bytes(b"weights")
    one, other = (identity.revision(str(tmp_path / name)) for name in ("a", "b"))
    assert one == other
    (tmp_path / "b" / "unet" / "x.safetensors").write_bytes(b"Weights")
    assert identity.revision(str(tmp_path / "b")) != one
    assert identity.revision("some/model", "f" * 40) == "f" * 40
    with pytest.raises(LoadError, match="no network"):
        identity.revision("some/model")


def test_a_strategy_of_ones_own_is_known_by_its_code(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("1")
    before = identity.code_of(f"{file}:mine")
    file.write_text("2")
    assert before and identity.code_of(f"{file}:mine") != before
    assert identity.code_of("adaptive") is None


def test_what_the_pipe_is_told_is_part_of_the_name(tmp_path):
    making = plan.Making("weights", "float32", "mini", models.find("sdxl"), {"num_inference_steps": 4})
    one = datasets.mini("test")[0]
    keys = {
        text: making.key(one, 1, variants.parse(text), strategies.find(text.partition("@")[0]))
        for text in ("unsteered", "unsteered@guidance_scale=7", "unsteered@num_inference_steps=4")
    }
    assert keys["unsteered"] != keys["unsteered@guidance_scale=7"]
    assert keys["unsteered"] == keys["unsteered@num_inference_steps=4"]


@pytest.mark.parametrize("text", ["unsteered@gamma=2", "static@estimate_step=3", "adaptive@max_attempts=2"])
def test_a_setting_that_a_strategy_does_not_read_is_refused(text):
    making = plan.Making("weights", "float32", "mini", models.find("sdxl"), {})
    with pytest.raises(SettingsError, match="does not read"):
        plan.lay_out(datasets.mini("test")[:2], [variants.parse(text)], making)


def test_extending_takes_nothing_away(tmp_path):
    asked = {"limit": 6, "seeds": 2, "strategies": ["unsteered", "adaptive"], "call": {}}
    with book.Book(tmp_path, asked) as first:
        first.append({"key": "a"})
    less = {"limit": 3, "seeds": 1, "strategies": ["reseed"], "call": {}}
    with book.Book(tmp_path, less, extend=True) as grown:
        assert grown.run["asked"] == {**asked, "strategies": ["unsteered", "adaptive", "reseed"]}


def test_a_folder_without_an_image_takes_another_configuration(tmp_path):
    with book.Book(tmp_path, {"call": 1}):
        pass
    with book.Book(tmp_path, {"call": 2}) as second:
        assert second.run["asked"] == {"call": 2}


def test_the_preset_is_no_part_of_the_weights(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"1")
    before = identity.folder_digest(tmp_path)
    (tmp_path / "athena.json").write_text("{}")
    assert identity.folder_digest(tmp_path) == before
    (tmp_path / "config.json").write_text("{}")
    assert identity.folder_digest(tmp_path) != before


@pytest.mark.parametrize(
    ("changed", "told"), [({"call": {"steps": 5}}, "differ in call"), ({"prompts": "b"}, "differ in prompts")]
)
def test_runs_made_in_different_ways_are_not_mixed(tmp_path, changed, told):
    for name, more, draw in (("a", {}, 0), ("b", changed, 1)):
        asked = {
            "dataset": "s",
            "model": "m",
            "prompts": "a",
            "call": {},
            "strategies": ["unsteered"],
            **more,
        }
        with book.Book(tmp_path / name, asked) as run:
            run.append(made_record(draw))
    with pytest.raises(SettingsError, match=told):
        records.frame([tmp_path / "a", tmp_path / "b"])


def made_record(draw):
    return {
        "key": f"k{draw}", "id": "1", "prompt": "two cats", "noun": "cat", "target": 2, "strategy": "unsteered",
        "seed": draw, "draw": draw, "counts": {"j": 2}, "judge": "j", "counter": "", "estimates": [], "finished": None,
    }  # fmt: skip


def test_an_edited_strategy_is_another_configuration(tmp_path):
    from athena.cli.bench import dated

    file = tmp_path / "mine.py"
    file.write_text("1")
    before = dated("mine.py:patient@tries=5", f"{file}:patient")
    assert before.startswith("mine.py:patient@tries=5 (code ")
    file.write_text("2")
    assert dated("mine.py:patient@tries=5", f"{file}:patient") != before
    assert dated("reseed@max_attempts=2", "reseed") == "reseed@max_attempts=2"


# --- the command, with a real (tiny) pipeline

OPTIONS = (
    "--limit",
    "3",
    "--strategies",
    "unsteered,static,adaptive,reseed@max_attempts=2",
    "--out",
    "runs/a",
)


def test_the_command(say, tiny, counters):
    counters([0])
    who = ("--counter", f"{counters.file}:circles", "--judge", f"{counters.file}:two")
    done = say("bench", "mini", "--model", tiny, *who, *OPTIONS)
    assert done.code == 0 and "reseed@max_attempts=2" in done.out and "athena report runs/a" in done.out
    made = list(book.lines(Path("runs/a") / book.RECORDS))
    assert len(made) == 12
    for one in made:
        assert set(one["counts"]) == {"mine.py:circles", "mine.py:two"} and one["counts"]["mine.py:two"] == 2
        assert (
            one["rows"] >= 8
            and one["calls"]
            and one["decodes"]
            and one["seconds"] > 0
            and one["memory_mb"] > 0
        )
        assert Path("runs/a", one["image"]).is_file()
    run = book.read_run(Path("runs/a"))
    assert ":circles (code " in run["asked"]["counter"] and run["sessions"][0]["versions"]["torch"]
    again = say("bench", "mini", "--model", tiny, *who, *OPTIONS, "--json")
    assert again.code == 0 and [row["n"] for row in again.json] == [3] * 4
    assert len(book.read_run(Path("runs/a"))["sessions"]) == 1
    kept = (
        "--strategies",
        "unsteered,adaptive",
        "--limit",
        "1",
        "--set",
        "keep=nearest",
        "--out",
        "runs/kept",
    )
    assert say("bench", "mini", "--model", tiny, *who, *kept).code == 0
    other = say("bench", "mini", "--model", tiny, *who, *OPTIONS, "--steps", "3")
    assert other.code == 2 and "num_inference_steps" in other.err
    mixed = records.frame([Path("runs/a")])
    assert list(mixed[mixed["strategy"] == "unsteered"]["seen"].notna()) == [True] * 3


def test_the_commands_errors(say, tiny):
    assert say("bench", "mini", "--model", tiny, "--strategies", "adaptiv", "--out", "r").code == 2
    assert say("bench", "nothing", "--model", tiny, "--out", "r").code == 2
    Path("mine.jsonl").write_text('{"prompt": "two cats"}\n{"prompt": "cats"}\n')
    wrong = say("bench", "mine.jsonl", "--model", tiny, "--out", "r")
    assert wrong.code == 2 and "line 2" in wrong.err
    assert say("bench", "athena", "--model", tiny, "--out", "r").code == 1  # no network, no file
    assert not Path("r").exists()


def test_every_strategy_is_found(tmp_path):
    assert set(variants.READS) == set(strategies.STRATEGIES)
    assert json.dumps(variants.parse("a@b=1@c=x").options) == '{"b": 1, "c": "x"}'
    assert signal.SIGKILL == 9


@pytest.fixture
def real(say, tiny, counters):
    """A run with a real pipeline, and how it was asked for."""
    counters([0])
    how = ("bench", "mini", "--model", tiny, "--counter", f"{counters.file}:circles", "--judge", f"{counters.file}:two",
           "--limit", "5", "--strategies", "unsteered,adaptive", "--batch-size", "4")  # fmt: skip
    assert say(*how, "--out", "whole").code == 0
    return how


def the_same_as_whole(folder):
    """What an image costs depends on its company in the denoiser: that must be the same again."""
    whole = by_key("whole")
    assert by_key(folder) == whole and len(whole) == 10
    for record in whole.values():
        one, other = (Image.open(Path(run, record["image"])).tobytes() for run in ("whole", folder))
        assert one == other


def test_a_real_pipeline_cut_short_makes_the_same_run(say, real):
    shutil.copytree("whole", "cut")
    lines = Path("cut", book.RECORDS).read_text().splitlines(keepends=True)
    Path("cut", book.RECORDS).write_text("".join(lines[:2] + lines[6:8]) + lines[8][:40])
    for record in map(json.loads, lines[2:6] + lines[8:]):
        Path("cut", record["image"]).unlink()
    again = say(*real, "--out", "cut")
    assert again.code == 0 and "cut short" in again.err and "4 of 10 images are there" in again.err
    the_same_as_whole("cut")


@pytest.mark.slow
def test_a_real_pipeline_in_workers_makes_the_same_run(say, real):
    assert say(*real, "--out", "team", "--workers", "2").code == 0
    the_same_as_whole("team")
