"""Reference graphs that arms start over, on the real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from proas.errors import DataError, GraphConflict
from proas.experiments.base_graphs import ensure_base_graph
from proas.experiments.data import find_games
from proas.experiments.plan import GraphPlan, Plan
from proas.experiments.plan_files import load_plan
from proas.experiments.pool import Failed, Pool, Progress, Ticket
from proas.experiments.schedule import BaseGraph, Folders, Run, schedule
from proas.experiments.session import Session
from proas.graph import Connection, ReferenceGraph
from proas.graph.client import Client
from proas.training.run_directory import RunDirectory
from proas.training.trainer import Trainer
from tests.watchers import Silent


class Told:
    """Keeps what a pool says."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ends: list[str] = []
        self.failures: list[Failed] = []

    def progress(self, now: Progress) -> None:
        pass

    def finished(self, key: str, seconds: float, headline: str) -> None:
        self.ends.append(key)

    def failed(self, failure: Failed) -> None:
        self.failures.append(failure)

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The smoke test's plan with a warm start that solves its games, and a graph made by that."""
    smoke = load_plan("smoke")
    settings = {
        "warm_start.demonstrations": 48,
        "warm_start.skill": 1.0,
        "warm_start.epochs": 16,
        "warm_start.batch": 2,
        "warm_start.learning_rate": 4e-3,
        "warm_start.low": 0.5,
        "warm_start.high": 1.0,
        "evaluation.temperatures": [1.0],
    }
    warm = smoke.warm["base"].model_copy(update={"settings": settings})
    graphs = {**smoke.graphs, "weak": GraphPlan(source="policy", episodes=6)}
    return smoke.model_copy(update={"warm": {"base": warm}, "graphs": graphs})


