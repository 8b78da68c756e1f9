"""A batch of records through the whole of shaping: settled edges, every setting's effect, properties."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.errors import DataError
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import ShapingConfig, preset, shape

Build = Callable[..., Rollout]
Batch = Callable[..., RolloutBatch]
PAPER = preset("paper")


def advantages(shaped: Any, name: str) -> list[float]:
    return [step.advantage for rollout in shaped.batch if rollout.id == name for step in rollout.steps]


def bases(shaped: Any, name: str) -> list[float]:
    return [step.base_advantage for rollout in shaped.batch if rollout.id == name for step in rollout.steps]


def near(*values: float) -> Any:
    return pytest.approx(list(values), rel=1e-5, abs=1e-12)


@pytest.fixture
def pair(rollout: Build, batch: Batch) -> RolloutBatch:
    """One winner with a detour, one loser: GRPO gives +-0.7071 (mean 1/2, std sqrt(1/2))."""
    return batch(
        [
            rollout("won", [0, 1, 2, 1, 3], won=True, reasonable="1001"),
            rollout("lost", [0, 1, 0, 0, 2], reasonable="1001", progress="1000"),
        ]
    )


ROOT = 0.5**0.5


def test_eq_7_on_grpo(pair: RolloutBatch) -> None:
    shaped = shape(pair, PAPER)
    assert bases(shaped, "won") == near(*[ROOT] * 4)
    assert advantages(shaped, "won") == near(ROOT, 0, 0, ROOT)
    # PA = 1 0 0 0, so D = 3, 3, 2, 1 and T = steps 1, 2, 3: mean 2, weights 3/2, 1, 1/2.
    assert advantages(shaped, "lost") == near(-ROOT, -1.5 * ROOT, -ROOT, -0.5 * ROOT)
    assert [r.advantage for r in shaped.batch] == near(ROOT, -ROOT)
    assert all(r.shaping == PAPER.describe() for r in shaped.batch)


def test_records_are_copied_and_all_else_is_kept(pair: RolloutBatch) -> None:
    before = [r.model_dump_json() for r in pair]
    shaped = shape(pair, PAPER)
    assert [r.model_dump_json() for r in pair] == before
    drop = {"advantage": True, "shaping": True, "steps": {"__all__": {"base_advantage", "advantage", "token_weight"}}}
    assert [r.model_dump(exclude=drop) for r in shaped.batch] == [r.model_dump(exclude=drop) for r in pair]
    assert all(Rollout.model_validate_json(r.model_dump_json()) == r for r in shaped.batch)


@pytest.mark.parametrize(
    ("settings", "won", "lost"),
    [
        ({"mui": "false"}, [1, 1, 1, 1], [1, 1.5, 1, 0.5]),
        ({"apr": "none"}, [1, 0, 0, 1], [1, 1, 1, 1]),
        ({"mui": False, "apr": "none"}, [1, 1, 1, 1], [1, 1, 1, 1]),
        ({"epsilon_mask": 0.25}, [1, 0.25, 0.25, 1], [1, 1.5, 1, 0.5]),
        # Both signs are masked, and that takes the place of APR.
        ({"mask_signs": "both"}, [1, 0, 0, 1], [1, 0, 0, 1]),
        # Re = 1 0 0 1: T = steps 1, 2 with D = 3, 2: mean 5/2.
        ({"apr_scope": "unreasonable"}, [1, 0, 0, 1], [1, 1.2, 0.8, 1]),
        # D = 3, 3, 2, 1: mean 9/4.
        ({"apr_scope": "all"}, [1, 0, 0, 1], [12 / 9, 12 / 9, 8 / 9, 4 / 9]),
        # Steps left on T: 3, 2, 1: mean 2 (here the same as drift, for nothing after step 0 is progress).
        ({"apr": "suffix"}, [1, 0, 0, 1], [1, 1.5, 1, 0.5]),
        ({"apr": "ramp"}, [1, 0, 0, 1], [1.6, 1.2, 0.8, 0.4]),
        ({"apr": "reversed"}, [1, 0, 0, 1], [0.4, 0.8, 1.2, 1.6]),
        # 0 -> 1 -> 2 -> 1 -> 3: erased to 0 -> 1 -> 3. 0 -> 1 -> 0 -> 0 -> 2: erased to 0 -> 2. Drift: 3, 3, 2, 1 less
        # the progress at step 3 gives D = 3, 2, 1, 0 on T = 0, 1, 2.
        ({"verdicts": "loop_mask"}, [1, 0, 0, 1], [1.5, 1, 0.5, 1]),
        # Only the self-loop is unreasonable; progress wants a new state: 1 0 0 1, D = 2, 2, 1, 0 on T = 1, 2.
        ({"verdicts": "moving"}, [1, 1, 1, 1], [1, 4 / 3, 2 / 3, 1]),
        ({"verdicts": "invalid_only"}, [1, 1, 1, 1], [1, 4 / 3, 2 / 3, 1]),
        # Two of four steps are masked: the others take their share.
        ({"mask_mass": "moved"}, [2, 0, 0, 2], [1, 1.5, 1, 0.5]),
        ({"mask_mass": "moved", "epsilon_mask": 0.25}, [1.6, 0.4, 0.4, 1.6], [1, 1.5, 1, 0.5]),
        ({"prune_edges": 1.0, "mask_mass": "moved"}, [0, 0, 0, 0], [1.6, 1.2, 0.8, 0.4]),
        ({"prune_edges": 1.0}, [0, 0, 0, 0], [1.6, 1.2, 0.8, 0.4]),
    ],
)
def test_each_setting_by_hand(
    pair: RolloutBatch, settings: dict[str, object], won: list[float], lost: list[float]
) -> None:
    shaped = shape(pair, PAPER.updated(settings))
    assert advantages(shaped, "won") == near(*(ROOT * weight for weight in won))
    assert advantages(shaped, "lost") == near(*(-ROOT * weight for weight in lost))


def test_a_bonus_goes_to_the_kept_steps_of_successes(rollout: Build, batch: Batch) -> None:
    """Where all of a group succeed there is no advantage, and the bonus is all; an unknown task gets none."""
    config = PAPER.updated({"kept_bonus": 0.5})
    mixed = [rollout("won", [0, 1, 2, 1, 3], won=True, reasonable="1001"), rollout("lost", [0, 1], reasonable="1")]
    shaped = shape(batch(mixed), config)
    assert advantages(shaped, "won") == near(ROOT + 0.5, 0, 0, ROOT + 0.5)
    assert advantages(shaped, "lost") == near(-ROOT)
    both = [rollout(name, [0, 1, 2], won=True, reasonable="10") for name in ("one", "two")]
    assert advantages(shape(batch(both), config), "one") == near(0.5, 0)
    unknown = [rollout("far", [0, 1], won=True, covered=False)]
    assert advantages(shape(batch(unknown), config), "far") == near(0)


def test_information_seeking_steps_count_as_reasonable(rollout: Build, batch: Batch) -> None:
    searched = rollout("won", [0, 1, 2, 2, 3], won=True, reasonable="0001", seeks="1010", valid="1101")
    both = batch([searched, rollout("lost", [0])])
    assert advantages(shape(both, PAPER.updated({"invalid_penalty": 0})), "won") == near(0, 0, 0, ROOT)
    # Step 0 looked somewhere new; step 2 claims to, but was invalid.
    on = PAPER.updated({"info_seeking": True, "invalid_penalty": 0})
    assert advantages(shape(both, on), "won") == near(ROOT, 0, 0, ROOT)


def test_information_seeking_leaves_drift_alone(rollout: Build, batch: Batch) -> None:
    lost = rollout("lost", [0, 1, 2, 3], reasonable="000", seeks="010")
    both = batch([lost, rollout("won", [0], won=True)])
    off, on = shape(both, PAPER), shape(both, PAPER.updated({"info_seeking": True}))
    assert advantages(on, "lost") == advantages(off, "lost") == near(-1.5 * ROOT, -ROOT, -0.5 * ROOT)
    # T = unreasonable leaves the search out: D = 3, 1 there: mean 2.
    narrow = shape(both, PAPER.updated({"info_seeking": True, "apr_scope": "unreasonable"}))
    assert advantages(narrow, "lost") == near(-1.5 * ROOT, -ROOT, -0.5 * ROOT)


def test_progress_as_reward_by_hand(rollout: Build, batch: Batch) -> None:
    both = batch(
        [
            rollout("won", [0, 1, 2, 3], won=True, reasonable="101"),
            rollout("lost", [0, 1, 2], reasonable="10"),
        ]
    )
    # Bonus 1/2 a progress step: returns 1 + 2/2 = 2 and 0 + 1/2 = 1/2: mean 5/4, centred +-3/4. Nothing is masked.
    config = PAPER.updated({"progress_as": "reward", "progress_bonus": 0.5, "normalise": "mean"})
    shaped = shape(both, config)
    assert advantages(shaped, "won") == near(0.75, 0.75, 0.75)
    assert advantages(shaped, "lost") == near(-0.75, -0.75)


def test_soft_mask_by_hand(rollout: Build, batch: Batch) -> None:
    start, held, lost_way, odd = ("at desk",), ("at desk", "holds mug"), ("at shelf", "holds mug"), ("at sink",)
    both = batch(
        [
            rollout("won", [start, held, lost_way, start, odd, held], won=True, reasonable="10000"),
            rollout("lost", [start]),
        ]
    )
    # Verified: start and held. Step 1 reaches {at shelf, holds mug}: with held it shares 1 of 3 facts, with start none.
    # Steps 2 and 4 come back to states seen before: 0. Step 3 shares nothing with either: 0.
    shaped = shape(both, PAPER.updated({"soft_mask": True}))
    assert advantages(shaped, "won") == near(ROOT, ROOT / 3, 0, 0, 0)
    floored = shape(both, PAPER.updated({"soft_mask": True, "epsilon_mask": 0.2}))
    assert advantages(floored, "won") == near(ROOT, ROOT / 3, ROOT / 5, ROOT / 5, ROOT / 5)


def test_gigpo_on_records_by_hand(rollout: Build, batch: Batch) -> None:
    both = batch(
        [
            rollout("won", [0, 1, 9], won=True, rewards=[0, 1], reasonable="11"),
            rollout("lost", [0, 2, 0], reasonable="00"),
        ]
    )
    config = PAPER.updated({"algorithm": "gigpo", "normalise": "mean", "gamma": 0.5})
    shaped = shape(both, config)
    # The arithmetic is that of the estimator's own test: 0.75, 0.5 and -0.75, -0.5.
    assert bases(shaped, "won") == near(0.75, 0.5)
    assert bases(shaped, "lost") == near(-0.75, -0.5)
    assert [r.advantage for r in shaped.batch] == near(0.5, -0.5)  # the episode's part
    # Each value of the advantage is a cluster of one step, within which there is nothing to move.
    assert advantages(shaped, "lost") == near(-0.75, -0.5)


def test_gigpo_credits_the_outcome_to_the_last_step(rollout: Build, batch: Batch) -> None:
    recorded = [rollout("won", [0, 1, 9], won=True, rewards=[0, 1]), rollout("lost", [0, 2, 0])]
    outcome_only = [rollout("won", [0, 1, 9], won=True), rollout("lost", [0, 2, 0])]
    config = PAPER.updated({"algorithm": "gigpo"})
    assert shape(batch(recorded), config).metrics == shape(batch(outcome_only), config).metrics


def test_gigpo_by_observation_needs_no_states(rollout: Build, batch: Batch) -> None:
    def bare(source: Rollout) -> Rollout:
        steps = tuple(step.model_copy(update={"state": None}) for step in source.steps)
        return source.model_copy(update={"start": None, "steps": steps})

    full = [rollout("won", [0, 1, 9], won=True), rollout("lost", [0, 2, 0])]
    without = [bare(source) for source in full]
    config = PAPER.updated({"algorithm": "gigpo"})
    with pytest.raises(DataError, match="rollout 'won' carries no states"):
        shape(batch(without), config)
    by_text = shape(batch(without), config.updated({"anchor": "observation"}))
    assert bases(by_text, "won") == bases(shape(batch(full), config), "won")


def test_dapo_keeps_aside_groups_of_one_outcome(rollout: Build, batch: Batch) -> None:
    members = [
        rollout("a", [0, 1], won=True, task="mixed", tokens=[3]),
        rollout("b", [0, 1, 2], task="mixed", tokens=[1, 2]),
        rollout("c", [0, 1], won=True, task="won"),
        rollout("d", [0, 1], won=True, task="won", reward=0.2),
        rollout("e", [0, 1], task="failed", valid="0"),
        rollout("f", [0, 1], task="failed", reward=0.5),
    ]
    shaped = shape(batch(members), PAPER.updated({"algorithm": "dapo"}))
    assert [r.id for r in shaped.batch] == ["a", "b"]
    assert [r.id for r in shaped.filtered] == ["c", "d", "e", "f"]
    assert {reject.id for reject in shaped.batch.rejects} == {"c", "d", "e", "f"}
    assert all("dynamic sampling" in reject.reason for reject in shaped.batch.rejects)
    assert all(step.advantage == 0 for r in shaped.filtered for step in r.steps)
    assert shaped.metrics["proas/filtered_rollouts"] == 4
    assert shaped.metrics["proas/filtered_groups"] == 2
    # Six tokens take part, each with weight 1/6.
    assert [step.token_weight for r in shaped.batch for step in r.steps] == near(*[1 / 6] * 3)
    everyone = shape(batch(members), PAPER.updated({"algorithm": "dapo", "dynamic_sampling": False}))
    assert len(everyone.batch) == 6
    assert everyone.batch.rejects == ()


def test_token_weights_follow_the_algorithm(rollout: Build, batch: Batch) -> None:
    both = batch([rollout("a", [0, 1, 2], won=True, tokens=[1, 3]), rollout("b", [0, 1], tokens=[2])])

    def weights(**settings: object) -> list[float | None]:
        return [step.token_weight for r in shape(both, PAPER.updated(settings)).batch for step in r.steps]

    assert weights(algorithm="grpo") == near(1 / 8, 1 / 8, 1 / 4)
    assert weights(algorithm="dapo") == near(1 / 6, 1 / 6, 1 / 6)
    assert weights(algorithm="gigpo") == near(1 / 3, 1 / 9, 1 / 6)
    assert weights(algorithm="grpo", rows="step") == near(1 / 3, 1 / 9, 1 / 6)


def test_penalties_and_groups_that_differ_by_nothing_else(rollout: Build, batch: Batch) -> None:
    failed = batch([rollout("clean", [0, 1, 2]), rollout("clumsy", [0, 0, 0], valid="00")])
    # Returns 0 and -0.2: mean -0.1, std sqrt(0.02): +-0.7071.
    kept = shape(failed, PAPER.updated({"apr": "none"}))
    assert bases(kept, "clean") == near(ROOT, ROOT)
    assert bases(kept, "clumsy") == near(-ROOT, -ROOT)
    dropped = shape(failed, PAPER.updated({"apr": "none", "penalty_only_groups": "drop"}))
    assert bases(dropped, "clean") + bases(dropped, "clumsy") == [0, 0, 0, 0]
    assert dropped.metrics["proas/groups_without_signal"] == 1
    assert shape(failed, preset("membership")).metrics["proas/groups_without_signal"] == 1


def test_penalties_stay_where_returns_differ(rollout: Build, batch: Batch) -> None:
    mixed = batch([rollout("won", [0, 0, 1], won=True, valid="01"), rollout("lost", [0, 1])])
    for choice in ("keep", "drop"):
        shaped = shape(mixed, PAPER.updated({"normalise": "mean", "penalty_only_groups": choice}))
        # Returns 0.9 and 0: mean 0.45.
        assert [r.advantage for r in shaped.batch] == near(0.45, -0.45)


def test_recorded_penalties_are_replaced_and_not_doubled(rollout: Build, batch: Batch) -> None:
    def members(**record: Any) -> RolloutBatch:
        won = rollout("won", [0, 0, 1], won=True, valid="01", **record)
        return batch([won, rollout("lost", [0, 1])])

    paid = members(rewards=[-0.1, 10], reward=9.9)
    unpaid = members(rewards=[0, 10], reward=10)
    outcome_only = members(rewards=[-0.1, 10], reward=10)  # the return is not the sum: it holds no penalty
    for algorithm in ("grpo", "gigpo"):
        config = PAPER.updated({"algorithm": algorithm, "normalise": "mean"})
        first = bases(shape(paid, config), "won")
        assert first == near(*bases(shape(unpaid, config), "won"))
        assert first == near(*bases(shape(outcome_only, config), "won"))
        if algorithm == "grpo":
            assert first == near(4.95, 4.95)  # 9.9 and 0: mean 4.95
    centred = PAPER.updated({"normalise": "mean"})
    assert bases(shape(paid, centred.updated({"invalid_penalty": -1})), "won") == near(4.5, 4.5)
    assert bases(shape(paid, centred.updated({"invalid_penalty": 0})), "won") == near(5, 5)
    assert bases(shape(paid, centred.updated({"invalid_penalty": "recorded"})), "won") == near(4.95, 4.95)
    assert bases(shape(unpaid, centred.updated({"invalid_penalty": "recorded"})), "won") == near(5, 5)
    assert shape(paid, centred).metrics["proas/recorded_penalties"] == 1


@pytest.mark.parametrize("algorithm", ["grpo", "gigpo"])
def test_recorded_penalties_alone_are_no_signal(rollout: Build, batch: Batch, algorithm: str) -> None:
    """Sums such as 3 * -0.1 leave a trace of rounding behind, which must not pass for a difference."""
    failed = batch(
        [
            rollout("clean", [0, 1, 2, 3]),
            rollout("clumsy", [0, 0, 0, 0], valid="000", rewards=[-0.1] * 3, reward=sum([-0.1] * 3)),
            rollout("half", [0, 0, 1, 2], valid="011", rewards=[-0.1, 0, 0], reward=-0.1),
        ]
    )
    config = preset("membership").updated({"algorithm": algorithm})
    assert shape(failed, config).metrics["proas/groups_without_signal"] == 1


def test_partial_scores_of_failed_rollouts_are_a_signal(rollout: Build, batch: Batch) -> None:
    failed = batch([rollout("near", [0, 1], reward=0.6), rollout("far", [0, 1], reward=0.2)])
    shaped = shape(failed, preset("membership"))
    assert [r.advantage for r in shaped.batch] == near(ROOT, -ROOT)


def test_rows_of_steps_by_hand(rollout: Build, batch: Batch) -> None:
    both = batch([rollout("won", [0, 0, 1], won=True, valid="01"), rollout("lost", [0, 1, 2])])
    shaped = shape(both, PAPER.updated({"rows": "step", "normalise": "mean", "apr": "none", "mui": False}))
    # Rows: 1 - 0.1, 1 | 0, 0: mean 0.475.
    assert bases(shaped, "won") == near(0.425, 0.525)
    assert bases(shaped, "lost") == near(-0.475, -0.475)
    assert [r.advantage for r in shaped.batch] == near(0.525, -0.475)


def test_a_penalised_step_of_a_winner_can_be_negative(rollout: Build, batch: Batch) -> None:
    """With a row a step the sign differs within one trajectory, and each half of Eq. 7 acts by the step's own sign."""
    members = [rollout("a", [0, 0, 1], won=True, valid="01", reasonable="01"), rollout("b", [0, 1], won=True)]
    shaped = shape(batch(members), PAPER.updated({"rows": "step", "normalise": "mean"}))
    # Rows 0.9, 1 | 1: mean 0.9667. Step 0 of a is negative and alone in its cluster: unchanged. The rest is positive.
    assert advantages(shaped, "a") == near(-0.2 / 3, 0.1 / 3)
    assert advantages(shaped, "b") == near(0.1 / 3)


