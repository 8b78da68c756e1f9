"""DAPO's group filter in verl, with ProAS behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph

# A guard against a run that hangs; on an idle machine it takes two minutes. `make test-verl-long` runs it.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long]

Command = Callable[..., tuple[list[str], str]]


def test_groups_that_are_all_alike_are_replaced(
    command: Command, games: Path, connection: Connection, tmp_path: Path
) -> None:
    """DAPO's filter looks at success; a group that can only fail, though penalties tell its rollouts apart, goes."""
    from cpu_run import GROUP, TASKS, add_hopeless_game, run
    from expected import check_against_shaping

    data, hopeless = add_hopeless_game(games, tmp_path / "games")
    words, name = command("dapo", "steps", steps=1, data=data)
    # All tasks of the data are in the first draw, so the one that cannot be solved is.
    words += [f"data.train_batch_size={TASKS + 1}", f"actor_rollout_ref.actor.ppo_mini_batch_size={TASKS + 1}"]
    # verl fills a batch up to a multiple of the rollouts of an update, and micro-batches have to divide that.
    words += [f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={GROUP}"]
    words += [f"actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu={GROUP}"]
    ran = run(words, connection, tmp_path)
    [rows], [metrics] = ran.batches, ran.metrics
    batch = check_against_shaping(rows, ReferenceGraph(connection, name), "dapo")
    assert metrics["training/filter_groups/evicted_samples"] >= 1
    groups: dict[str, list[bool]] = {}
    for rollout in batch:
        assert rollout.task != hopeless
        groups.setdefault(rollout.group, []).append(rollout.success)
    assert len(groups) == TASKS + 1
    assert all(len(won) == GROUP and 0 < sum(won) < GROUP for won in groups.values())
