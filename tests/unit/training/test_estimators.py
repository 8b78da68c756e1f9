"""Each estimator by hand."""

from __future__ import annotations

import numpy as np
import pytest

from proas.envs import RewardSettings
from proas.errors import DataError
from proas.rollouts import Label, Rollout, RolloutBatch, State, Step
from proas.shaping.config import ShapingConfig
from proas.shaping.ragged import Floats
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal
from proas.training.config import EstimatorSettings, TrainConfig
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


def test_migpo_compares_within_a_group_only() -> None:
    flags = np.array([True, True])
    found = migpo(np.full(2, 10.0), np.zeros(2), flags, np.array([0, 1, 2]), np.array([0, 1]), scale=10.0)
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


def trained(batch: RolloutBatch, algorithm: str, settings: dict[str, object] | None = None, **more: object) -> Floats:
    """Base advantages as the trainer gets them, under its defaults but for what is given, ``(S,)``."""
    config = TrainConfig().updated({"algorithm": algorithm, **(settings or {})})
    found = estimate_base(
        batch,
        config.algorithm,
        config.estimator,
        config.base_shaping,
        ladder_of=lambda _: LADDER,
        **more,  # type: ignore[arg-type]
    )
    return np.array([step.base_advantage for rollout in found.batch for step in rollout.steps])


def test_migpo_by_hand_as_it_is_trained() -> None:
    # Both reach B by their first step, and only the first one the goal: segment 0 holds r = 10 | 10, segment 1 10 | 0.
    batch = RolloutBatch((walk("a", "SBG", success=True), walk("b", "SBA", success=False)))
    assert trained(batch, "migpo") == pytest.approx([5 + 0, 5 + 5, -5 + 0, -5 - 5])


def test_migpo_s_invalid_step_pays_itself_at_both_levels() -> None:
    # The first step of the winner is invalid: p = -0.1. Rows of the episode level: 9.9, 10, 10 | 0, 0, mean 29.9 / 5.
    # Segment 0: r + p = 9.5 - 0.1, 10 | 10 with mean 29.4 / 3. Segment 1: 10 | 0 with mean 5.
    batch = RolloutBatch((walk("a", "SSBG", success=True, invalid=(0,)), walk("b", "SBA", success=False)))
    episode, local = 29.9 / 5, 29.4 / 3
    won = [9.9 - episode + 9.4 - local, 10 - episode + 10 - local, 10 - episode + 5]
    assert trained(batch, "migpo") == pytest.approx([*won, -episode + 10 - local, -episode - 5])
    # Over trajectories the episode level has one value a rollout: 9.9 and 0, mean 4.95.
    found = trained(batch, "migpo", {"shaping.rows": "trajectory"})
    won = [4.95 + 9.4 - local, 4.95 + 10 - local, 4.95 + 5]
    assert found == pytest.approx([*won, -4.95 + 10 - local, -4.95 - 5])


def test_migpo_divides_by_no_deviation_whatever_others_do() -> None:
    batch = RolloutBatch((walk("a", "SBG", success=True), walk("b", "SBA", success=False)))
    divided, centred = (trained(batch, "migpo", {"shaping.normalise": form}) for form in ("mean_std", "mean"))
    assert divided.tolist() == centred.tolist()


@pytest.mark.parametrize("algorithm", ["migpo", "graphgpo", "tigpo"])
def test_the_reward_of_a_milestone_or_a_goal_does_not_depend_on_who_else_is_in_the_batch(algorithm: str) -> None:
    failed = (walk("a", "SAB", success=False), walk("b", "SAC", success=False), walk("c", "SC", success=False))
    won = walk("d", "SAG", success=True, task="other")

    def of_the_failed(*beside: Rollout) -> Floats:
        kept = StateGraphs()
        kept.add([walk("early", "SABG", success=True)])
        batch = RolloutBatch((*failed, *beside))
        return trained(batch, algorithm, {"shaping.normalise": "mean"}, kept=kept)[:5]

    alone = of_the_failed()
    assert alone.tolist() == of_the_failed(won).tolist()
    # From S to the goal by A and B it is three steps. B is reached: 10, or 10 * 0.95 for the step that is one away.
    paid = {"migpo": [9.5, 10.0, 0.0, 0.0, 0.0], "graphgpo": [0.0] * 5, "tigpo": [9.025, 9.5, 9.025, 0.0, 0.0]}
    cells = {"migpo": [[0, 1, 2, 3, 4]], "graphgpo": [], "tigpo": [[0, 2, 4], [1, 3]]}
    expected = np.array(paid[algorithm])
    for cell in cells[algorithm]:
        expected[cell] -= expected[cell].mean()
    assert alone == pytest.approx(expected)


