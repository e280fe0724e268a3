"""Whatever is an image becomes an RGB picture, and what is none is refused."""

import numpy as np
import pytest
import torch
from PIL import Image

from athena.counters.images import as_rgb, through_jpeg
from athena.errors import CounterError

RED = np.full((4, 6, 3), (255, 0, 0), dtype=np.uint8)
PICTURE = Image.fromarray(RED)


def colour(image):
    assert image.mode == "RGB" and image.size == (6, 4)
    return image.getpixel((2, 2))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "CMYK", "HSV", "YCbCr"])
def test_modes_with_colour(mode):
    assert (
        sum(abs(a - b) for a, b in zip(colour(as_rgb(PICTURE.convert(mode))), (255, 0, 0), strict=True)) < 6
    )


@pytest.mark.parametrize("mode", ["L", "LA", "1", "I", "I;16"])
def test_modes_without_colour(mode):
    grey = Image.new("L", (6, 4), 255)
    wide = Image.fromarray(np.full((4, 6), 65535, dtype=np.uint16))
    assert colour(as_rgb(wide if mode == "I;16" else grey.convert(mode))) == (255, 255, 255)


def test_sixteen_bits_are_scaled_not_cut_off():
    assert colour(as_rgb(Image.fromarray(np.full((4, 6), 128 * 257, dtype=np.uint16)))) == (128, 128, 128)


def test_transparent_is_white():
    assert colour(as_rgb(Image.new("RGBA", (6, 4), (255, 0, 0, 0)))) == (255, 255, 255)
    assert colour(as_rgb(Image.new("LA", (6, 4), (0, 0)))) == (255, 255, 255)


@pytest.mark.parametrize(
    "array",
    [
        RED,
        RED / 255.0,
        (RED / 255).astype(np.float16),
        np.dstack([RED, np.full((4, 6), 255, dtype=np.uint8)]),
        RED.astype(np.int64),
        torch.from_numpy(RED).permute(2, 0, 1),
        torch.from_numpy(RED),
        (torch.from_numpy(RED).permute(2, 0, 1) / 255).bfloat16(),
        (torch.from_numpy(RED).permute(2, 0, 1) / 255).requires_grad_(),
        RED.tolist(),
    ],
)
def test_arrays_and_tensors(array):
    assert colour(as_rgb(array)) == (255, 0, 0)


@pytest.mark.parametrize("array", [RED[..., 0], RED[..., :1], RED[..., 0] > 0, torch.ones(1, 4, 6)])
def test_grey_arrays(array):
    assert colour(as_rgb(array)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        ("photo.png", "PIL.Image.open"),
        (None, "NoneType"),
        (np.zeros((4,)), r"shape \(4,\)"),
        (np.zeros((2, 4, 6, 3)), "shape"),
        (np.zeros((4, 6, 2)), "shape"),
        (np.full((4, 6, 3), 200.0), "from 200 to 200"),
        (np.full((4, 6, 3), np.nan), "nan"),
        (np.full((4, 6, 3), -1.0), "-1"),
        (np.full((4, 6, 3), 300), "300"),
        (np.zeros((0, 6, 3), dtype=np.uint8), "empty"),
        (Image.new("RGB", (0, 4)), "empty"),
        (object(), "shape"),
    ],
)
def test_what_is_no_image(thing, says):
    with pytest.raises(CounterError, match=says) as error:
        as_rgb(thing)
    assert "expected a PIL image" in str(error.value)


def test_through_jpeg():
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8))
    once = through_jpeg(noise)
    assert once.size == noise.size and once.mode == "RGB"
    assert np.abs(np.asarray(once, dtype=int) - np.asarray(noise, dtype=int)).mean() > 1
