"""Eq. 7 and its variants against arithmetic done by hand, and its properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from proas.shaping import apr_measure, apr_scope, apr_weights, eq7, future_count, mui_weights, offsets_of
from proas.shaping.config import AprForm, AprScope

NEAR: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-12}


def bits(text: str) -> np.ndarray:
    return np.array([letter == "1" for letter in text], dtype=np.bool_)


def test_mui_by_hand() -> None:
    # A = 2 on a trajectory of three steps, the second unreasonable: 2, 0, 2.
    base = np.array([2.0, 2.0, 2.0])
    assert_array_equal(eq7(base, bits("101"), bits("101"), offsets_of([3])), [2, 0, 2])


def test_epsilon_mask_by_hand() -> None:
    # max(Re, 0.1) * 2: 2, 0.2, 2.
    assert_allclose(mui_weights(np.full(3, 2.0), bits("101"), floor=0.1) * 2.0, [2, 0.2, 2])


def test_mask_on_both_signs_by_hand() -> None:
    base = np.array([2.0, -2.0, -2.0, 0.0])
    assert_array_equal(mui_weights(base, bits("0010"), signs="both"), [0, 0, 1, 1])
    assert_array_equal(mui_weights(base, bits("0010"), signs="positive"), [0, 1, 1, 1])


def test_soft_mask_by_hand() -> None:
    confidence = np.array([1.0, 0.25, 0.0])
    assert_array_equal(mui_weights(np.full(3, 4.0), bits("100"), floor=confidence) * 4.0, [4, 1, 0])


# A failed trajectory with A = -1 and PA = 1 0 0 1 0. Its drift, from the end: 1, 1, 2, 3, 3.
PROGRESS, REASONABLE = bits("10010"), bits("10110")
LOSS = np.full(5, -1.0)
FIVE = offsets_of([5])


def test_drift_by_hand() -> None:
    assert_array_equal(future_count(~PROGRESS, FIVE), [3, 3, 2, 1, 1])


@pytest.mark.parametrize(
    ("scope", "want"),
    [
        # T = steps 1, 2, 4 with D = 3, 2, 1: mean 2, weights 3/2, 1, 1/2.
        ("non_progress", [-1, -1.5, -1, -1, -0.5]),
        # T = steps 1, 4 with D = 3, 1: mean 2, weights 3/2, 1/2.
        ("unreasonable", [-1, -1.5, -1, -1, -0.5]),
        # T = all with D = 3, 3, 2, 1, 1: mean 2, weights 3/2, 3/2, 1, 1/2, 1/2.
        ("all", [-1.5, -1.5, -1, -0.5, -0.5]),
    ],
)
def test_apr_by_hand(scope: AprScope, want: list[float]) -> None:
    assert_allclose(eq7(LOSS, REASONABLE, PROGRESS, FIVE, scope=scope), want, **NEAR)


@pytest.mark.parametrize(
    ("form", "want"),
    [
        # Steps left on T = 1, 2, 4: 4, 3, 1: mean 8/3, weights 3/2, 9/8, 3/8.
        ("suffix", [1, 1.5, 1.125, 1, 0.375]),
        # Steps left, over all: 5, 4, 3, 2, 1: mean 3.
        ("ramp", [5 / 3, 4 / 3, 1, 2 / 3, 1 / 3]),
        # Steps done, over all: 1, 2, 3, 4, 5: mean 3.
        ("reversed", [1 / 3, 2 / 3, 1, 4 / 3, 5 / 3]),
        ("none", [1, 1, 1, 1, 1]),
    ],
)
def test_forms_by_hand(form: AprForm, want: list[float]) -> None:
    measure = apr_measure(form, future_count(~PROGRESS, FIVE), FIVE)
    scope = apr_scope(form, "non_progress", REASONABLE, PROGRESS)
    assert_allclose(apr_weights(LOSS, measure, scope, FIVE), want, **NEAR)


def test_clusters_of_equal_advantage_by_hand() -> None:
    # No step is progress: D = 5, 4, 3, 2, 1. The steps at -2 have D = 5, 2 and those at -1 have D = 4, 3: both means
    # are 7/2, so the weights are 10/7, 8/7, 6/7, 4/7. The last step is positive and unreasonable: masked.
    base = np.array([-2.0, -1.0, -1.0, -2.0, 1.0])
    want = [-20 / 7, -8 / 7, -6 / 7, -8 / 7, 0]
    assert_allclose(eq7(base, bits("00000"), bits("00000"), FIVE), want, **NEAR)


def test_epsilon_is_added_to_the_mean() -> None:
    # T = 1, 2, 4, mean 2; with eps = 2 the weights halve: 3/4, 1/2, 1/4.
    assert_allclose(eq7(LOSS, REASONABLE, PROGRESS, FIVE, eps=2.0), [-1, -0.75, -0.5, -1, -0.25])


def test_all_in_scope_and_nothing_to_come_leaves_the_penalty_alone() -> None:
    # A failed rollout of progress only: every D is 0, so T = all has nothing to go by.
    assert_array_equal(eq7(LOSS, bits("11111"), bits("11111"), FIVE, scope="all"), LOSS)


@st.composite
def trajectories(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Base advantages, Re, PA (never without Re) and offsets of a ragged batch, with values that often repeat."""
    lengths = draw(st.lists(st.integers(0, 8), max_size=5))
    size = sum(lengths)
    value = st.sampled_from([-2.5, -1.0, -0.1, 0.0, 0.3, 1.0]) | st.floats(-5, 5)
    base = np.array(draw(st.lists(value, min_size=size, max_size=size)), dtype=np.float64)
    pair = st.lists(st.booleans(), min_size=size, max_size=size)
    reasonable = np.array(draw(pair), dtype=np.bool_)
    progress = np.array(draw(pair), dtype=np.bool_) & reasonable
    return base, reasonable, progress, offsets_of(lengths)