def test_success_reward_takes_the_place_of_recorded_rewards(rollout: Build, batch: Batch) -> None:
    both = batch([rollout("won", [0, 1], won=True, reward=0.0), rollout("lost", [0, 1], reward=99.0)])
    shaped = shape(both, PAPER.updated({"success_reward": 10, "normalise": "mean"}))
    assert [r.advantage for r in shaped.batch] == near(5, -5)


# Settled edges.


def test_an_uncovered_task_passes_unchanged_and_is_counted(rollout: Build, batch: Batch) -> None:
    members = [
        rollout("won", [0, 1, 0, 2], won=True, covered=False),
        rollout("lost", [0, 0, 0], covered=False),
        rollout("known", [0, 1], task="other", reasonable="0"),
    ]
    for chosen in ({}, {"mask_signs": "both"}, {"labels": "random"}, {"apr": "ramp"}, {"mui": False, "apr": "ramp"}):
        shaped = shape(batch(members), PAPER.updated(chosen))
        for name in ("won", "lost"):
            assert advantages(shaped, name) == bases(shaped, name)
            assert any(advantages(shaped, name))
        assert shaped.metrics["proas/uncovered_rollouts"] == 2
        assert shaped.metrics["proas/coverage"] == pytest.approx(1 / 3)
        assert shaped.metrics["proas/task_coverage"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "gigpo"])