def test_the_reward_of_a_success_is_what_the_settings_say() -> None:
    batch = RolloutBatch((walk("a", "SBG", success=True), walk("b", "SBA", success=False)))
    assert trained(batch, "migpo", {"shaping.success_reward": 2}) == pytest.approx([1 + 0, 1 + 1, -1 + 0, -1 - 1])
    failed = RolloutBatch((walk("a", "SBA", success=False), walk("b", "SAA", success=False)))
    lower = trained(failed, "migpo", paid=RewardSettings(success=1.0))
    assert lower == pytest.approx(trained(failed, "migpo") / 10)


@pytest.mark.parametrize(("algorithm", "itself"), [("migpo", True), ("hgpo", True), ("graphgpo", False)])
def test_who_pays_for_an_invalid_step(algorithm: str, itself: bool) -> None:
    valid, invalid = (
        trained(
            RolloutBatch((walk("a", "SSAG", success=True, invalid=steps), walk("b", "SAC", success=False))),
            algorithm,
            {"shaping.normalise": "mean"},
        )
        for steps in ((), (0,))
    )
    cost = (valid - invalid)[:3]
    assert (cost[0] > cost[1] + 0.01) == itself
    assert itself or cost == pytest.approx([0.05] * 3)  # half of 0.1, the other half being the mean's


def critic_targets(batch: RolloutBatch, config: TrainConfig) -> Floats:
    """What PPO's critic is to learn of a batch of which it expects nothing."""
    found = estimate_base(
        batch,
        config.algorithm,
        config.estimator,
        config.base_shaping,
        ladder_of=lambda _: LADDER,
        values=np.zeros(batch.steps),
    )
    assert found.targets is not None
    return found.targets


def test_ppo_s_penalties_do_not_depend_on_other_rollouts_of_the_task() -> None:
    failing = walk("a", "SSSA", success=False, invalid=(0, 1))
    config = TrainConfig().updated({"algorithm": "ppo"})
    assert config.base_shaping.penalty_only_groups == "drop"
    for sibling in (walk("b", "SACB", success=False), walk("b", "SABG", success=True)):
        found = critic_targets(RolloutBatch((failing, sibling)), config)
        # Discount and lambda are 0.95: -0.1 - 0.1 * 0.95^2 at first.
        assert found[:3] == pytest.approx([-0.1 - 0.1 * 0.95**2, -0.1, 0.0])


@pytest.mark.parametrize("algorithm", ["migpo", "hgpo", "graphgpo", "tigpo"])
def test_progress_as_a_reward_reaches_every_estimator(algorithm: str) -> None:
    # Two failures from S to A; by the graph the first step of the first one alone is progress.
    rollouts = [walk(name, "SA", success=False) for name in "ab"]
    labelled = [
        rollout.model_copy(
            update={
                "covered": True,
                "steps": tuple(
                    step.model_copy(update={"label": Label(reasonable=good, progress=good, drift=1 - good)})
                    for step in rollout.steps
                ),
            }
        )
        for rollout, good in zip(rollouts, (True, False), strict=True)
    ]
    pr = {"shaping.progress_as": "reward", "shaping.progress_bonus": 2.0, "shaping.normalise": "mean"}
    assert trained(RolloutBatch(tuple(labelled)), algorithm, pr) == pytest.approx([1.0, -1.0])
    assert not trained(RolloutBatch(tuple(labelled)), algorithm).any()
    config = TrainConfig().updated({"algorithm": "ppo", **pr})
    assert critic_targets(RolloutBatch(tuple(labelled)), config).tolist() == [2.0, 0.0]


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
