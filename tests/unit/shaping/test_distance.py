"""Distance as mask and as potential: by hand, as properties, and on a small world solved by dynamic programming."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.errors import UsageError
from proas.rollouts import RolloutBatch
from proas.shaping import Diagnostics, ShapingConfig, preset, shape
from proas.shaping.distance import StepDistances, even_gains, potential, potential_gains
from proas.shaping.frame import Frame

PLAIN = ShapingConfig(mui=False, apr="none", invalid_penalty=0.0)
FAR = st.one_of(st.none(), st.integers(0, 12))


def _measured(rollout, far):
    """The rollout with the distances of its T + 1 states."""
    steps = tuple(
        step.model_copy(update={"distance_before": before, "distance": after})
        for step, (before, after) in zip(rollout.steps, pairwise(far), strict=True)
    )
    return rollout.model_copy(update={"steps": steps})


@pytest.fixture
def walk(rollout):
    def build(name, far, **more):
        return _measured(rollout(name, [f"{name}{i}" for i in range(len(far))], **more), far)

    return build


def _advantages(shaped):
    return [[step.advantage for step in one.steps] for one in shaped.batch.rollouts]


# The potential


def test_the_potential_runs_from_nothing_at_the_start_to_the_starts_distance_at_the_goal():
    found = potential(np.array([4.0, 0.0, 3.0, 5.0]), 4.0, 0.5)
    # 4 (0.5^d - 0.5^4) / (1 - 0.5^4) = 4 (0.5^d - 1/16) * 16/15
    assert found == pytest.approx([0.0, 4.0, 4 / 15, -2 / 15])
    assert potential(np.array([4.0, 0.0, 3.0, 5.0]), 4.0, 1.0).tolist() == [0.0, 4.0, 1.0, -1.0]


@given(st.integers(1, 60), st.integers(0, 80), st.floats(1e-9, 1e-4))
def test_a_discount_next_to_one_is_the_plain_difference(start, far, little):
    assert potential(np.array([float(far)]), float(start), 1 - little) == pytest.approx([start - far], abs=5.0)
    assert potential(np.array([float(far)]), float(start), 1 - 1e-12) == pytest.approx([start - far], abs=1e-6)


@given(st.integers(1, 30), st.floats(0.05, 1.0))
def test_nearer_is_better_and_a_shortest_way_earns_one_a_step_on_average(start, gamma):
    values = potential(np.arange(start + 20, dtype=np.float64), float(start), gamma)
    assert (np.diff(values[: start + 1]) <= 0).all()
    assert values[0] - values[start] == pytest.approx(start)


def test_by_hand(walk, batch):
    """Both failed: no advantage but the potential's. Start 3, plain differences, weight 0.5."""
    one = walk("a", [3, 2, 2, 3, 2, 1])
    two = walk("b", [3, 4, None, None, 2])
    config = PLAIN.updated({"distance": "potential", "distance_weight": 0.5, "distance_gamma": 1.0})
    shaped = shape(batch([one, two]), config)
    assert _advantages(shaped) == [[0.5, 0.0, -0.5, 0.5, 0.5], [-0.5, 0.0, 0.0, 1.0]]
    found = shaped.diagnostics
    assert found.groups_failed_with_signal == 1
    assert found.groups_without_signal == 1  # of base advantages there is none
    assert found.distance_known == pytest.approx(6 / 9)
    assert found.distance_change == pytest.approx((-1 + 0 + 1 - 1 - 1 + 1) / 6)
    assert Diagnostics.of(shaped.batch).groups_failed_with_signal == 1


def test_nothing_is_earned_before_the_first_known_state(walk, batch):
    config = PLAIN.updated({"distance": "potential", "distance_weight": 1.0, "distance_gamma": 1.0})
    (one,) = _advantages(shape(batch([walk("a", [None, None, 5, 4, None])]), config))
    assert one == [0.0, 0.0, 1.0, 0.0]


@given(st.lists(FAR, min_size=2, max_size=12), st.floats(0.1, 1.0))
def test_gains_telescope(rollout, far, gamma):
    one = _measured(rollout("a", list(range(len(far)))), far)
    frame = Frame.of(RolloutBatch((one,)))
    gains = potential_gains(frame, StepDistances.of(frame), gamma)
    known = [d for d in far if d is not None]
    if not known:
        assert not gains.any()
        return
    start = far[0] or max(known)
    if start == 0:
        assert not gains.any()
        return
    ends = potential(np.array([float(known[0]), float(known[-1])]), float(start), gamma)
    assert gains.sum() == pytest.approx(ends[1] - ends[0], abs=1e-9)