def test_empty_trajectories_and_batches_are_legal(rollout: Build, batch: Batch, algorithm: str) -> None:
    config = PAPER.updated({"algorithm": algorithm})
    both = batch([rollout("empty", [0]), rollout("won", [0, 1], won=True)])
    shaped = shape(both, config)
    assert advantages(shaped, "empty") == []
    assert shaped.batch.rollouts[0].advantage == pytest.approx(-ROOT, rel=1e-5)
    assert shaped.metrics["proas/empty_rollouts"] == 1
    nothing = shape(batch([]), config)
    assert len(nothing.batch) == 0
    assert nothing.metrics["proas/rollouts"] == 0
    assert len(shape(batch([rollout("alone", [0])]), config).filtered) == (algorithm == "dapo")


def test_an_advantage_of_zero_stays_zero(rollout: Build, batch: Batch) -> None:
    level = batch([rollout("a", [0, 1, 0], reasonable="10"), rollout("b", [0, 0], reasonable="0")])
    for chosen in ({}, {"mask_signs": "both"}, {"apr": "ramp"}, {"rows": "step"}):
        shaped = shape(level, PAPER.updated(chosen))
        assert advantages(shaped, "a") + advantages(shaped, "b") == [0, 0, 0]


def test_a_group_of_one_has_no_baseline(rollout: Build, batch: Batch) -> None:
    shaped = shape(batch([rollout("alone", [0, 1], won=True)]), PAPER)
    assert advantages(shaped, "alone") == [0]
    assert shaped.metrics["proas/groups_single"] == 1


