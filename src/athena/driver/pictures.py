"""Whatever a pipe returns, as pictures that can be counted."""

from __future__ import annotations

from typing import Any


def as_pictures(images: Any, output_type: str) -> list[Any] | None:
    """PIL images of PIL images, arrays or tensors; None for latents."""
    if output_type == "latent":
        return None
    if isinstance(images, list) and images and hasattr(images[0], "save"):
        return images
    from diffusers.image_processor import VaeImageProcessor

    arrays = VaeImageProcessor.pt_to_numpy(images) if hasattr(images, "detach") else images
    return list(VaeImageProcessor.numpy_to_pil(arrays))
