"""Any zero-shot object detector of transformers as a counter."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from athena.counters import boxes, labels
from athena.counters.images import as_rgb, through_jpeg
from athena.counters.settings import Settings, settle
from athena.errors import CounterError, SettingsError

if TYPE_CHECKING:
    import supervision as sv
    from PIL import Image

GROUNDED = ("grounding-dino", "mm-grounding-dino")
"""They read a caption, and label a box with the words of it that it shows; the others answer queries."""
QUERIES = {"owlvit": "a photo of a {}", "owlv2": "a photo of a {}"}


class Detector:
    """Counts the boxes that name the noun.

    model, processor   as transformers' Auto classes load them, the model already on its device
    settings           "default", "paper" or a Settings; single fields by keyword: nms=0.5
    """

    def __init__(
        self,
        model: Any,
        processor: Any,
        name: str = "",
        settings: str | Settings = "default",
        batch_size: int = 8,
        **changes: Any,
    ) -> None:
        if not hasattr(processor, "post_process_grounded_object_detection"):
            raise CounterError(
                f"{type(processor).__name__} has no post_process_grounded_object_detection: expected the processor "
                "of a zero-shot object detector, from transformers.AutoProcessor.from_pretrained(...)."
            )
        if not isinstance(batch_size, int) or batch_size < 1:
            raise SettingsError(f"batch_size: expected a whole number from 1, got {batch_size!r}.")
        self.model, self.processor, self.batch_size = model.eval(), processor, batch_size
        self.settings = settle(settings, **changes)
        self.kind: str = model.config.model_type
        self.name = f"{name or self.kind}{self.settings}"
        self._after = inspect.signature(processor.post_process_grounded_object_detection).parameters

    def __call__(
        self, images: Sequence[Any], nouns: Sequence[str], prompts: Sequence[str] | None = None
    ) -> list[sv.Detections]:
        """The boxes of each image that name its noun; `prompts`, where known, tell which other nouns there are."""
        images, nouns, prompts = checked(images, nouns, prompts)
        pictures = [as_rgb(image) for image in images]
        if self.settings.jpeg:
            pictures = [through_jpeg(picture) for picture in pictures]
        counted: list[Any] = [None] * len(pictures)
        for batch in batches([picture.size for picture in pictures], self.batch_size):
            seen = self.detect([pictures[i] for i in batch], [nouns[i] for i in batch])
            for i, found in zip(batch, seen, strict=True):
                counted[i] = self.keep(found, nouns[i], prompts[i], pictures[i].size)
        return counted

    def for_estimates(self) -> Detector:
        """The same detector with the threshold for half denoised images."""
        if self.settings.estimate_threshold is None:
            return self
        other = copy.copy(self)
        other.settings = replace(self.settings, box_threshold=self.settings.estimate_threshold)
        return other

    @property
    def box_threshold(self) -> float:
        """The setting; else 0.35 for Grounding DINO and its kin, and what transformers has for the others."""
        if self.settings.box_threshold is not None:
            return self.settings.box_threshold
        return 0.35 if self.kind in GROUNDED else float(self._after["threshold"].default)

    def detect(self, images: Sequence[Image.Image], nouns: Sequence[str]) -> list[sv.Detections]:
        """Every box above the threshold, with the label the detector gave it; images of one size."""
        import torch

        texts = [self.text(noun) for noun in nouns]
        if self.kind in GROUNDED:
            asked: dict[str, Any] = {"text": texts, "padding": True}
        else:
            asked = {"text": [[text] for text in texts], "truncation": True}
        inputs = self.processor(images=list(images), return_tensors="pt", **asked)
        inputs = inputs.to(self.model.device, dtype=self.model.dtype)
        self.check(inputs, nouns)
        with torch.inference_mode():
            outputs = self.look(inputs, images[0].size)
            if self.kind in GROUNDED and not self.settings.strict:
                outputs.logits = self.whole_words(outputs.logits, inputs["input_ids"])
            how = {
                "threshold": self.box_threshold,
                "text_threshold": self.settings.text_threshold,
                "nms_threshold": 1.0,  # OmDet-Turbo has one of its own; ours comes after
                "input_ids": inputs.get("input_ids"),
                "text_labels": [[noun] for noun in nouns],
                "target_sizes": [(image.height, image.width) for image in images],
            }
            how = {name: value for name, value in how.items() if name in self._after}
            results = self.processor.post_process_grounded_object_detection(outputs, **how)
        return [self.detections(result) for result in results]

    def keep(self, found: sv.Detections, noun: str, prompt: str, size: tuple[int, int]) -> sv.Detections:
        """Those of the boxes that count."""
        import numpy as np

        named = [
            labels.names(str(x), noun, prompt, strict=self.settings.strict) for x in found.data["class_name"]
        ]
        found = boxes.within(found.select(np.array(named, dtype=bool)), size)
        if self.settings.nms is not None:
            found = boxes.drop_duplicates(found, self.settings.nms)
        return boxes.drop_groups(found) if self.settings.drop_groups else found

    def text(self, noun: str) -> str:
        """What the detector is asked: "apple." for Grounding DINO, where a full stop ends a noun."""
        if self.kind in GROUNDED:
            plain = noun if self.settings.strict else " ".join(re.sub(r"[.?]", " ", noun).split())
            return f"{plain.strip().lower()}."
        return QUERIES.get(self.kind, "{}").format(noun.strip().lower())

    def check(self, inputs: Any, nouns: Sequence[str]) -> None:
        """A word the tokenizer does not know is never seen: that is no 0."""
        unknown = getattr(self.processor.tokenizer, "unk_token_id", None)
        if self.kind not in GROUNDED or self.settings.strict or unknown is None:
            return
        for ids, noun in zip(inputs["input_ids"].tolist(), nouns, strict=True):
            if unknown in ids:
                raise CounterError(f'counter "{self.name}" cannot read "{noun}": write the noun in English.')

    def whole_words(self, logits: Any, input_ids: Any) -> Any:
        """Of a word in pieces ("dumb", "##bell") all are as sure as the surest: a label has whole words."""
        logits = logits.clone()
        for row, ids in zip(logits, input_ids.tolist(), strict=True):
            pieces = [str(t).startswith("##") for t in self.processor.tokenizer.convert_ids_to_tokens(ids)]
            starts = [i for i, piece in enumerate(pieces) if not piece]
            for start, end in zip(starts, [*starts[1:], len(pieces)], strict=True):
                row[:, start:end] = row[:, start:end].amax(dim=-1, keepdim=True)
        return logits

    def detections(self, result: dict[str, Any]) -> sv.Detections:
        """One image's results; the port names a label for no box, too."""
        import numpy as np

        xyxy, scores = (result[key].float().cpu().numpy() for key in ("boxes", "scores"))
        said = [self.plain(label) for label in result["text_labels"][: len(scores)]]
        found: sv.Detections = boxes.supervision().Detections(
            xyxy=xyxy.reshape(-1, 4),
            confidence=scores,
            class_id=np.zeros(len(scores), dtype=int),
            data={"class_name": np.array(said, dtype=str)},
        )
        return found

    def plain(self, label: str) -> str:
        """Without "[SEP]", which the caption ends with and a box may show; strict leaves it, as published."""
        if not self.settings.strict:
            for token in self.processor.tokenizer.all_special_tokens:
                label = label.replace(token, " ")
        return " ".join(label.split())

    def look(self, inputs: Any, size: tuple[int, int]) -> Any:
        """The model's outputs. NaN is under every threshold: without a check it would read as an honest 0."""
        import torch

        try:
            outputs = self.model(**inputs)
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError) as error:
            raise CounterError(
                f'counter "{self.name}" cannot look at an image of {size[0]} x {size[1]}: {error}'
            ) from error
        for name in ("logits", "decoder_class_logits"):
            if (logits := outputs.get(name)) is not None and logits.isnan().any():
                raise CounterError(
                    f'counter "{self.name}" computes NaN in {self.model.dtype}: load it with dtype="float32".'
                )
        return outputs