# Controls that keep a rollout's sum


def _graphless(gains, **more):
    told = {"distance": "potential", "distance_weight": 1.0, "distance_gamma": 1.0, "distance_gains": gains, **more}
    return PLAIN.updated(told)


def test_even_gains_by_hand(walk, batch):
    """From 3 away to the goal: 3 gained in all, by 5 steps alike; under the loop mask by the 3 that lie in no loop."""
    far, states = [3, 2, 3, 2, 1, 0], ["a", "b", "a", "b", "c", "d"]
    one = walk("x", far).model_copy(update={"success": False})
    assert _advantages(shape(batch([one]), _graphless("even"))) == [pytest.approx([0.6] * 5)]
    looped = [
        step.model_copy(update={"state": walk(s, [0, 0]).start}) for step, s in zip(one.steps, states[1:], strict=True)
    ]
    one = one.model_copy(update={"start": walk("a", [0, 0]).start, "steps": tuple(looped)})
    masked = _graphless("even", mui=True, verdicts="loop_mask")
    assert _advantages(shape(batch([one]), masked)) == [pytest.approx([0.0, 0.0, 1.0, 1.0, 1.0])]


def test_a_rollout_of_which_nothing_is_kept_shares_among_all_its_steps(walk):
    frame = Frame.of(RolloutBatch((walk("a", [2, 1, 0]), walk("b", [2, 2, 1]))))
    kept = np.array([False, False, True, False])
    assert even_gains(frame, np.array([1.0, 1.0, 0.0, 1.0]), kept).tolist() == [1.0, 1.0, 1.0, 0.0]


@given(st.lists(st.lists(FAR, min_size=1, max_size=9), min_size=1, max_size=4), st.integers(0, 9))
def test_controls_keep_what_each_rollout_gains(rollout, fars, seed):
    rollouts = [_measured(rollout(f"r{i}", list(range(len(far)))), far) for i, far in enumerate(fars)]
    batch = RolloutBatch(tuple(rollouts))
    true, *dealt = (
        shape(batch, _graphless(gains, seed=seed)).batch.rollouts for gains in ("as_given", "shuffled", "even")
    )
    for i, one in enumerate(true):
        own = [step.advantage for step in one.steps]
        assert sorted(step.advantage for step in dealt[0][i].steps) == sorted(own)
        even = [step.advantage for step in dealt[1][i].steps]
        assert even == pytest.approx([sum(own) / max(len(own), 1)] * len(own))


def test_shuffled_gains_are_at_other_places_and_the_same_in_any_order_of_the_batch(walk, batch):
    one, two = walk("a", [9, 8, 8, 8, 8, 8, 8, 8, 8]), walk("b", [9, 8, 8, 8, 8, 8, 8, 8, 8])
    places = {
        seed: _advantages(shape(batch([one, two]), _graphless("shuffled", seed=seed)))[0].index(1.0)
        for seed in range(9)
    }
    assert len(set(places.values())) > 3
    turned = _advantages(shape(batch([two, one]), _graphless("shuffled")))
    assert turned[::-1] == _advantages(shape(batch([one, two]), _graphless("shuffled")))


def test_gains_cannot_be_dealt_out_where_there_are_none():
    with pytest.raises(UsageError, match="distance_gains=even has nothing to act on: distance=none"):
        PLAIN.updated({"distance_gains": "even"})


def test_a_circle_earns_nothing(walk, batch):
    config = PLAIN.updated({"distance": "potential", "distance_gamma": 0.8})
    (one,) = _advantages(shape(batch([walk("a", [4, 3, 2, None, 3, 4])]), config))
    assert sum(one) == pytest.approx(0.0)


