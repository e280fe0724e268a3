"""Prompt sets: reading, building, making, checking. The published files are read where they are, never copied."""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from athena import datasets
from athena.datasets import published
from athena.datasets.entries import entry
from athena.errors import LoadError, PromptError, SettingsError, UnknownName

SHARED = Path(__file__).parents[3] / "shared" / "datasets"
needs_published = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"the published prompt sets are not at {SHARED}"
)


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """An empty cache."""
    monkeypatch.setenv("ATHENA_DATASETS", str(tmp_path / "cache"))
    return tmp_path / "cache"


def text_of(name):
    return (SHARED / name).read_text(encoding="utf-8")


def as_published(entries):
    return json.dumps([one.to_dict() for one in entries], indent=2)


# --- the published sets


@needs_published
def test_the_200_rows_become_the_161_prompts():
    built = datasets.deduplicated(datasets.read(SHARED / "CoCoCount-original-200.json"))
    assert as_published(built) == text_of("CoCoCount.json")


@needs_published
def test_the_161_prompts_become_the_648():
    built = datasets.cococount_e(datasets.read(SHARED / "CoCoCount.json"))
    assert as_published(built) == text_of("CoCoCount_E.json")


@needs_published
@pytest.mark.parametrize("name", list(datasets.PUBLISHED))
def test_the_pinned_sums_are_those_of_the_published_files(name, kept, monkeypatch):
    known = datasets.PUBLISHED[name]
    content = (SHARED / known.file).read_bytes()
    assert sha256(content).hexdigest() == known.sha256
    monkeypatch.setattr(published, "fetch", lambda address: content)
    assert len(datasets.load(name)) == known.size
    assert (kept / known.file).read_bytes() == content
    monkeypatch.setattr(published, "fetch", lambda address: pytest.fail("it is in the cache"))
    assert datasets.load(name)[0].source in (name, "ATHENA")


def test_without_network_and_file_the_error_names_both_places(kept):
    with pytest.raises(LoadError) as error:
        datasets.load("athena")
    assert datasets.PUBLISHED["athena"].address in str(error.value)
    assert str(kept / "ATHENA.json") in str(error.value)


def test_a_file_that_is_not_the_published_one_is_refused(kept, monkeypatch):
    monkeypatch.setattr(published, "fetch", lambda address: b"[]")
    with pytest.raises(LoadError, match="SHA-256"):
        datasets.load("cococount")
    assert not (kept / "CoCoCount.json").exists()
    kept.mkdir(exist_ok=True)
    (kept / "CoCoCount.json").write_text("[]")
    with pytest.raises(LoadError, match="Delete it"):
        datasets.load("cococount")


@needs_published
def test_the_published_athena_file_is_checked_and_what_it_violates_is_told():
    found = datasets.check(datasets.read(SHARED / "ATHENA.json"))
    assert {(v.row, v.rule) for v in found} == {(326, "second number"), (344, "second number")}


# --- files of one's own


def test_a_prompt_is_enough(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"prompt": "a photo of seven apples"}\n\n{"prompt": "two mice", "id": "m", "seed": 4}\n')
    first, second = datasets.load(str(file))
    assert (first.object, first.object_plural, first.number, first.int_number) == (
        "apple",
        "apples",
        "seven",
        7,
    )
    assert (first.id, second.id, second.seed, second.object, first.source) == ("1", "m", 4, "mouse", "mine")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"prompt": ""}, '"prompt"'),
        ({"prompt": "two cats", "int_number": 3}, "count=3"),
        ({"prompt": "two cats", "int_number": "two"}, '"int_number"'),
        ({"prompt": "two cats", "object": "dog"}, "dog"),
        ({"prompt": "two cats", "object_plural": "dogs"}, '"object_plural"'),
        ({"prompt": "two cats", "seed": -1}, '"seed"'),
        ({"prompt": "two cats", "level": "one"}, '"level"'),
        ({"prompt": "two cats", "scene": 3}, '"scene"'),
        ({"prompt": "a photo of cats"}, "number"),
        ("two cats", "expected an object"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, told):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{"prompt": "two cups"}, row]))
    with pytest.raises((PromptError, SettingsError)) as error:
        datasets.read(file)
    assert "row 2" in str(error.value) and told in str(error.value)


def test_what_else_can_be_wrong_with_a_file(tmp_path):
    (tmp_path / "broken.jsonl").write_text('{"prompt": "two cats"}\n{"prompt": "tw')
    with pytest.raises(LoadError, match="line 2"):
        datasets.read(tmp_path / "broken.jsonl")
    (tmp_path / "twice.json").write_text('[{"prompt": "two cats", "id": 1}, {"prompt": "two cups", "id": 1}]')
    with pytest.raises(SettingsError, match="rows 1 and 2"):
        datasets.read(tmp_path / "twice.json")
    (tmp_path / "empty.json").write_text("[]")
    with pytest.raises(LoadError, match="no prompts"):
        datasets.read(tmp_path / "empty.json")
    with pytest.raises(UnknownName, match="cococount"):
        datasets.load("cocoount")
    with pytest.raises(SettingsError, match="no file"):
        datasets.load("mine.json")


def test_what_is_written_is_read_back(tmp_path):
    made = datasets.make()
    for name in ("a.json", "a.jsonl"):
        assert datasets.read(datasets.write(made, tmp_path / name)) == made


