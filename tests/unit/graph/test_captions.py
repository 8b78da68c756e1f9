"""One line for a state."""

from __future__ import annotations

import pytest

from proas.graph.captions import caption_of


@pytest.mark.parametrize(
    ("facts", "caption"),
    [
        ((), "start"),
        (("at fridge 1",), "at fridge 1"),
        (
            ("holding apple 1", "apple 1 is hot", "at fridge 1", "fridge 1 is open"),
            "holding apple 1 (hot) at fridge 1 (open)",
        ),
        (("apple 1 is hot", "apple 1 is sliced"), "apple 1 is hot, sliced"),
        (("apple 1 in fridge 1", "goal reached"), "goal reached; apple 1 in fridge 1"),
        (("page results",), "page results"),
    ],
)
def test_captions(facts, caption):
    assert caption_of(facts) == caption
    assert caption_of(reversed(facts)) == caption


def test_a_caption_is_bounded():
    assert len(caption_of([f"thing {i} in place {i}" for i in range(100)])) <= 120