def test_a_rollout_cut_at_the_step_limit_is_a_failed_one(rollout: Build, batch: Batch) -> None:
    members = [
        rollout("cut", [0, 1], won=True, reward=1.0, ended="step_limit"),
        rollout("lost", [0, 1]),
        rollout("won", [0, 1], won=True, ended="success"),
    ]
    shaped = shape(batch(members), PAPER.updated({"normalise": "mean"}))
    # Returns count as 0, 0, 1.
    assert [r.advantage for r in shaped.batch] == near(-1 / 3, -1 / 3, 2 / 3)
    assert shaped.metrics["proas/cut_successes"] == 1
    assert shaped.metrics["proas/success_rate"] == pytest.approx(1 / 3)
    aside = shape(batch(members[:2]), PAPER.updated({"algorithm": "dapo"}))
    assert len(aside.filtered) == 2
    assert all("failed" in reject.reason for reject in aside.batch.rejects)


def test_missing_labels_are_named(rollout: Build, batch: Batch) -> None:
    good = rollout("r1", [0, 1, 2])
    steps = (good.steps[0], good.steps[1].model_copy(update={"label": None}))
    with pytest.raises(DataError, match="rollout 'r1', step 1: no label"):
        shape(batch([good.model_copy(update={"steps": steps})]), PAPER)
    with pytest.raises(DataError, match="rollout 'r2' has not been labelled: step 0"):
        shape(batch([rollout("r2", [0, 1], covered=None)]), PAPER)
    with pytest.raises(DataError, match="rollout 'r1': covered is not set"):
        shape(batch([good.model_copy(update={"covered": None})]), PAPER)


