"""Rows of nested arguments: telling them apart, taking some, joining, comparing, grafting."""

import torch

from athena.driver import rows as rw
from athena.driver.memo import EncoderMemo
from athena.driver.rows import Call, Layout


def call(text, x=None, t=None):
    x = torch.zeros(4, 2, 3) if x is None else x
    pooled = text[:, 0]
    return Call(
        (x, torch.tensor(5.0) if t is None else t),
        {"encoder_hidden_states": text, "added": {"pooled": pooled}},
    )


def test_a_call_in_rows():
    c = call(torch.arange(24.0).reshape(4, 3, 2))
    assert Layout.of(c) == Layout(4)
    part = Call.from_tree(rw.take(c.tree, [2, 0], Layout(4)))
    assert part.args[0].shape == (2, 2, 3)
    assert part.args[1].ndim == 0, "a scalar timestep is everybody's"
    assert torch.equal(part.kwargs["added"]["pooled"], c.kwargs["added"]["pooled"][[2, 0]])
    both = Call.from_tree(rw.join([c.tree, part.tree], [Layout(4), Layout(2)]))
    assert both.kwargs["encoder_hidden_states"].shape == (6, 3, 2)


def test_lists_of_tensors_are_rows_where_the_latents_are():
    """Z-Image: three positional arguments and three images must not be confused."""
    c = Call(([torch.zeros(4, 1, 2, 2)] * 3, torch.zeros(3), [torch.zeros(n, 2) for n in (3, 5, 7)]), {})
    layout = Layout.of(c)
    assert layout == Layout(3, lists=True)
    part = Call.from_tree(rw.take(c.tree, [2], layout))
    assert [len(x) for x in (part.args[0], part.args[1], part.args[2])] == [1, 1, 1]
    assert part.args[2][0].shape == (7, 2)
    answer = ([torch.zeros(4, 1, 2, 2)],)
    assert isinstance(rw.take(answer, [0], Layout(1, lists=True)), tuple)


def test_positions_have_no_rows_even_where_the_numbers_agree():
    ids = torch.zeros(2, 3)
    tree = {"hidden_states": torch.zeros(2, 4, 4), "txt_ids": ids, "image_rotary_emb": (ids, ids)}
    part = rw.take(tree, [0], Layout(2))
    assert part["txt_ids"] is ids
    assert part["image_rotary_emb"][0] is ids
    assert part["hidden_states"].shape[0] == 1


def test_a_list_of_residuals_is_a_branch():
    tree = {"sample": torch.zeros(2, 4), "residuals": [torch.zeros(2, 8), torch.zeros(2, 16)]}
    assert [x.shape[0] for x in rw.take(tree, [0], Layout(2))["residuals"]] == [1, 1]


def test_what_differs():
    text = torch.zeros(4, 3, 2)
    other = text.clone()
    other[2, 1] = 1
    found = rw.compare(call(text).tree, call(other).tree, Layout(4))
    assert found == rw.Difference(frozenset({2}), True)
    assert rw.compare(call(text).tree, call(text.clone()).tree, Layout(4)) == rw.SAME
    longer = rw.compare(call(text).tree, call(torch.zeros(4, 5, 2)).tree, Layout(4))
    assert longer == rw.Difference(frozenset(range(4)), False), "another length cannot share a call"
    masked = rw.compare({"x": text, "mask": None}, {"x": text, "mask": torch.ones(4, 3)}, Layout(4))
    assert not masked.joinable


def test_residuals_of_a_side_network_are_not_the_prompts_doing():
    tree = {"sample": torch.zeros(2, 4), "down_block_additional_residuals": [torch.zeros(2, 8)]}
    other = {"sample": tree["sample"], "down_block_additional_residuals": [torch.ones(2, 8)]}
    assert rw.compare(tree, other, Layout(2)) == rw.SAME


def test_grafting_takes_the_prompt_and_leaves_the_step():
    text, other = torch.zeros(4, 3, 2), torch.ones(4, 3, 2)
    first, theirs = call(text), call(other)
    later = call(text, x=torch.full((4, 2, 3), 9.0), t=torch.tensor(3.0))
    grafted = Call.from_tree(rw.graft(later.tree, theirs.tree, first.tree, Layout(4)))
    assert torch.equal(grafted.args[0], later.args[0])
    assert float(grafted.args[1]) == 3.0
    assert torch.equal(grafted.kwargs["encoder_hidden_states"], other)
    assert torch.equal(grafted.kwargs["added"]["pooled"], other[:, 0])


class Encoder:
    def __init__(self):
        self.seen = []

    def __call__(self, ids, mask=None):
        self.seen.append(ids.tolist())
        return {"last": ids.float() * 2, "hidden": (ids.float(), ids.float() + 1)}


def test_a_prompt_is_encoded_once():
    encoder, memo = Encoder(), EncoderMemo()

    def encode(*rows):
        return memo(encoder, (torch.tensor(rows),), {"mask": None})

    a, b, c = [1, 2], [3, 4], [5, 6]
    encode(a, b)
    assert torch.equal(encode(b, c, a)["last"], torch.tensor([b, c, a]) * 2.0)
    assert torch.equal(encode(c)["hidden"][1], torch.tensor([c]) + 1.0)
    assert encoder.seen == [[a, b], [c]]
    assert memo.calls == 2


def test_the_memo_forgets_when_it_grows_too_large():
    encoder, memo = Encoder(), EncoderMemo(limit=100)
    for n in range(10):
        memo(encoder, (torch.tensor([[n, n]]),), {})
    assert memo.bytes <= 100
    memo(encoder, (torch.tensor([[9, 9]]),), {})
    assert len(encoder.seen) == 10
    memo(encoder, (torch.tensor([[0, 0]]),), {})
    assert len(encoder.seen) == 11
