"""From prompt to `Result`: costs, batches of many branches, settings, and what is refused."""

import threading

import numpy as np
import pytest
import torch

import athena
import reference
import zoo
from athena import Athena, Finish, Probe, Result
from athena.counters import Scripted
from athena.errors import (
    CounterError,
    LoadError,
    PipelineError,
    PromptError,
    SettingsError,
    UnknownName,
)
from drive import SEVEN, bare, built, furthest

GUIDED = [name for name in zoo.PIPELINES if name != "flux"]


def steerer(name: str, counts=(), **options) -> Athena:
    return Athena(zoo.PIPELINES[name](), Scripted(counts), progress=False, **options)


def watched(pipe) -> dict[str, int]:
    """What really goes through the models, counted by hooks of torch's own."""
    seen = {"rows": 0, "calls": 0, "texts": 0, "encodes": 0, "decodes": 0}

    def denoiser(module, args, kwargs):
        x = args[0] if args else kwargs["hidden_states"]
        seen["rows"] += len(x)
        seen["calls"] += 1

    def encoder(module, args, kwargs):
        ids = args[0] if args else kwargs["input_ids"]
        seen["texts"] += len(ids)
        seen["encodes"] += 1

    (getattr(pipe, "unet", None) or pipe.transformer).register_forward_pre_hook(denoiser, with_kwargs=True)
    for part, module in pipe.components.items():
        if part.startswith("text_encoder") and module is not None:
            module.register_forward_pre_hook(encoder, with_kwargs=True)
    decode = pipe.vae.decode

    def counted(*args, **kwargs):
        seen["decodes"] += 1
        return decode(*args, **kwargs)

    pipe.vae.decode = counted
    return seen


# Denoiser rows at T=50, t_est=20, t_steer=5. The published code needs 100, 110, 102, 150, 162 and 200.
ROWS = [
    ("unsteered", [7], 100, 50, 1),
    ("static", [7], 105, 55, 1),
    ("feedback", [7, 7], 100, 50, 2),
    ("feedback", [5, 7], 143, 74, 2),
    ("adaptive", [7, 7], 100, 50, 2),
    ("adaptive", [5, 7, 7], 143, 74, 3),
    ("adaptive", [5, 6, 7], 186, 98, 3),
    ("reseed", [5, 4, 3, 7], 220, 110, 4),
]


@pytest.mark.parametrize("name", ["sdxl", "sd3", "flux", "qwen", "zimage"])
@pytest.mark.parametrize(("strategy", "counts", "guided", "distilled", "decodes"), ROWS)
def test_rows_and_decodes(name, strategy, counts, guided, distilled, decodes):
    athena = steerer(name, counts)
    seen = watched(athena.pipe)
    result = athena(
        SEVEN,
        strategy=strategy,
        seed=1,
        gamma=1,
        num_inference_steps=50,
        estimate_step=20,
        steer_steps=5,
        **zoo.CALL[name],
    )
    expected = guided if name in GUIDED else distilled
    if strategy == "reseed":
        expected = (50 + 20 + 20) * (2 if name in GUIDED else 1)  # the nearest of three is finished
    assert seen["rows"] == result.cost.denoiser_rows == expected
    assert seen["decodes"] == result.cost.vae_decodes == (4 if strategy == "reseed" else decodes)
    assert seen["calls"] == result.cost.denoiser_calls
    assert result.cost.counter_calls == len(counts)


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_each_distinct_prompt_is_encoded_once(name):
    """adaptive enters the pipe nine times; prompt, negative and control go through each encoder once."""
    athena = steerer(name, [5, 6, 7])
    seen = watched(athena.pipe)
    plain = zoo.PIPELINES[name]()
    bare_seen = watched(plain)
    call = {**zoo.CALL[name], "num_inference_steps": 4}
    bare(plain, [SEVEN], [1], call)
    athena(SEVEN, seed=1, estimate_step=2, steer_steps=1, **call)
    encoders = sum(k.startswith("text_encoder") and v is not None for k, v in plain.components.items())
    assert seen["texts"] == seen["encodes"] == bare_seen["texts"] + encoders


