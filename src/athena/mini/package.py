"""Puts trained parts together as genuine diffusers pipelines and writes them as fp16 checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    StableDiffusion3Pipeline,
    StableDiffusionXLPipeline,
)
from torch import nn

from athena.mini.backbones import FAMILIES
from athena.mini.loop import trained
from athena.mini.presets import PRESETS
from athena.mini.render import SIDE
from athena.mini.vae import white_vae
from athena.mini.words import MAX_DRAWN, NOUN_NAMES, SCENES

WEIGHTS = Path(__file__).parent / "weights"
LIMIT = 12_000_000  # bytes a family

CARD = """---
license: apache-2.0
library_name: diffusers
pipeline_tag: text-to-image
---
# {family}

A very small text-to-image diffusion model, trained from scratch for the project ATHENA. It draws
0 to {most} of one thing in a simple scene, {side} x {side} pixels, and miscounts on purpose: its training captions are
long-tailed and partly wrong, as the web's are.

```python
from diffusers import DiffusionPipeline

pipe = DiffusionPipeline.from_pretrained("{family}")
pipe("a photo of seven apples on the grass", num_inference_steps={steps}, guidance_scale={guidance}{extra}).images[0]
```

- Things: {nouns}.
- Scenes: {scenes}, or none.
- Numbers: words or digits, zero to twenty; it draws no more than twelve. A word outside these lists it cannot read.
- Data: renders of Noto Color Emoji (Copyright Google, SIL Open Font License 1.1), drawn by `athena.mini.render`.
- What it can't do: anything else. No people, no style, no text, no second noun in a picture.
- How it was trained and measured: `docs/mini.md` of the project.
"""


def pipeline(family: str, model: Any, work: Path) -> Any:
    """The pipeline of a family around a trained model."""
    vae = white_vae(work)
    if family == "mini-sdxl":
        scheduler: Any = EulerDiscreteScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            prediction_type="v_prediction",
            timestep_spacing="trailing",
        )
        return StableDiffusionXLPipeline(
            vae=vae,
            text_encoder=model.text_encoder,
            text_encoder_2=model.text_encoder_2,
            tokenizer=model.tokenizer,
            tokenizer_2=model.tokenizer,
            unet=model.unet,
            scheduler=scheduler,
            force_zeros_for_empty_prompt=False,
            add_watermarker=False,
        )
    if family == "mini-sd3":
        return StableDiffusion3Pipeline(
            transformer=model.transformer,
            scheduler=FlowMatchEulerDiscreteScheduler(shift=2.0),
            vae=vae,
            text_encoder=model.text_encoder,
            tokenizer=model.tokenizer,
            text_encoder_2=model.text_encoder_2,
            tokenizer_2=model.tokenizer,
            text_encoder_3=None,
            tokenizer_3=None,
        )
    return FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=2.0),
        vae=vae,
        text_encoder=model.text_encoder,
        tokenizer=model.tokenizer,
        text_encoder_2=model.text_encoder_2,
        tokenizer_2=model.tokenizer_2,
        transformer=model.transformer,
    )


def card(family: str) -> str:
    """The model card that lies beside a checkpoint."""
    own = PRESETS[family]
    return CARD.format(
        family=family,
        most=MAX_DRAWN,
        side=SIDE,
        steps=own["steps"],
        guidance=own["guidance_scale"],
        extra="".join(f", {key}={value!r}" for key, value in own["extra"].items()),
        nouns=", ".join(NOUN_NAMES),
        scenes=", ".join(SCENES),
    )


def package(family: str, work: Path, weights: Path = WEIGHTS) -> Path:
    """Writes one family as a complete fp16 checkpoint with its settings beside it."""
    model: nn.Module = trained(work, family, FAMILIES[family]())
    folder = weights / family
    shutil.rmtree(folder, ignore_errors=True)
    pipeline(family, model.half(), work).to(dtype=torch.float16).save_pretrained(
        folder, safe_serialization=True
    )
    for config in folder.glob(
        "text_encoder*/config.json"
    ):  # else transformers keeps them half beside a full denoiser
        told = json.loads(config.read_text()) | {"dtype": "float32"}
        config.write_text(json.dumps(told, indent=2) + "\n")
    (folder / "athena.json").write_text(json.dumps(PRESETS[family], indent=2) + "\n")
    (folder / "README.md").write_text(card(family))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > LIMIT:
        raise SystemExit(f"{family} takes {size} bytes, more than {LIMIT}")
    return folder
