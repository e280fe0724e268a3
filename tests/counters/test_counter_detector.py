"""From a detector's logits to what counts, with the processors' own post-processing; then whole tiny detectors."""

import copy
from importlib.util import find_spec

import numpy as np
import pytest
import tiny_detectors
import torch
from PIL import Image
from tiny_detectors import scripted

from athena import counters
from athena.counters import DEFAULT, PAPER, Detector, Settings
from athena.errors import CounterError, SettingsError, UnknownName

LEFT, MIDDLE, RIGHT = (0.0, 0.0, 0.2, 0.5), (0.4, 0.0, 0.6, 0.5), (0.8, 0.0, 1.0, 0.5)
WHITE = Image.new("RGB", (60, 40), "white")


def noise(width=60, height=50, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def counted(boxes, noun="apple", prompt="", **options):
    return len(scripted(boxes, **options)([WHITE], [noun], [prompt])[0])


# --- thresholds and the caption


def test_the_caption_is_the_noun_in_lower_case_and_a_full_stop():
    counter = scripted([], [], [], [])
    counter([WHITE] * 4, ["apple", "Snow Globe", "St. Bernard", "cat?"])
    assert counter.model.captions == ["apple.", "snow globe.", "st bernard.", "cat."]


def test_boxes_come_back_in_pixels_with_confidence_and_label():
    [found] = scripted([(LEFT, {"apple": 0.9}), (RIGHT, {"apple": 0.4})])([WHITE], ["apple"])
    assert found.xyxy.tolist() == pytest.approx(np.array([[0, 0, 12, 20], [48, 0, 60, 20]]))
    assert found.confidence.tolist() == pytest.approx([0.9, 0.4])
    assert found.data["class_name"].tolist() == ["apple", "apple"]
    assert found.class_id.tolist() == [0, 0]


@pytest.mark.parametrize(("confidence", "count"), [(0.34, 0), (0.36, 1)])
def test_the_box_threshold(confidence, count):
    assert counted([(LEFT, {"apple": confidence})]) == count
    assert counted([(LEFT, {"apple": confidence})], box_threshold=0.2) == 1
    assert counted([(LEFT, {"apple": confidence})], settings="paper") == count


@pytest.mark.parametrize(("confidence", "count"), [(0.24, 0), (0.26, 1)])
def test_the_text_threshold(confidence, count):
    """Sure of "snow", and more or less of the head."""
    boxes = [(LEFT, {"snow": 0.9, "globe": confidence})]
    assert counted(boxes, "snow globe") == count
    assert counted(boxes, "snow globe", settings="paper") == count
    assert counted(boxes, "snow globe", text_threshold=0.5) == 0


def test_half_denoised_images_have_a_threshold_of_their_own():
    counter = scripted(*[[(LEFT, {"apple": 0.3})]] * 4, estimate_threshold=0.2)
    assert len(counter([WHITE], ["apple"])[0]) == 0
    assert len(counter.for_estimates()([WHITE], ["apple"])[0]) == 1
    assert [n for n, _ in counters.count(counter, [WHITE], ["apple"], estimate=True)] == [1]
    assert [n for n, _ in counters.count(counter, [WHITE], ["apple"])] == [0]
    assert counter.for_estimates().name == counter.name
    assert (same := scripted()).for_estimates() is same


# --- labels


def test_the_published_judge_wants_the_label_to_the_letter():
    boxes = [(LEFT, {"snow": 0.9, "globe": 0.8}), (MIDDLE, {"globe": 0.9}), (RIGHT, {"snow": 0.9})]
    assert counted(boxes, "snow globe", strict=True) == 1
    assert counted(boxes, "snow globe") == 2
    assert counted(boxes, "Snow Globe") == 2
    assert counted(boxes, "Snow Globe", settings="paper") == 0


def test_another_noun_of_the_prompt_owns_its_label():
    boxes = [(LEFT, {"snow": 0.9, "globe": 0.8}), (MIDDLE, {"globe": 0.9})]
    assert counted(boxes, "snow globe", "two snow globes on a shelf") == 2
    assert counted(boxes, "snow globe", "two snow globes beside a globe") == 1


def test_the_prompts_reach_a_counter_that_asks_for_them():
    counter = scripted([(LEFT, {"globe": 0.9})], [(LEFT, {"globe": 0.9})])
    prompts = ["a snow globe and a globe", "a snow globe"]
    assert [n for n, _ in counters.count(counter, [WHITE] * 2, ["snow globe"] * 2, prompts)] == [0, 1]
    assert [n for n, _ in counters.count(counters.Scripted([5]), [WHITE], ["cup"], ["a cup"])] == [5]


@pytest.mark.parametrize("sure", [{"dumb": 0.9}, {"##bell": 0.9}, {"dumb": 0.9, "##bell": 0.3}])
def test_a_word_in_pieces_is_seen_when_one_piece_is(sure):
    assert counted([(LEFT, sure)], "dumbbell") == 1
    assert counted([(LEFT, sure)], "dumbbell", strict=True) == (len(sure) == 2)


@pytest.mark.parametrize("token", [".", "[CLS]", "[SEP]"])
def test_what_is_no_word_does_not_count_and_does_not_harm(token):
    """Grounding DINO may put its confidence on the full stop, or on the marks at the caption's ends."""
    assert counted([(LEFT, {token: 0.9})]) == 0
    assert counted([(LEFT, {"apple": 0.9, token: 0.9})]) == 1


@pytest.mark.parametrize(
    ("noun", "word"), [("people", "people"), ("person", "person"), ("glasses", "glasses"), ("sheep", "sheep")]
)
def test_nouns_with_odd_plurals(noun, word):
    assert counted([(LEFT, {word: 0.9}), (RIGHT, {word: 0.5})], noun) == 2


# --- boxes


def test_duplicates_and_groups():
    boxes = [(LEFT, 0.9), ((0.0, 0.0, 0.21, 0.5), 0.8), (RIGHT, 0.7), ((0.0, 0.0, 1.0, 0.5), 0.6)]
    boxes = [(box, {"apple": confidence}) for box, confidence in boxes]
    assert counted(boxes) == 2
    assert counted(boxes, nms=None) == 3
    assert counted(boxes, drop_groups=False) == 3
    assert counted(boxes, settings="paper") == 4


def test_a_box_that_does_not_name_the_noun_hides_none_that_does():
    boxes = [(LEFT, {"snow": 0.9}), (LEFT, {"snow": 0.5, "globe": 0.5}), ((0, 0, 1, 0.5), {"snow": 0.9})]
    assert counted([*boxes, (RIGHT, {"globe": 0.5})], "snow globe") == 2


def test_boxes_end_at_the_images_edge():
    [found] = scripted([((-0.2, -0.1, 0.5, 1.3), {"apple": 0.9})])([WHITE], ["apple"])
    assert found.xyxy.tolist() == pytest.approx(np.array([[0, 0, 30, 40]]))


def test_no_boxes_and_many_boxes():
    many = [
        ((x / 30, y / 30, (x + 0.9) / 30, (y + 0.9) / 30), {"apple": 0.9})
        for x in range(30)
        for y in range(30)
    ]
    a, b, c = scripted([], many, [(LEFT, {"apple": 0.1})])([WHITE] * 3, ["apple"] * 3)
    assert (len(a), len(b), len(c)) == (0, 900, 0)
    assert a.xyxy.shape == (0, 4)


# --- images


def test_the_jpeg_round_trip_is_the_papers():
    def pixels(**options):
        counter = scripted([], **options)
        counter([noise()], ["apple"])
        return counter.model.pixels[0]

    assert torch.equal(pixels(), pixels(jpeg=False))
    assert not torch.equal(pixels(), pixels(jpeg=True))
    assert torch.equal(pixels(settings="paper"), pixels(jpeg=True))


def test_a_batch_of_unequal_sizes_keeps_its_order_and_is_never_padded():
    sizes = [(60, 40), (40, 60), (60, 40), (30, 30), (60, 40)]
    script = {0: 1, 2: 2, 4: 3, 1: 4, 3: 5}  # in the order of the batches: the count is the number of boxes
    row = [((i / 6, 0, (i + 1) / 6, 1), {"apple": 0.9}) for i in range(6)]
    counter = scripted(*(row[:n] for n in script.values()), batch_size=2)
    found = counter([Image.new("RGB", size) for size in sizes], ["apple"] * 5)
    assert [len(x) for x in found] == [script[i] for i in range(5)]
    for x, (width, height) in zip(found, sizes, strict=True):
        assert x.xyxy[0].tolist() == pytest.approx([0, 0, width / 6, height])
    assert len({tuple(p.shape) for p in counter.model.pixels}) == 3


def test_any_kind_of_image():
    images = [WHITE.convert("L"), WHITE.convert("RGBA"), np.asarray(WHITE), np.asarray(WHITE) / 255.0]
    found = scripted(*[[(LEFT, {"apple": 0.9})]] * 4)(images, ["apple"] * 4)
    assert [len(x) for x in found] == [1, 1, 1, 1]


# --- how it is called


def test_no_images():
    assert scripted()([], []) == []


@pytest.mark.parametrize(
    ("images", "nouns", "prompts"),
    [
        (WHITE, ["apple"], None),
        ([WHITE] * 5, "apple", None),
        ([WHITE], ["apple"], "p"),
        ([WHITE], ["apple", "cup"], None),
        ([WHITE], ["apple"], []),
    ],
)
def test_called_wrongly(images, nouns, prompts):
    with pytest.raises(CounterError, match=r'counter\(\[image\], \["apple"\]\)'):
        scripted([])(images, nouns, prompts)


@pytest.mark.parametrize("noun", ["", " ", "...", None, 7])
def test_a_noun_that_is_none(noun):
    with pytest.raises(CounterError, match="a noun is a word or a few"):
        scripted([])([WHITE], [noun])


def test_a_noun_the_tokenizer_cannot_read_is_not_zero_objects():
    with pytest.raises(CounterError, match='cannot read "苹果": write the noun in English'):
        scripted([], [])([WHITE] * 2, ["apple", "苹果"])


def test_nan_is_not_zero_objects():
    with pytest.raises(CounterError, match='dtype="float32"'):
        scripted([(LEFT, {"apple": float("nan")})])([WHITE], ["apple"])


def test_a_processor_that_cannot_post_process():
    with pytest.raises(CounterError, match="AutoProcessor"):
        Detector(tiny_detectors.ScriptedModel(), tiny_detectors.bert_tokenizer())


# --- settings


def test_the_two_settings():
    assert Settings(0.35, 0.25, None, True, True, None, False) == PAPER
    assert Settings() == DEFAULT
    assert (DEFAULT.nms, DEFAULT.drop_groups, DEFAULT.strict, DEFAULT.jpeg) == (0.7, True, False, False)


def test_the_name_tells_the_settings():
    assert scripted(name="x").name == "x"
    assert scripted().name == "grounding-dino"
    assert scripted(name="x", settings="paper").name == "x@paper"
    assert scripted(name="x", settings=PAPER).name == "x@paper"
    assert scripted(name="x", nms=None, strict=True).name == "x(strict=True, nms=None)"
    assert scripted(name="x", settings="paper", nms=0.7, jpeg=False).name != scripted(name="x").name


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"settings": "papre"}, UnknownName, 'Did you mean "paper"'),
        ({"settings": 3}, SettingsError, '"default", "paper" or a counters.Settings'),
        ({"treshold": 0.3}, UnknownName, "box_threshold"),
        ({"box_threshold": 35}, SettingsError, "from 0 to 1, got 35"),
        ({"box_threshold": True}, SettingsError, "got True"),
        ({"text_threshold": None}, SettingsError, "got None"),
        ({"nms": float("nan")}, SettingsError, "got nan"),
        ({"strict": "yes"}, SettingsError, "True or False"),
        ({"batch_size": 0}, SettingsError, "whole number from 1"),
    ],
)
def test_settings_out_of_range(options, error, says):
    with pytest.raises(error, match=says):
        scripted(**options)


