"""Graphs that others have made: a run starts from one, whoever built it, and knows its tasks from the first step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from proas.agents import EpisodeSettings, Job, ModelChoice, Patience, Sampling
from proas.envs import EnvSpec, open_world
from proas.envs.collect import play
from proas.errors import UsageError
from proas.graph import Connection, ReferenceGraph
from proas.graph_builders import BuildOptions, build_graph, builder
from proas.graph_builders.distill import DistillBuilder, DistillSettings
from proas.graph_builders.trajectories import Settings, TrajectoriesBuilder
from proas.rollout_files import write_rollouts
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset as shaping_preset
from proas.states import follower_for, ladder_of_rollout
from tests.integration.training.runs import run, settings, told
from tests.support.replay_endpoint import MODEL, ReplayEndpoint, record


class Maker(Protocol):
    """Makes a graph, or a layer over another."""

    def __call__(self, name: str, base: str | None = None) -> ReferenceGraph: ...


Origin = Callable[[Maker, list[Rollout], Path, Path], ReferenceGraph]


@pytest.fixture
def walks(games: Path) -> list[Rollout]:
    """What a teacher far from the best has left behind: noisy walks, some of which win."""
    world = open_world(EnvSpec("alfworld", games))
    env = world.environment(step_limit=40)
    return [
        play(env, world.policy("noisy", random.Random(f"{task} {n}")), task, n, follower_for(env))
        for task in world.tasks
        for n in range(4)
    ]


@pytest.fixture
def make(connection: Connection, graph_name: str) -> Iterator[Maker]:
    """Makes graphs, which are removed afterwards."""
    made: list[ReferenceGraph] = []

    def graph(name: str, base: str | None = None) -> ReferenceGraph:
        made.append(ReferenceGraph.create(connection, f"{graph_name}-{name}", base=base))
        return made[-1]

    yield graph
    for one in reversed(made):
        one.drop(force=True)


def first_iteration(
    config_base: str, games: Path, warm: Path, folder: Path, connection: Connection
) -> dict[str, float]:
    """The first iteration of a run over a graph, labelled by what was there before it began."""
    shaping = shaping_preset("membership").updated({"order": "label_then_evolve"})
    config = settings(games, graph_base=config_base, iterations=1, tasks=6).with_shaping(shaping)
    name = f"{config_base}-{folder.name}"
    try:
        return told(run(config, folder, warm, connection=connection, graph=name))[-1]
    finally:
        ReferenceGraph(connection, name).drop()


def learnt(graph: ReferenceGraph, walks: list[Rollout]) -> None:
    """What an earlier run's successes leave in its graph."""
    report = graph.evolve(RolloutBatch(tuple(walks)), ladder_of=ladder_of_rollout, purification="loop_erased")
    assert report.successes > 5


def from_trajectories(make: Maker, walks: list[Rollout], games: Path, folder: Path) -> ReferenceGraph:
    log = folder / "teacher.jsonl"
    write_rollouts(log, RolloutBatch(tuple(walks)))
    graph = make("logs")
    source = TrajectoriesBuilder(Settings(worlds={"alfworld": EnvSpec("alfworld", games)}), (log,))
    build_graph("trajectories", source, graph, options=BuildOptions())
    return graph


def from_a_teacher(make: Maker, walks: list[Rollout], games: Path, folder: Path) -> ReferenceGraph:
    """A model that answers as the noisy policy does, played in the environment and distilled."""
    world = open_world(EnvSpec("alfworld", games))
    book = record(world, [Job(task, n) for task in world.tasks for n in range(2)], lambda job: "noisy", step_limit=40)
    settings = DistillSettings(
        "alfworld", attempts=2, step_limit=40, episode=EpisodeSettings(sampling=Sampling(0.7, seed=7)), concurrency=4
    )
    graph = make("taught")
    with ReplayEndpoint(book) as endpoint:
        choice = ModelChoice(MODEL, endpoint.url, timeout=30.0)
        source = DistillBuilder(settings, MODEL, choice.open, folder / "journal.jsonl", patience=Patience())
        build_graph("distill", source, graph, data=games, options=BuildOptions())
    return graph


def from_a_run(make: Maker, walks: list[Rollout], games: Path, folder: Path) -> ReferenceGraph:
    graph = make("earlier-run")
    learnt(graph, walks)
    return graph


def from_a_promoted_layer(make: Maker, walks: list[Rollout], games: Path, folder: Path) -> ReferenceGraph:
    base = make("base")
    build_graph("alfworld", builder("alfworld"), base, data=games, options=BuildOptions(limit=1))
    layer = make("layer", base.name)
    learnt(layer, walks)
    with pytest.raises(UsageError, match="is itself a layer"):
        make("over-a-layer", layer.name)
    assert layer.promote().added_transitions > 0
    return base


@pytest.mark.parametrize("origin", [from_trajectories, from_a_teacher, from_a_run, from_a_promoted_layer])
def test_a_run_starts_from_a_graph_of_others(
    origin: Origin,
    make: Maker,
    walks: list[Rollout],
    games: Path,
    warm: Path,
    tmp_path: Path,
    connection: Connection,
) -> None:
    graph = origin(make, walks, games, tmp_path)
    before = graph.stats()
    row = first_iteration(graph.name, games, warm, tmp_path / "run", connection)
    known = {task.key for task in graph.tasks()}
    assert len(known) > 3
    assert 0 < row["proas/graph/coverage"] <= 1
    assert row["proas/graph/reasonable_share"] > 0
    assert graph.stats() == before  # the run wrote to its own layer alone
