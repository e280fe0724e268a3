"""The models ATHENA knows by name: the paper's settings for each, and loading by name, path or hub id.

    pipe = load("sdxl")                            # a preset, or its alias, or its hub id
    pipe = load("./my-finetune")                   # any folder diffusers can read
    pipe = load("Qwen/Qwen-Image", offload="model")

A folder may carry its own preset, `athena.json` beside `model_index.json`, in the shape the embedded
models use: {"steps", "guidance_scale", "height", "width", "static", "feedback", "adaptive"}, the last
three of {"t_est", "t_steer", "gamma"}. `with_file` lays such a file, in part or whole, over any preset.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athena._loading import check_folder, explained, find_device, find_dtype
from athena.errors import LoadError, SettingsError, UnknownName

if TYPE_CHECKING:
    import torch

__all__ = [
    "DEFAULT",
    "MINIS",
    "PRESETS",
    "Preset",
    "Settings",
    "find",
    "load",
    "names",
    "preset_for",
    "with_file",
]

_WEIGHTS = Path(__file__).parent / "mini" / "weights"
_OWN = "athena.json"


@dataclass(frozen=True)
class Settings:
    """How one strategy steers, in steps of one run: the paper's t_est, t_steer and gamma."""

    estimate_step: int
    steer_steps: int
    gamma: float


@dataclass(frozen=True)
class Preset:
    """A model, how to call it, how to steer it, and what it needs; None leaves it to the pipeline."""

    name: str
    source: str  # a hub id, or a folder
    steps: int = 50
    guidance_scale: float | None = None
    height: int | None = None
    width: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # more arguments of the call
    # The paper's typical values. Its static makes no estimate: that t_est is never read.
    static: Settings = Settings(20, 10, 4.0)
    feedback: Settings = Settings(20, 5, 4.0)
    adaptive: Settings = Settings(20, 5, 4.0)
    dtype: str = "bfloat16"  # on a GPU; on the CPU it is float32
    download_gb: float = 0.0
    memory_gb: float = 0.0
    licence: str = ""
    gated: bool = False  # the licence must be accepted on the hub before the first download

    def settings(self, strategy: str, steps: int) -> Settings:
        """A strategy's settings for a run of that many steps; a strategy not in the paper gets adaptive's."""
        base = {"static": self.static, "feedback": self.feedback}.get(strategy, self.adaptive)

        def scaled(step: int) -> int:
            return max(1, min(steps, round(step * steps / self.steps)))

        return Settings(scaled(base.estimate_step), scaled(base.steer_steps), base.gamma)

    def check(self, prompt: str) -> None:
        """Refuse a prompt that the model has no words for; only the embedded ones know so few that it matters."""
        if self.name in MINIS:
            from athena.mini import words

            words.check(prompt)

    def call(self) -> dict[str, Any]:
        """What the pipeline is called with when the model was named, not brought."""
        if self is DEFAULT:
            return {}
        given = {
            "num_inference_steps": self.steps,
            "guidance_scale": self.guidance_scale,
            "height": self.height,
            "width": self.width,
        }
        return {key: value for key, value in given.items() if value is not None} | dict(self.extra)


# Appendix "Hyperparameter Settings" of the paper, all at 50 steps; SD 1.4, not in it, has the typical ones.
DEFAULT = Preset("default", "")
"""For every other pipeline: the paper's typical values, as fractions of the steps."""

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "flux-dev",
            "black-forest-labs/FLUX.1-dev",
            guidance_scale=3.5,
            height=1024,
            width=1024,
            extra={"max_sequence_length": 512},
            download_gb=34,
            memory_gb=36,
            licence="FLUX.1 [dev] Non-Commercial License",
            gated=True,
        ),
        Preset(
            "sd35-large",
            "stabilityai/stable-diffusion-3.5-large",
            guidance_scale=7.0,
            height=1024,
            width=1024,
            extra={"max_sequence_length": 512},
            download_gb=28,
            memory_gb=30,
            licence="Stability AI Community License",
            gated=True,
        ),
        Preset(
            "sdxl",
            "stabilityai/stable-diffusion-xl-base-1.0",
            static=Settings(30, 10, 5.0),
            feedback=Settings(30, 10, 5.0),
            adaptive=Settings(30, 10, 5.0),
            guidance_scale=5.0,
            height=1024,
            width=1024,
            download_gb=14,
            memory_gb=10,
            licence="CreativeML Open RAIL++-M",
        ),
        Preset(
            "sd14",
            "CompVis/stable-diffusion-v1-4",
            guidance_scale=7.5,
            height=512,
            width=512,
            download_gb=5.5,
            memory_gb=4,
            licence="CreativeML OpenRAIL-M",
        ),
    )
}

