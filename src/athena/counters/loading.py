"""From the name of a detector to a `Detector`, with errors one can act on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athena._loading import explained, find_device, find_dtype
from athena.counters.detector import Detector
from athena.counters.settings import Settings, settle
from athena.errors import LoadError, MissingExtra

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Known:
    """A detector on the hub, and what it needs."""

    source: str
    download_gb: float
    memory_gb: float  # at its highest, on the CPU in float32, for one image of 1024 x 1024
    licence: str
    packages: tuple[str, ...] = ()


DETECTORS = {
    # Swin-T: the checkpoint the paper used, in transformers' own port.
    "grounding-dino": Known("IDEA-Research/grounding-dino-tiny", 0.69, 2, "Apache-2.0"),
    "grounding-dino-base": Known("IDEA-Research/grounding-dino-base", 0.93, 2.5, "Apache-2.0"),
    "mm-grounding-dino": Known(
        "openmmlab-community/mm_grounding_dino_tiny_o365v1_goldg_v3det", 0.69, 2, "Apache-2.0"
    ),
    "llmdet": Known("iSEE-Laboratory/llmdet_tiny", 0.69, 2, "Apache-2.0"),
    "owlv2": Known("google/owlv2-base-patch16-ensemble", 0.62, 2, "Apache-2.0"),
    "omdet-turbo": Known("omlab/omdet-turbo-swin-tiny-hf", 0.46, 1.5, "Apache-2.0", ("torchvision", "timm")),
}
_ALIASES = {
    **{known.source.lower(): name for name, known in DETECTORS.items()},
    **{known.source.lower().split("/")[1].replace("_", "-"): name for name, known in DETECTORS.items()},
}
_FILES = ["*.json", "*.txt", "*.model"]


def known_as(name: str) -> str | None:
    """The name of ours for a name, its alias or its hub id; None for anything else."""
    plain = name.lower().replace("_", "-").replace(" ", "-")
    if plain in DETECTORS:
        return plain
    return _ALIASES.get(name.lower()) or _ALIASES.get(plain)


def is_source(name: str) -> bool:
    """Whether it reads like a folder or a hub id."""
    return is_folder(name) or re.fullmatch(r"[\w.-]+/[\w.-]+", name) is not None


def is_folder(name: str) -> bool:
    path_like = name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1
    return path_like or Path(name).expanduser().exists()


def on_disk(name: str) -> bool:
    """Whether this known detector has been downloaded."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(DETECTORS[name].source, "model.safetensors"), str)


def load_detector(
    name: str | Path,
    settings: str | Settings = "default",
    *,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype = "float32",
    batch_size: int = 8,
    revision: str | None = None,
    local_files_only: bool = False,
    **changes: Any,
) -> Detector:
    """A known detector, or the one of a folder or a hub id, on its device."""
    own = None if isinstance(name, Path) else known_as(name)
    known = DETECTORS[own] if own else None
    source, settings = known.source if known else str(name), settle(settings, **changes)
    where, kind = find_device(device), find_dtype(dtype)
    for package in known.packages if known else ():
        need(package, source, known)
    folder = Path(source).expanduser()
    if not isinstance(name, Path) and not is_folder(source):
        folder = fetch(source, revision, local_files_only, known)
    check(folder, source)

    from transformers import AutoModelForZeroShotObjectDetection, AutoProcessor

    try:
        # Pillow resizes as the published judge does, and the same with and without torchvision.
        processor = AutoProcessor.from_pretrained(folder, backend="pil")
        model: Any
        model, report = AutoModelForZeroShotObjectDetection.from_pretrained(
            folder, dtype=kind, output_loading_info=True
        )
    except ImportError as error:
        raise MissingExtra(f"{source} needs a package that is not installed: {error}") from error
    except Exception as error:  # safetensors' own errors are nothing more special
        raise LoadError(f"{source} could not be loaded by transformers: {error}") from error
    if 2 * len(report["missing_keys"]) > len(model.state_dict()):  # transformers fills in random numbers
        raise LoadError(f"the weights of {source} are not those its config.json describes: most are missing")
    precision = str(kind).removeprefix("torch.")
    called = ":".join(filter(None, [own or str(name), revision, precision if precision != "float32" else ""]))
    return Detector(model.to(where), processor, called, settings, batch_size)


def fetch(source: str, revision: str | None, offline: bool, known: Known | None) -> Path:
    """The folder the hub's files are in: in one step, which notices at once that there is no network."""
    from huggingface_hub import snapshot_download

    def get(*weights: str) -> Path:
        wanted = [*_FILES, *weights]
        return Path(
            snapshot_download(source, revision=revision, local_files_only=offline, allow_patterns=wanted)
        )

    try:
        folder = get("*.safetensors")
        return folder if any(folder.glob("*.safetensors")) else get("*.bin")
    except Exception as error:  # the hub's clients share no class for what may go wrong
        licence = known.licence if known else ""
        raise explained(error, source, local=False, licence=licence, role="counter") from error


def check(folder: Path, source: str) -> None:
    """Whether a folder holds a zero-shot detector, before anything big is read."""
    expected = "expected what model.save_pretrained(folder) and processor.save_pretrained(folder) wrote"
    if not folder.exists():
        raise LoadError(f"there is no folder {folder}; a hub id has the shape owner/name")
    if folder.is_file():
        raise LoadError(f"{folder} is a file, not the folder of a detector; {expected}")
    if not (folder / "config.json").is_file():
        raise LoadError(f"{folder} has no config.json, so transformers did not save it; {expected}")
    missing = [
        what
        for what, files in (
            ("weights (model.safetensors)", ("*.safetensors", "*.bin")),
            ("preprocessor_config.json", ("preprocessor_config.json", "processor_config.json")),
        )
        if not any(next(folder.glob(file), None) for file in files)
    ]
    if missing:
        again = f"; `hf download {source}` completes a download" if not is_folder(source) else ""
        raise LoadError(f"{folder} has no {' and no '.join(missing)}; {expected}{again}")
    try:
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (ValueError, AttributeError) as error:
        raise LoadError(f"{folder / 'config.json'} cannot be read: {error}") from error
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES as KINDS,
    )

    if kind not in KINDS:
        raise LoadError(
            f"{source} is a {kind}, not a zero-shot object detector; those are {', '.join(KINDS)}"
        )


def need(package: str, source: str, known: Known | None) -> None:
    if find_spec(package) is None:
        wanted = " ".join(known.packages) if known else package
        raise MissingExtra(f"{source} needs {package}, which is not installed: pip install {wanted}")