# --- sets made here


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_make_makes_meets_the_specification(seed):
    made = datasets.make("paper", seed)
    assert datasets.check(made) == []
    assert set(Counter(one.int_number for one in made).values()) == {40}
    assert datasets.make("paper", seed) == made
    assert datasets.make("paper", seed + 1) != made


def broken(row, **changes):
    made = [one.to_dict() for one in datasets.make()]
    made[row - 1] = {**made[row - 1], **changes}
    return [entry(one, i) for i, one in enumerate(made, 1)]


@pytest.mark.parametrize(
    ("row", "changes", "rule"),
    [
        (1, {"id": 2}, "id"),
        (1, {"level": 2}, "levels"),
        (1, {"level": 7}, "level"),
        (1, {"prompt": "A photo of two apples", "object": "apple", "object_plural": "apples"}, "object"),
        (1, {"scene": "on a table"}, "format"),
        (1, {"scene": ""}, "fields"),
        (1, {"difficulty_tag": "easy"}, "fields"),
        (1, {"source": "me"}, "fields"),
        (1, {"prompt": "Two owls", "object": "owl", "object_plural": "owls", "number": "Two"}, "prompt"),
        (1, {"prompt": "A photo of 2 owls", "object": "owl", "object_plural": "owls", "number": "2"}, "count"),
        (121, {"prompt": "A photo of two owls on six hills", "object": "owl", "object_plural": "owls"},
         "second number"),
        (121, {"prompt": "A photo of two owls on some hills", "object": "owl", "object_plural": "owls"},
         "vague quantifier"),
        (121, {"prompt": "A photo of two owls without trees", "object": "owl", "object_plural": "owls"}, "negation"),
        (121, {"prompt": "A photo of two owls in a fading light", "object": "owl", "object_plural": "owls",
               "scene": "in a fading light"}, "verb"),
        (221, {"prompt": "A photo of two owls in a hall with an owl", "object": "owl", "object_plural": "owls",
               "scene": "in a hall", "distractor": "an owl"}, "distractor"),
        (1, {"prompt": "A photo of twenty owls", "object": "owl", "object_plural": "owls", "number": "twenty",
             "int_number": 20}, "count"),
    ],
)  # fmt: skip
def test_every_rule_can_be_broken(row, changes, rule):
    assert rule in {violation.rule for violation in datasets.check(broken(row, **changes))}


def test_sizes_duplicates_and_balance():
    made = datasets.make()
    rules = {v.rule for v in datasets.check([*made[1:], made[-1]])}
    assert {"id", "duplicate", "levels"} <= rules
    assert "size" in {v.rule for v in datasets.check(made[:-1])}
    twos = [one for one in made if one.int_number == 2 and one.level == 1]
    assert "balance" in {v.rule for v in datasets.check([one for one in made if one not in twos])}


# --- the embedded models' own


def test_mini_has_two_splits_that_share_nothing():
    test, tune = datasets.load("mini"), datasets.load("mini", "tune")
    assert (len(test), len(tune), len(datasets.load("mini", "all"))) == (324, 108, 432)
    for key in (
        lambda one: one.prompt,
        lambda one: one.seed,
        lambda one: one.id,
        lambda one: (one.object, one.scene),
    ):
        assert not {key(one) for one in test} & {key(one) for one in tune}
    for split in (test, tune):
        assert len({one.prompt for one in split}) == len(split)
        assert len(set(Counter(one.int_number for one in split).values())) == 1
        assert {one.int_number for one in split} == set(range(2, 11))
    nouns = Counter(one.object for one in test)
    assert max(nouns.values()) - min(nouns.values()) <= 1
    assert datasets.mini("test", seed=2) != test
    with pytest.raises(SettingsError, match="each"):
        datasets.mini("tune", 1000)


def test_mini_says_only_what_the_embedded_models_know():
    from athena.mini import words

    for one in datasets.load("mini", "all"):
        words.check(one.prompt)
        assert entry({"prompt": one.prompt}).object == one.object


@needs_published
def test_any_set_can_be_split_by_template():
    whole, test, tune = (datasets.load(SHARED / "CoCoCount_E.json", s) for s in ("all", "test", "tune"))
    assert len(test) + len(tune) == len(whole) == 648
    assert 0.1 < len(tune) / 648 < 0.4
    assert not {(one.object, one.scene) for one in test} & {(one.object, one.scene) for one in tune}


# --- the command


def test_the_command(say, tmp_path):
    made = say("datasets", "make", "--spec", "paper", "--seed", "1", "--out", tmp_path / "mine.json")
    assert made.code == 0 and "360 prompts" in made.out
    assert json.loads(say("datasets", "make").out) == json.loads((tmp_path / "mine.json").read_text())
    assert say("datasets", "check", tmp_path / "mine.json").code == 0
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows[3] |= {"level": 2}
    rows[5] = {"prompt": "no number"}
    rows[8] = rows[7] | {"id": 999}
    (tmp_path / "bad.json").write_text(json.dumps(rows))
    bad = say("datasets", "check", tmp_path / "bad.json")
    assert bad.code == 3 and "row 4" in bad.out and "row 6" in bad.out and "violations" in bad.out
    assert "row 9: duplicate" in bad.out and "stands in row 8 already" in bad.out  # the broken row 6 counts
    assert say("datasets", "check", tmp_path / "bad.json", "--json").json[0]["rule"] == "unreadable"
    assert say("datasets", "check", tmp_path / "none.json").code == 1
    assert say("datasets", "make", "--spec", "papper").code == 2
    assert "cococount-e" in say("datasets", "list").out
