"""One whole step of verl on real ALFWorld games, with ProAS: what verl learns from is what ``proas.shaping`` says.

Ray, the queue, FSDP2, the agent loops, the stock estimator, the graph and the actor's update are all as in a run on
GPUs; only the device, the engine behind the rollouts and the sizes are a test's.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph
from proas.graph_builders import build_graph, builder
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset as shaping_preset
from proas.shaping import shape
from proas.states import ladder_for


@pytest.fixture
def seeded(graph: ReferenceGraph, games: Path) -> ReferenceGraph:
    """The games' plans, as `proas graph build alfworld` stores them."""
    report = build_graph("alfworld", builder("alfworld"), graph, data=games)
    assert report.added_tasks == 4
    return graph


def rollouts_of(rows: list[dict[str, Any]]) -> RolloutBatch:
    """The rollouts as the agent loops recorded them."""
    parts: dict[str, dict[int, Rollout]] = {}
    for row in rows:
        if not row["padding"]:
            part = Rollout.model_validate_json(row["carried"]["rollout"])
            parts.setdefault(part.id, {})[row["carried"]["first"]] = part
    whole = [
        first.model_copy(update={"steps": tuple(step for _, part in sorted(some.items()) for step in part.steps)})
        for some in parts.values()
        for first in [some[0]]
    ]
    return RolloutBatch(tuple(whole))


def check_against_shaping(rows: list[dict[str, Any]], layer: ReferenceGraph, algorithm: str) -> RolloutBatch:
    """Every token's advantage is its step's, from labels and estimators that verl had no part in."""
    config = shaping_preset("paper").updated({"algorithm": algorithm, "invalid_penalty": "recorded"})
    expected = shape(layer.label(rollouts_of(rows), version=0), config)
    steps = {rollout.id: rollout.steps for rollout in expected.batch}
    compared = 0
    for row in rows:
        if row["padding"]:
            assert not any(row["mask"])
            continue
        name = json.loads(row["carried"]["rollout"])["id"]
        claimed = [False] * len(row["mask"])
        for t, (start, end) in enumerate(row["carried"]["spans"], start=row["carried"]["first"]):
            assert steps[name][t].tokens == end - start
            for place in range(start, end):
                assert row["mask"][place] == 1
                assert math.isclose(row["advantages"][place], steps[name][t].advantage, rel_tol=1e-6, abs_tol=1e-6)
                claimed[place] = True
                compared += 1
        for place, sampled in enumerate(row["mask"]):
            assert claimed[place] or not sampled, "every sampled token belongs to a step"
            assert claimed[place] or row["advantages"][place] == 0
    assert compared > 1000
    return expected.batch


@pytest.mark.timeout(1000)  # a guard against a run that hangs; on an idle machine it takes two minutes
@pytest.mark.parametrize(("loop", "algorithm"), [("trajectory", "grpo"), ("steps", "gigpo")])
def test_one_step(
    loop: str,
    algorithm: str,
    seeded: ReferenceGraph,
    games: Path,
    tiny_model: Path,
    connection: Connection,
    tmp_path: Path,
) -> None:
    from cpu_run import GROUP, TASKS, run, scaled_down

    from proas.integrations.verl.presets import PRESETS, RunPlan

    layer_name = f"{seeded.name}.{loop}"
    plan = RunPlan(str(games), str(games), seeded.name, layer_name, loop=loop)  # type: ignore[arg-type]
    overrides = scaled_down(PRESETS[f"alfworld-1.5b-{algorithm}"], plan, tiny_model, tmp_path, steps=1)
    ran = run(overrides, connection, tmp_path)
    rows = list(ran.rows)
    layer = ReferenceGraph(connection, layer_name)

    batch = check_against_shaping(rows, layer, algorithm)
    assert len(batch) == TASKS * GROUP
    won = [rollout for rollout in batch if rollout.success]
    assert won, "the games are easy enough that some rollout solves one"
    pairs = [(s.base_advantage or 0.0, s.advantage or 0.0) for rollout in batch for s in rollout.steps]
    assert any(after == 0 < before for before, after in pairs), "steps outside the graph earn nothing"
    assert any(before < 0 and after not in (0, before) for before, after in pairs), "penalties have been moved"
    assert any(step.valid is False for rollout in batch for step in rollout.steps), "some replies have no form"
    if loop == "steps":
        assert len(rows) > len(batch)
        assert any(row["padding"] for row in rows) or len(rows) % (TASKS * GROUP) == 0

    # The graph has been read at version 0 and has learnt what the batch's successes teach, and nothing else.
    [metrics] = ran.metrics
    assert metrics["proas/coverage"] == 1
    assert metrics["proas/graph/version"] == 0
    assert 0 < metrics["proas/mask_rate"] <= 1
    assert metrics["proas/time/label"] > 0
    assert layer.info().version == 1
    assert layer.stats().successes == len(won)
    control = ReferenceGraph.create(connection, f"{layer_name}.control", base=seeded.name)
    control.evolve(batch, ladder_of=lambda r: ladder_for(r.env, r.task, r.goal), version=1)
    for task in {rollout.task for rollout in won}:
        learnt, wanted = layer.read(task), control.read(task)
        assert {t.key: t.support for t in learnt.transitions} == {t.key: t.support for t in wanted.transitions}
    assert layer.verify().ok
    # The actor has been updated with what was compared above.
    assert "actor/grad_norm" in ran.log
    assert "proas/mask_rate" in ran.log