MINIS = ("mini-sdxl", "mini-sd3", "mini-flux")
"""The embedded models, in `athena/mini/weights`; their presets are read from there."""
BEST_MINI = "mini-sdxl"


def _bare(name: object) -> str:
    """A name without what people write differently: case, dots, hyphens, spaces."""
    return re.sub(r"[\s._-]+", "", str(name).lower())


_ALIASES = {
    **{_bare(name): name for name in (*MINIS, *PRESETS)},
    **{_bare(preset.source): preset.name for preset in PRESETS.values()},
    **{_bare(preset.source.split("/")[1]): preset.name for preset in PRESETS.values()},
    "mini": BEST_MINI,
    "flux": "flux-dev",
    "sd35": "sd35-large",
}

_BY_CLASS = {
    "FluxPipeline": "flux-dev",
    "StableDiffusion3Pipeline": "sd35-large",
    "StableDiffusionXLPipeline": "sdxl",
    "StableDiffusionPipeline": "sd14",
}


def names() -> list[str]:
    """Every name `load` knows, aliases apart."""
    return ["mini", *MINIS, *PRESETS]


def find(name: str | os.PathLike[str]) -> Preset:
    """The preset of a name, an alias, a hub id or a folder; `DEFAULT` for a hub id or folder without one."""
    known = _ALIASES.get(_bare(name)) if isinstance(name, str) else None
    if known in PRESETS:
        return PRESETS[known]
    if known in MINIS:
        return _read(_mini(known), known)
    if not str(name).strip():
        raise UnknownName("model", name, names())
    folder = Path(name).expanduser()
    if (folder / _OWN).is_file():
        return _read(folder, folder.name)
    if folder.exists() or _is_hub_id(name) or _looks_like_path(name):
        return DEFAULT
    raise UnknownName("model", name, names())


def with_file(base: Preset, path: str | os.PathLike[str]) -> Preset:
    """A preset with what a file says in its place; what the file leaves out stays."""
    file = Path(path).expanduser()
    try:
        own = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LoadError(
            f"the preset {path} cannot be read: {error.strerror}; `athena tune` writes one"
        ) from error
    except ValueError as error:
        raise SettingsError(f"the preset {path} is no JSON: {error}.") from error
    if not isinstance(own, dict):
        raise SettingsError(f"the preset {path}: expected an object, as `athena tune` writes it.")
    for name in own:
        if name not in (*_LAID, *_STEERED, *_NOTED):
            raise UnknownName(f"setting of a preset ({path})", name, (*_LAID, *_STEERED))
    try:
        laid: dict[str, Any] = {name: own[name] for name in _LAID if name in own}
        laid |= {
            name: Settings(
                int(own[name].get("t_est") or getattr(base, name).estimate_step),
                int(own[name]["t_steer"]),
                float(own[name]["gamma"]),
            )
            for name in _STEERED
            if name in own
        }
        found = replace(base, **laid)
        for name in _STEERED:
            own_settings = getattr(found, name)
            most = max(own_settings.estimate_step, own_settings.steer_steps)
            if name in own and (most > found.steps or own_settings.steer_steps < 0 or own_settings.gamma < 0):
                raise SettingsError(
                    f"the preset {path}, {name}: t_est and t_steer go up to the {found.steps} steps, gamma begins "
                    f"at 0; got {own[name]}."
                )
        return found
    except SettingsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(
            f"the preset {path}: expected t_est, t_steer and gamma for each strategy "
            f"({type(error).__name__}: {error})."
        ) from error


_STEERED = ("static", "feedback", "adaptive")
_LAID = ("steps", "guidance_scale", "height", "width", "extra")
_NOTED = ("model", "tuned")  # where the file comes from; nothing is read from it here


def preset_for(pipe: object) -> Preset:
    """The preset of a loaded pipeline: by where it came from, else by its class, else `DEFAULT`."""
    origin = getattr(pipe, "name_or_path", None)
    if isinstance(origin, str) and origin:
        if (Path(origin) / _OWN).is_file():
            return _read(Path(origin), Path(origin).name)
        if _ALIASES.get(_bare(origin)) in PRESETS:
            return PRESETS[_ALIASES[_bare(origin)]]
    for parent in type(pipe).__mro__:
        if parent.__name__ in _BY_CLASS:
            return PRESETS[_BY_CLASS[parent.__name__]]
    return DEFAULT