def test_a_batch_encodes_each_prompt_once_too():
    athena = steerer("sd15", [5] * 8 + [7] * 8 + [7] * 8)
    seen = watched(athena.pipe)
    prompts = [
        f"a photo of seven {noun}"
        for noun in ("cats", "cups", "dogs", "cars", "cats", "cups", "dogs", "cars")
    ]
    athena(
        prompts,
        seed=list(range(8)),
        num_inference_steps=3,
        estimate_step=1,
        steer_steps=1,
        **zoo.CALL["sd15"],
    )
    assert seen["encodes"] <= 2 + 2  # prompts, negative, and the controls of two batches


BRANCHES = {  # prompt, seed, and the counts each image shows in turn
    "a photo of seven apples": (1, [7, 7]),
    "a photo of two cats": (2, [4, 2, 2]),
    "a photo of five dogs": (3, [3, 4, 5]),
    "a photo of nine cups": (4, [10, 8, 8]),
    "a photo of three cars": (5, [1, 1, 3]),
    "a photo of six birds": (6, [0, 6, 6]),
}


class ByNoun:
    """Scripted for each noun apart, so that the order of a batch does not matter."""

    name = "by noun"

    def __init__(self):
        self.counts = {athena.parse_prompt(p).noun: list(counts) for p, (_, counts) in BRANCHES.items()}

    def __call__(self, images, nouns):
        return [self.counts[noun].pop(0) for noun in nouns]


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
@pytest.mark.parametrize("batch_size", [16, 5])
def test_six_branches_in_a_batch_are_as_one_by_one(name, batch_size):
    call = {**zoo.CALL[name], "num_inference_steps": 6, "estimate_step": 3, "steer_steps": 2, "gamma": 1.0}
    pipe = zoo.PIPELINES[name]()
    prompts, seeds = list(BRANCHES), [seed for seed, _ in BRANCHES.values()]
    together = Athena(pipe, ByNoun(), batch_size=batch_size)(prompts, seed=seeds, output_type="np", **call)
    one_by_one = Athena(pipe, ByNoun())
    for prompt, seed, result in zip(prompts, seeds, together, strict=True):
        alone = one_by_one(prompt, seed=seed, output_type="np", **call)
        assert np.abs(result.image - alone.image).max() < 1e-4
        assert result.attempts == alone.attempts
        assert (result.count, result.prompt, result.seed) == (alone.count, alone.prompt, alone.seed)
        assert result.cost.denoiser_rows == alone.cost.denoiser_rows
    assert [len(result.attempts) for result in together] == [1, 2, 3, 3, 3, 2]


@pytest.mark.parametrize("name", ["sdxl", "sd3", "flux", "sd15", "qwen"])
@pytest.mark.parametrize("counts", [[7], [5, 7], [5, 6], [9, 6], [0, 0]])
def test_adaptive_is_the_papers(name, counts):
    """Against the oracle's adaptive: same attempts, same latents."""
    pipe = zoo.PIPELINES[name]()
    how = {"t_est": 4, "t_steer": 2}
    script = list(counts)
    expected = reference.adaptive(
        pipe,
        "a photo of {} apples",
        7,
        1,
        8,
        gamma=1.0,
        count=lambda image: script.pop(0),
        **how,
        **zoo.CALL[name],
    )
    result = Athena(pipe, Scripted(counts))(
        SEVEN,
        seed=1,
        num_inference_steps=8,
        estimate_step=4,
        steer_steps=2,
        gamma=1.0,
        output_type="latent",
        **zoo.CALL[name],
    )
    assert furthest(result.image, expected.latents[0]) < 1e-4
    assert [a.gamma for a in result.attempts] == [gamma for _, gamma, _ in expected.attempts]
    assert [a.control for a in result.attempts] == [control for control, _, _ in expected.attempts]


def test_batch_size_bounds_the_rows_of_a_call():
    athena = steerer("sdxl", [5] * 7 + [7] * 14, batch_size=6)
    largest = []
    athena.pipe.unet.register_forward_pre_hook(lambda module, args: largest.append(len(args[0])))
    athena(
        [SEVEN] * 7,
        seed=list(range(7)),
        num_inference_steps=3,
        estimate_step=2,
        steer_steps=1,
        **zoo.CALL["sdxl"],
    )
    assert max(largest) == 6


@pytest.mark.parametrize("name", list(zoo.PIPELINES))
def test_unsteered_is_the_bare_pipe(name):
    call = {**zoo.CALL[name], "num_inference_steps": 4, "output_type": "latent"}
    pipe = zoo.PIPELINES[name]()
    expected = bare(pipe, [SEVEN], [1], call)
    result = Athena(pipe)(SEVEN, strategy="unsteered", seed=1, **call)
    assert furthest(result.image, expected[0]) == 0.0
    assert result.count is None
    assert not result.exact


