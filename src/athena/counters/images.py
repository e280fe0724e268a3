"""Whatever is an image, as the RGB picture a detector looks at."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from PIL import Image

from athena.errors import CounterError

EXPECTED = (
    "expected a PIL image, or an array or tensor of height x width x colours (bytes, or floats from 0 to 1)"
)


def as_rgb(given: Any) -> Image.Image:
    """A PIL image, array or tensor in RGB; what is transparent is white."""
    image = given if isinstance(given, Image.Image) else _from_array(given)
    if not image.width or not image.height:
        raise CounterError(f"the image is empty ({image.width} x {image.height}): {EXPECTED}.")
    if image.mode[0] in "IF":  # more than a byte a colour, which PIL would cut off at 255
        image = _from_array(_sixteen_bits(image))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def through_jpeg(image: Image.Image) -> Image.Image:
    """The image as it comes back from JPEG at Pillow's own quality, where the published judge counts."""
    file = BytesIO()
    image.save(file, format="JPEG")
    return Image.open(file).convert("RGB")


def _from_array(image: Any) -> Image.Image:
    import numpy as np

    if isinstance(image, str | bytes) or hasattr(image, "__fspath__"):
        raise CounterError(f"{EXPECTED}; got the path {image!r}: open it with PIL.Image.open(...).")
    tensor, colours = hasattr(image, "detach"), (1, 3, 4)
    try:
        array = np.asarray(_on_cpu(image) if tensor else image)
    except (TypeError, ValueError, RuntimeError) as error:
        raise CounterError(f"{EXPECTED}; got {type(image).__name__}: {error}.") from error
    if array.ndim == 3 and tensor and array.shape[0] in colours and array.shape[-1] not in colours:
        array = np.moveaxis(array, 0, -1)  # torch has colours first
    if array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    if (
        array.ndim not in (2, 3)
        or (array.ndim == 3 and array.shape[-1] not in colours)
        or array.dtype == object
    ):
        raise CounterError(f"{EXPECTED}; got {type(image).__name__} of shape {array.shape}.")
    if array.dtype.kind == "f":
        if array.size and not (array.min() >= -1e-3 and array.max() <= 1 + 1e-3):  # NaN is in no range
            raise CounterError(f"{EXPECTED}; these floats go from {array.min():g} to {array.max():g}.")
        array = (array.clip(0, 1) * 255).round()
    elif array.dtype == bool:
        array = array * 255
    elif array.size and not (array.min() >= 0 and array.max() <= 255):
        raise CounterError(f"{EXPECTED}; these numbers go from {array.min()} to {array.max()}.")
    return Image.fromarray(np.ascontiguousarray(array.astype(np.uint8)))


def _on_cpu(tensor: Any) -> Any:
    """numpy knows no bfloat16."""
    return (tensor.float() if tensor.is_floating_point() else tensor).detach().cpu()


def _sixteen_bits(image: Image.Image) -> Any:
    import numpy as np

    return np.asarray(image) // 257 if image.mode.startswith("I;16") else np.asarray(image)