def test_labels_are_asked_for_only_where_they_are_used(rollout: Build, batch: Batch) -> None:
    raw = batch([rollout("won", [0, 1, 0, 2], won=True, covered=None), rollout("lost", [0, 0], covered=None)])
    for chosen in ({"mui": False, "apr": "none"}, {"mui": False, "apr": "ramp"}, {"verdicts": "loop_mask"}):
        assert len(shape(raw, PAPER.updated(chosen)).batch) == 2


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_rewards_that_are_not_finite_are_refused_by_name(rollout: Build, batch: Batch, bad: float) -> None:
    good = rollout("r1", [0, 1, 2])
    with pytest.raises(DataError, match="rollout 'r1': reward is"):
        shape(batch([good.model_copy(update={"reward": bad})]), PAPER)
    steps = (good.steps[0], good.steps[1].model_copy(update={"reward": bad}))
    with pytest.raises(DataError, match="rollout 'r1', step 1: reward is"):
        shape(batch([good.model_copy(update={"steps": steps})]), PAPER)


def test_advantages_beyond_the_range_of_floats_are_refused(rollout: Build, batch: Batch) -> None:
    both = batch([rollout("a", [0, 1], reward=1.7e308), rollout("b", [0, 1], reward=1.6e308)])
    with pytest.raises(DataError, match="advantages from these returns"):
        shape(both, PAPER)
    loud = batch([rollout("c", [0, 1, 2, 3], reasonable="000", advantage=-1.5e308)])
    with pytest.raises(DataError, match="leave the range of floats"):
        shape(loud, PAPER.updated({"algorithm": "given"}))