def test_everything_a_result_tells(tmp_path):
    athena = steerer("sdxl", [5, 6, 7])
    result = athena(SEVEN, seed=3, num_inference_steps=10, **zoo.CALL["sdxl"])
    assert (result.target, result.count, result.exact) == (7, 7, True)
    assert (result.strategy, result.seed, result.counter, result.judge) == (
        "adaptive",
        3,
        "scripted",
        "scripted",
    )
    assert [(a.control, a.gamma, a.count, a.finished) for a in result.attempts] == [
        (None, 0.0, 5, False),
        ("a photo of five apples", 5.0, 6, False),
        ("a photo of five apples", 10.0, None, True),
    ]
    assert result.settings == {"estimate_step": 6, "steer_steps": 2, "gamma": 5.0, "steps": 10}, (
        "sdxl's, scaled"
    )
    again = Result.load(result.save(tmp_path / "deep" / "seven.png"))
    assert again.image.tobytes() == result.image.tobytes()
    assert again.to_dict() == result.to_dict()
    assert again.prompt == result.prompt
    assert again.attempts == result.attempts


def test_results_with_boxes_come_back(tmp_path):
    import supervision as sv

    class Boxes:
        name = "boxes"

        def __call__(self, images, nouns):
            data = {"class_name": np.array(["apple", "apple"])}
            xyxy = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], dtype=np.float32)
            confidence = np.array([0.9, 0.8], dtype=np.float32)
            return [
                sv.Detections(xyxy=xyxy, confidence=confidence, class_id=np.zeros(2, int), data=data)
            ] * len(images)

    result = Athena(zoo.flux(), Boxes())("two apples", seed=1, num_inference_steps=2, **zoo.CALL["flux"])
    assert (result.count, result.exact) == (2, True)
    again = Result.load(result.save(tmp_path / "two.png"))
    assert again.detections.xyxy.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert again.detections.data["class_name"].tolist() == ["apple", "apple"]


def test_what_cannot_be_saved_or_loaded(tmp_path):
    athena = steerer("flux", [])
    latents = athena(
        SEVEN, strategy="unsteered", output_type="latent", num_inference_steps=1, **zoo.CALL["flux"]
    )
    with pytest.raises(SettingsError, match="output_type"):
        latents.save(tmp_path / "x.png")
    picture = steerer("flux", [7])(SEVEN, strategy="unsteered", num_inference_steps=1, **zoo.CALL["flux"])
    with pytest.raises(SettingsError, match=r"x\.png"):
        picture.save(tmp_path / "x.jpg")
    picture.image.save(tmp_path / "plain.png")
    with pytest.raises(LoadError, match="not saved by athena"):
        Result.load(tmp_path / "plain.png")
    with pytest.raises(LoadError, match="cannot be read"):
        Result.load(tmp_path / "nothing.png")
    from PIL.PngImagePlugin import PngInfo

    for text in ("not json", "[]", "{}"):
        info = PngInfo()
        info.add_text("athena", text)
        picture.image.save(tmp_path / "other.png", pnginfo=info)
        with pytest.raises(LoadError, match="records"):
            Result.load(tmp_path / "other.png")


def test_arrays_are_judged_like_pictures():
    for kind, shape in (("np", (64, 64, 3)), ("pt", (3, 64, 64))):
        result = steerer("flux", [7])(
            SEVEN, strategy="unsteered", output_type=kind, num_inference_steps=2, **zoo.CALL["flux"]
        )
        assert result.exact
        assert tuple(result.image.shape) == shape


def test_counter_and_judge_are_two():
    counter, judge = Scripted([7], name="counter"), Scripted([6], name="judge")
    result = Athena(zoo.flux(), counter, judge)(SEVEN, num_inference_steps=3, **zoo.CALL["flux"])
    assert (result.attempts[0].count, result.count, result.counter, result.judge) == (
        7,
        6,
        "counter",
        "judge",
    )


def test_a_plain_function_counts():
    asked = []

    def seven(image, noun):
        asked.append((image.size, noun))
        return np.int64(7)

    result = Athena(zoo.flux(), seven)(SEVEN, num_inference_steps=3, **zoo.CALL["flux"])
    assert result.exact
    assert asked == [((64, 64), "apple")] * 2


