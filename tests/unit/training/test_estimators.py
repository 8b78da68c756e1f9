"""Each estimator by hand."""

from __future__ import annotations

import numpy as np
import pytest

from proas.errors import DataError
from proas.rollouts import Rollout, RolloutBatch, State, Step
from proas.shaping.config import ShapingConfig
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal
from proas.training.config import EstimatorSettings
from proas.training.estimators import StateGraphs, estimate_base, gae, graphgpo, hgpo, migpo, segment_rewards
from proas.training.estimators.milestones import milestone_steps

TWO = np.array([0, 0], dtype=np.int64)
HALF = np.sqrt(0.5)


def test_a_milestone_is_the_first_rise_above_all_before() -> None:
    assert milestone_steps([0, 0, 1, 0, 1, 3, 3]) == [False, True, False, False, True, False]


def test_migpo_rewards_decay_towards_the_milestone_and_the_open_segment_gets_none() -> None:
    flags = np.array([False, False, True, False, True, False, False])
    rewards, segments = segment_rewards(flags, np.array([0, 4, 7]), gamma=0.5, scale=8.0)
    assert rewards.tolist() == [2.0, 4.0, 8.0, 0.0, 8.0, 0.0, 0.0]
    assert segments.tolist() == [0, 0, 0, 1, 0, 1, 1]


def test_migpo_by_hand() -> None:
    # Rollout 0 wins: milestone at its second step of two. Rollout 1 fails: milestone at once, then nothing.
    flags = np.array([False, True, True, False])
    offsets = np.array([0, 2, 4])
    found = migpo(np.array([10.0, 0.0]), flags, offsets, TWO, gamma=0.5, weight=1.0, scale=10.0)
    # Segment 0 holds r = 5, 10 | 10 with mean 25/3; segment 1 holds one step with r = 0, which has no baseline.
    mean = 25 / 3
    assert found == pytest.approx([5 + 5 - mean, 5 + 10 - mean, -5 + 10 - mean, -5.0])


def test_migpo_compares_within_a_group_only() -> None:
    flags = np.array([True, True])
    found = migpo(np.array([10.0, 10.0]), flags, np.array([0, 1, 2]), np.array([0, 1]), scale=10.0)
    assert found.tolist() == [0.0, 0.0]


def test_hgpo_by_hand() -> None:
    # Two rollouts of the same task meet in state b, one coming from a and one from c; undiscounted returns 4 and 0.
    found = hgpo(np.array([0.0, 4.0, 0.0, 0.0]), [("a", "b"), ("c", "b")], TWO, gamma=1.0, context=1, std=False)
    # In b: level 0 has both steps (+2, -2); level 1 sets them apart, so each is alone there and only level 0 counts.
    assert found == pytest.approx([0.0, 2.0, 0.0, -2.0])


def test_hgpo_weighs_the_longer_common_history_more() -> None:
    # Three rollouts: two share a, b; the third comes to b from c. Returns in b: 6, 0, 0.
    rewards = np.array([0.0, 6.0, 0.0, 0.0, 0.0, 0.0])
    states = [("a", "b"), ("a", "b"), ("c", "b")]
    found = hgpo(rewards, states, np.zeros(3, dtype=np.int64), gamma=1.0, context=1, std=False)
    # First rollout in b: level 0 gives 6 - 2 = 4, level 1 gives 6 - 3 = 3; weights 1 and 2.
    assert found[1] == pytest.approx((1 * 4 + 2 * 3) / 3)
    assert found[3] == pytest.approx((1 * -2 + 2 * -3) / 3)
    assert found[5] == pytest.approx(-2.0)
    # In a: only the first two, at both levels, since both begin there.
    assert found[0] == pytest.approx(3.0)


def test_hgpo_of_nothing() -> None:
    assert hgpo(np.zeros(0), [()], np.array([0]), context=2).tolist() == []


def test_gae_by_hand() -> None:
    # One rollout of two steps and one of one; gamma 0.5, lambda 0.5.
    found = gae(np.array([0.0, 8.0, 2.0]), np.array([1.0, 4.0, 3.0]), np.array([0, 2, 3]), gamma=0.5, lam=0.5)
    # delta = 0 + 0.5 * 4 - 1 = 1;  8 - 4 = 4;  2 - 3 = -1. A = 1 + 0.25 * 4 = 2; 4; -1.
    assert found.advantages == pytest.approx([2.0, 4.0, -1.0])
    assert found.targets == pytest.approx([3.0, 8.0, 2.0])
    assert found.normalised.mean() == pytest.approx(0.0)
    assert found.normalised.std(ddof=1) == pytest.approx(1.0)


