"""Trinity-RFT's own estimator over step experiences of real games, and ProAS after it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph
from proas.graph_builders import build_graph, builder
from proas.integrations.verl.rows import carried
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset, shape

trinity = pytest.importorskip("trinity", reason="trinity-rft is not installed")


def played(games: Path) -> list[Rollout]:
    """Groups with both outcomes: a planner that errs, and chance."""
    from proas.envs import EnvSpec, open_world
    from proas.envs.collect import CollectSettings, collect
    from proas.states import follower_for

    world = open_world(EnvSpec("alfworld", games))
    made = []
    for policy in ("noisy", "random"):
        settings = CollectSettings(policy=policy, group_size=2, step_limit=20)
        for number, rollout in enumerate(collect(world, world.tasks, settings, follower_for)):
            assert isinstance(rollout, Rollout)
            steps = tuple(step.model_copy(update={"tokens": 3}) for step in rollout.steps)
            made.append(rollout.model_copy(update={"id": f"{policy}-{number}", "steps": steps}))
    return made


def experiences(rollouts: list[Rollout]) -> list[Any]:
    """One experience a step, as a workflow makes them."""
    import torch
    from trinity.common.experience import EID, Experience

    runs: dict[str, int] = {}
    made: list[Any] = []
    for rollout in rollouts:
        run = runs[rollout.task] = runs.get(rollout.task, -1) + 1
        made += [
            Experience(
                eid=EID(batch=1, task=rollout.task, run=run, step=t),
                tokens=torch.arange(5),
                prompt_length=2,
                action_mask=torch.ones(3, dtype=torch.bool),
                logprobs=torch.zeros(3),
                reward=rollout.reward,
                info={"proas": carried(rollout, first=t, count=1, spans=[(0, 3)])},
            )
            for t in range(len(rollout.steps))
        ]
    return made


def test_advantages_are_shaping_s(
    graph: ReferenceGraph, games: Path, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trinity.algorithm.advantage_fn import ADVANTAGE_FN

    monkeypatch.setenv("NEO4J_PASSWORD", connection.password.get_secret_value())
    build_graph("alfworld", builder("alfworld"), graph, data=games)
    kind = ADVANTAGE_FN.get("proas.integrations.trinity.ProASAdvantageFn")
    where = {"uri": connection.uri, "username": connection.username, "database": connection.database}
    function = kind(graph=graph.name, run=f"{graph.name}.run", **where)
    rollouts = played(games)
    exps, metrics = function(experiences(rollouts))
    function.close()

    layer = ReferenceGraph(connection, f"{graph.name}.run")
    config = preset("paper").updated({"invalid_penalty": "recorded"})
    wanted = shape(layer.label(RolloutBatch(tuple(rollouts)), version=0), config).batch
    steps = {(r.id, t): step.advantage for r in wanted for t, step in enumerate(r.steps)}
    assert len(exps) == len(steps)
    for exp in exps:
        field = exp.info["proas"]
        rollout = Rollout.model_validate_json(field["rollout"])
        expected = steps[rollout.id, field["first"]]
        assert expected is not None
        assert all(math.isclose(v, expected, rel_tol=1e-6, abs_tol=1e-6) for v in exp.advantages.tolist())
    assert 0 < metrics["proas/mask_rate"] < 1
    assert "group_advantages/reward_mean/mean" in metrics, "Trinity's own metrics are still there"
    assert layer.info().version == 1
    assert layer.stats().successes == sum(r.success for r in rollouts)