def test_seeds():
    athena = steerer("flux", [7] * 40)
    call = {**zoo.CALL["flux"], "num_inference_steps": 2, "strategy": "unsteered"}
    one, two = athena([SEVEN, SEVEN], seed=[1, 2], **call)
    same = athena([SEVEN, SEVEN], seed=1, **call)
    assert one.image.tobytes() == same[0].image.tobytes() == same[1].image.tobytes()
    assert one.image.tobytes() != two.image.tobytes()
    drawn = athena([SEVEN, SEVEN], **call)
    assert drawn[0].seed != drawn[1].seed
    several = athena(SEVEN, seed=5, num_images_per_prompt=3, **call)
    assert [result.seed for result in several] == [5, 6, 7]


def test_reseed_draws_noise_of_its_own():
    athena = steerer("flux", [5, 6, 7, 7])
    result = athena(SEVEN, strategy="reseed", seed=1, num_inference_steps=4, **zoo.CALL["flux"])
    seeds = [attempt.seed for attempt in result.attempts]
    assert seeds[0] == 1
    assert len(set(seeds)) == 3
    alone = steerer("flux", [7, 7])(SEVEN, seed=seeds[2], num_inference_steps=4, **zoo.CALL["flux"])
    assert alone.image.tobytes() == result.image.tobytes()


def test_a_strategy_of_ones_own():
    def twice_away(ask, gamma):
        first = yield Probe()
        return Finish(ask.with_count(first.count + 1), gamma * 3)

    result = steerer("flux", [5, 7])(
        SEVEN, strategy=twice_away, gamma=2, num_inference_steps=4, **zoo.CALL["flux"]
    )
    assert (result.strategy, result.attempts[1].control, result.attempts[1].gamma) == (
        "twice_away",
        "a photo of six apples",
        6.0,
    )


def nothing(ask, gamma):
    yield Probe()


def a_probe_at_the_end(ask, gamma):
    yield Probe()
    return Probe()


def yields_a_finish(ask, gamma):
    yield Finish()


def yields_an_attempt(ask, gamma):
    attempt = yield Probe()
    yield attempt


def a_string_for_control(ask, gamma):
    yield Probe("three apples", gamma)


@pytest.mark.parametrize(
    ("strategy", "match"),
    [
        (nothing, "returned None"),
        (a_probe_at_the_end, r"returned Probe.*return Finish"),
        (yields_a_finish, r"yielded Finish.*yield Probe"),
        (yields_an_attempt, "yielded Attempt"),
        (a_string_for_control, r"ask\.with_count"),
    ],
)
def test_a_strategy_that_gives_nonsense_is_told(strategy, match):
    with pytest.raises(SettingsError, match=match):
        steerer("flux", [5])(SEVEN, strategy=strategy, num_inference_steps=2, **zoo.CALL["flux"])


def test_images_come_as_they_get_done():
    """Ctrl-C loses nothing that was finished: a stream hands results over early."""
    athena = steerer("flux", [7] * 100, batch_size=2)
    call = {**zoo.CALL["flux"], "num_inference_steps": 2, "estimate_step": 1}
    stream = athena.stream([SEVEN] * 10, seed=list(range(10)), **call)
    first = [next(stream)[0] for _ in range(2)]
    assert first == [0, 1]
    asked = len(athena.counter.seen)
    assert asked <= 8, "and does not probe all ten before it finishes one"
    stream.close()
    assert len(athena(SEVEN, **call).attempts) == 1, "a stream that was left does not hold the pipe"


