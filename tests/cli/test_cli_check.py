"""athena check: the report, its exit codes and its JSON."""

import json

import pytest

import zoo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    zoo.flux().save_pretrained(folder)
    return folder


def test_a_pipeline_that_passes(say, folder):
    done = say("check", folder, "--set", "max_sequence_length=32")
    assert done.code == 0, done.out
    assert done.lines[0] == "FluxPipeline"
    assert done.lines[-1] == "11 of 11 checks passed"
    assert "/4 [" not in done.err  # no bar for each run of four steps


def test_a_check_that_fails_is_told_and_the_exit_code_is_3(say, folder):
    done = say("check", folder, "--set", "max_sequence_length=1024", "--json")
    report = json.loads(done.out)
    assert done.code == 3
    assert report["pipeline"] == "FluxPipeline"
    assert not report["passed"]
    assert report["checks"][0]["name"] == "drivable"
    assert "max_sequence_length" in report["checks"][0]["detail"]


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [(["sdxk"], 2, 'Did you mean "sdxl"'), (["./nowhere"], 1, "no folder"), ([], 2, "PATH_OR_HUB_ID")],
)
def test_what_cannot_be_loaded(say, given, code, told):
    done = say("check", *given)
    assert done.code == code
    assert told in done.err