def batches(sizes: Sequence[tuple[int, int]], most: int) -> Iterator[list[int]]:
    """Places of images of one size: padding to a common size would change what a detector sees."""
    for size in dict.fromkeys(sizes):
        same = [i for i, other in enumerate(sizes) if other == size]
        yield from (same[i : i + most] for i in range(0, len(same), most))


def checked(images: Any, nouns: Any, prompts: Any) -> tuple[list[Any], list[str], list[str]]:
    """A counter is called with a list of images and a noun for each."""
    expected = 'a counter is called with lists, as in counter([image], ["apple"])'
    if isinstance(nouns, str) or isinstance(prompts, str) or hasattr(images, "convert"):
        raise CounterError(f"{expected}; got {type(images).__name__} and {nouns!r}.")
    images, nouns = list(images), list(nouns)
    prompts = [""] * len(images) if prompts is None else list(prompts)
    if not len(images) == len(nouns) == len(prompts):
        raise CounterError(
            f"{expected}; got {len(images)} images for {len(nouns)} nouns, {len(prompts)} prompts."
        )
    for noun in nouns:
        if not isinstance(noun, str) or not labels.words(noun):
            raise CounterError(f'a noun is a word or a few, as in "snow globe"; got {noun!r}.')
    return images, nouns, prompts
