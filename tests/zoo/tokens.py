"""Tokenizers made on the spot: every word of WORDS is one token, any other word is spelled in pieces."""

from __future__ import annotations

import atexit
import json
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import CLIPTokenizer, PreTrainedTokenizerBase, Qwen2Tokenizer, T5Tokenizer

TEXT = """
no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
a an the photo picture image of on in at with and wooden table grass street white background blurry
apple apples cat cats dog dogs cup cups ball balls car cars bird birds circle circles kitten kittens
system user assistant describe the image by detailing color shape size texture quantity text spatial
relationships objects background think Describe
"""
WORDS = TEXT.split()

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for part in m['content'] %}{{ part['text'] }}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@cache
def _bpe(prefix: str, suffix: str, special: tuple[str, ...]) -> tuple[dict, list]:
    """Train byte-pair merges until every word is a single token (milliseconds, always the same result)."""
    ending = {"end_of_word_suffix": suffix} if suffix else {}
    tokenizer = Tokenizer(models.BPE(**ending))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=4000,
        special_tokens=[*special, *(letter + suffix for letter in sorted(alphabet) if suffix)],
        initial_alphabet=sorted(alphabet),
        **ending,
        show_progress=False,
    )
    tokenizer.train_from_iterator([form + word for word in WORDS for form in {prefix, ""}], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def clip_tokenizer(pad_token: str = "<|endoftext|>") -> CLIPTokenizer:
    vocab, merges = _bpe("", "</w>", ("<|startoftext|>", "<|endoftext|>"))
    return CLIPTokenizer(vocab=dict(vocab), merges=list(merges), pad_token=pad_token, model_max_length=77)


def t5_tokenizer() -> T5Tokenizer:
    """Unigram: a whole word always scores better than its letters."""
    letters = [chr(code) for code in range(33, 127)]  # printable ASCII
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    words = [("▁" + word, -2.0) for word in dict.fromkeys(WORDS) if len(word) > 1]
    spelled = [(piece, -20.0) for letter in letters for piece in (letter, "▁" + letter)]
    return T5Tokenizer(vocab=special + words + [("▁", -20.0)] + spelled, extra_ids=0, model_max_length=512)


def qwen_tokenizer() -> Qwen2Tokenizer:
    """With the chat template Z-Image asks for; Qwen-Image writes its own template into the text."""
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    vocab, merges = _bpe(" ", "", special)
    tokenizer = Qwen2Tokenizer(vocab=dict(vocab), merges=list(merges), model_max_length=4096)
    tokenizer.add_special_tokens({"additional_special_tokens": list(special[1:])})
    tokenizer.chat_template = CHATML
    return tokenizer


def glm_tokenizer() -> Qwen2Tokenizer:
    """Pads on the left, and begins even an empty prompt with a token."""
    tokenizer = qwen_tokenizer()
    tokenizer.padding_side = "left"
    begin = tokenizer.convert_tokens_to_ids("<|im_start|>")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", begin)]
    )
    return tokenizer


@cache
def _sentencepiece() -> str:
    """A vocabulary file as Kolors' tokenizer reads it, made once a process."""
    from sentencepiece import SentencePieceTrainer

    folder = Path(mkdtemp(prefix="athena-zoo-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS), *WORDS] * 4),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=300,
        hard_vocab_limit=False,
        model_type="word",
        minloglevel=2,
    )
    return str(folder / "tokenizer.model")


def chatglm_tokenizer() -> PreTrainedTokenizerBase:
    from diffusers.pipelines.kolors.tokenizer import ChatGLMTokenizer

    return ChatGLMTokenizer(_sentencepiece())
