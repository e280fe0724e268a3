"""Counters by name: what each name means, and errors that say what to type next."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from athena import counters
from athena.counters import COUNTERS, DETECTORS, loading
from athena.errors import CounterError, LoadError, MissingExtra, SettingsError, UnknownName


@pytest.fixture(autouse=True)
def empty_disk(tmp_path, monkeypatch):
    """As on a machine that has downloaded nothing."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_names_there_are():
    assert {
        "mini",
        "mini-judge",
        "grounding-dino",
        "grounding-dino-base",
        "mm-grounding-dino",
        "llmdet",
    } <= set(COUNTERS)
    assert {"owlv2", "omdet-turbo"} <= set(COUNTERS)
    assert all(
        known.download_gb > 0 and known.memory_gb > 0 and known.licence for known in DETECTORS.values()
    )


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("grounding-dino", "grounding-dino"),
        ("Grounding DINO", "grounding-dino"),
        ("grounding_dino", "grounding-dino"),
        ("grounding-dino-tiny", "grounding-dino"),
        ("IDEA-Research/grounding-dino-tiny", "grounding-dino"),
        ("idea-research/grounding-dino-base", "grounding-dino-base"),
        ("iSEE-Laboratory/llmdet_tiny", "llmdet"),
        ("mm_grounding_dino_tiny_o365v1_goldg_v3det", "mm-grounding-dino"),
        ("someone/else", None),
        ("grounding", None),
    ],
)
def test_aliases(name, known):
    assert loading.known_as(name) == known


def recorded(monkeypatch):
    """What `load_detector` is asked for."""
    asked = []
    monkeypatch.setattr(loading, "fetch", lambda source, *_: asked.append(source) or Path("nowhere"))
    return asked


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("grounding-dino", "IDEA-Research/grounding-dino-tiny"),
        ("hf:IDEA-Research/grounding-dino-tiny", "IDEA-Research/grounding-dino-tiny"),
        ("grounding-dino@paper", "IDEA-Research/grounding-dino-tiny"),
        ("hf:someone/else", "someone/else"),
        ("someone/else", "someone/else"),
        ("someone/else@paper", "someone/else"),
    ],
)
def test_what_a_name_loads(monkeypatch, name, source):
    asked = recorded(monkeypatch)
    with pytest.raises(LoadError, match="no folder nowhere"):
        counters.load(name)
    assert asked == [source]


def test_settings_in_the_name(tmp_path):
    import tiny_detectors

    folder = tiny_detectors.save("owlv2", tmp_path / "owl")
    counter = counters.as_counter(f"{folder}@paper")
    assert counter.settings == counters.PAPER
    assert counter.name == f"{folder}@paper"
    assert counters.as_counter(folder).name == str(folder)
    assert counters.load(str(folder), nms=None).name == f"{folder}(nms=None)"
    odd = folder.rename(tmp_path / "owl@paper")
    assert counters.load(str(odd)).settings == counters.DEFAULT


@pytest.mark.parametrize(
    ("name", "near"), [("grounding-dyno", "grounding-dino"), ("owl", "owlv2"), ("mimi", "mini")]
)
def test_a_name_nobody_knows_suggests_the_nearest(name, near):
    for look in (counters.load, counters.find, counters.as_counter):
        with pytest.raises(UnknownName, match=f'Did you mean "{near}"') as error:
            look(name)
        assert all(known in str(error.value) for known in COUNTERS)


@pytest.mark.parametrize("name", ["", " ", "hf:", "no such name"])
def test_no_name_at_all(name):
    with pytest.raises(UnknownName):
        counters.load(name)


def test_finding_loads_nothing():
    for name in (*COUNTERS, "hf:someone/else", "./somewhere", "owlv2@paper"):
        assert callable(counters.find(name))


def test_the_embedded_counters_have_no_settings():
    with pytest.raises(SettingsError, match='load it as "mini"'):
        counters.find("mini@paper")


# --- no network, no licence, no package


def test_without_a_network_the_error_is_quick_and_says_what_to_do():
    start = time.perf_counter()
    with pytest.raises(LoadError) as error:
        counters.load("grounding-dino")
    assert time.perf_counter() - start < 5
    for part in ("IDEA-Research/grounding-dino-tiny", "hf download", "HF_HOME", "local_files_only", "path"):
        assert part in str(error.value)
    assert str(error.value).startswith("the counter ")
    assert "path as the counter" in str(error.value)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("httpx2.ConnectError", "the hub cannot be reached"),
        ("requests.exceptions.ConnectionError", "the hub cannot be reached"),
        ("builtins.PermissionError", "could not be loaded"),
    ],
)
def test_when_the_hub_cannot_be_reached(monkeypatch, kind, says):
    module, _, name = kind.rpartition(".")
    refusal = type(name, (OSError,), {"__module__": module})

    def refuse(*_, **__):
        raise refusal("no route to host")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(LoadError, match=says):
        counters.load("hf:nobody/nothing")


