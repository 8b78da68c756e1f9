"""A whole step of verl on real ALFWorld games, with ProAS: what verl learns from is what ``proas.shaping`` says.

Ray, the queue, FSDP2, the agent loops, the stock estimator, the graph and the actor's update are all as in a run on
GPUs; only the device, the engine behind the rollouts and the sizes are a test's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph

pytestmark = pytest.mark.timeout(1200)  # a guard against a run that hangs; on an idle machine it takes two minutes

Command = Callable[..., tuple[list[str], str]]


def test_rows_of_steps(command: Command, seeded: ReferenceGraph, connection: Connection, tmp_path: Path) -> None:
    """GiGPO, whose advantages differ from step to step, on a row a step."""
    from cpu_run import GROUP, TASKS, run
    from expected import check_against_shaping, check_growth

    words, name = command("gigpo", "steps", steps=1)
    ran = run(words, connection, tmp_path)
    layer = ReferenceGraph(connection, name)
    [rows], [metrics] = ran.batches, ran.metrics
    batch = check_against_shaping(rows, layer, "gigpo")
    assert len(batch) == TASKS * GROUP
    assert len(rows) > len(batch)
    pairs = [(s.base_advantage or 0.0, s.advantage or 0.0) for rollout in batch for s in rollout.steps]
    assert any(after == 0 < before for before, after in pairs), "steps outside the graph earn nothing"
    assert any(before < 0 and after not in (0, before) for before, after in pairs), "penalties have been moved"
    assert any(step.valid is False for rollout in batch for step in rollout.steps), "some replies have no form"

    # The graph has been read at version 0, and has learnt from the batch.
    assert metrics["proas/coverage"] == 1
    assert metrics["proas/graph/version"] == 0
    assert 0 < metrics["proas/mask_rate"] <= 1
    assert metrics["proas/time/label"] > 0
    assert metrics["proas/entropy"] == metrics["actor/entropy"]
    assert layer.info().version == 1
    check_growth(batch, layer, seeded)
    # The actor has been updated with what was compared above.
    assert "actor/grad_norm" in ran.log
    assert "proas/mask_rate" in ran.log