@pytest.fixture(scope="module")
def runs(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folders = Folders(tmp_path_factory.mktemp("evidence"))
    games = find_games(plan.data, plan.base_config(), folders.data)
    weak = plan.model_copy(
        update={"arms": {**plan.arms, "weak": plan.arms["grpo-proas"].model_copy(update={"graph": "weak"})}}
    )
    return schedule(weak, games, folders)


@pytest.fixture
def base(runs: list[Run], connection: Connection, request: pytest.FixtureRequest) -> Iterator[BaseGraph]:
    """The graph of an arm, under a name of the test's own, removed afterwards."""
    found = next(run.base for run in runs if run.arm == request.param)
    assert found is not None
    mine = replace(found, name=f"{found.name}-{time.time_ns()}")
    yield mine
    graph = ReferenceGraph(connection, mine.name)
    if graph.exists():
        graph.drop(force=True)
    mine.marker.unlink(missing_ok=True)


def test_the_order_of_runs(runs: list[Run]) -> None:
    assert [(run.arm, run.seed) for run in runs] == [
        (arm, seed) for seed in (0, 1) for arm in ("grpo", "grpo-proas", "weak")
    ]
    assert len({run.warm.folder for run in runs}) == 1
    assert len({run.folder for run in runs}) == 6


@pytest.mark.parametrize("base", ["grpo-proas"], indirect=True)
def test_a_graph_of_plans_is_made_once_and_again_where_it_is_lost(base: BaseGraph, connection: Connection) -> None:
    first = ensure_base_graph(base, connection)
    assert first["tasks"] == 12
    assert ensure_base_graph(base, connection) == first
    ReferenceGraph(connection, base.name).drop(force=True)
    assert ensure_base_graph(base, connection) == first


def forget_that_it_is_whole(connection: Connection, name: str) -> None:
    """As a build that was cut off leaves it, and as releases left it that kept a note beside the runs alone."""
    Client(connection).write(lambda tx: tx.rows("mark_whole", graph=name, whole=None))


@pytest.mark.parametrize("base", ["grpo-proas"], indirect=True)
def test_a_whole_graph_serves_the_runs_of_every_folder(base: BaseGraph, connection: Connection, tmp_path: Path) -> None:
    first = ensure_base_graph(base, connection)
    layer = ReferenceGraph.create(connection, f"{base.name}.run", base=base.name)
    before = ReferenceGraph(connection, base.name).info()
    elsewhere = replace(base, marker=tmp_path / "elsewhere" / "note.json")
    assert ensure_base_graph(elsewhere, connection) == first
    assert ReferenceGraph(connection, base.name).info() == before
    assert before.layers == (layer.name,)
    assert elsewhere.marker.is_file()


@pytest.mark.parametrize("base", ["grpo-proas"], indirect=True)
def test_a_graph_that_a_note_alone_says_to_be_whole(base: BaseGraph, connection: Connection, tmp_path: Path) -> None:
    first = ensure_base_graph(base, connection)
    graph = ReferenceGraph(connection, base.name)
    ReferenceGraph.create(connection, f"{base.name}.run", base=base.name)
    forget_that_it_is_whole(connection, base.name)
    before = graph.info()
    with pytest.raises(GraphConflict, match=f"not known to be whole.*{base.name}.run"):
        ensure_base_graph(replace(base, marker=tmp_path / "note.json"), connection)
    assert graph.info() == before
    assert ensure_base_graph(base, connection) == first
    assert graph.info() == replace(before, whole=True)


@pytest.mark.parametrize("base", ["grpo-proas"], indirect=True)
def test_a_graph_that_was_begun_is_gone_on_with(base: BaseGraph, connection: Connection) -> None:
    graph = ReferenceGraph.create(connection, base.name)
    first = ensure_base_graph(base, connection)
    whole, begun = list(graph.iter_task_graphs()), graph.info().created
    graph.drop()
    graph = ReferenceGraph.create(connection, base.name)
    graph.add(whole[:5])
    half = graph.info().created
    assert half > begun
    assert ensure_base_graph(base, connection) == first
    assert (list(graph.iter_task_graphs()), graph.info().created, graph.info().whole) == (whole, half, True)


@pytest.mark.parametrize("base", ["weak"], indirect=True)
def test_a_graph_of_what_a_policy_solves(base: BaseGraph, connection: Connection) -> None:
    assert base.warm is not None
    directory = RunDirectory(base.warm.folder)
    directory.begin(base.warm.config, graph="", init="")
    Trainer(base.warm.config, directory, Silent()).run()
    counts = ensure_base_graph(base, connection)
    assert 0 < counts["tasks"] <= 12
    graph = ReferenceGraph(connection, base.name)
    assert graph.verify().ok
    assert (graph.info().version > 0, graph.info().whole) == (True, True)
    before = list(graph.iter_task_graphs())
    forget_that_it_is_whole(connection, base.name)
    base.marker.unlink()
    assert ensure_base_graph(base, connection) == counts  # the same successes, which are joined once
    assert list(graph.iter_task_graphs()) == before


@pytest.mark.parametrize("base", ["grpo-proas"], indirect=True)
def test_an_empty_graph_is_a_fault(base: BaseGraph, connection: Connection, tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    bare = replace(base, config=base.config.updated({"data": str(tmp_path)}))
    with pytest.raises(DataError):
        ensure_base_graph(bare, connection)
    assert not base.marker.exists()
    assert not ReferenceGraph(connection, base.name).info().whole


def test_a_run_that_lost_its_graph_is_kept_aside_and_begun_anew(
    runs: list[Run], connection: Connection, tmp_path: Path, graph_name: str
) -> None:
    found = next(run for run in runs if run.arm == "grpo-proas")
    run = replace(found, folder=tmp_path / "runs" / found.experiment / found.folder.name)
    told = Told()
    session = Session(tmp_path, tmp_path / "results", lambda: connection, told)
    for number in (1, 2):
        RunDirectory(run.folder).begin(run.config, graph=graph_name, init="")
        (run.folder / "final.json").write_text("{}", encoding="utf-8")
        session._ready(connection, run)()
        aside = run.folder.with_name(f"{run.folder.name}-lost{number}")
        assert (run.folder.exists(), (aside / "config.json").is_file()) == (False, True)
        assert all(word in told.notes[-1] for word in (run.key, graph_name, str(aside)))
        assert not Folders(tmp_path).finished(run.seed, run.place)
    session._ready(connection, run)()  # nothing is there yet
    assert len(told.notes) == 2


def test_a_run_that_ended_before_it_had_a_graph_begins_anew_where_it_is(
    runs: list[Run], connection: Connection, tmp_path: Path, graph_name: str
) -> None:
    found = next(run for run in runs if run.arm == "grpo-proas")
    run = replace(found, folder=tmp_path / "runs" / found.experiment / found.folder.name)
    told = Told()
    ready = Session(tmp_path, tmp_path / "results", lambda: connection, told)._ready(connection, run)
    directory = RunDirectory(run.folder)
    directory.begin(run.config, graph=graph_name, init="")
    ready()
    assert [path.name for path in run.folder.parent.iterdir()] == [run.folder.name]
    (directory.checkpoints / "iteration-000000.pt").touch()  # the same, once there is something to keep
    ready()
    assert [path.name for path in run.folder.parent.iterdir()] == [f"{run.folder.name}-lost1"]
    assert len(told.notes) == 1


def test_a_run_that_another_process_does_is_waited_for(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.checkpoints.mkdir(parents=True)
    lock = FileLock(directory.path / ".lock", thread_local=False)
    lock.acquire()

    def end() -> None:
        directory.finish({"iterations": 3})
        lock.release()

    other = threading.Timer(1.0, end)
    other.start()
    told = Told()
    ticket = Ticket("a/b-s0", directory.path, ("train", "--nosuch"), 3)
    failures, left = Pool(1, tmp_path / "logs", told).run([ticket], lambda done: "")
    other.join()
    assert (failures, left, told.ends) == ([], [], ["a/b-s0"])
    assert "another process" in told.notes[0]


def test_a_run_that_fails_twice_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    done = RunDirectory(tmp_path / "done")
    done.path.mkdir()
    done.finish({"iterations": 1})
    told = Told()
    tickets = [
        Ticket("a/bad-s0", tmp_path / "bad", ("train", "--nosuch"), 1),
        Ticket("a/good-s0", done.path, (), 1),
    ]
    failures, left = Pool(2, tmp_path / "logs", told).run(tickets, lambda ticket: "")
    assert [failure.key for failure in failures] == ["a/bad-s0"]
    assert "--nosuch" in failures[0].reason
    assert (left, told.ends) == ([], ["a/good-s0"])
    assert (tmp_path / "logs" / "a-bad-s0.log").read_text(encoding="utf-8").count("--nosuch") >= 2