def test_a_wrong_setting_is_refused_before_any_download(monkeypatch):
    asked = recorded(monkeypatch)
    for wrong in (
        {"nmms": 0.5},
        {"settings": "papers"},
        {"device": "toaster"},
        {"dtype": "float17"},
        {"nms": 7},
    ):
        with pytest.raises(SettingsError):
            counters.load("grounding-dino", **wrong)
    assert asked == []


def test_a_package_that_is_missing(monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install torchvision timm"):
        counters.load("omdet-turbo")


# --- folders


def folder_of(tmp_path, config, *files):
    for name in files:
        (tmp_path / name).write_text("{}")
    (tmp_path / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return tmp_path


WHOLE = ("model.safetensors", "preprocessor_config.json")


@pytest.mark.parametrize("name", ["./nothing-here", "/no/such/folder", "hf:./nothing-here", Path("nothing")])
def test_a_path_that_leads_nowhere(name):
    with pytest.raises(LoadError, match=r"no folder .*; a hub id has the shape owner/name"):
        counters.load(name)


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "model.pth"
    file.touch()
    with pytest.raises(LoadError, match="is a file"):
        counters.load(file)


def test_a_folder_without_a_config(tmp_path):
    with pytest.raises(LoadError, match=r"no config\.json"):
        counters.load(tmp_path)


@pytest.mark.parametrize("there", [(), WHOLE[:1], WHOLE[1:]])
def test_a_folder_with_parts_missing(tmp_path, there):
    with pytest.raises(LoadError) as error:
        counters.load(folder_of(tmp_path, {"model_type": "owlv2"}, *there))
    assert all((name in str(error.value)) == (name not in there) for name in WHOLE)


def test_a_model_that_is_no_detector(tmp_path):
    with pytest.raises(LoadError, match=r"is a clip, not a zero-shot object detector; those are .*owlv2"):
        counters.load(folder_of(tmp_path, {"model_type": "clip"}, *WHOLE))


@pytest.mark.parametrize("config", ["{", "[]"])
def test_a_config_that_cannot_be_read(tmp_path, config):
    with pytest.raises(LoadError, match=re.escape(str(tmp_path / "config.json"))):
        counters.load(folder_of(tmp_path, config, *WHOLE))


def test_weights_that_cannot_be_read(tmp_path):
    with pytest.raises(LoadError, match="could not be loaded by transformers"):
        counters.load(folder_of(tmp_path, {"model_type": "owlv2"}, *WHOLE))


def test_weights_of_another_model(tmp_path):
    import tiny_detectors
    from safetensors.torch import load_file, save_file

    folder = tiny_detectors.save("owlv2", tmp_path / "owl")
    weights = load_file(folder / "model.safetensors")
    save_file({f"other.{key}": value for key, value in weights.items()}, folder / "model.safetensors")
    with pytest.raises(LoadError, match=r"not those its config\.json describes"):
        counters.load(folder)


def test_a_download_that_was_cut_short(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, {"model_type": "owlv2"})
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(folder))
    with pytest.raises(LoadError, match="`hf download google/owlv2-base-patch16-ensemble` completes"):
        counters.load("owlv2")


# --- the base


def test_a_path_is_a_counter_too(tmp_path):
    with pytest.raises(LoadError):
        counters.as_counter(tmp_path)


def test_a_function_is_a_counter():
    def three(image, noun):
        return 3

    counter = counters.as_counter(three)
    assert (counter.name, counter(["x"], ["cat"])) == ("three", [3])
    assert counters.count(counter, ["x"], ["cat"], ["a cat"], estimate=True) == [(3, None)]


def test_the_scripted_counter():
    counter = counters.Scripted([3, 5])
    assert counter(["a", "b"], ["cat", "dog"]) == [3, 5]
    assert counter.seen == [("a", "cat"), ("b", "dog")]
    with pytest.raises(CounterError, match="told all its 2 counts"):
        counter(["c"], ["cat"])


@pytest.mark.parametrize("answer", [None, -1, 2.5, True, "three"])
def test_an_answer_that_is_no_count(answer):
    with pytest.raises(CounterError, match="expected a whole number from 0"):
        counters.count(counters.as_counter(lambda image, noun: answer), ["x"], ["cat"])


def test_too_few_answers():
    with pytest.raises(CounterError, match="gave 1 answers for 2 images"):
        short = counters.Scripted([1])
        counters.count(
            type("Short", (), {"name": "short", "__call__": lambda *_: short(["x"], ["y"])})(),
            [1, 2],
            ["a", "b"],
        )


@pytest.mark.parametrize("thing", [7, None, int, lambda: 3, lambda image: 3])
def test_what_is_no_counter(thing):
    with pytest.raises(CounterError, match="a counter is a name"):
        counters.as_counter(thing)


def test_coming_in_is_cheap():
    code = (
        "import sys, athena.counters as c; c.find('grounding-dino'); c.Scripted([1])(['x'], ['y'])\n"
        "print([m for m in ('torch', 'transformers', 'supervision', 'numpy', 'huggingface_hub') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