def check(name: str | os.PathLike[str]) -> None:
    """Whether a folder holds a pipeline, before anything is loaded or fetched; a hub id is not asked for."""
    if not isinstance(name, str | os.PathLike):
        raise SettingsError(f"model: expected a name, a folder or a hub id, got {name!r}.")
    source = find(name).source or str(name)
    folder = Path(source).expanduser()
    if folder.exists() or _looks_like_path(source):
        check_folder(folder)


def load(
    name: str | os.PathLike[str],
    *,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype | None = None,
    offload: str | None = None,
    local_files_only: bool = False,
    revision: str | None = None,
    **from_pretrained_kwargs: Any,
) -> Any:  # to a type checker diffusers' pipelines have no attributes
    """The pipeline of a name, folder or hub id, on its device; the rest goes to `from_pretrained`."""
    preset = find(name)
    source = preset.source or str(name)
    where = find_device(device)
    dtype = dtype or from_pretrained_kwargs.pop("torch_dtype", None)
    dtype = find_dtype(dtype or ("float32" if where.type == "cpu" else preset.dtype))
    kwargs = from_pretrained_kwargs | {"dtype": dtype}
    if offload not in (None, "model", "sequential"):
        raise UnknownName("offload", offload, ["model", "sequential"])
    if offload and where.type == "cpu":
        raise SettingsError(f'offload="{offload}" moves weights to a GPU and back, and there is none here')

    folder = Path(source).expanduser()
    if folder.exists() or _looks_like_path(source):
        check_folder(folder)
        source = str(folder)
    else:
        kwargs |= {"local_files_only": local_files_only}
        if revision is not None:
            kwargs |= {"revision": revision}

    from diffusers import DiffusionPipeline

    # Not AutoPipelineForText2Image: it knows fewer pipelines, and takes 25 s to notice there is no network.
    try:
        pipe: Any = DiffusionPipeline.from_pretrained(source, **kwargs)
    except (OSError, ValueError, TypeError, AttributeError, ImportError) as error:
        raise explained(
            error, source, local=folder.exists(), licence=preset.licence, gated=preset.gated
        ) from error
    if offload == "model":
        pipe.enable_model_cpu_offload(device=where)
    elif offload == "sequential":
        pipe.enable_sequential_cpu_offload(device=where)
    elif "device_map" not in kwargs:
        pipe.to(where)
    return pipe


def _is_hub_id(name: object) -> bool:
    return re.fullmatch(r"[\w.-]+/[\w.-]+", str(name)) is not None and not _looks_like_path(name)


def _looks_like_path(name: object) -> bool:
    text = str(name)
    return isinstance(name, Path) or text.startswith((".", "/", "~")) or "\\" in text or text.count("/") > 1


def _mini(name: str) -> Path:
    folder = _WEIGHTS / name
    if not (folder / _OWN).is_file():
        raise LoadError(
            f"the embedded model {name} is not in this installation: {folder} has no {_OWN}. "
            f"Train it with `python -m athena.mini.train {name.removeprefix('mini-')}`, or name another model"
        )
    return folder


def _read(folder: Path, name: str) -> Preset:
    """The preset a folder carries."""
    file = folder / _OWN
    try:
        own = json.loads(file.read_text(encoding="utf-8"))
        adaptive = own["adaptive"]

        def settings(strategy: str) -> Settings:
            given = own.get(strategy, adaptive)
            t_est = given.get("t_est") or adaptive["t_est"]
            return Settings(int(t_est), int(given["t_steer"]), float(given["gamma"]))

        return Preset(
            name,
            str(folder),
            static=settings("static"),
            feedback=settings("feedback"),
            adaptive=settings("adaptive"),
            steps=int(own["steps"]),
            guidance_scale=own.get("guidance_scale"),
            height=own.get("height"),
            width=own.get("width"),
            extra=dict(own.get("extra", {})),
            dtype=own.get("dtype", "float32"),
            memory_gb=own.get("memory_gb", 0.0),
            licence=own.get("licence", ""),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoadError(
            f"{file} is no preset ({type(error).__name__}: {error}); see athena.models"
        ) from error
