"""verl's two asynchronous modes with ProAS in them."""

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


@pytest.mark.parametrize(("mode", "updates"), [("proas_colocate_async", 1), ("proas_separate_async", 2)])
def test_asynchronous_modes(
    mode: str, updates: int, command: Command, seeded: ReferenceGraph, connection: Connection, tmp_path: Path
) -> None:
    """Rollouts go on while the actor learns; each of its updates is an iteration of the graph's."""
    from cpu_run import GROUP, TASKS, run
    from expected import check_against_shaping, check_growth

    words, name = command("grpo", "trajectory", steps=1, mode=mode)
    ran = run(words, connection, tmp_path)
    layer = ReferenceGraph(connection, name)
    assert len(ran.batches) == updates
    batches = [check_against_shaping(rows, layer, "grpo", version=version) for version, rows in enumerate(ran.batches)]
    assert [len(batch) for batch in batches] == [TASKS * GROUP // updates] * updates
    assert [metrics["proas/graph/version"] for metrics in ran.metrics] == list(range(updates))
    assert layer.info().version == updates
    check_growth(RolloutBatch(tuple(rollout for batch in batches for rollout in batch)), layer, seeded)
    assert "actor/grad_norm" in ran.log
