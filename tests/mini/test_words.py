"""The vocabulary: what is known, what is not, and that the tokenizers agree."""

import pytest

from athena.errors import PromptError
from athena.mini import words


def test_every_form_of_a_noun_is_known() -> None:
    for noun, (many, _) in words.NOUNS.items():
        assert words.singular(noun) == words.singular(many) == words.singular(many.upper()) == noun
        assert words.known(f"A photo of seven {many} on the grass.")


def test_nouns_cover_the_benchmarks() -> None:
    cococount = {
        "airplane",
        "apple",
        "backpack",
        "bear",
        "bird",
        "bowl",
        "car",
        "cat",
        "cell phone",
        "clock",
        "cow",
    }
    cococount |= {"cup", "dog", "donut", "elephant", "horse", "sheep", "sports ball", "tie"}
    assert cococount <= set(words.NOUNS)
    assert len(words.NOUNS) >= 20
    assert sum(" " in noun for noun in words.NOUNS) >= 3


@pytest.mark.parametrize(
    "prompt", ["a photo of one apples", "7 apples", "a photo of no cats", "a dozen Donuts"]
)
def test_what_athena_may_write_is_known(prompt: str) -> None:
    words.check(prompt)


def test_an_unknown_word_is_an_error_that_lists_what_is_known() -> None:
    with pytest.raises(PromptError, match="zebras") as caught:
        words.check("a photo of seven zebras on the grass")
    assert "traffic light" in str(caught.value) and "on a table" in str(caught.value)


def test_a_word_is_one_token() -> None:
    from athena.mini.text import clip_tokenizer, t5_tokenizer

    clip, t5 = clip_tokenizer(), t5_tokenizer()
    for word in words.WORDS:
        if not word.isdigit():
            assert len(clip(word).input_ids) == 3, word
        assert len(t5(word).input_ids) == 2, word
    longest = "a photo of seventeen traffic lights on the grass."
    assert clip.decode(clip(longest).input_ids, skip_special_tokens=True).replace(" .", ".") == longest
    assert len(clip(longest).input_ids) <= 16 and len(t5(longest).input_ids) <= 16
    assert clip("SEVEN Apples").input_ids == clip("seven apples").input_ids
