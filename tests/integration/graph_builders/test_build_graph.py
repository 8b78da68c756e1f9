"""Builds into a real database: what is stored is what was built, and a rerun changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.data import iter_trials
from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.load import load_game
from proas.envs.collect import CollectSettings, collect
from proas.errors import DataError
from proas.graph.records import TaskGraph
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, BuildReport, Built, Rejected, build_graph, builder
from proas.graph_builders.alfworld.builder import build_trial
from proas.rollouts import Rollout, RolloutBatch
from proas.states import follower_for
from proas.states.alfworld import EngineObserver


def _build(graph: ReferenceGraph, data: Path, options: BuildOptions | None = None) -> BuildReport:
    return build_graph("alfworld", builder("alfworld"), graph, data=data, options=options)


def _shape(graph: TaskGraph) -> object:
    """What a task graph says, its order and versions aside."""
    transitions = sorted((t.key, t.source, t.support) for t in graph.transitions)
    return graph.task, graph.ladder, graph.start, sorted(graph.states), transitions


class _Heard:
    def __init__(self) -> None:
        self.total = self.answers = self.in_database = 0

    def begin(self, total: int) -> None:
        self.total = total

    def answered(self, answer: Built | Rejected) -> None:
        self.answers += 1

    def stored(self, count: int) -> None:
        self.in_database += count


@pytest.mark.parametrize("expand", ["plan", "optimal"])
def test_what_is_stored_is_what_was_built(graph: ReferenceGraph, samples: Path, expand: str) -> None:
    heard = _Heard()
    options = BuildOptions(expand=expand)  # type: ignore[arg-type]  # both values are expansions
    report = build_graph("alfworld", builder("alfworld"), graph, data=samples, options=options, progress=heard)

    assert (report.tasks, report.considered, report.skipped, report.rejects) == (24, 24, 0, ())
    assert (heard.total, heard.answers, heard.in_database) == (24, 24, 24)
    assert report.built == {"plan": 24}
    assert report.carry_over_share == report.alignment_share == 1.0
    assert (report.added_tasks, report.added_states) == (24, report.states)
    assert report.added_transitions == sum(report.transitions.values())
    assert graph.verify().ok
    stats = graph.stats()
    assert (stats.tasks, stats.states, stats.transitions) == (24, report.states, report.added_transitions)
    assert stats.transitions_by_source == report.transitions
    stored = {task_graph.task.key: task_graph for task_graph in graph.iter_task_graphs()}
    for trial in iter_trials(samples):
        expected = build_trial(trial, expand=options.expand).graph
        assert _shape(stored[trial.key]) == _shape(expected)
    json.dumps(report.as_json())


def test_a_rerun_changes_nothing(graph: ReferenceGraph, samples: Path) -> None:
    _build(graph, samples)
    before = graph.stats(), [_shape(task_graph) for task_graph in graph.iter_task_graphs()]
    again = _build(graph, samples, BuildOptions(workers=2))
    assert (again.tasks, again.skipped) == (24, 24)
    assert (again.added_tasks, again.added_states, again.added_transitions) == (0, 0, 0)
    assert (graph.stats(), [_shape(task_graph) for task_graph in graph.iter_task_graphs()]) == before


def test_a_build_that_was_cut_off_goes_on(graph: ReferenceGraph, samples: Path) -> None:
    class Unplugged(Exception):  # not an error of ours
        pass

    class Cut:
        def count(self, data: Path | None, options: BuildOptions) -> int:
            return builder("alfworld").count(data, options)

        def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
            for number, answer in enumerate(builder("alfworld").build(data, options)):
                if number == 15:
                    raise Unplugged
                yield answer

    with pytest.raises(Unplugged):
        build_graph("alfworld", Cut(), graph, data=samples)
    assert graph.verify().ok
    partial = graph.stats().tasks
    assert partial <= 15
    report = _build(graph, samples)
    assert (report.skipped, report.added_tasks) == (partial, 24 - partial)
    assert graph.stats().tasks == 24
    assert graph.verify().ok


def test_optimal_over_plan_adds_and_keeps(graph: ReferenceGraph, samples: Path) -> None:
    first = _build(graph, samples)
    second = _build(graph, samples, BuildOptions(expand="optimal"))
    assert (second.rejects, second.added_tasks) == ((), 0)
    assert second.skipped < 12  # where the plan is the only shortest solution there is nothing to add
    assert second.added_transitions == second.transitions["expand"]
    assert graph.stats().transitions_by_source == {**first.transitions, "expand": second.transitions["expand"]}
    assert graph.verify().ok
    back = _build(graph, samples)
    assert (back.added_states, back.added_transitions) == (0, 0)


def test_bad_trials_are_named_and_the_others_stored(graph: ReferenceGraph, samples: Path, tmp_path: Path) -> None:
    for number, trial in enumerate(iter_trials(samples)):
        folder = tmp_path / trial.key
        folder.mkdir(parents=True)
        for name in ("traj_data.json", "initial_state.pddl"):
            text = (trial.path / name).read_text()
            (folder / name).write_text(text[: len(text) // 2] if number == 3 else text)
    report = _build(graph, tmp_path)
    (rejected,) = report.rejects
    assert report.rejected == {rejected.problem: 1}
    assert rejected.task == sorted(trial.key for trial in iter_trials(samples))[3]
    assert (report.considered, report.tasks, graph.stats().tasks) == (24, 23, 23)


def test_a_graph_that_contradicts_the_stored_one_is_named(graph: ReferenceGraph, samples: Path, tmp_path: Path) -> None:
    # The same key with another plan: its subgoals differ from the stored ones.
    _build(graph, samples)
    trial = next(t for t in iter_trials(samples) if not t.key.startswith("look"))
    folder = tmp_path / trial.key
    folder.mkdir(parents=True)
    document = json.loads((trial.path / "traj_data.json").read_text())
    document.pop("plan")
    (folder / "traj_data.json").write_text(json.dumps(document))
    (folder / "initial_state.pddl").write_text((trial.path / "initial_state.pddl").read_text())
    report = _build(graph, tmp_path)
    assert (report.tasks, report.rejected) == (0, {"contradiction": 1})
    assert report.rejects[0].task == trial.key
    assert graph.verify().ok


def test_a_source_that_is_not_there_leaves_the_graph_alone(graph: ReferenceGraph, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        _build(graph, tmp_path / "absent")
    assert graph.stats().tasks == 0


def test_the_expert_walks_on_edges_of_the_optimal_graph(graph: ReferenceGraph, samples: Path) -> None:
    _build(graph, samples, BuildOptions(expand="optimal"))
    world = open_world(EnvSpec("alfworld", samples))
    made = collect(world, world.tasks, CollectSettings(group_size=1), follower_for)
    batch = RolloutBatch(tuple(rollout for rollout in made if isinstance(rollout, Rollout)))
    assert len(batch) == 24
    for rollout in graph.label(batch):
        assert rollout.success
        assert rollout.covered
        labels = [step.label for step in rollout.steps]
        assert all(label is not None and label.reasonable and label.progress for label in labels)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_solvable_training_game_is_covered(graph: ReferenceGraph, data_dir: Path) -> None:
    archive = data_dir / "alfworld" / "train-1540.tar.xz"
    report = _build(graph, archive)

    assert report.considered == 1540
    assert report.tasks == report.added_tasks == 1500
    assert report.rejected == {"no_game": 20, "unsolvable": 20}
    assert report.carry_over_share is not None
    assert report.carry_over_share >= 0.96
    assert report.alignment_share == 1.0
    assert graph.verify().ok
    assert graph.stats().tasks == 1500
    again = _build(graph, archive)
    assert (again.skipped, again.added_states, again.added_transitions) == (1500, 0, 0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_validation_game_is_covered(graph: ReferenceGraph, data_dir: Path) -> None:
    report = _build(graph, data_dir / "alfworld" / "valid_seen-140.tar.xz", BuildOptions(expand="optimal"))
    assert (report.considered, report.tasks, report.rejects) == (140, 140, ())
    assert report.carry_over_share is not None
    assert report.carry_over_share >= 0.96
    assert graph.verify().ok


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_recorded_walkthroughs_win_and_lie_in_the_optimal_graphs(data_dir: Path) -> None:
    """Other people's planner solved 750 of the training games; its walks are walks of our graphs."""
    walkthroughs = {
        record["id"].replace("_trial", "/trial"): record["actions"]
        for record in json.loads((data_dir / "alfworld" / "walkthroughs.json").read_text())
    }
    walked = taken = known = 0
    for trial in iter_trials(data_dir / "alfworld" / "train-1540.tar.xz"):
        if trial.key not in walkthroughs:
            continue
        walked += 1
        game = load_game(trial)
        engine = AlfWorldEngine(game)
        engine.reset()
        observer = EngineObserver(game.key, game.goal)
        state, won = observer.begin(engine), False
        built = build_trial(trial, expand="optimal").graph
        edges = {(t.source_state, t.action, t.target_state) for t in built.transitions}
        for action in walkthroughs[trial.key]:
            command = action
            if game.rules.wording == "put" and action.startswith("move "):
                command = action.replace("move ", "put ", 1).replace(" to ", " in/on ", 1)
            assert engine.valid(command), (trial.key, action)
            _, won = engine.step(command)
            seen = observer.observe(command, engine, valid=True, won=won)
            taken += 1
            known += (state.key, seen.canonical, seen.state.key) in edges
            state = seen.state
        assert won, trial.key
    assert walked == 750
    assert known / taken >= 0.99
