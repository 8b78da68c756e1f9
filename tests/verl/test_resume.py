"""A run of verl that goes down and comes back: weights and graph are those of the same iteration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph
from proas.rollouts import RolloutBatch

# A guard against a run that hangs; on an idle machine it takes two minutes. `make test-verl-long` runs it.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long]

Command = Callable[..., tuple[list[str], str]]


def test_a_run_that_is_killed_and_resumed(
    command: Command, seeded: ReferenceGraph, connection: Connection, tmp_path: Path
) -> None:
    """GRPO on whole trajectories. The checkpoint is of iteration 1; what the graph learnt after it is learnt anew."""
    from cpu_run import GROUP, TASKS, run
    from expected import check_against_shaping, check_growth

    words, name = command("grpo", "trajectory", steps=2)
    words += ["trainer.save_freq=1", "trainer.max_actor_ckpt_to_keep=1", "trainer.resume_mode=auto"]
    killed = run([*words, "trainer.total_training_steps=3"], connection, tmp_path / "first", kill_after=2)
    layer = ReferenceGraph(connection, name)
    first = check_against_shaping(killed.batches[0], layer, "grpo")
    assert len(first) == len(killed.batches[0]) == TASKS * GROUP
    lost = check_against_shaping(killed.batches[1], layer, "grpo", version=1)
    assert [metrics["proas/graph/version"] for metrics in killed.metrics] == [0, 1]
    saved = tmp_path / "checkpoints" / "latest_checkpointed_iteration.txt"
    assert saved.read_text(encoding="utf-8") == "1"

    resumed = run(words, connection, tmp_path / "second")
    [rows], [metrics] = resumed.batches, resumed.metrics
    assert {row["step"] for row in rows} == {2}
    assert metrics["proas/graph/version"] == 1
    second = check_against_shaping(rows, layer, "grpo", version=1)
    assert not {rollout.id for rollout in second} & {rollout.id for rollout in lost}
    assert layer.info().version == 2
    check_growth(RolloutBatch((*first, *second)), layer, seeded)