SCOPES = st.sampled_from(["non_progress", "unreasonable", "all"])
FORMS = st.sampled_from(["drift", "none", "ramp", "reversed", "suffix"])


@settings(deadline=None)
@given(trajectories(), SCOPES, FORMS)
def test_the_penalty_is_moved_and_not_enlarged(data: Any, scope: AprScope, form: AprForm) -> None:
    base, reasonable, progress, offsets = data
    chosen = apr_scope(form, scope, reasonable, progress)
    weights = apr_weights(base, apr_measure(form, future_count(~progress, offsets), offsets), chosen, offsets)
    assert (weights >= 0).all()
    assert_array_equal(weights[~(chosen & (base < 0))], 1)
    for i in range(len(offsets) - 1):
        own = slice(offsets[i], offsets[i + 1])
        for value in set(base[own][base[own] < 0].tolist()):
            members = chosen[own] & (base[own] == value)
            assert (weights[own] * base[own])[members].sum() == pytest.approx(members.sum() * value, rel=1e-5)


@settings(deadline=None)
@given(trajectories(), SCOPES)
def test_a_sign_never_flips_and_zero_stays_zero(data: Any, scope: AprScope) -> None:
    base, reasonable, progress, offsets = data
    shaped = eq7(base, reasonable, progress, offsets, scope=scope)
    assert (shaped * base >= 0).all()
    assert_array_equal(shaped[base == 0], 0)
    assert not np.signbit(shaped[shaped == 0]).any()


@settings(deadline=None)
@given(trajectories(), SCOPES, st.floats(1e-3, 1e3))
def test_shaping_scales_with_the_advantage(data: Any, scope: AprScope, factor: float) -> None:
    base, reasonable, progress, offsets = data
    scaled = eq7(factor * base, reasonable, progress, offsets, scope=scope)
    assert_allclose(scaled, factor * eq7(base, reasonable, progress, offsets, scope=scope), rtol=1e-9, atol=1e-12)


@settings(deadline=None)
@given(trajectories(), SCOPES)
def test_it_is_the_formula(data: Any, scope: AprScope) -> None:
    """The arrays agree with Eq. 7 read out step by step."""
    base, reasonable, progress, offsets = data
    want = []
    for i in range(len(offsets) - 1):
        steps = range(offsets[i], offsets[i + 1])
        drift = {t: sum(not progress[u] for u in steps if u >= t) for t in steps}
        in_scope = {"non_progress": ~progress, "unreasonable": ~reasonable, "all": np.ones_like(progress)}[scope]
        for t in steps:
            cluster = [drift[u] for u in steps if in_scope[u] and base[u] == base[t]]
            if base[t] > 0:
                want.append(base[t] * reasonable[t])
            elif base[t] < 0 and in_scope[t] and sum(cluster):
                want.append(drift[t] / (sum(cluster) / len(cluster) + 1e-6) * base[t])
            else:
                want.append(base[t])
    assert_allclose(eq7(base, reasonable, progress, offsets, scope=scope), want, rtol=1e-6, atol=1e-300)