@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (UnknownName, 'Did you mean "adaptive"', {"strategy": "adaptiv"}),
        (UnknownName, 'Did you mean "guidance_scale"', {"guidence_scale": 3.0}),
        (UnknownName, 'Did you mean "steer_steps"', {"steersteps": 3}),
        (UnknownName, "max_attempts", {"max_attempts": 3}),
        (SettingsError, "gamma", {"gamma": -1}),
        (SettingsError, "gamma", {"gamma": float("nan")}),
        (SettingsError, "1 to 4", {"estimate_step": 5}),
        (SettingsError, "1 to 4", {"estimate_step": 0}),
        (SettingsError, "0 to 4", {"steer_steps": 5}),
        (SettingsError, "num_inference_steps", {"num_inference_steps": 0}),
        (SettingsError, "seed", {"seed": -1}),
        (SettingsError, "seed", {"seed": 1.5}),
        (SettingsError, "seed", {"seed": [1, 2]}),
        (SettingsError, "seed", {"seed": 2**64}),
        (SettingsError, "seed: 2 given", {"seed": np.array([1, 2])}),
        (SettingsError, "batch_size", {"batch_size": 0}),
        (SettingsError, "seed=", {"generator": torch.Generator()}),
        (SettingsError, "expected a tensor", {"latents": np.zeros((1, 16, 16))}),
        (SettingsError, "new noise", {"latents": torch.zeros(1, 16, 16), "strategy": "reseed"}),
        (SettingsError, "as text", {"prompt_embeds": torch.zeros(1)}),
        (PromptError, "dog", {"object": "dog"}),
        (PromptError, "count", {"count": 3}),
    ],
)
def test_refused_before_any_denoising(error, match, options):
    athena = steerer("flux", [7])
    seen = watched(athena.pipe)
    with pytest.raises(error, match=match):
        athena(SEVEN, **{"num_inference_steps": 4, **zoo.CALL["flux"], **options})
    assert seen["rows"] == 0
    assert seen["encodes"] == 0


@pytest.mark.parametrize(
    ("prompt", "options", "match"),
    [
        (5, {}, "a list of them"),
        (None, {}, "a list of them"),
        (b"seven cats", {}, "a list of them"),
        ([SEVEN, 5], {}, "a prompt is a string"),
        (athena.parse_prompt(SEVEN).without_count(), {}, "with_count"),
        (athena.parse_prompt(SEVEN), {"count": 3}, "with_count"),
        (athena.parse_prompt(SEVEN), {"object": "dog"}, "parse_prompt"),
    ],
)
def test_what_is_no_prompt(prompt, options, match):
    athena = steerer("flux", [7, 7])
    seen = watched(athena.pipe)
    with pytest.raises(PromptError, match=match):
        athena(prompt, num_inference_steps=2, **options, **zoo.CALL["flux"])
    assert seen["rows"] == 0


def test_numbers_of_numpy_and_torch():
    call = {**zoo.CALL["flux"], "num_inference_steps": 2, "strategy": "static"}
    results = steerer("flux", [7, 7])([SEVEN, SEVEN], seed=np.array([1, 2]), gamma=np.float32(2), **call)
    assert [(r.seed, r.attempts[0].gamma) for r in results] == [(1, 2.0), (2, 2.0)]
    assert steerer("flux", [7])(SEVEN, seed=torch.tensor(3), gamma=np.int64(2), **call).seed == 3


@pytest.mark.parametrize("strategy", ["static", "feedback", "adaptive"])
def test_one_step_is_too_few_to_steer(strategy):
    athena = steerer("flux", [])
    seen = watched(athena.pipe)
    with pytest.raises(SettingsError, match=f'"{strategy}" needs at least two steps.*reseed.*unsteered'):
        athena(SEVEN, strategy=strategy, num_inference_steps=1, **zoo.CALL["flux"])
    assert seen["rows"] == 0


def test_one_step_is_enough_to_draw_anew():
    """SDXL-Turbo and FLUX.1-schnell: the estimate after the only step is the image."""
    call = {"num_inference_steps": 1, "seed": 1, **zoo.CALL["flux"], "output_type": "np"}
    plain = steerer("flux", [4])(SEVEN, strategy="unsteered", **call)
    assert plain.cost.denoiser_rows == 1
    drawn = steerer("flux", [5, 6, 7, 7])(SEVEN, strategy="reseed", **call)
    assert [a.count for a in drawn.attempts] == [5, 6, 7]
    assert drawn.cost.denoiser_rows == 3
    first = steerer("flux", [7, 7])(SEVEN, strategy="reseed", **call)
    assert abs(first.image - plain.image).max() == 0.0


@pytest.mark.parametrize("steps", [4, 8])
@pytest.mark.parametrize("name", ["flux", "sdxl"])
def test_few_steps_count_half_way_and_steer_before(name, steps):
    call = {"num_inference_steps": steps, "seed": 1, **zoo.CALL[name]}
    result = steerer(name, [5, 6, 7])(SEVEN, **call)
    assert [a.count for a in result.attempts] == [5, 6, None]
    assert 1 <= result.settings["steer_steps"] <= result.settings["estimate_step"] < steps


def test_steps_that_only_the_pipe_knows_are_checked_before_denoising():
    """SDXL's denoising_end cuts the schedule short."""
    athena = steerer("sdxl", [7, 7])
    with pytest.raises(PipelineError, match="before step 8"):
        athena(SEVEN, num_inference_steps=10, estimate_step=8, denoising_end=0.5, **zoo.CALL["sdxl"])


