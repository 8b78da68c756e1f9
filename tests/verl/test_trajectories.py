"""A whole step of verl on whole trajectories: a conversation that grows, its turns found again by recorded spans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph

pytestmark = pytest.mark.timeout(1200)  # a guard against a run that hangs; on an idle machine it takes two minutes

Command = Callable[..., tuple[list[str], str]]


def test_a_sequence_a_trajectory(
    command: Command, seeded: ReferenceGraph, connection: Connection, tmp_path: Path
) -> None:
    """GRPO: one advantage a trajectory before shaping, one a turn after it, on the tokens that the turn sampled."""
    from cpu_run import GROUP, TASKS, run
    from expected import check_against_shaping, check_growth

    words, name = command("grpo", "trajectory", steps=1)
    ran = run(words, connection, tmp_path)
    layer = ReferenceGraph(connection, name)
    [rows], [metrics] = ran.batches, ran.metrics
    batch = check_against_shaping(rows, layer, "grpo")
    assert len(batch) == len(rows) == TASKS * GROUP
    shaped = [{step.advantage for step in rollout.steps} for rollout in batch]
    assert any(len(values) > 1 for values in shaped), "turns of one trajectory are told apart"
    assert metrics["proas/graph/version"] == 0
    assert layer.info().version == 1
    check_growth(batch, layer, seeded)
    assert "actor/grad_norm" in ran.log
