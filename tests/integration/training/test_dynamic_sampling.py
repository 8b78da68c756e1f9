"""DAPO goes on drawing tasks until enough groups have both outcomes, and a run that resumes draws the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from proas.training.checkpoint import Checkpoint, latest_checkpoint
from tests.integration.training.runs import Plug, Stop, run, settings, told

GROUP = 4


def test_a_batch_is_filled_and_a_resumed_run_is_the_same(games: Path, warm: Path, tmp_path: Path) -> None:
    config = settings(games, algorithm="dapo", tasks=4, iterations=2, group_size=GROUP, step_limit=14)
    whole = run(config, tmp_path / "whole", warm)
    rows = list(whole.metrics())[1:]
    before = 0.0
    for row in rows:
        groups, mixed, refills = (row[f"rollout/{name}"] for name in ("groups", "groups_mixed", "refills"))
        assert row["episodes"] - before == groups * GROUP
        before = row["episodes"]
        assert mixed <= 4
        assert mixed == 4 or groups == 8 or refills == config.refills == 10, (
            "neither full, nor out of tasks, nor of draws"
        )
        assert groups >= 4 + (4 - mixed if groups < 8 else 0)
        assert row["proas/filtered_groups"] == groups - mixed
        assert row["update/rollouts"] <= mixed * GROUP
    assert any(row["rollout/refills"] > 0 for row in rows), "every first draw was full: the test shows nothing"
    with pytest.raises(Stop):
        run(config, tmp_path / "part", warm, watcher=Plug(2))
    part = run(config, tmp_path / "part", warm, resume=True)
    assert told(part) == told(whole)
    ours, theirs = (Checkpoint.read(latest_checkpoint(d.checkpoints)) for d in (part, whole))
    assert torch.equal(ours.weights, theirs.weights)
    assert ours.position == theirs.position


def test_without_refills_an_iteration_costs_what_others_cost(games: Path, warm: Path, tmp_path: Path) -> None:
    config = settings(games, algorithm="dapo", tasks=4, iterations=1, group_size=GROUP, **{"estimator.refills": 0})
    row = list(run(config, tmp_path / "none", warm).metrics())[-1]
    assert (row["rollout/groups"], row["rollout/refills"], row["episodes"]) == (4, 0, 4 * GROUP)
    others = settings(games, algorithm="grpo")
    assert others.refills == 0
    assert settings(games, algorithm="dapo", **{"shaping.dynamic_sampling": "false"}).refills == 0
