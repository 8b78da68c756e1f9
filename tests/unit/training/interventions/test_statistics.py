"""Means and slopes with intervals by cluster, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from proas.training.interventions.statistics import Estimate, between, mean_of, regress, split_evenly, within


def line(xs: list[float]) -> np.ndarray:
    return np.stack([np.ones(len(xs)), np.array(xs)], axis=1)


def test_a_slope_worked_by_hand() -> None:
    # x = 0, 1, 2, 3 and y = 1, 3, 2, 6: mean x 1.5, mean y 3, Sxy = 7, Sxx = 5, so the slope is 1.4, the intercept 0.9.
    intercept, slope = regress(line([0, 1, 2, 3]), np.array([1.0, 3.0, 2.0, 6.0]), ["a", "b", "c", "d"])
    assert intercept.value == pytest.approx(0.9)
    assert slope.value == pytest.approx(1.4)
    assert slope.clusters == 4


def test_a_mean_is_over_values_and_its_interval_over_clusters() -> None:
    # Two clusters with means 0 and 1: of the four equally likely draws one is (0, 0), one (1, 1), two have mean 1/2.
    found = mean_of([0.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"])
    assert found == Estimate(0.5, 0.0, 1.0, 2)
    # The same values, each its own cluster, are four witnesses and not two: 0 and 1 are now rare (1 in 16 each),
    # and still beyond the middle 95 %.
    alone = mean_of([0.0, 0.0, 1.0, 1.0], range(4))
    assert (alone.value, alone.low, alone.high) == (0.5, 0.0, 1.0)
    many = mean_of([0.0, 1.0] * 200, range(400))
    assert many.low is not None
    assert many.high is not None
    # 0.5 -+ 1.96 * 0.5 / 20
    assert many.low == pytest.approx(0.451, abs=0.006)
    assert many.high == pytest.approx(0.549, abs=0.006)


def test_repeating_a_cluster_s_values_changes_no_interval() -> None:
    once = mean_of([0.1, 0.4, 0.3, 0.9, 0.5], range(5))
    often = mean_of([0.1, 0.4, 0.3, 0.9, 0.5] * 10, list(range(5)) * 10)
    assert once.low == pytest.approx(often.low)
    assert once.high == pytest.approx(often.high)


def test_the_same_data_give_the_same_interval() -> None:
    values = np.random.default_rng(3).normal(size=60)
    clusters = [i // 3 for i in range(60)]
    assert mean_of(values, clusters) == mean_of(values, clusters)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Of 200 samples of 40 clusters, about 95 % of the intervals hold the slope that made them."""
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(200):
        cluster = np.repeat(np.arange(40), 3)
        x = generator.normal(size=120)
        y = 0.7 * x + generator.normal(size=40)[cluster] + 0.5 * generator.normal(size=120)
        slope = regress(line(x.tolist()), y, cluster.tolist(), draws=400)[1]
        assert slope.low is not None
        assert slope.high is not None
        held += slope.low <= 0.7 <= slope.high
    assert 178 <= held <= 198


def test_a_column_that_others_make_up_has_no_coefficient_of_its_own() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0, 5.0])
    y = np.array([1.0, 0.0, 2.0, 4.0, 3.0])
    plain = regress(line(x.tolist()), y, range(5))
    design = np.stack([np.ones(5), np.full(5, 7.0), x, 20.0 - x, np.zeros(5)], axis=1)
    found = regress(design, y, range(5))
    assert [estimate.value is None for estimate in found] == [False, True, False, True, True]
    assert found[2].value == pytest.approx(plain[1].value)


def test_one_cluster_has_no_interval() -> None:
    alone = mean_of([0.25, 0.75], ["a", "a"])
    assert alone == Estimate(0.5, None, None, 1)
    assert mean_of([], []).value is None


def test_lengths_must_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        regress(line([1, 2]), np.array([1.0]), ["a"])


def test_strata_take_out_what_they_explain() -> None:
    # Within each stratum the slope is 2; between them it is far below zero.
    x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    y = np.array([50.0, 52.0, 54.0, 0.0, 2.0, 4.0])
    strata = ["a"] * 3 + ["b"] * 3
    assert within(x, strata).tolist() == [-1, 0, 1, -1, 0, 1]
    across = regress(line(x.tolist()), y, range(6))[1].value
    assert across is not None
    assert across < -4
    (slope,) = regress(within(x[:, None], strata), within(y, strata), range(6))
    assert slope.value == pytest.approx(2.0)


def test_parts_of_about_equal_size() -> None:
    values = np.arange(1.0, 9.0)
    edges = split_evenly(values, 4)
    assert np.bincount(between(values, edges)).tolist() == [2, 2, 2, 2]
    assert split_evenly(np.array([3.0, 3.0, 3.0]), 4) == ()
    assert between(np.array([3.0]), ()).tolist() == [0]
    skewed = np.array([1.0] * 10 + [2.0, 3.0])
    assert set(between(skewed, split_evenly(skewed, 4)).tolist()) <= {0, 1, 2}
    assert split_evenly(np.zeros(0), 4) == ()


def test_estimates_are_shown_with_their_interval() -> None:
    assert Estimate(-0.031, -0.05, -0.012, 9).shown(percent=True) == "-3.1 [-5.0, -1.2]"
    assert Estimate(0.5, None, None, 1).shown() == "+0.500"
    assert Estimate(None, None, None, 0).shown() == "-"
    assert Estimate(1.0, 0.1, 2.0, 3).excludes_zero
    assert not Estimate(1.0, -0.1, 2.0, 3).excludes_zero