def test_states_are_asked_for_where_a_setting_needs_them(rollout: Build, batch: Batch) -> None:
    source = rollout("r1", [0, 1, 2], won=True)
    steps = tuple(step.model_copy(update={"state": None}) for step in source.steps)
    bare = batch([source.model_copy(update={"start": None, "steps": steps}), rollout("r2", [0])])
    for chosen in ({"verdicts": "loop_mask"}, {"verdicts": "moving"}, {"prune_edges": 0.5}, {"soft_mask": True}):
        with pytest.raises(DataError, match="rollout 'r1' carries no states"):
            shape(bare, PAPER.updated(chosen))
    assert advantages(shape(bare, PAPER.updated({"verdicts": "invalid_only"})), "r1") == near(ROOT, ROOT)


def test_contradictory_labels_are_counted(rollout: Build, batch: Batch) -> None:
    source = rollout("r1", [0, 1, 2], reasonable="10")
    wrong = source.steps[0].label.model_copy(update={"drift": 7})  # type: ignore[union-attr]
    faulty = source.model_copy(update={"steps": (source.steps[0].model_copy(update={"label": wrong}), source.steps[1])})
    assert shape(batch([source]), PAPER).metrics["proas/label_faults"] == 0
    assert shape(batch([faulty]), PAPER).metrics["proas/label_faults"] == 1


