"""Detectors with random weights, made on the spot: small enough for a test, whole enough to be saved and loaded."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import torch
import transformers as t

from athena.counters import Detector

TEXT = """apple apples snow globe globes cat cats cup cups ball balls person people sheep glasses st bernard
dumb ##bell a an the of photo red"""
WORDS = TEXT.split()


def bert_tokenizer() -> Any:
    letters = [*string.ascii_lowercase, *string.digits, *".?'-"]
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters), *WORDS]
    return t.BertTokenizer(vocab={word: i for i, word in enumerate(dict.fromkeys(vocab))})


def clip_tokenizer() -> Any:
    """The padding is token 0, as in OWL's own: a query that begins with token 0 is no query."""
    letters = string.ascii_lowercase
    vocab = ["!", "<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    merges = [("c", "a"), ("ca", "t</w>")]
    tokens = {word: i for i, word in enumerate([*vocab, "ca", "cat</w>"])}
    return t.CLIPTokenizer(vocab=tokens, merges=merges, pad_token="!", model_max_length=32)


def swin(**more: Any) -> Any:
    return t.SwinConfig(
        embed_dim=16,
        depths=[1] * 4,
        num_heads=[1, 2, 2, 2],
        window_size=4,
        image_size=64,
        out_indices=[2, 3, 4],
    )


def grounded(config: Any, model: Any) -> tuple[Any, Any]:
    tokenizer = bert_tokenizer()
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    sizes = {
        "backbone_config": swin(),
        "text_config": t.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **small),
        "num_queries": 12,
        "d_model": 32,
        "max_text_len": 64,
    }
    for part in ("encoder", "decoder"):
        sizes |= {f"{part}_layers": 2, f"{part}_ffn_dim": 32, f"{part}_attention_heads": 2}
    pictures = t.GroundingDinoImageProcessorPil(size={"shortest_edge": 72, "longest_edge": 108})
    return model(config(**sizes)), t.GroundingDinoProcessor(pictures, tokenizer)


def owlv2() -> tuple[Any, Any]:
    tokenizer = clip_tokenizer()
    small = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {f"{end}_token_id": getattr(tokenizer, f"{end}_token_id") for end in ("bos", "eos", "pad")}
    text = {"vocab_size": len(tokenizer), "max_position_embeddings": 32, **ends, **small}
    vision = {"image_size": 64, "patch_size": 16, **small}
    model = t.Owlv2ForObjectDetection(
        t.Owlv2Config(text_config=text, vision_config=vision, projection_dim=32)
    )
    return model, t.Owlv2Processor(t.Owlv2ImageProcessorPil(size={"height": 64, "width": 64}), tokenizer)


def omdet() -> tuple[Any, Any]:
    """Its processor wants torchvision."""
    tokenizer = clip_tokenizer()
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = t.CLIPTextConfig(
        vocab_size=len(tokenizer), max_position_embeddings=77, eos_token_id=tokenizer.eos_token_id, **small
    )
    config = t.OmDetTurboConfig(
        text_config=text,
        backbone_config=swin(),
        image_size=64,
        text_projection_in_dim=16,
        text_projection_out_dim=16,
        task_encoder_hidden_dim=32,
        class_embed_dim=16,
        num_queries=12,
        encoder_hidden_dim=32,
        decoder_hidden_dim=32,
        vision_features_channels=[32, 32, 32],
        encoder_in_channels=[32, 64, 128],
        encoder_attention_heads=2,
        encoder_dim_feedforward=32,
        decoder_num_heads=2,
        decoder_num_layers=2,
        decoder_dim_feedforward=32,
        apply_layernorm_after_vision_backbone=False,
    )
    pictures = t.DetrImageProcessorPil(size={"height": 64, "width": 64}, do_pad=False)
    return t.OmDetTurboForObjectDetection(config), t.OmDetTurboProcessor(pictures, tokenizer)


BUILD = {
    "grounding-dino": lambda: grounded(t.GroundingDinoConfig, t.GroundingDinoForObjectDetection),
    "mm-grounding-dino": lambda: grounded(t.MMGroundingDinoConfig, t.MMGroundingDinoForObjectDetection),
    "owlv2": owlv2,
    "omdet-turbo": omdet,
}


class ScriptedModel:
    """In place of a Grounding DINO: each image's boxes, with how sure each word of the caption is.

    script: for each image a list of ((x1, y1, x2, y2) in parts of the image, {word or piece: confidence}).
    """

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self, *script: list[tuple[tuple[float, ...], dict[str, float]]]) -> None:
        self.config = t.GroundingDinoConfig()
        self.script, self.captions, self.pixels = list(script), [], []
        self.tokenizer = bert_tokenizer()

    def eval(self) -> Any:
        return self

    def __call__(self, input_ids: Any, pixel_values: Any, **_: Any) -> Any:
        self.captions += [self.tokenizer.decode(ids, skip_special_tokens=True) for ids in input_ids]
        self.pixels += list(pixel_values)
        script = [self.script.pop(0) for _ in input_ids]
        most = max(len(boxes) for boxes in script)
        logits = torch.full((len(script), most, 64), -torch.inf)
        corners = torch.zeros(len(script), most, 4)
        for i, (ids, boxes) in enumerate(zip(input_ids.tolist(), script, strict=True)):
            tokens = self.tokenizer.convert_ids_to_tokens(ids)
            for j, (box, sure) in enumerate(boxes):
                corners[i, j] = torch.tensor(box)
                for word, confidence in sure.items():
                    logits[i, j, tokens.index(word)] = torch.tensor(confidence).logit()
        x1, y1, x2, y2 = corners.unbind(-1)
        centres = torch.stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1], dim=-1)
        return t.models.grounding_dino.modeling_grounding_dino.GroundingDinoObjectDetectionOutput(
            logits=logits, pred_boxes=centres, input_ids=input_ids
        )


def scripted(*script: Any, **options: Any) -> Detector:
    """A Detector round a scripted model; processor, tokenizer and post-processing are the real ones."""
    pictures = t.GroundingDinoImageProcessorPil(size={"shortest_edge": 72, "longest_edge": 108})
    processor = t.GroundingDinoProcessor(pictures, bert_tokenizer())
    return Detector(ScriptedModel(*script), processor, **options)


def save(kind: str, folder: Path) -> Path:
    """A tiny detector of that kind as a folder on disk."""
    torch.manual_seed(0)
    model, processor = BUILD[kind]()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