def test_without_a_counter():
    pipe = zoo.flux()
    with pytest.raises(SettingsError, match="needs a counter"):
        Athena(pipe)(SEVEN, **zoo.CALL["flux"])
    result = Athena(pipe)(SEVEN, strategy="static", num_inference_steps=2, **zoo.CALL["flux"])
    assert result.count is None


@pytest.mark.parametrize("thing", [None, 7, "text", object(), torch.nn.Linear(2, 2)])
def test_what_cannot_be_driven(thing):
    with pytest.raises(PipelineError, match="text-to-image"):
        Athena(thing, Scripted([]))


@pytest.mark.parametrize("thing", [7, object(), lambda: 3, lambda image: 3, Scripted])
def test_what_cannot_count(thing):
    with pytest.raises(CounterError, match="counter"):
        Athena(zoo.flux(), thing)


def test_what_a_counter_of_batches_may_not_do():
    class OneNumber:
        name = "one number"

        def __call__(self, images, nouns):
            return 7

    class OneArgument:
        name = "one argument"

        def __call__(self, images):
            return [7]

    with pytest.raises(CounterError, match="for each image"):
        Athena(zoo.flux(), OneNumber())(SEVEN, num_inference_steps=2, **zoo.CALL["flux"])
    with pytest.raises(CounterError, match="two arguments"):
        Athena(zoo.flux(), OneArgument())
    with pytest.raises(SettingsError, match="Preset"):
        Athena(zoo.flux(), OneNumber(), preset="sdxl")


@pytest.mark.parametrize("answer", [None, 2.5, "seven", -1, True, [7]])
def test_nonsense_counts(answer):
    with pytest.raises(CounterError, match="whole number"):
        Athena(zoo.flux(), lambda image, noun: answer)(SEVEN, num_inference_steps=2, **zoo.CALL["flux"])


def test_a_scheduler_that_cannot_be_read_is_refused_before_denoising():
    from diffusers import EDMEulerScheduler

    athena = steerer("sdxl", [7])
    athena.pipe.scheduler = EDMEulerScheduler()
    seen = watched(athena.pipe)
    with pytest.raises(PipelineError, match=r"EDMEulerScheduler.*static"):
        athena(SEVEN, num_inference_steps=2, **zoo.CALL["sdxl"])
    assert seen["rows"] == 0


@pytest.mark.parametrize("trouble", [ValueError, KeyboardInterrupt])
def test_a_counter_that_fails_leaves_the_pipe_as_it_was(trouble):
    pipe = zoo.sdxl()
    call = {**zoo.CALL["sdxl"], "num_inference_steps": 3, "output_type": "latent"}
    expected = bare(pipe, [SEVEN], [1], call)
    before = {k: id(v) for k, v in vars(pipe).items()}

    def fails(image, noun):
        raise trouble("on purpose")

    athena = Athena(pipe, fails)
    with pytest.raises(trouble):
        athena(SEVEN, seed=1, **call)
    assert {k: id(v) for k, v in vars(pipe).items()} == before
    assert furthest(bare(pipe, [SEVEN], [1], call), expected) == 0.0
    assert furthest(athena(SEVEN, strategy="unsteered", seed=1, **call).image, expected[0]) == 0.0


def test_generate_loads_a_model_once_whatever_counts(monkeypatch):
    from dataclasses import dataclass

    from athena import engine, models

    @dataclass
    class Unhashable:
        name: str = "unhashable"

        def __call__(self, images, nouns):
            return [7] * len(images)

    loads = []
    monkeypatch.setattr(models, "load", lambda *args, **options: loads.append(args) or zoo.flux())
    engine.pipe_of.cache_clear()
    call = {**models.find("flux-dev").call(), **zoo.CALL["flux"], "num_inference_steps": 2, "seed": 1}
    for counter in (lambda image, noun: 7, lambda image, noun: 7, Unhashable()):
        assert athena.generate(SEVEN, model="flux-dev", counter=counter, **call).exact
    results = athena.generate(iter([SEVEN, SEVEN]), model="flux-dev", counter=Unhashable(), **call)
    assert [result.exact for result in results] == [True, True]
    assert len(loads) == 1
    engine.pipe_of.cache_clear()