def test_advantages_of_another_trainer_can_be_shaped(rollout: Build, batch: Batch) -> None:
    source = rollout("r1", [0, 1, 2], reasonable="10", advantage=3.0)
    given_config = PAPER.updated({"algorithm": "given"})
    assert advantages(shape(batch([source]), given_config), "r1") == [3, 0]
    steps = tuple(
        step.model_copy(update={"base_advantage": value}) for step, value in zip(source.steps, (1.0, -2.0), strict=True)
    )
    assert bases(shape(batch([source.model_copy(update={"steps": steps})]), given_config), "r1") == [1, -2]
    with pytest.raises(DataError, match="rollout 'r2', step 0: no base_advantage"):
        shape(batch([rollout("r2", [0, 1])]), given_config)


# Properties over whole batches.

SETTINGS: list[dict[str, object]] = [
    {},
    {"algorithm": "gigpo"},
    {"algorithm": "dapo"},
    {"algorithm": "gigpo", "rows": "step", "apr_scope": "all"},
    {"rows": "step"},
    {"labels": "random"},
    {"labels": "shuffled", "info_seeking": True},
    {"prune_edges": 0.4, "seed": 5},
    {"soft_mask": True, "apr_scope": "unreasonable"},
    {"verdicts": "loop_mask", "apr": "suffix"},
    {"progress_as": "reward"},
    {"mask_signs": "both", "epsilon_mask": 0.3, "penalty_only_groups": "drop"},
    {"apr": "reversed", "normalise": "mean"},
    {"mask_mass": "moved", "rows": "step"},
]

ONE = st.fixed_dictionaries(
    {
        "group": st.integers(0, 2),
        "won": st.booleans(),
        "walk": st.lists(st.integers(0, 3), min_size=1, max_size=8),
        "bits": st.integers(0, 2**24 - 1),
    }
)


