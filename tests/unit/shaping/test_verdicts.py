"""Controls and ablations of the labels: what they change and what they must leave alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from proas.purify import loop_erased_steps
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset
from proas.shaping.frame import Frame
from proas.shaping.ragged import future_count
from proas.shaping.verdicts import Verdicts, graph_verdicts, verdicts_of

Build = Callable[..., Rollout]


@pytest.fixture(scope="module")
def frame(rollout: Build) -> Frame:
    """64 rollouts of 40 steps over 12 places in 8 tasks, one of them unknown to the graph."""
    rng = np.random.default_rng(3)
    members = []
    for number in range(64):
        walk = rng.integers(0, 12, 41).tolist()
        reasonable = rng.random(40) < rng.uniform(0.1, 0.9)
        members.append(
            rollout(
                f"r{number}",
                walk,
                reasonable=reasonable.tolist(),
                progress=(reasonable & (rng.random(40) < 0.6)).tolist(),
                task=f"t{number % 8}",
                covered=number % 8 != 0,
            )
        )
    return Frame.of(RolloutBatch(tuple(members)))


def under(frame: Frame, **settings: object) -> Verdicts:
    return verdicts_of(frame, preset("paper").updated(settings))


def check_consistent(frame: Frame, verdicts: Verdicts) -> None:
    judged = verdicts.judged[frame.owner]
    assert not (verdicts.progress & ~verdicts.reasonable)[judged].any()
    assert_array_equal(verdicts.drift[judged], future_count(~verdicts.progress, frame.offsets)[judged])


def test_random_labels_keep_the_rate_and_lose_the_place(frame: Frame) -> None:
    labels, dealt = graph_verdicts(frame), under(frame, labels="random")
    known = labels.judged[frame.owner]
    check_consistent(frame, dealt)
    assert dealt.reasonable[known].sum() == labels.reasonable[known].sum()
    assert dealt.progress[known].sum() == labels.progress[known].sum()
    rate = labels.reasonable[known].mean()
    agreement = (dealt.reasonable == labels.reasonable)[known].mean()
    assert agreement == pytest.approx(rate**2 + (1 - rate) ** 2, abs=0.05)  # as chance has it
    # The rate of a single rollout is not kept: that is what tells it from a shuffle.
    per_rollout = frame.sum_by_rollout(dealt.reasonable) - frame.sum_by_rollout(labels.reasonable)
    assert np.abs(per_rollout).max() > 5


def test_shuffled_labels_keep_the_rate_of_each_rollout(frame: Frame) -> None:
    labels, dealt = graph_verdicts(frame), under(frame, labels="shuffled")
    check_consistent(frame, dealt)
    assert_array_equal(frame.sum_by_rollout(dealt.reasonable), frame.sum_by_rollout(labels.reasonable))
    assert_array_equal(frame.sum_by_rollout(dealt.progress), frame.sum_by_rollout(labels.progress))
    assert (dealt.reasonable != labels.reasonable).mean() > 0.1


@pytest.mark.parametrize("kind", ["random", "shuffled"])
def test_chance_obeys_its_seed(frame: Frame, kind: str) -> None:
    first, same, other = (under(frame, labels=kind, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(first.reasonable, same.reasonable)
    assert (first.reasonable != other.reasonable).any()


def test_pruning_is_a_property_of_the_graph(frame: Frame) -> None:
    labels, pruned = graph_verdicts(frame), under(frame, prune_edges=0.3)
    check_consistent(frame, pruned)
    absent = labels.reasonable & ~pruned.reasonable & labels.judged[frame.owner]
    by_edge: dict[str, set[bool]] = {}
    for i, rollout in enumerate(frame.rollouts):
        if rollout.covered:
            for key, was, gone in zip(
                rollout.transition_keys, labels.reasonable[frame.segment(i)], absent[frame.segment(i)], strict=True
            ):
                if was:
                    by_edge.setdefault(key, set()).add(bool(gone))
    assert all(len(answers) == 1 for answers in by_edge.values())
    assert np.mean([True in answers for answers in by_edge.values()]) == pytest.approx(0.3, abs=0.06)


def test_pruning_more_takes_the_same_edges_and_more(frame: Frame) -> None:
    kept = [under(frame, prune_edges=fraction).reasonable for fraction in (0.0, 0.2, 0.5, 1.0)]
    labels, known = graph_verdicts(frame), frame.covered[frame.owner]
    assert_array_equal(kept[0], labels.reasonable)
    assert not (kept[2] & ~kept[1]).any()
    assert not kept[3][known].any()
    assert (under(frame, prune_edges=0.5, seed=1).reasonable != kept[2]).any()


def test_the_loop_mask_is_loop_erasure(frame: Frame) -> None:
    verdicts = under(frame, verdicts="loop_mask")
    check_consistent(frame, verdicts)
    assert verdicts.judged.all()
    for i, rollout in enumerate(frame.rollouts):
        want = loop_erased_steps(rollout.state_keys, [True] * len(rollout.steps))
        assert verdicts.reasonable[frame.segment(i)].tolist() == want


def test_the_controls_are_nested(frame: Frame) -> None:
    loop, moving, applicable = (
        under(frame, verdicts=rule).reasonable for rule in ("loop_mask", "moving", "invalid_only")
    )
    assert not (loop & ~moving).any()
    assert not (moving & ~applicable).any()
    assert loop.sum() < moving.sum() < applicable.sum()


def test_an_invalid_step_is_unreasonable_to_every_control(rollout: Build) -> None:
    one = Frame.of(RolloutBatch((rollout("r", [0, 1, 2], valid="01"),)))
    for rule in ("loop_mask", "moving", "invalid_only"):
        assert under(one, verdicts=rule).reasonable.tolist() == [False, True]


def test_a_source_that_says_nothing_of_validity_counts_as_valid(rollout: Build) -> None:
    source = rollout("r", [0, 1, 1])
    steps = tuple(step.model_copy(update={"valid": None}) for step in source.steps)
    one = Frame.of(RolloutBatch((source.model_copy(update={"steps": steps}),)))
    assert under(one, verdicts="invalid_only").reasonable.tolist() == [True, True]
    assert under(one, verdicts="moving").reasonable.tolist() == [True, False]  # the state still tells


def test_chance_acts_on_the_mask_that_it_is_a_control_for(rollout: Build) -> None:
    """A shuffled control of a mask with information-seeking steps masks as many steps as that mask."""
    one = Frame.of(RolloutBatch((rollout("r", [0, 1, 2, 3, 4], reasonable="0001", seeks="1100"),)))
    assert under(one, info_seeking=True, labels="shuffled").reasonable.sum() == 3