def test_the_best_step_of_every_state_stays_the_best():
    """Ten states in a ring with shortcuts: the greedy step by value plus gain is a greedy step by value alone."""
    gamma, weight = 0.9, 3.0
    edges = {s: sorted({(s + 1) % 10, (s - 1) % 10, (s * 3) % 10}) for s in range(1, 10)}
    far = {0: 0} | dict.fromkeys(edges, 10)
    for _ in range(10):  # relax until the lengths are shortest
        far |= {s: min(far[s], 1 + min(far[t] for t in ts)) for s, ts in edges.items()}
    value = {s: gamma ** far[s] for s in far}
    phi = dict(zip(far, potential(np.array([float(d) for d in far.values()]), 5.0, gamma), strict=True))
    for s, ts in edges.items():
        advantage = {t: gamma * value[t] - value[s] for t in ts}
        shaped = {t: advantage[t] + weight * (phi[t] - phi[s]) for t in ts}
        best = max(shaped.values())
        assert {t for t in ts if shaped[t] == pytest.approx(best)} == {
            t for t in ts if advantage[t] == pytest.approx(max(advantage.values()))
        }
        assert max(advantage.values()) == pytest.approx(0.0)  # the advantage of optimal play is 0


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "gigpo"])
@pytest.mark.parametrize("rows", ["trajectory", "step"])
def test_it_adds_to_every_estimator_and_leaves_the_rest_alone(walk, batch, algorithm, rows):
    rollouts = [walk("a", [2, 1, 0], won=True, reasonable="10"), walk("b", [2, 3, 3], reasonable="00")]
    without = preset("membership").updated({"algorithm": algorithm, "rows": rows})
    with_it = without.updated({"distance": "potential", "distance_weight": 0.1, "distance_gamma": 1.0})
    before, after = _advantages(shape(batch(rollouts), without)), _advantages(shape(batch(rollouts), with_it))
    assert np.subtract(after, before) == pytest.approx(np.array([[0.1, 0.1], [-0.1, 0.0]]))


def test_dynamic_sampling_keeps_a_failed_group_that_gains(walk, batch):
    dapo = PLAIN.updated({"algorithm": "dapo"})
    failed = batch([walk("a", [2, 1]), walk("b", [2, 2])])
    assert len(shape(failed, dapo).filtered) == 2
    kept = shape(failed, dapo.updated({"distance": "potential", "distance_weight": 1.0}))
    assert not kept.filtered
    assert kept.batch.rollouts[0].steps[0].advantage > 0
    still = batch([walk("c", [2, 2]), walk("d", [None, None])])
    assert len(shape(still, dapo.updated({"distance": "potential"})).filtered) == 2


def test_an_uncovered_task_gains_nothing(walk, batch):
    one = walk("a", [2, 1], covered=False)
    assert _advantages(shape(batch([one]), PLAIN.updated({"distance": "potential"}))) == [[0.0]]


# The mask


def test_a_positive_step_counts_if_it_comes_nearer(walk, batch):
    # Of the winner's steps: nearer though no edge, an edge though no nearer, unknown and an edge, unknown and none.
    won = walk("a", [3, 2, 2, None, None, 1, 0], won=True, reasonable="010101")
    lost = walk("b", [3, 3])
    config = ShapingConfig(apr="none", invalid_penalty=0.0, distance="mask")
    shaped = shape(batch([won, lost]), config)
    masked = [step.advantage == 0 for step in shaped.batch.rollouts[0].steps]
    assert masked == [False, True, True, False, True, False]
    assert shaped.diagnostics.mask_rate == pytest.approx(0.5)
    assert shaped.diagnostics.nearer_in_positive == pytest.approx(2 / 3)


def test_a_step_that_seeks_stays_reasonable(walk, batch):
    won = walk("a", [2, 2, 1, 0], won=True, seeks="100")
    config = ShapingConfig(apr="none", distance="mask", info_seeking=True)
    shaped = shape(batch([won, walk("b", [2, 2])]), config)
    assert all(step.advantage > 0 for step in shaped.batch.rollouts[0].steps)


def test_the_mask_stands_over_a_control_too(walk, batch):
    won = walk("a", [2, 3, None, 1, 0], won=True)
    config = ShapingConfig(apr="none", distance="mask", verdicts="loop_mask")
    assert config.needs_labels
    masked = [s.advantage == 0 for s in shape(batch([won, walk("b", [2, 2])]), config).batch.rollouts[0].steps]
    assert masked == [True, False, False, False]


# Settings


def test_what_needs_distances_needs_labels():
    loop = ShapingConfig(verdicts="loop_mask", apr="none")
    assert not loop.needs_labels
    assert loop.updated({"distance": "potential"}).needs_labels
    assert not PLAIN.updated({"distance": "mask"}).needs_labels  # nothing is masked, so nothing is asked
    assert PLAIN.updated({"distance": "potential"}).needs_labels


@pytest.mark.parametrize(
    "settings",
    [{"distance": "far"}, {"distance_weight": -1}, {"distance_gamma": 0}, {"distance_gamma": 1.1}, {"min_support": 0}],
)
def test_bad_settings(settings):
    with pytest.raises(UsageError):
        ShapingConfig().updated(settings)


def test_the_settings_are_told():
    told = preset("membership").updated({"distance": "potential", "min_support": "2"}).describe()
    assert "distance=potential" in told
    assert "min_support=2" in told
