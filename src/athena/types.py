"""What a request gives back: frozen records, readable without torch."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from athena.errors import LoadError, SettingsError
from athena.prompts import CountPrompt


@dataclass(frozen=True)
class Attempt:
    """One trajectory: what it was steered away from, how strongly, and the count seen at t_est."""

    control: str | None = None
    gamma: float = 0.0
    seed: int = 0
    count: int | None = None  # None: it ran to the end without being counted half-way
    finished: bool = False  # whether the image of the result is this one's


@dataclass(frozen=True)
class Cost:
    """What one image took; a call shared by a batch counts in full for each of its images, seconds in part."""

    denoiser_calls: int = 0
    denoiser_rows: int = 0
    text_encoder_calls: int = 0
    vae_decodes: int = 0
    counter_calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """One image, how many objects it holds, and how it came about."""

    image: Any  # what the pipe returns for its output_type: a PIL image, an array, latents
    prompt: CountPrompt
    count: int | None  # of the final image, by the judge; None for latents, which nobody can count
    seed: int
    strategy: str
    attempts: tuple[Attempt, ...] = ()
    cost: Cost = field(default_factory=Cost)
    detections: Any = None  # supervision.Detections of the final image, when the judge gives boxes
    counter: str = ""  # who steered
    judge: str = ""  # who counted the final image
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> int:
        assert self.prompt.count is not None  # the engine asks for nothing without a count
        return self.prompt.count

    @property
    def exact(self) -> bool:
        return self.count == self.target

    def save(self, path: str | Path) -> Path:
        """Write the image as PNG with everything else in its metadata."""
        from PIL.PngImagePlugin import PngInfo

        path = Path(path)
        if path.suffix.lower() != ".png":
            raise SettingsError(
                f"a result is saved as PNG, which keeps its metadata: use {path.with_suffix('.png')}."
            )
        if not hasattr(self.image, "save"):
            raise SettingsError(
                f'only a PIL image can be saved, this one is {type(self.image).__name__}: use output_type="pil".'
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        info = PngInfo()
        info.add_text("prompt", self.prompt.text)
        info.add_text(KEY, json.dumps(self.to_dict()))
        self.image.save(path, pnginfo=info)
        return path

    def to_dict(self) -> dict[str, Any]:
        """Everything but the image, as plain JSON."""
        record = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "image"}
        return {
            **record,
            "prompt": {name: getattr(self.prompt, name) for name in PROMPT},
            "attempts": [dataclasses.asdict(a) for a in self.attempts],
            "cost": dataclasses.asdict(self.cost),
            "detections": boxes(self.detections),
            "target": self.target,
            "exact": self.exact,
        }

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read back what `save` wrote."""
        from PIL import Image

        try:
            image = Image.open(path)
            image.load()
            text = getattr(image, "text", {}).get(KEY)
        except OSError as error:
            raise LoadError(f"{path} cannot be read as an image: {error}") from error
        if text is None:
            raise LoadError(f"{path} was not saved by athena: it has no {KEY!r} in its metadata.")
        try:
            record = json.loads(text)
            prompt = {**record["prompt"], "span": tuple(record["prompt"]["span"] or ()) or None}
            return cls(
                image=image,
                prompt=CountPrompt(**prompt),
                attempts=tuple(Attempt(**a) for a in record["attempts"]),
                cost=Cost(**record["cost"]),
                detections=detections(record["detections"]),
                **{k: record[k] for k in ("count", "seed", "strategy", "counter", "judge", "settings")},
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LoadError(
                f"what {path} tells of itself is none of athena {version('athena-t2i')}'s records "
                f"({type(error).__name__}: {error})."
            ) from error


KEY = "athena"
PROMPT = ("text", "count", "noun", "noun_plural", "span")


def boxes(found: Any) -> dict[str, Any] | None:
    """supervision.Detections as plain lists."""
    if found is None:
        return None
    names = found.data.get("class_name")
    return {
        "xyxy": found.xyxy.tolist(),
        "confidence": None if found.confidence is None else found.confidence.tolist(),
        "class_name": None if names is None else [str(name) for name in names],
    }


def detections(record: dict[str, Any] | None) -> Any:
    if record is None:
        return None
    import numpy as np
    import supervision as sv

    names = record["class_name"]
    return sv.Detections(
        xyxy=np.array(record["xyxy"], dtype=np.float32).reshape(-1, 4),
        confidence=None if record["confidence"] is None else np.array(record["confidence"], dtype=np.float32),
        class_id=np.zeros(len(record["xyxy"]), dtype=int),
        data={} if names is None else {"class_name": np.array(names)},
    )
