"""GRPO, DAPO and GiGPO against arithmetic done by hand, and the properties that hold for any rewards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from proas.errors import DataError
from proas.shaping import dapo, gigpo, grpo, offsets_of, token_weights
from proas.shaping.estimators import anchor_advantages
from proas.shaping.ragged import discounted_returns, future_count, value_clusters

NEAR = {"rtol": 1e-5, "atol": 1e-12}


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_grpo_by_hand() -> None:
    # mean = 1/4; deviations 3/4, -1/4, -1/4, -1/4; squares 9/16 + 3/16 = 12/16; over n - 1 = 3: 1/4; std = 1/2.
    advantages = grpo(floats(1, 0, 0, 0), ints(0, 0, 0, 0))
    assert_allclose(advantages, [1.5, -0.5, -0.5, -0.5], **NEAR)


def test_grpo_without_deviation_by_hand() -> None:
    assert_allclose(grpo(floats(1, 0, 0, 0), ints(0, 0, 0, 0), std=False), [0.75, -0.25, -0.25, -0.25])


def test_grpo_adds_epsilon_to_the_deviation() -> None:
    # std = 1/2 as above; with eps = 1/2 the divisor is 1.
    assert_allclose(grpo(floats(1, 0, 0, 0), ints(0, 0, 0, 0), eps=0.5), [0.75, -0.25, -0.25, -0.25])


def test_groups_do_not_mix() -> None:
    # Group 0: 1 and 0, mean 1/2, std = sqrt(1/2). Group 1: 10 and 20, mean 15, std = sqrt(50).
    advantages = grpo(floats(1, 10, 0, 20), ints(0, 1, 0, 1))
    root = 0.5 / np.sqrt(0.5)
    assert_allclose(advantages, [root, -root, -root, root], **NEAR)


@pytest.mark.parametrize("returns", [(3.0,), (0.1, 0.1, 0.1), (0.1 + 0.2, 0.3), (1e300, 1e300), (0.0, 0.0)])
def test_a_group_without_differences_gives_exactly_zero(returns: tuple[float, ...]) -> None:
    assert_array_equal(grpo(floats(*returns), np.zeros(len(returns), dtype=np.int64)), np.zeros(len(returns)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rewards_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="entry 1"):
        grpo(floats(0, bad), ints(0, 0))
    with pytest.raises(DataError, match="entry 1"):
        gigpo(floats(0, bad), offsets_of([2]), ints(0), ints(0, 1))


def test_dapo_keeps_groups_of_both_outcomes() -> None:
    returns = floats(1, 0, 1, 1, 0.2, 0.1)
    success = np.array([True, False, True, True, False, False])
    estimate = dapo(returns, success, ints(0, 0, 1, 1, 2, 2))
    # Group 1 won and group 2 failed as a whole; that group 2's returns differ does not save it.
    assert_array_equal(estimate.kept, [True, True, False, False, False, False])
    assert_array_equal(estimate.outcomes.all_won, [False, True, False])
    assert_array_equal(estimate.outcomes.all_failed, [False, False, True])
    # mean 1/2, std = sqrt(1/2): 0.5 / 0.7071 = 0.7071.
    assert_allclose(estimate.advantages, [np.sqrt(0.5), -np.sqrt(0.5), 0, 0, 0, 0], **NEAR)


def test_token_weights_by_hand() -> None:
    # Rollout 0 has actions of 1 and 3 tokens, rollout 1 one action of 2 tokens, rollout 2 none.
    tokens, offsets = ints(1, 3, 2), offsets_of([2, 1, 0])
    # sequence: two rollouts with tokens: 1 / (2 * 4) and 1 / (2 * 2).
    assert_allclose(token_weights("sequence", tokens, offsets), [1 / 8, 1 / 8, 1 / 4])
    # token: 6 tokens in all.
    assert_allclose(token_weights("token", tokens, offsets), [1 / 6, 1 / 6, 1 / 6])
    # step: 3 steps: 1 / (3 * 1), 1 / (3 * 3), 1 / (3 * 2).
    assert_allclose(token_weights("step", tokens, offsets), [1 / 3, 1 / 9, 1 / 6])


def test_token_weights_leave_out_what_is_not_kept() -> None:
    kept = np.array([False, True])
    assert_allclose(token_weights("token", ints(1, 3, 2), offsets_of([2, 1]), kept), [0, 0, 1 / 2])
    assert_array_equal(token_weights("token", ints(0, 0), offsets_of([2])), [0, 0])


@settings(deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6),
    unit=st.sampled_from(["sequence", "token", "step"]),
)
def test_token_weights_sum_to_one(lengths: list[list[int]], unit: str) -> None:
    tokens = ints(*(count for rollout in lengths for count in rollout))
    weights = token_weights(unit, tokens, offsets_of([len(rollout) for rollout in lengths]))  # type: ignore[arg-type]
    assert float((weights * tokens).sum()) == pytest.approx(1.0 if tokens.sum() else 0.0)


def test_gigpo_by_hand() -> None:
    # Rollout 0: s0 -> s1 -> goal with rewards 0, 1. Rollout 1: s0 -> s2 -> end with rewards 0, 0. gamma = 1/2.
    # Step returns: 0 + 1/2 = 1/2, 1 | 0, 0. Episode returns 1 and 0: mean 1/2.
    rewards, offsets, groups, anchors = floats(0, 1, 0, 0), offsets_of([2, 2]), ints(0, 0), ints(0, 1, 0, 2)
    centred = gigpo(rewards, offsets, groups, anchors, gamma=0.5, omega=1.0, std=False)
    assert_allclose(centred.episode, [0.5, -0.5])
    # s0 was left twice, with returns 1/2 and 0: mean 1/4. s1 and s2 once each: nothing to compare.
    assert_allclose(centred.step, [0.25, 0, -0.25, 0])
    assert_allclose(centred.advantages, [0.75, 0.5, -0.75, -0.5])
    # With deviations: sqrt(1/2) between 1 and 0, half of it between 1/2 and 0: both levels give 0.7071.
    root = np.sqrt(0.5)
    full = gigpo(rewards, offsets, groups, anchors, gamma=0.5, omega=2.0)
    assert_allclose(full.advantages, [3 * root, root, -3 * root, -root], **NEAR)


def test_the_same_state_in_another_group_is_another_anchor() -> None:
    rewards, offsets = floats(1, 0, 5, 3), offsets_of([1, 1, 1, 1])
    step = anchor_advantages(rewards, offsets, ints(0, 0, 1, 1), ints(7, 7, 7, 7), std=False)
    assert_allclose(step, [0.5, -0.5, 1.0, -1.0])


def test_a_state_revisited_in_one_rollout_is_compared_with_itself() -> None:
    # s0 twice in one rollout, step returns with gamma = 1: 1 and 1 - the same, so nothing is gained by either.
    assert_array_equal(
        anchor_advantages(floats(0, 0, 1), offsets_of([3]), ints(0), ints(0, 1, 0), gamma=1.0), [0, 0, 0]
    )
    # gamma = 1/2: 1/4 and 1: mean 5/8.
    step = anchor_advantages(floats(0, 0, 1), offsets_of([3]), ints(0), ints(0, 1, 0), gamma=0.5, std=False)
    assert_allclose(step, [-0.375, 0, 0.375])


@settings(deadline=None)
@given(
    rewards=st.lists(st.lists(st.floats(-10, 10), max_size=7), max_size=6),
    gamma=st.floats(0, 1),
)
def test_discounted_returns_obey_their_recursion(rewards: list[list[float]], gamma: float) -> None:
    flat = floats(*(value for rollout in rewards for value in rollout))
    got = discounted_returns(flat, offsets_of([len(rollout) for rollout in rewards]), gamma)
    want: list[float] = []
    for rollout in rewards:
        tail = 0.0
        backwards = []
        for value in reversed(rollout):
            tail = value + gamma * tail
            backwards.append(tail)
        want += reversed(backwards)
    assert_allclose(got, want)


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), max_size=7), max_size=6))
def test_future_count_counts(flags: list[list[bool]]) -> None:
    flat = np.array([flag for rollout in flags for flag in rollout], dtype=np.bool_)
    got = future_count(flat, offsets_of([len(rollout) for rollout in flags]))
    assert got.tolist() == [sum(rollout[t:]) for rollout in flags for t in range(len(rollout))]


def test_value_clusters_ignore_rounding_and_respect_rollouts() -> None:
    values = floats(-0.3, -(0.1 + 0.2), -0.5, -0.3)
    clusters = value_clusters(values, ints(0, 0, 0, 1))
    assert clusters[0] == clusters[1]
    assert len(set(clusters.tolist())) == 3


RETURNS = st.lists(st.tuples(st.integers(0, 3), st.floats(-100, 100)), max_size=24)


@settings(deadline=None)
@given(RETURNS, st.booleans())
def test_a_group_s_advantages_sum_to_zero(rows: list[tuple[int, float]], std: bool) -> None:
    groups, returns = ints(*(row[0] for row in rows)), floats(*(row[1] for row in rows))
    sums = np.bincount(groups, weights=grpo(returns, groups, std=std), minlength=4)
    assert_allclose(sums, 0, atol=1e-7)


@settings(deadline=None)
@given(RETURNS, st.randoms(use_true_random=False))
def test_the_order_of_rollouts_does_not_matter_to_the_last_bit(rows: list[tuple[int, float]], random: object) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    groups, returns = ints(*(row[0] for row in rows)), floats(*(row[1] for row in rows))
    assert_array_equal(grpo(returns, groups)[order], grpo(returns[order], groups[order]))


@settings(deadline=None)
@given(RETURNS, st.floats(0.01, 100))
def test_centred_advantages_scale_with_the_rewards(rows: list[tuple[int, float]], factor: float) -> None:
    groups, returns = ints(*(row[0] for row in rows)), floats(*(row[1] for row in rows))
    assert_allclose(grpo(factor * returns, groups, std=False), factor * grpo(returns, groups, std=False), atol=1e-9)
