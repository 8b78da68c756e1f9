"""Whole runs on the real server: versions equal iterations, and a run that resumes is the run that never ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from proas.errors import DataError, GraphNotFound, UsageError
from proas.graph import Connection, ReferenceGraph
from proas.rollout_files import load_rollouts
from proas.shaping import preset as shaping_preset
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.run_directory import RunDirectory
from proas.training.trainer import Trainer
from tests.integration.training.runs import Plug, Stop, run, settings, told
from tests.watchers import Silent


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


def test_a_run_whose_graph_forgets_resumes_as_the_run_that_never_ended(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games, graph_emptied=True, iterations=4, tasks=4, recur=4, checkpoint_every=2)
    config = config.with_shaping(shaping_preset("paper"))
    whole = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0])
    with pytest.raises(Stop):
        run(config, tmp_path / "part", warm, connection=connection, graph=names[1], watcher=Plug(4))
    learnt = ReferenceGraph(connection, names[1])
    assert learnt.info().version == 3  # what the checkpoint of iteration 2 needs is gone
    part = run(config, tmp_path / "part", warm, connection=connection, graph=names[1], resume=True)
    assert told(part)[3]["proas/graph/coverage"] > 0, "nothing is remembered: the test shows nothing"
    assert told(part) == told(whole)
    assert ReferenceGraph(connection, names[0]).stats().transitions == learnt.stats().transitions > 0


@pytest.mark.parametrize("lost", ["graph", "versions"])
def test_a_run_without_its_graph_is_not_resumed(
    lost: str, games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games).with_shaping(shaping_preset("membership"))
    with pytest.raises(Stop):
        run(config, tmp_path / "part", warm, connection=connection, graph=names[0], watcher=Plug(3))
    before = told(RunDirectory(tmp_path / "part"))
    graph = ReferenceGraph(connection, names[0])
    if lost == "graph":
        graph.drop()
    else:
        graph.rewind(1)
    with pytest.raises(GraphNotFound, match=f"own graph '{names[0]}'.*proas graph import, or start another run"):
        run(config, tmp_path / "part", warm, connection=connection, graph=names[0], resume=True)
    assert told(RunDirectory(tmp_path / "part")) == before
    assert graph.exists() == (lost == "versions")


def test_a_failed_start_leaves_no_graph_of_its_own(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games, **{"warm_start.skill": 1.0, "step_limit": 1}).with_shaping(shaping_preset("membership"))
    directory = RunDirectory(tmp_path / "cold")
    directory.begin(config, graph=names[0], init="")
    with pytest.raises(DataError, match="demonstrations succeeded"):
        Trainer(config, directory, Silent(), connection=connection, graph=names[0]).run()
    assert not ReferenceGraph(connection, names[0]).exists()
    ReferenceGraph.create(connection, names[1])
    with pytest.raises(UsageError, match="takes 50 tasks"):
        run(config.updated({"tasks": 50}), tmp_path / "many", warm, connection=connection, graph=names[1])
    assert ReferenceGraph(connection, names[1]).exists()  # it was there before
    with pytest.raises(Stop):
        run(config, tmp_path / "late", warm, connection=connection, graph=names[2], watcher=Plug(1))
    assert ReferenceGraph(connection, names[2]).exists()  # the checkpoint after the warm start goes with it


def test_a_finished_run_that_resumes_stays_as_it_is(games: Path, warm: Path, tmp_path: Path) -> None:
    config = settings(games, iterations=1)
    directory = run(config, tmp_path / "run", warm)
    files = {file: file.read_bytes() for file in directory.path.rglob("*") if file.is_file()}
    again = Trainer(config, directory, Silent(), init=warm).run(resume=True)
    assert again == json.loads(files[directory.path / "final.json"])
    assert {file: file.read_bytes() for file in directory.path.rglob("*") if file.is_file()} == files
    longer = Trainer(config.updated({"iterations": 2}), directory, Silent(), init=warm).run(resume=True)
    assert longer["iterations"] == 2


def test_a_warm_start_is_in_the_record(games: Path, warm: Path) -> None:
    first = next(iter(RunDirectory(warm).metrics()))
    assert first["warm_start/passes"] > 0
    assert first["warm_start/success"] == first["evaluation/t1/success"]
    assert first["warm_start/in_window"] == float(first["warm_start/success"] >= 0.99)


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


def test_distance_fades_in_the_run(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games, rollouts_every=1).with_shaping(shaping_preset("recommended"))
    directory = run(
        config.updated({"distance_fades": 2}), tmp_path / "run", warm, connection=connection, graph=names[0]
    )
    weights = []
    for file in sorted((directory.path / "rollouts").iterdir()):
        (said,) = {rollout.shaping for rollout in load_rollouts(file)}
        weights.append([word for word in str(said).split() if word.startswith("distance_weight")])
    assert weights == [[], ["distance_weight=0.5"], ["distance_weight=0.0"]]  # the first is the preset's own
