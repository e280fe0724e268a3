"""Each strategy, told counts by hand: what it asks for and what it settles on."""

import pytest

from athena import parse_prompt, strategies
from athena.errors import SettingsError, UnknownName
from athena.strategies import Finish, Probe
from athena.types import Attempt

ASK = parse_prompt("a photo of seven apples")


def play(strategy, counts, ask=ASK, gamma=4.0, **options):
    """Run a strategy on a script of counts; gives its requests and what it returned."""
    generator = strategies.prepare(strategies.find(strategy), options)(ask, gamma)
    requests, told = [], []
    try:
        request = next(generator)
        while True:
            requests.append(request)
            told.append(Attempt(count=counts[len(told)]))
            request = generator.send(told[-1])
    except StopIteration as done:
        if isinstance(done.value, Attempt):
            return requests, next(i for i, one in enumerate(told) if one is done.value)
        return requests, done.value


def test_unsteered_and_static():
    assert play("unsteered", []) == ([], Finish())
    assert play("static", []) == ([], Finish(ASK.without_count(), 4.0))
    assert ASK.without_count().text == "a photo of apples"


def test_feedback():
    assert play("feedback", [7]) == ([Probe()], 0)
    assert play("feedback", [5]) == ([Probe()], Finish(ASK.with_count(5), 4.0))


@pytest.mark.parametrize(
    ("first", "second", "gamma"),
    [
        (5, 6, 8.0),  # nearer, not enough: more
        (5, 5, 8.0),  # no change: more
        (5, 8, 2.0),  # beyond: less
        (5, 4, 2.0),  # away from the target: less, as in the paper (its code says more)
        (9, 8, 8.0),
        (9, 9, 8.0),
        (9, 6, 2.0),
        (9, 10, 2.0),
        (0, 3, 8.0),
    ],
)
def test_adaptive_adjusts_gamma_once(first, second, gamma):
    control = ASK.with_count(first)
    assert play("adaptive", [first, second]) == ([Probe(), Probe(control, 4.0)], Finish(control, gamma))


def test_adaptive_stops_when_it_matches():
    assert play("adaptive", [7]) == ([Probe()], 0)
    assert play("adaptive", [5, 7]) == ([Probe(), Probe(ASK.with_count(5), 4.0)], 1)


def test_nothing_seen_is_none_in_the_prompt():
    assert play("feedback", [0])[1].control.text == "a photo of no apples"


@pytest.mark.parametrize(("counts", "kept"), [([5, 6, 4], 1), ([6, 4, 3], 0), ([5, 6, 6], 2), ([5, 9, 8], 2)])
def test_adaptive_may_keep_the_nearest(counts, kept):
    """A draw goes to the latest."""
    requests, chosen = play("adaptive", counts, keep="nearest")
    assert (len(requests), chosen) == (3, kept)


@pytest.mark.parametrize(("counts", "kept"), [([6, 9], 0), ([5, 6], 1), ([5, 9], 1)])
def test_feedback_may_keep_the_nearest(counts, kept):
    assert play("feedback", counts, keep="nearest")[1] == kept


def test_reseed():
    assert play("reseed", [7]) == ([Probe(noise=0)], 0)
    assert play("reseed", [5, 7]) == ([Probe(noise=0), Probe(noise=1)], 1)
    requests, kept = play("reseed", [4, 8, 5])
    assert (requests, kept) == ([Probe(noise=0), Probe(noise=1), Probe(noise=2)], 1)
    assert len(play("reseed", [4, 8, 5, 3, 2], max_attempts=5)[0]) == 5


def test_names_and_options_are_checked():
    with pytest.raises(UnknownName, match='Did you mean "adaptive"'):
        strategies.find("adaptve")
    with pytest.raises(SettingsError, match="generator function"):
        strategies.find(lambda ask, gamma: None)
    with pytest.raises(SettingsError, match='"last" or "nearest"'):
        play("adaptive", [5], keep="best")
    with pytest.raises(SettingsError, match="whole number from 1"):
        play("reseed", [5], max_attempts=0)


def test_a_strategy_of_ones_own():
    def mine(ask, boldness=1):
        seen = yield Probe()
        return seen if seen.count == ask.count else Finish(ask.without_count(), boldness)

    assert play(mine, [7]) == ([Probe()], 0)
    assert play(mine, [5], boldness=9) == ([Probe()], Finish(ASK.without_count(), 9))
    assert strategies.name_of(mine) == "mine"
    assert strategies.options_of(mine) == ["boldness"]
