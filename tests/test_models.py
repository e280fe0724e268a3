"""Presets hold the paper's numbers; loading works by path, and fails with words one can act on."""

import json
import re
from itertools import product
from pathlib import Path

import pytest

from athena import models
from athena.errors import LoadError, PromptError, SettingsError, UnknownName
from athena.models import DEFAULT, MINIS, PRESETS, Settings, find, load, preset_for

PAPER = Path(__file__).parents[2] / "shared" / "paper" / "athena.tex"

# The appendix's table: t_est, t_steer, gamma; static has no t_est.
TABLE = {
    "flux-dev": {"static": (None, 10, 4), "feedback": (20, 5, 4), "adaptive": (20, 5, 4)},
    "sd35-large": {"static": (None, 10, 4), "feedback": (20, 5, 4), "adaptive": (20, 5, 4)},
    "sdxl": {"static": (None, 10, 5), "feedback": (30, 10, 5), "adaptive": (30, 10, 5)},
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny pipeline on disk."""
    import zoo

    folder = tmp_path_factory.mktemp("models") / "tiny"
    zoo.PIPELINES["sd15"]().save_pretrained(folder)
    return folder


def own_preset(**changes):
    return {
        "steps": 40,
        "guidance_scale": 3.0,
        "height": 64,
        "width": 64,
        "static": {"t_steer": 12, "gamma": 2},
        "feedback": {"t_est": 20, "t_steer": 8, "gamma": 2},
        "adaptive": {"t_est": 24, "t_steer": 16, "gamma": 1.5},
        **changes,
    }


# --- the table


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("strategy", ["static", "feedback", "adaptive"])
def test_presets_hold_the_papers_table(name, strategy):
    t_est, t_steer, gamma = TABLE[name][strategy]
    settings = PRESETS[name].settings(strategy, 50)
    assert (settings.steer_steps, settings.gamma) == (t_steer, gamma)
    assert t_est is None or settings.estimate_step == t_est


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not beside this checkout")
def test_our_table_is_the_one_printed():
    text = PAPER.read_text()
    table = text[text.index(r"\section{Hyperparameter Settings}") :].split(r"\end{tabular}")[0]

    def row(label):
        line = re.search(rf"^\${re.escape(label)}\$\s*&(.*?)\\\\", table, re.M)
        return [None if cell.strip() == "--" else int(cell) for cell in line[1].split("&")]

    columns = list(zip(row(r"t_{\mathrm{est}}"), row(r"t_{\mathrm{steer}}"), row(r"\gamma"), strict=True))
    ours = [TABLE[name][strategy] for name in TABLE for strategy in TABLE[name]]
    assert columns == ours


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("flux-dev", {"guidance_scale": 3.5, "height": 1024, "width": 1024, "max_sequence_length": 512}),
        ("sd35-large", {"guidance_scale": 7.0, "height": 1024, "width": 1024, "max_sequence_length": 512}),
        ("sdxl", {"guidance_scale": 5.0, "height": 1024, "width": 1024}),
        ("sd14", {"guidance_scale": 7.5, "height": 512, "width": 512}),
    ],
)
def test_how_a_named_model_is_called(name, call):
    assert PRESETS[name].call() == {"num_inference_steps": 50, **call}
    assert PRESETS[name].dtype == "bfloat16"


def test_the_default_leaves_the_call_to_the_pipeline():
    assert DEFAULT.call() == {}
    assert DEFAULT.settings("adaptive", 50) == Settings(20, 5, 4.0)
    assert DEFAULT.settings("static", 50).steer_steps == 10


@pytest.mark.parametrize(
    ("steps", "expected"), [(50, (30, 10)), (25, (15, 5)), (100, (60, 20)), (30, (18, 6)), (1, (1, 1))]
)
def test_settings_scale_with_the_steps(steps, expected):
    settings = PRESETS["sdxl"].settings("adaptive", steps)
    assert (settings.estimate_step, settings.steer_steps, settings.gamma) == (*expected, 5.0)


def test_scaled_settings_stay_within_the_run():
    for preset, steps in product((DEFAULT, *PRESETS.values()), range(1, 120)):
        settings = preset.settings("adaptive", steps)
        assert 1 <= settings.steer_steps <= settings.estimate_step <= steps


@pytest.mark.parametrize(
    ("preset", "steps", "expected"),
    [
        (PRESETS["flux-dev"], 4, (2, 1)),
        (PRESETS["flux-dev"], 8, (3, 1)),
        (PRESETS["sdxl"], 4, (2, 1)),
        (PRESETS["sdxl"], 8, (5, 2)),
        (DEFAULT, 4, (2, 1)),
        (DEFAULT, 8, (3, 1)),
    ],
)
def test_few_step_models_are_looked_at_half_way(preset, steps, expected):
    settings = preset.settings("adaptive", steps)
    assert (settings.estimate_step, settings.steer_steps) == expected


@pytest.mark.parametrize("strategy", ["unsteered", "reseed", "one_of_yours"])
def test_a_strategy_not_in_the_paper_gets_adaptives(strategy):
    assert PRESETS["sdxl"].settings(strategy, 50) == PRESETS["sdxl"].adaptive


# --- finding by name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flux", "flux-dev"),
        ("FLUX.1-dev", "flux-dev"),
        ("black-forest-labs/FLUX.1-dev", "flux-dev"),
        ("sd3.5", "sd35-large"),
        ("SD 3.5 Large", "sd35-large"),
        ("sd35", "sd35-large"),
        ("SDXL", "sdxl"),
        ("stabilityai/stable-diffusion-xl-base-1.0", "sdxl"),
        ("sd14", "sd14"),
    ],
)
def test_aliases(name, expected):
    assert find(name).name == expected


@pytest.mark.parametrize("name", ["someone/some-model", "./somewhere", Path("somewhere")])
def test_a_hub_id_or_a_folder_has_the_default(name):
    assert find(name) is DEFAULT


@pytest.mark.parametrize(("name", "near"), [("sdlx", "sdxl"), ("flux-def", "flux-dev"), ("mimi", "mini")])
def test_a_name_nobody_knows_suggests_the_nearest(name, near):
    with pytest.raises(UnknownName, match=f'Did you mean "{near}"') as error:
        load(name)
    assert all(known in str(error.value) for known in models.names())


def test_no_name_at_all():
    with pytest.raises(UnknownName):
        load(" ")


# --- presets that lie in a folder


def test_embedded_models_are_read_from_their_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_WEIGHTS", tmp_path)
    for name in MINIS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "athena.json").write_text(json.dumps(own_preset()))
    preset = find("mini")
    assert preset.name in MINIS
    assert preset.source == str(tmp_path / preset.name)
    assert preset.dtype == "float32"
    assert preset.call() == {"num_inference_steps": 40, "guidance_scale": 3.0, "height": 64, "width": 64}
    assert preset.settings("static", 40) == Settings(24, 12, 2.0)
    assert preset.settings("feedback", 40) == Settings(20, 8, 2.0)
    assert preset.settings("adaptive", 20) == Settings(12, 8, 1.5)


def test_an_embedded_model_that_is_missing_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_WEIGHTS", tmp_path)
    with pytest.raises(LoadError, match=r"python -m athena\.mini\.train sd3"):
        load("mini-sd3")


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps(own_preset(adaptive={"t_est": 1}))])
def test_a_broken_preset_names_its_file(tmp_path, text):
    (tmp_path / "athena.json").write_text(text)
    with pytest.raises(LoadError, match=re.escape(str(tmp_path / "athena.json"))):
        find(tmp_path)


# --- loaded pipelines


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("sdxl", "sdxl"), ("sd3", "sd35-large"), ("flux", "flux-dev"), ("sd15", "sd14"), ("pixart", "default")],
)
def test_a_pipeline_has_the_preset_of_its_class(kind, expected):
    import zoo

    assert preset_for(zoo.PIPELINES[kind]()).name == expected


def test_load_by_path(tiny):
    import torch

    pipe = load(tiny, device="cpu")
    assert type(pipe).__name__ == "StableDiffusionPipeline"
    assert pipe.unet.dtype == torch.float32
    assert preset_for(pipe).name == "sd14"
    assert load(str(tiny), device="cpu", dtype="bf16").unet.dtype == torch.bfloat16
    assert load(tiny, device="cpu", torch_dtype=torch.bfloat16).unet.dtype == torch.bfloat16


def test_a_loaded_folder_keeps_its_own_preset(tiny):
    own = tiny / "athena.json"
    own.write_text(json.dumps(own_preset()))
    try:
        preset = preset_for(load(tiny, device="cpu"))
        assert preset.name == "tiny"
        assert preset.settings("adaptive", 40) == Settings(24, 16, 1.5)
    finally:
        own.unlink()


# --- refusals


def test_a_path_that_leads_nowhere(tmp_path):
    with pytest.raises(LoadError, match="no folder"):
        load(tmp_path / "nothing")


def test_a_folder_that_is_no_pipeline(tmp_path):
    with pytest.raises(LoadError, match=r"no model_index\.json"):
        load(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "weights.safetensors"
    file.touch()
    with pytest.raises(LoadError, match="from_single_file"):
        load(file)


def test_a_folder_diffusers_cannot_read(tmp_path):
    (tmp_path / "model_index.json").write_text('{"_class_name": "NoSuchPipeline"}')
    with pytest.raises(LoadError, match="NoSuchPipeline"):
        load(tmp_path, device="cpu")


@pytest.mark.parametrize("asked", [{}, {"local_files_only": True}])
def test_without_a_network(asked):
    with pytest.raises(LoadError) as error:
        load("sdxl", **asked)
    for part in ("stabilityai/stable-diffusion-xl-base-1.0", "HF_HOME", "local_files_only", "path"):
        assert part in str(error.value)


def test_when_the_hub_cannot_be_reached(monkeypatch):
    """As `requests` says it, and each of the hub's own clients: none of them shares a class with another."""
    from diffusers import DiffusionPipeline

    def refuse(*_, **__):
        raise OSError("cannot load") from type("ConnectError", (Exception,), {"__module__": "httpx2"})(
            "no route"
        )

    monkeypatch.setattr(DiffusionPipeline, "from_pretrained", refuse)
    with pytest.raises(LoadError, match=r"nobody/nothing is not on this disk, and the hub cannot be reached"):
        load("nobody/nothing")


def refusing(monkeypatch, kind, status):
    """Let `from_pretrained` fail as the hub would, wrapped once as diffusers does."""
    from diffusers import DiffusionPipeline
    from huggingface_hub import errors
    from huggingface_hub.errors import Response

    def refuse(*_, **__):
        response = Response(status, request=None)
        response._request = type("Request", (), {"url": "https://huggingface.co", "method": "GET"})()
        try:
            raise getattr(errors, kind)("refused", response=response)
        except OSError as error:
            raise OSError("there was a connection error") from error

    monkeypatch.setattr(DiffusionPipeline, "from_pretrained", refuse)


@pytest.mark.parametrize("kind, status", [("GatedRepoError", 401), ("HfHubHTTPError", 403)])
def test_a_licence_to_accept(monkeypatch, kind, status):
    refusing(monkeypatch, kind, status)
    with pytest.raises(LoadError) as error:
        load("flux-dev")
    for part in ("https://huggingface.co/black-forest-labs/FLUX.1-dev", "hf auth login", "Non-Commercial"):
        assert part in str(error.value)


def test_a_model_the_hub_does_not_have(monkeypatch):
    refusing(monkeypatch, "RepositoryNotFoundError", 404)
    with pytest.raises(LoadError, match="the hub knows no model nobody/nothing"):
        load("nobody/nothing")


def test_a_revision_that_does_not_exist(monkeypatch):
    refusing(monkeypatch, "RevisionNotFoundError", 404)
    with pytest.raises(LoadError, match="no such revision"):
        load("nobody/nothing", revision="v9")


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"device": "toaster"}, SettingsError),
        ({"dtype": "float17"}, UnknownName),
        ({"device": "cpu", "offload": "model"}, SettingsError),
        ({"offload": "modle"}, UnknownName),
    ],
)
def test_settings_are_refused_before_anything_is_read(tiny, setting, error):
    with pytest.raises(error):
        load(tiny, **setting)


def test_an_embedded_model_refuses_words_it_was_never_taught():
    preset = models.Preset("mini-sdxl", "")
    preset.check("A photo of seven apples on the grass.")
    with pytest.raises(PromptError, match=r"zebras.*They draw: apple, bird"):
        preset.check("a photo of seven zebras")
    models.DEFAULT.check("a photo of seven zebras")