def test_gae_with_lambda_one_and_a_silent_critic_is_the_discounted_return() -> None:
    rewards = np.array([1.0, 2.0, 4.0])
    found = gae(rewards, np.zeros(3), np.array([0, 3]), gamma=0.5, lam=1.0)
    assert found.advantages == pytest.approx([1 + 1 + 1, 2 + 2, 4])


def walk(name: str, states: str, *, success: bool, invalid: tuple[int, ...] = (), task: str = "task") -> Rollout:
    """A rollout over states named by letters."""
    made = [State.of("env", task, [letter] + ([GOAL_REACHED] if letter == "G" else [])) for letter in states]
    steps = tuple(
        Step(action=f"to {s}", canonical=f"to {s}", state=state, valid=t not in invalid, reward=0.0)
        for t, (s, state) in enumerate(zip(states[1:], made[1:], strict=True))
    )
    return Rollout(
        id=name,
        env="env",
        task=task,
        start=made[0],
        steps=steps,
        success=success,
        reward=10.0 * success,
        ended="success" if success else "step_limit",
    )


def test_distances_run_against_the_arrows_and_skip_what_was_not_carried_out() -> None:
    graphs = StateGraphs()
    won = walk("a", "SABG", success=True)
    lost = walk("b", "SCACC", success=False, invalid=(2,))
    graphs.add([won, lost])
    key = {
        letter: State.of("env", "task", [letter] + ([GOAL_REACHED] if letter == "G" else [])).key for letter in "SABGC"
    }
    assert graphs.distances(["task", "other"]) == {
        "task": {key["G"]: 0, key["B"]: 1, key["A"]: 2, key["S"]: 3, key["C"]: 3},
        "other": {},
    }
    # The step from C to A was carried out in `b` only as its second step; the third, A to C, was invalid.
    assert StateGraphs.from_json(graphs.to_json()).distances(["task"]) == graphs.distances(["task"])


def test_graphgpo_by_hand() -> None:
    # From S one rollout goes to A (distance 1 from the goal), one to C (unknown). gamma 0.5, R = 8.
    states = [("S", "A", "G"), ("S", "C")]
    known = {"G": 0, "A": 1, "S": 2}
    found = graphgpo(np.array([8.0, 0.0]), states, [known, known], TWO, gamma=0.5, weight=1.0, scale=8.0, std=False)
    # S: rewards 4 and 0, mean 2. A: alone, no baseline. Episode level: +4 and -4.
    assert found == pytest.approx([4 + 2, 4 + 0, -4 - 2])


LADDER = Ladder(
    (Subgoal(0, "start"), Subgoal(1, "b", condition=(("B",),)), Subgoal(2, "goal", condition=((GOAL_REACHED,),)))
)


def base_of(batch: RolloutBatch, algorithm: str, **more: object) -> list[list[float]]:
    shaping = ShapingConfig(algorithm="given", normalise="mean", penalty_only_groups="drop", invalid_penalty=0.0)
    found = estimate_base(batch, algorithm, EstimatorSettings(), shaping, ladder_of=lambda _: LADDER, **more)  # type: ignore[arg-type]
    return [[float(step.base_advantage or 0.0) for step in rollout.steps] for rollout in found.batch]


def test_milestones_come_from_the_ladder_and_rewards_from_the_record() -> None:
    batch = RolloutBatch((walk("a", "SBG", success=True), walk("b", "SBA", success=False)))
    (won_first, won_second), (lost_first, lost_second) = base_of(batch, "migpo")
    assert (won_first, lost_first) == pytest.approx((5.0, -5.0))  # both reached B at once: no difference there
    assert won_second == pytest.approx(5.0 + 5.0)  # segment 1: 10 against 0
    assert lost_second == pytest.approx(-5.0 - 5.0)


def test_a_kept_graph_credits_a_group_in_which_all_failed() -> None:
    kept = StateGraphs()
    first = RolloutBatch((walk("a", "SABG", success=True), walk("b", "SC", success=False)))
    base_of(first, "tigpo", kept=kept)
    failed = RolloutBatch((walk("c", "SAB", success=False), walk("d", "SCC", success=False)))
    (towards, _), (away, _) = base_of(failed, "tigpo", kept=kept)
    assert towards > 0 > away
    assert base_of(failed, "graphgpo") == [[0.0, 0.0], [0.0, 0.0]]  # without memory there is nothing to go by


@pytest.mark.parametrize("algorithm", ["migpo", "hgpo", "graphgpo", "tigpo"])
def test_rollouts_without_states_are_refused(algorithm: str) -> None:
    bare = Rollout(id="a", env="env", task="task", steps=(Step(action="x"),), success=False)
    with pytest.raises(DataError, match="carries no states"):
        base_of(RolloutBatch((bare,)), algorithm)


def test_ppo_without_values_is_refused() -> None:
    with pytest.raises(DataError, match="critic"):
        base_of(RolloutBatch((walk("a", "SG", success=True),)), "ppo")
