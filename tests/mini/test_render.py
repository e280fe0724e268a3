"""The renderer: the same seed gives the same picture, and the layout is what was asked for."""

import numpy as np
import pytest

from athena.mini import render

if not render.FONT.exists():
    pytest.skip("needs fonts-noto-color-emoji", allow_module_level=True)


def test_same_seed_same_picture() -> None:
    one, layout = render.render(7)
    two, again = render.render(7)
    assert np.array_equal(one, two) and layout == again
    assert not np.array_equal(one, render.render(8)[0])
    assert one.shape == (render.SIDE, render.SIDE, 3) and one.dtype == np.uint8


@pytest.mark.parametrize("count", [0, 1, 5, 12])
def test_all_objects_are_there_and_apart(count: int) -> None:
    _, layout = render.render(count, [3] * count)
    assert layout.count(3) == count and layout.count(4) == 0
    things = layout.things
    for i, a in enumerate(things):
        for b in things[:i]:
            assert np.hypot(a.x - b.x, a.y - b.y) >= 0.5 * (a.size + b.size)
