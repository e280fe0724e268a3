"""Language models that read prompts for a pipeline, each two or three tiny layers."""

from __future__ import annotations

import transformers as t
from transformers import PreTrainedTokenizerBase

from . import parts
from .tokens import qwen_tokenizer


def sizes(tokenizer: PreTrainedTokenizerBase, layers: int = 2, **more: object) -> dict:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 2048,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def gemma(tokenizer: PreTrainedTokenizerBase) -> t.GemmaModel:
    return parts.liven(t.GemmaModel(t.GemmaConfig(**sizes(tokenizer))))


def gemma2(tokenizer: PreTrainedTokenizerBase) -> t.Gemma2Model:
    return parts.liven(t.Gemma2Model(t.Gemma2Config(**sizes(tokenizer))))


def glm(tokenizer: PreTrainedTokenizerBase) -> t.GlmModel:
    return parts.liven(t.GlmModel(t.GlmConfig(**sizes(tokenizer))))


def qwen3(tokenizer: PreTrainedTokenizerBase, layers: int = 3) -> t.Qwen3Model:
    return parts.liven(t.Qwen3Model(t.Qwen3Config(**sizes(tokenizer, layers))))


def qwen3_writer(tokenizer: PreTrainedTokenizerBase) -> t.Qwen3ForCausalLM:
    return parts.liven(t.Qwen3ForCausalLM(t.Qwen3Config(**sizes(tokenizer, 3))))


def qwen3_vl_config(tokenizer: PreTrainedTokenizerBase, layers: int = 3) -> t.Qwen3VLConfig:
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 2, 2]}
    vision = {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": 32,
        "deepstack_visual_indexes": [],
        "num_position_embeddings": 16,
    }
    return t.Qwen3VLConfig(
        text_config=sizes(tokenizer, layers, rope_parameters=rope),
        vision_config=vision,
        tie_word_embeddings=False,
    )


def qwen3_vl(tokenizer: PreTrainedTokenizerBase, layers: int = 3) -> t.Qwen3VLModel:
    return parts.liven(t.Qwen3VLModel(qwen3_vl_config(tokenizer, layers)))


def qwen3_vl_writer(tokenizer: PreTrainedTokenizerBase) -> t.Qwen3VLForConditionalGeneration:
    return parts.liven(t.Qwen3VLForConditionalGeneration(qwen3_vl_config(tokenizer)))


def mistral3(tokenizer: PreTrainedTokenizerBase) -> t.Mistral3ForConditionalGeneration:
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return parts.liven(
        t.Mistral3ForConditionalGeneration(
            t.Mistral3Config(
                text_config={"model_type": "mistral", **sizes(tokenizer, 3)},
                vision_config={
                    "model_type": "pixtral",
                    **vision,
                    "head_dim": 8,
                    "image_size": 32,
                    "patch_size": 8,
                },
                image_token_index=0,
            )
        )
    )


def umt5(tokenizer: PreTrainedTokenizerBase) -> t.UMT5EncoderModel:
    config = t.UMT5Config(vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    return parts.liven(t.UMT5EncoderModel(config))


def t5gemma(tokenizer: PreTrainedTokenizerBase) -> t.T5GemmaEncoderModel:
    inner = t.T5GemmaModuleConfig(**sizes(tokenizer))
    config = t.T5GemmaConfig(
        encoder=inner, decoder=inner, is_encoder_decoder=False, vocab_size=len(tokenizer)
    )
    return parts.liven(t.T5GemmaEncoderModel(config))


def bert(tokenizer: PreTrainedTokenizerBase) -> t.BertModel:
    config = t.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    return parts.liven(t.BertModel(config))


class Processor:
    """What a processor of words and pictures does with words: its tokenizer's work."""

    def __init__(self) -> None:
        self.tokenizer = qwen_tokenizer()

    def __call__(self, text: list[str], **how: object) -> t.BatchEncoding:
        side = how.pop("padding_side", "left")
        return self.tokenizer(text, padding_side=side, **how)

    def apply_chat_template(self, messages: list, **how: object) -> object:
        made = self.tokenizer.apply_chat_template(messages, **how)
        return [made] if how.get("tokenize") and not how.get("return_dict") else made
