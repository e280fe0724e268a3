"""Every class of diffusers' text-to-image mapping, held to the suite; docs/pipelines.md says what came of it."""

import pytest

import zoo
from athena.testing import conformance, judged
from athena.testing.subject import Subject
from zoo.page import PAGE, page, row

ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "Pipeline |" in line]


@pytest.mark.parametrize("name", zoo.MAPPED)
def test_the_page_has_what_the_suite_yields(name):
    entry = zoo.EVERY.get(name)
    report = conformance(entry.build(), **entry.call) if entry else None
    (written,) = [line for line in ROWS if line.startswith(f"| {name} |")]
    assert written == row(name, report), f"make pipelines writes the page anew\n{report}"
    assert report is None or report.passed == (name not in zoo.REASONS), (
        "each failure has its reason, and no other"
    )


def test_the_page_around_the_rows_is_the_generated_one():
    assert PAGE.read_text(encoding="utf-8") == page(ROWS)


def test_every_class_of_the_mapping_is_accounted_for():
    assert sorted(zoo.MAPPED) == sorted([*zoo.EVERY, *zoo.OUT_OF_SCOPE])
    assert [line.split()[1] for line in ROWS] == list(zoo.MAPPED)
    assert len(set(zoo.EVERY) - set(zoo.REASONS)) >= 40


def test_no_class_of_a_pipeline_is_named_in_the_driver():
    from pathlib import Path

    import athena.driver

    text = "".join(file.read_text() for file in Path(athena.driver.__file__).parent.glob("*.py"))
    assert not [name for name in zoo.MAPPED if name in text]


@pytest.mark.parametrize(
    "name",
    [
        "KandinskyCombinedPipeline",  # gives no latents
        "StableDiffusionXLControlNetUnionPipeline",  # wants a picture and its mode
        "ZImageControlNetInpaintPipeline",  # wants three pictures
        "Ideogram4Pipeline",  # wants a guidance for each step
    ],
)
def test_the_suite_finds_out_what_a_call_needs(name):
    assert judged(Subject(zoo.EVERY[name].build(), {}), "drivable").detail == ""
