"""Measurements over seeds, worked out on paper."""

from __future__ import annotations

import pytest

from proas.training.over_seeds import Interval, Reached, SpeedUp, Spread, first_at


def test_an_iteration_reaches_a_target_once() -> None:
    assert first_at({0: 0.2, 5: 0.6, 10: 0.5, 15: 0.7}, 0.6) == 5
    assert first_at({0: 0.2}, 0.6) is None


def test_intervals_by_hand() -> None:
    found = Interval.of([0.1, 0.2, 0.3])
    # s = 0.1, s / sqrt(3) = 0.0577, t(2) = 4.303
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.2 - 0.2484, 0.2 + 0.2484), abs=1e-4)
    for few in ([0.1], [0.1, 0.3]):
        assert Interval.of(few).low is None
    assert Spread.of([0.5]).deviation is None


def test_a_seed_that_never_gets_there_counts_as_its_last_evaluation() -> None:
    found = Reached.of([{0: 0.1, 5: 0.5, 10: 0.5}, {0: 0.1, 5: 0.2, 10: 0.3}], 0.5)
    assert found == Reached(iterations=5.0, reached=1, seeds=2, at_least=7.5)
    assert (found.censored, found.shown()) == (True, "> 7.5 (1 of 2)")
    none = Reached.of([{0: 0.1, 8: 0.2}], 0.5)
    assert (none.iterations, none.at_least, none.shown()) == (None, 8.0, "> 8.0 (0 of 1)")


def test_speed_ups_are_known_bounded_or_not_given() -> None:
    fast, slow = Reached.of([{0: 0.1, 2: 0.6}], 0.5), Reached.of([{0: 0.1, 2: 0.2, 5: 0.6}], 0.5)
    never, at_once = Reached.of([{0: 0.1, 6: 0.2}], 0.5), Reached.of([{0: 0.6}], 0.5)
    assert SpeedUp.of(fast, slow) == SpeedUp(2.5, at_least=False)
    assert SpeedUp.of(fast, never) == SpeedUp(3.0, at_least=True)
    assert SpeedUp(3.0, at_least=True).shown() == "≥ 3.00"
    assert [SpeedUp.of(never, slow), SpeedUp.of(at_once, at_once), SpeedUp.of(fast, None)] == [None] * 3
