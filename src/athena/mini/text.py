"""Tokenizers in which every known word is one token, and the small text encoders."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any, cast

from torch import Tensor
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    T5Config,
    T5EncoderModel,
    T5Tokenizer,
)

from athena.mini.words import WORDS

LENGTH = 16  # tokens of a prompt, start and end included
WIDTH = 64
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_MARKS = ".,;:!?'\"-()&/"
_START, _END = "<|startoftext|>", "<|endoftext|>"


def merges(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Byte-pair merges, learned until each word is one token: order matters, so they are learned, not listed."""
    split = {word: [*word[:-1], word[-1] + "</w>"] for word in words if not word.isdigit()}
    learned: list[tuple[str, str]] = []
    while True:
        pairs = Counter(pair for parts in split.values() for pair in pairwise(parts))
        if not pairs:
            return learned
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        learned.append(best)
        for word, parts in split.items():
            joined: list[str] = []
            for part in parts:
                if joined and (joined[-1], part) == best:
                    joined[-1] += part
                else:
                    joined.append(part)
            split[word] = joined


def clip_tokenizer() -> Any:
    """A CLIPTokenizer of our few words; digits are tokens of their own, as in CLIP."""
    learned = merges(WORDS)
    pieces = [_START, _END, *(c for c in _LETTERS + _MARKS), *(c + "</w>" for c in _LETTERS + _MARKS)]
    pieces += [a + b for a, b in learned]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    return CLIPTokenizer(vocab=vocab, merges=cast(Any, learned), model_max_length=LENGTH)


def t5_tokenizer() -> Any:
    """A T5Tokenizer of the same words; it does not fold case, so the first letter comes in both."""
    words = [word for word in WORDS if not word.isdigit()]
    spelled = [*words, *(word.capitalize() for word in words), *(w for w in WORDS if w.isdigit())]
    whole = [("▁" + word, -2.0) for word in dict.fromkeys(spelled)]
    letters = [(c, -20.0) for c in dict.fromkeys("▁" + _LETTERS + _LETTERS.upper() + _MARKS)]
    seen = {piece for piece, _ in whole}
    vocab = [
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        *whole,
        *(pair for pair in letters if pair[0] not in seen),
    ]
    return T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=LENGTH)


def clip_config(tokenizer: Any) -> Any:
    """Three layers: the pipelines read the last but one."""
    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        projection_dim=WIDTH,
        num_hidden_layers=3,
        num_attention_heads=2,
        max_position_embeddings=LENGTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def clip_encoder(projection: bool) -> Any:
    """A small CLIP text encoder, with or without the projection of its pooled output."""
    config = clip_config(clip_tokenizer())
    return CLIPTextModelWithProjection(config) if projection else CLIPTextModel(config)


def t5_encoder() -> Any:
    """A small T5 encoder, for FLUX."""
    config = T5Config(
        vocab_size=len(t5_tokenizer()),
        d_model=WIDTH,
        d_kv=32,
        d_ff=4 * WIDTH,
        num_layers=2,
        num_heads=2,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        relative_attention_num_buckets=16,
        relative_attention_max_distance=16,
        pad_token_id=0,
        eos_token_id=1,
    )
    return T5EncoderModel(config)


def clip_ids(texts: list[str]) -> Tensor:
    """Captions as rows of LENGTH tokens."""
    return _ids(_tokenizers()[0], texts)


def t5_ids(texts: list[str]) -> Tensor:
    """The same for T5."""
    return _ids(_tokenizers()[1], texts)


@cache
def _tokenizers() -> tuple[Any, Any]:
    return clip_tokenizer(), t5_tokenizer()


def _ids(tokenizer: Any, texts: list[str]) -> Tensor:
    known = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    rows: Tensor = tokenizer(
        list(known), padding="max_length", max_length=LENGTH, truncation=True, return_tensors="pt"
    ).input_ids
    return rows[[known[text] for text in texts]]
