"""Whole runs on the real server: versions equal iterations, and a run that resumes is the run that never ended."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from proas.errors import UsageError
from proas.graph import Connection, ReferenceGraph
from proas.rollout_files import load_rollouts
from proas.shaping import preset as shaping_preset
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from tests.integration.training.runs import Plug, Stop, run, settings, told


@pytest.mark.parametrize("shaping", ["membership", "paper"])
def test_a_run_that_resumes_is_the_run_that_never_ended(
    shaping: str, games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games, rollouts_every=1).with_shaping(shaping_preset(shaping))
    whole = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0])
    with pytest.raises(Stop):
        run(config, tmp_path / "part", warm, connection=connection, graph=names[1], watcher=Plug(3))
    # What a killed run may have left: an iteration in the graph that no checkpoint knows.
    learnt = ReferenceGraph(connection, names[1])
    assert learnt.info().version == 2
    part = run(config, tmp_path / "part", warm, connection=connection, graph=names[1], resume=True)
    assert told(part) == told(whole)
    ours, theirs = (Checkpoint.read(latest_checkpoint(d.checkpoints)) for d in (part, whole))
    assert torch.equal(ours.weights, theirs.weights)
    assert ours.position == theirs.position
    for name in names[:2]:
        assert ReferenceGraph(connection, name).info().version == 3
    assert ReferenceGraph(connection, names[0]).stats().transitions == learnt.stats().transitions
    kept = sorted((whole.path / "rollouts").iterdir())
    assert [file.name for file in kept] == ["00001.jsonl", "00002.jsonl", "00003.jsonl"]
    for file in kept:
        again = (part.path / "rollouts" / file.name).read_text(encoding="utf-8")
        assert again.replace(names[1], names[0]) == file.read_text(encoding="utf-8")
    rollouts = [rollout for file in kept for rollout in load_rollouts(file)]
    assert any(rollout.covered for rollout in rollouts) or shaping == "paper"  # which reads before it learns
    for rollout in rollouts:
        assert all((step.label is not None) == bool(rollout.covered) for step in rollout.steps)
        assert all(step.advantage is not None for step in rollout.steps)


def test_a_later_version_than_the_checkpoint_is_forgotten(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games).with_shaping(shaping_preset("membership"))
    whole = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0])
    done = told(whole)
    (whole.checkpoints / "iteration-000003.pt").unlink()
    stray = whole.path / "rollouts" / "00003.jsonl"
    stray.parent.mkdir()
    stray.touch()
    again = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0], resume=True)
    assert told(again) == done
    assert not stray.exists()


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "gigpo", "migpo", "hgpo", "graphgpo", "tigpo", "ppo"])
def test_every_algorithm_trains_under_the_graph_s_shaping(
    algorithm: str, games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games, algorithm=algorithm, iterations=1).with_shaping(shaping_preset("membership"))
    directory = run(config, tmp_path / "run", warm, connection=connection, graph=names[0])
    row = list(directory.metrics())[-1]
    assert row["rollout/success"] > 0, "the warm start solves nothing: the test shows nothing"
    assert row["proas/graph/version"] == 1
    assert row["proas/graph/coverage"] > 0
    assert row["update/steps"] > 0
    start, end = (Checkpoint.read(latest_checkpoint(directory.checkpoints, k)).weights for k in (0, 1))
    assert not torch.equal(start, end)
    assert sum(
        row[f"seconds/{part}"] for part in ("environment", "policy", "passing", "graph", "shaping", "update")
    ) == (pytest.approx(row["seconds/total"]))


def test_a_run_without_the_graph_needs_no_database(games: Path, warm: Path, tmp_path: Path) -> None:
    loop = shaping_preset("membership").updated({"verdicts": "loop_mask", "info_seeking": False})
    config = settings(games, iterations=1).with_shaping(loop)
    row = list(run(config, tmp_path / "run", warm).metrics())[-1]
    assert not [name for name in row if name.startswith("proas/graph/")]
    assert row["update/steps"] > 0
    with pytest.raises(UsageError, match="needs a database"):
        run(settings(games).with_shaping(shaping_preset("paper")), tmp_path / "other", warm)


def test_labels_by_support_reach_the_run(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    rows = []
    for name, least in zip(names, (1, 10_000), strict=False):
        shaping = shaping_preset("membership").updated({"min_support": least})
        config = settings(games, iterations=1).with_shaping(shaping)
        directory = run(config, tmp_path / name, warm, connection=connection, graph=name)
        rows.append(list(directory.metrics())[-1])
    assert rows[0]["proas/graph/coverage"] > 0
    assert rows[1]["proas/graph/coverage"] == 0  # nothing has that much support: all pass through