def test_progress_says_what_is_happening(capsys):
    steerer("flux", [5, 7])(
        SEVEN, strategy="feedback", num_inference_steps=4, progress=True, **zoo.CALL["flux"]
    )
    said = capsys.readouterr().err
    assert "probing 1 image" in said
    assert "steering 1: 5 -> 7 apples" in said
    steerer("flux", [5, 7])(
        SEVEN, strategy="feedback", num_inference_steps=4, progress=False, **zoo.CALL["flux"]
    )
    assert capsys.readouterr().err == ""


def test_threads_take_turns():
    """Two steerers on one pipe, each from two threads: everyone gets his own image, and nothing is left behind."""
    from concurrent.futures import ThreadPoolExecutor

    pipe = zoo.flux()
    call = {**zoo.CALL["flux"], "num_inference_steps": 3, "output_type": "latent"}
    steerers = [Athena(pipe, lambda image, noun: 5, progress=False) for _ in range(2)]
    expected = [steerers[0](SEVEN, seed=seed, **call).image for seed in range(4)]
    before = {k: id(v) for k, v in vars(pipe.transformer).items()}
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda seed: steerers[seed % 2](SEVEN, seed=seed, **call), range(4)))
    assert max(furthest(r.image, e) for r, e in zip(results, expected, strict=True)) == 0.0
    assert {k: id(v) for k, v in vars(pipe.transformer).items()} == before


def test_a_stream_may_be_read_from_another_thread():
    """As web servers do: each next() from whichever thread is free, the close from another."""
    from concurrent.futures import ThreadPoolExecutor

    athena = steerer("flux", [7] * 20)
    call = {**zoo.CALL["flux"], "num_inference_steps": 2}
    stream = athena.stream([SEVEN] * 3, seed=[1, 2, 3], batch_size=1, **call)
    assert next(stream)[0] == 0
    for i in (1, 2):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(next, stream).result()[0] == i
    assert athena.driver._request is None


def test_no_thread_is_left_behind():
    before = threading.active_count()
    steerer("flux", [7, 7])(SEVEN, num_inference_steps=2, **zoo.CALL["flux"])
    assert threading.active_count() == before


def test_two_functions_of_one_name_are_told_apart():
    one, two = (lambda image, noun: 1), (lambda image, noun: 2)
    athena = Athena(zoo.sdxl(), one, two)
    assert athena.counter.name != athena.judge.name
    assert Athena(athena.pipe, one, one).judge.name == athena.counter.name


def test_a_single_image_keeps_to_the_batch_size():
    pipe, call = built("sdxl")
    most = []
    hook = pipe.unet.register_forward_pre_hook(lambda module, args: most.append(len(args[0])))
    Athena(pipe, progress=False)(SEVEN, strategy="static", seed=1, batch_size=2, steer_steps=2, **call)
    hook.remove()
    assert max(most) == 2


def test_static_without_a_number_in_the_prompt_is_refused():
    pipe, call = built("sdxl")
    with pytest.raises(PromptError, match="none to leave out"):
        Athena(pipe, progress=False)("a photo of cats", count=5, strategy="static", seed=1, **call)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"stratgy": "static"}, "strategy"),
        ({"gama": 9.0}, "gamma"),
        ({"seed": 2**64 - 1, "num_images_per_prompt": 2}, "seed"),
        ({"timesteps": 5}, "timesteps"),
    ],
)
def test_slips_are_refused_where_a_pipe_takes_any_keyword(options, hint):
    pipe, call = built("sdxl")
    with pytest.raises(SettingsError, match=hint):
        Athena(pipe, lambda image, noun: 5, progress=False)(SEVEN, **{"seed": 1, **call, **options})


def test_a_counter_may_paint_on_its_image():
    def paints(image, noun):
        image.paste((255, 0, 0), (0, 0, *image.size))
        return 7

    pipe, call = built("sdxl")
    call = {**call, "output_type": "pil"}
    painted = Athena(pipe, paints, progress=False)(SEVEN, strategy="unsteered", seed=1, **call)
    plain = Athena(pipe, progress=False)(SEVEN, strategy="unsteered", seed=1, **call)
    assert np.array_equal(np.asarray(painted.image), np.asarray(plain.image))


def test_a_path_that_is_no_model_is_told_before_a_counter_is_fetched():
    with pytest.raises(athena.errors.LoadError, match="no folder"):
        athena.generate("seven apples", model="/nonexisting/x")