def build(rollout: Build, specs: list[dict[str, Any]]) -> list[Rollout]:
    """Rollouts of three tasks, the last of which the graph does not know."""
    made = []
    for number, spec in enumerate(specs):
        count = len(spec["walk"]) - 1
        pattern = format(spec["bits"], "024b")
        reasonable = pattern[:count]
        progress = "".join(str(int(a == "1" and b == "1")) for a, b in zip(reasonable, pattern[8:16], strict=False))
        made.append(
            rollout(
                f"r{number}",
                spec["walk"],
                won=spec["won"],
                reasonable=reasonable,
                progress=progress,
                valid=pattern[16 : 16 + count],
                seeks=pattern[4 : 4 + count],
                task=f"task {spec['group']}",
                covered=spec["group"] < 2,
            )
        )
    return made


def results(shaped: Any) -> dict[str, tuple[float | None, list[tuple[float, float, float]]]]:
    return {
        r.id: (r.advantage, [(s.base_advantage, s.advantage, s.token_weight) for s in r.steps])
        for r in (*shaped.batch, *shaped.filtered)
    }


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
@settings(max_examples=30, deadline=None)
@given(specs=st.lists(ONE, max_size=8), seed=st.integers(0, 99))
def test_the_order_of_rollouts_does_not_matter(
    rollout: Build, chosen: dict[str, object], specs: list[dict[str, Any]], seed: int
) -> None:
    members, config = build(rollout, specs), PAPER.updated(chosen)
    mixed = random.Random(seed).sample(members, len(members))
    assert results(shape(RolloutBatch(tuple(members)), config)) == results(shape(RolloutBatch(tuple(mixed)), config))


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
@settings(max_examples=30, deadline=None)
@given(specs=st.lists(ONE, max_size=8))
def test_signs_zeros_uncovered_tasks_and_conservation(
    rollout: Build, chosen: dict[str, object], specs: list[dict[str, Any]]
) -> None:
    config = PAPER.updated(chosen)
    shaped = shape(RolloutBatch(tuple(build(rollout, specs))), config)
    for r in (*shaped.batch, *shaped.filtered):
        pairs = [(s.base_advantage or 0.0, s.advantage or 0.0) for s in r.steps]
        assert all(after * before >= 0 for before, after in pairs)
        assert all(after == 0 for before, after in pairs if before == 0)
        if r.covered is False and config.verdicts == "graph":
            assert all(after == before for before, after in pairs)
        if not (config.masks and config.mask_signs == "both"):
            lost = [(before, after) for before, after in pairs if before < 0]
            assert sum(after for _, after in lost) == pytest.approx(sum(before for before, _ in lost), rel=1e-5)


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
@settings(max_examples=30, deadline=None)
@given(specs=st.lists(ONE, max_size=6))
def test_shaping_is_idempotent_on_its_base(
    rollout: Build, chosen: dict[str, object], specs: list[dict[str, Any]]
) -> None:
    config = PAPER.updated(chosen)
    once = shape(RolloutBatch(tuple(build(rollout, specs))), config)
    again = shape(once.batch, config.updated({"algorithm": "given"}))
    for first, second in zip(once.batch, again.batch, strict=True):
        assert [s.base_advantage for s in first.steps] == [s.base_advantage for s in second.steps]
        if config.labels == "as_given" and not config.soft_mask:  # these look at the whole batch
            assert [s.advantage for s in first.steps] == [s.advantage for s in second.steps]


@settings(max_examples=50, deadline=None)
@given(specs=st.lists(ONE, max_size=8), factor=st.sampled_from([0.125, 2.0, 1024.0]))
def test_centred_advantages_scale_with_rewards_and_penalties(
    rollout: Build, specs: list[dict[str, Any]], factor: float
) -> None:
    members = build(rollout, specs)
    louder = [r.model_copy(update={"reward": r.reward * factor}) for r in members]
    config = PAPER.updated({"normalise": "mean"})
    loud = config.updated({"invalid_penalty": -0.1 * factor})
    quiet = results(shape(RolloutBatch(tuple(members)), config))
    for name, (_, steps) in results(shape(RolloutBatch(tuple(louder)), loud)).items():
        assert [a for _, a, _ in steps] == pytest.approx([factor * a for _, a, _ in quiet[name][1]])


def test_a_config_is_all_that_a_rerun_needs(pair: RolloutBatch) -> None:
    config = PAPER.updated({"labels": "random", "seed": 11})
    again = ShapingConfig.from_dict(config.to_dict())
    assert results(shape(pair, config)) == results(shape(pair, again))