# --- whole detectors, with random weights

KINDS = [
    kind if kind != "omdet-turbo" else pytest.param(kind, marks=pytest.mark.skipif(
        find_spec("torchvision") is None, reason="OmDet-Turbo's processor wants torchvision"
    ))
    for kind in tiny_detectors.BUILD
]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(kind):
        if kind not in made:
            made[kind] = tiny_detectors.save(kind, tmp_path_factory.mktemp("detectors") / kind)
        return made[kind]

    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_detector_counts_the_same_alone_and_in_a_batch(folders, kind):
    everything = {"box_threshold": 0.0, "text_threshold": 0.0, "nms": None, "drop_groups": False}
    counter = counters.load(folders(kind), device="cpu", **everything)
    assert isinstance(counter, Detector) and isinstance(counter, counters.Counter)
    images = [noise(60, 50, 0), noise(60, 80, 1), noise(60, 50, 2), noise(90, 50, 3)]
    nouns = ["apple", "snow globe", "a very long noun of a great many words indeed", "cat"]
    together = counter(images, nouns)
    alone = [counter([image], [noun])[0] for image, noun in zip(images, nouns, strict=True)]
    assert sum(len(x) for x in together) > 20
    for one, other, image in zip(together, alone, images, strict=True):
        assert one.xyxy.shape == other.xyxy.shape
        assert np.allclose(one.xyxy, other.xyxy, atol=1e-3)
        assert np.allclose(one.confidence, other.confidence, atol=1e-4)
        assert (one.data["class_name"] == other.data["class_name"]).all()
        assert one.xyxy.min() >= 0 and (one.xyxy.max(axis=0) <= [*image.size, *image.size]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", ["default", "paper"])
def test_a_saved_detector_with_each_setting(folders, kind, settings):
    counter = counters.load(f"hf:{folders(kind)}", settings=settings)
    assert counter.settings == counters.SETTINGS[settings]
    found = counters.count(counter, [noise(), noise(40, 90)], ["apple", "Cat"])
    assert all(n == len(boxes) for n, boxes in found)


@pytest.mark.parametrize(
    ("kind", "threshold"), [("grounding-dino", 0.35), ("mm-grounding-dino", 0.35), ("owlv2", 0.1)]
)
def test_each_kind_has_a_threshold_of_its_own(folders, kind, threshold):
    assert counters.load(folders(kind)).box_threshold == threshold
    assert counters.load(folders(kind), settings="paper").box_threshold == 0.35
    assert len(counters.load(folders(kind), box_threshold=1.0)([noise()], ["apple"])[0]) == 0


def test_a_query_is_a_photo_of_the_noun(folders):
    counter = counters.load(folders("owlv2"))
    assert counter.text(" Snow Globe ") == "a photo of a snow globe"
    seen = copy.copy(counter).detect([noise()], ["Apple"])[0]
    assert set(seen.data["class_name"].tolist()) <= {"Apple"}


def test_tiny_and_narrow_images(folders):
    counter = counters.load(folders("grounding-dino"))
    assert len(counter([noise(1, 1), noise(400, 3), noise(2, 300)], ["apple"] * 3)) == 3


def test_an_image_the_model_chokes_on(monkeypatch):
    def choke(*_, **__):
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(tiny_detectors.ScriptedModel, "__call__", choke)
    with pytest.raises(CounterError, match="cannot look at an image of 60 x 40: shapes cannot"):
        scripted([])([WHITE], ["apple"])


@pytest.mark.parametrize("kind", ["grounding-dino", "owlv2"])
def test_half_precision(folders, kind):
    counter = counters.load(folders(kind), dtype="bfloat16")
    assert counter.model.dtype == torch.bfloat16
    assert counter.name == f"{folders(kind)}:bfloat16"
    assert len(counter([noise()], ["apple"])) == 1
