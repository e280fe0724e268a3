"""The report: everything it promises to write, from records alone."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scripted
from athena import datasets
from athena.bench import gallery, plots, records, report
from athena.errors import SettingsError

ASKED = {"dataset": "made.json", "split": "all", "model": "scripted"}
NAMES = ("unsteered", "static", "adaptive", "reseed@max_attempts=2", "reseed")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "a"
    scripted.bench(folder, scripted.laid_out(datasets.make(), names=NAMES, limit=60), asked=ASKED)
    return folder


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    report.write([run], out, most=40)
    return out


def test_everything_is_written(made):
    names = {str(file.relative_to(made)) for file in made.rglob("*") if file.is_file()}
    figures = ("accuracy-seconds", "accuracy-rows", "accuracy-target", "observability")
    tables = ("table1", "pairs", "equal_rows", "by_target", "by_level", "by_noun", "observability", "judges")
    assert names >= {f"figures/{name}.{kind}" for name in figures for kind in ("png", "svg")}
    assert names >= {f"{name}.csv" for name in tables}
    assert names >= {"table1.md", "table1.tex", "report.md", "index.html", "grids/scripted-made.png"}


def test_the_page_needs_nothing_but_itself(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert addresses and all(one.startswith(("data:", "#")) for one in addresses)
    assert "http" not in re.sub(r'"data:[^"]*"', "", page)
    cards = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert len(cards) == 40 and {card["strategy"] for card in cards} == set(NAMES)
    assert all(card["picture"].startswith("data:image/webp") and card["attempts"] for card in cards)
    assert "40 of 300 images" in page


def test_the_markdown_page_has_the_tables_and_the_figures(made):
    text = (made / "report.md").read_text(encoding="utf-8")
    for path in re.findall(r"\]\(([^)]*)\)", text):
        assert (made / path).is_file()
    assert "| scripted | made | reseed@max_attempts=2 |" in text and "McNemar" in text


def test_an_image_that_is_gone_is_said_to_be(run, tmp_path):
    shutil.copytree(run, tmp_path / "b")
    shutil.rmtree(tmp_path / "b" / "images")
    report.write([tmp_path / "b"], tmp_path / "out", most=10)
    assert '"picture": null' in (tmp_path / "out" / "index.html").read_text()


def test_two_runs_stand_beside_each_other(run, tmp_path):
    other = tmp_path / "b"
    scripted.bench(other, scripted.laid_out(limit=20), asked={**ASKED, "dataset": "mini", "split": "tune"})
    report.write([run, other], tmp_path / "out")
    assert r"\multicolumn{4}{c}{\textbf{mini, tune}}" in (tmp_path / "out" / "table1.tex").read_text()


def test_runs_that_hold_the_same_images_are_not_mixed(run, tmp_path):
    shutil.copytree(run, tmp_path / "copy")
    with pytest.raises(SettingsError, match="the same image twice"):
        report.write([run, tmp_path / "copy"], tmp_path / "out")


def test_no_torch_comes_along(run, tmp_path):
    code = (
        f"import sys; sys.argv[1:] = ['report', {str(run)!r}, '--out', {str(tmp_path / 'r')!r}]\n"
        "import athena.cli, atexit\n"
        "atexit.register(lambda: print('HEAVY', [m for m in ('torch', 'diffusers') if m in sys.modules]))\n"
        "athena.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "HEAVY []" in done.stdout


def test_the_command(say, run):
    done = say("report", run, "--out", "out", "--gallery", "0")
    assert done.code == 0 and "unsteered" in done.out and Path("out/index.html").is_file()
    by_other = say("report", run, "--judge", "look", "--out", "out")
    assert by_other.code == 0 and by_other.out != done.out
    assert "both steers and judges" in Path("out/report.md").read_text()
    missing = say("report", run, "--judge", "owlv2", "--out", "out")
    assert missing.code == 2 and "athena judge" in missing.err
    assert say("report", "nowhere", "--out", "out").code == 1


def test_a_strategy_keeps_its_colour_and_variants_differ_in_shape():
    looks = [plots.look(name, [*NAMES, "mine", "other"]) for name in (*NAMES, "mine", "other")]
    assert len({tuple(one.items()) for one in looks}) == len(looks)
    assert looks[3]["color"] == looks[4]["color"]


def test_the_gallery_holds_as_many_as_asked_of_every_run_in_turn(tmp_path):
    for name in ("a", "b"):
        scripted.bench(tmp_path / name, scripted.laid_out(limit=20), asked={**ASKED, "dataset": name})
    frame = records.frame([tmp_path / "a", tmp_path / "b"])
    frame["seed"] = None  # as those of another tool's images
    assert gallery.chosen(frame, 12)["dataset"].value_counts().to_dict() == {"a": 6, "b": 6}
    assert len(gallery.chosen(frame, 0)) == 0


def test_an_unknown_seed_is_no_seed(run, tmp_path, monkeypatch):
    frame, told, grid = records.frame([run]), [], gallery.drawing.grid

    def listens(cells, columns, titles, **how):
        told.extend(titles)
        return grid(cells, columns, titles, **how)

    monkeypatch.setattr(gallery.drawing, "grid", listens)
    gallery.grids(frame, tmp_path, rows=1)
    gallery.grids(frame.assign(seed=None), tmp_path, rows=1)
    assert told == [f"{frame['prompt'][0]}\nseed {frame['seed'][0]}", frame["prompt"][0]]
