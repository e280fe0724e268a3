"""What is packaged: it loads with plain diffusers, it is small, it counts, and ATHENA drives it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from athena.errors import CounterError
from athena.mini.words import MAX_DRAWN, NOUN_NAMES

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

from athena.mini.counter import load_counter  # noqa: E402
from athena.mini.package import LIMIT, WEIGHTS  # noqa: E402

FAMILIES = [name for name in ("mini-sdxl", "mini-sd3", "mini-flux") if (WEIGHTS / name).is_dir()]
CLASSES = {
    "mini-sdxl": "StableDiffusionXLPipeline",
    "mini-sd3": "StableDiffusion3Pipeline",
    "mini-flux": "FluxPipeline",
}
COUNTERS = ("mini", "mini-judge")


@pytest.mark.parametrize("family", FAMILIES)
def test_loads_with_plain_diffusers_and_draws(family: str) -> None:
    pipe = diffusers.DiffusionPipeline.from_pretrained(WEIGHTS / family)
    pipe.set_progress_bar_config(disable=True)
    assert type(pipe).__name__ == CLASSES[family]
    settings = json.loads((WEIGHTS / family / "athena.json").read_text())
    image = pipe(
        "a photo of two apples on the grass",
        num_inference_steps=4,
        generator=torch.Generator().manual_seed(0),
        **settings["extra"],
    ).images[0]
    assert image.size == (settings["width"], settings["height"])
    assert np.asarray(image).std() > 5


def test_sizes() -> None:
    sizes = {f: sum(p.stat().st_size for p in (WEIGHTS / f).rglob("*") if p.is_file()) for f in FAMILIES}
    assert all(size <= LIMIT for size in sizes.values()), sizes
    assert sum(p.stat().st_size for p in WEIGHTS.rglob("*") if p.is_file()) <= 30_000_000


@pytest.mark.parametrize("name", COUNTERS)
def test_counts_fresh_renders(name: str) -> None:
    from PIL import Image

    from athena.mini import render

    if not render.FONT.exists():
        pytest.skip("needs fonts-noto-color-emoji")
    rng = np.random.default_rng(4)
    nouns = [int(n) for n in rng.integers(len(NOUN_NAMES), size=40)]
    counts = [int(c) for c in rng.integers(0, MAX_DRAWN + 1, size=40)]
    pictures = [
        render.render(700_000_000 + i, [n] * c)[0] for i, (n, c) in enumerate(zip(nouns, counts, strict=True))
    ]
    found = load_counter(name)([Image.fromarray(p) for p in pictures], [NOUN_NAMES[n] for n in nouns])
    assert sum(len(f) == c for f, c in zip(found, counts, strict=True)) >= 38
    large = load_counter(name)([Image.fromarray(pictures[0]).resize((256, 128))], [NOUN_NAMES[nouns[0]]])[0]
    assert len(large) == 0 or (large.xyxy[:, 2].max() > 64 or large.xyxy[:, 0].max() < 64)


@pytest.mark.parametrize("name", COUNTERS)
def test_answers_are_detections(name: str) -> None:
    from PIL import Image

    found = load_counter(name)([Image.new("RGB", (64, 64), "white")], ["Traffic Lights"])[0]
    assert len(found) == 0 and found.xyxy.shape == (0, 4)
    with pytest.raises(CounterError, match="traffic light"):
        load_counter(name)([Image.new("RGB", (64, 64))], ["zebra"])
    assert load_counter(name)([], []) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_athena_drives_it_to_a_count(family: str) -> None:
    import athena

    result = athena.generate(
        "a photo of three apples on the grass", model=family, strategy="adaptive", seed=3
    )
    assert result.count is not None and result.attempts and result.cost.denoiser_rows > 0


def test_counting_warns_of_nothing():
    ask = (
        "from PIL import Image; from athena import counters; "
        "counters.load('mini')([Image.new('RGB', (64, 64))], ['apple'])"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "OpenCV" not in done.stderr
