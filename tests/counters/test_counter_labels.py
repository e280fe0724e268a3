"""When a label names the noun."""

import pytest

from athena.counters.labels import names, words


@pytest.mark.parametrize(
    ("label", "noun"),
    [
        ("apple", "apple"),
        ("apple", "Apple"),
        ("Apples", "apple"),
        ("apple", "apples"),
        ("an apple", "apple"),
        ("the apple.", "apple"),
        ("person", "people"),
        ("people", "person"),
        ("glasses", "glasses"),
        ("sheep", "sheep"),
        ("bus", "buses"),
        ("snow globe", "snow globes"),
        ("globe", "snow globe"),
        ("globes.", "Snow Globes"),
        ("snowglobe", "snow globe"),
        ("ball", "big red ball"),
        ("red ball", "big red ball"),
        ("big ball", "big red ball"),
        ("t - shirt", "t-shirt"),  # as BERT spells it
        ("rubik ' s cube", "Rubik's cube"),
        ("pinata", "piñata"),
        ("st bernard", "st. bernard"),
        ("苹 果", "苹果"),
    ],
)
def test_a_label_that_names_the_noun(label, noun):
    assert names(label, noun)


@pytest.mark.parametrize(
    ("label", "noun"),
    [
        ("", "apple"),
        (".", "apple"),
        ("snow", "snow globe"),
        ("snow globe", "globe"),
        ("pineapple", "apple"),
        ("apple tree", "apple"),
        ("ball red", "red ball"),
        ("glass", "hourglass"),
        ("[SEP]", "apple"),
        ("cat", "apple"),
        ("ness", "business"),
    ],
)
def test_a_label_that_does_not(label, noun):
    assert not names(label, noun)


@pytest.mark.parametrize(
    ("prompt", "counts"),
    [
        ("", True),
        ("a photo of three snow globes", True),
        ("A photo of three Snow Globes on a shelf", True),
        ("three snow globes beside a globe", False),
        ("three snow globes beside two old Globes.", False),
        ("three snow globes and a crystal globe", False),
        ("globe", False),
        ("three snow globes and a globetrotter", True),
    ],
)
def test_the_head_alone_counts_unless_another_noun_owns_it(prompt, counts):
    assert names("globe", "snow globe", prompt) == counts
    assert names("snow globe", "snow globe", prompt)


def test_a_noun_whose_first_word_is_a_plural():
    assert names("ball", "sports ball", "A photo of seven sports balls")
    assert names("sport ball", "sports ball")
    assert not names("ball", "sports ball", "seven sports balls beside a ball of wool")


def test_the_label_decides_what_another_noun_may_own():
    prompt = "four red traffic lights under a light"
    assert names("traffic light", "red traffic light", prompt)
    assert not names("light", "red traffic light", prompt)


@pytest.mark.parametrize(
    ("label", "noun", "counts"),
    [
        ("apple", "apple", True),
        (
            "apple.",
            "apple",
            True,
        ),  # the published code takes the full stop away, and the capitals of the label
        ("Apple", "apple", True),
        ("apple", "Apple", False),
        ("apples", "apple", False),
        ("an apple", "apple", False),
        ("globe", "snow globe", False),
        ("snow globe", "snow globe", True),
        ("t - shirt", "t-shirt", False),
        ("apple [SEP]", "apple", False),
    ],
)
def test_strict_is_the_published_judge(label, noun, counts):
    assert names(label, noun, strict=True) == counts


def test_an_article_alone_is_a_word():
    assert words("A") == ["a"]
    assert words("the a") == ["a"]
    assert words("") == words("...") == []
