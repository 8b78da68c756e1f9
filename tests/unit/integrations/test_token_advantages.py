"""Steps and tokens: what goes from one to the other, on arrays alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.errors import DataError
from proas.integrations.token_advantages import TokenSpans, add_to_steps, scale_steps, step_means

ROWS = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=6), min_size=1, max_size=5)
"""Rows as pairs of (tokens of the environment, tokens of the step after it)."""


def laid_out(rows):
    """Offsets, the row of each step, its span, and the owner of every token (-1 for the environment's)."""
    offsets, of_row, spans, owners = [0], [], [], []
    for number, row in enumerate(rows):
        place = 0
        for before, own in row:
            owners += [-1] * before + [len(of_row)] * own
            spans.append((place + before, place + before + own))
            of_row.append(number)
            place += before + own
        offsets.append(offsets[-1] + place)
    return offsets, of_row, spans, np.array(owners, dtype=np.int64)


@given(ROWS, st.randoms(use_true_random=False))
def test_each_token_is_treated_as_its_step(rows, rng):
    offsets, of_row, spans, owners = laid_out(rows)
    made = TokenSpans.of(offsets, of_row, spans)
    tokens = np.array([rng.uniform(-3, 3) for _ in owners])
    values = np.array([rng.uniform(0, 2) for _ in of_row])
    scaled, added = scale_steps(tokens, made, values), add_to_steps(tokens, made, values)
    for place, owner in enumerate(owners):
        assert scaled[place] == (tokens[place] if owner < 0 else tokens[place] * values[owner])
        assert added[place] == (tokens[place] if owner < 0 else tokens[place] + values[owner])
    mask = np.array([rng.random() < 0.8 for _ in owners], dtype=np.bool_)
    means = step_means(tokens, mask, made)
    for step in range(len(of_row)):
        own = tokens[(owners == step) & mask]
        assert means[step] == pytest.approx(own.mean() if own.size else 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_outcome_advantage_is_the_step_s_to_the_last_bit(dtype):
    value = dtype(-0.7071063)
    made = TokenSpans.of([0, 4096], [0, 0, 0], [(0, 1000), (1000, 1000), (1003, 4096)])
    tokens = np.full(4096, value, dtype=dtype)
    assert step_means(tokens, np.ones(4096), made).tolist() == [float(value), 0.0, float(value)]
    shaped = scale_steps(tokens, made, np.array([0.0, 5.0, 1.0]))
    assert shaped.dtype == dtype
    assert set(shaped[:1000].tolist()) == {0.0}
    assert set(shaped[1000:].tolist()) == {float(value)}


def test_what_was_given_is_not_changed():
    made = TokenSpans.of([0, 3], [0], [(0, 2)])
    tokens = np.ones(3)
    scale_steps(tokens, made, np.array([0.0]))
    add_to_steps(tokens, made, np.array([1.0]))
    assert tokens.tolist() == [1, 1, 1]


@pytest.mark.parametrize("span", [(-1, 2), (2, 1), (0, 4), (4, 5)])
def test_a_span_outside_its_row(span):
    with pytest.raises(DataError, match=r"row 1: a step's tokens .* not within its response of 3 tokens"):
        TokenSpans.of([0, 3, 6, 9], [1], [span])


def test_two_steps_with_one_token():
    with pytest.raises(DataError, match="the same token"):
        TokenSpans.of([0, 5], [0, 0], [(0, 3), (2, 5)])


def test_not_one_span_a_step():
    with pytest.raises(DataError, match="1 spans for 2 steps"):
        TokenSpans.of([0, 5], [0, 0], [(0, 3)])


def test_no_rows_and_no_steps():
    made = TokenSpans.of([0], [], [])
    assert scale_steps(np.empty(0), made, np.empty(0)).size == 0
    assert step_means(np.empty(0), np.empty(0), made).size == 0
