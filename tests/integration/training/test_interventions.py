"""Interventions on a trained policy, and labels against optimal play, on the real server."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from proas.envs.alfworld.planner import find_plan
from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.collect import play
from proas.errors import DataError, EnvironmentFailure, UsageError
from proas.graph import Connection, ReferenceGraph, list_graphs
from proas.keys import digest
from proas.rollouts import Rollout, RolloutBatch
from proas.states import follower_for, ladder_of_rollout
from proas.training.interventions.bench import Bench, Source
from proas.training.interventions.continuations import Point, Spoken, continue_from
from proas.training.interventions.label_report import Judges, LabelSettings, report_labels
from proas.training.interventions.membership import Membership
from proas.training.interventions.noise import NoiseSettings, measure_noise
from proas.training.interventions.optimal import OptimalPlay
from proas.training.interventions.statistics import Estimate
from proas.training.interventions.suppress import SuppressSettings, measure_suppression
from proas.training.interventions.verdicts import loop_mask_labels
from proas.training.run_directory import RunDirectory


@pytest.fixture(scope="module")
def source(warm: Path, games: Path) -> Source:
    return Source.of(RunDirectory(warm), games)


@pytest.fixture(scope="module")
def bench(source: Source) -> Bench:
    return Bench.shared(source)


def known(estimate: Estimate) -> float:
    """The value of an estimate that has one."""
    assert estimate.value is not None
    return estimate.value


def test_noise_repeats_itself_and_differs_in_the_past_alone(source: Source, bench: Bench) -> None:
    settings = NoiseSettings(states=4, continuations=4, steps=(1, 3), temperature=0.8, seed=2)
    report = measure_noise(source, bench.training_tasks(), settings)
    again = measure_noise(source, bench.training_tasks(), replace(settings, workers=2))
    assert asdict(again) | {"settings": None} == asdict(report) | {"settings": None}
    assert [row.steps for row in report.rows] == [0, 1, 3]
    assert len(report.states) == len({state.rollout for state in report.states}) == 4
    assert known(report.rows[0].success["unreasonable"]) > 0, "the policy solves nothing: the test shows nothing"
    for row in report.rows:
        mean = sum(state.success["unreasonable"][row.steps] for state in report.states) / 4
        assert row.success["unreasonable"].value == pytest.approx(mean)
        assert row.change["unreasonable"].value == pytest.approx(mean - known(report.rows[0].success["unreasonable"]))
    assert report.rows[0].change["unreasonable"].value == 0
    for state in report.states:
        assert state.horizon == bench.config.step_limit - state.step
        assert 0 == state.tokens["unreasonable"][0] < state.tokens["unreasonable"][1] < state.tokens["unreasonable"][3]
        assert state.success["harmless"][0] == state.success["unreasonable"][0]
    assert not report.aside


def test_noise_on_an_expert_s_way_and_with_a_fixed_horizon(source: Source, bench: Bench) -> None:
    settings = NoiseSettings(states=3, continuations=2, steps=(0, 2), player="expert", place="start", horizon=5)
    report = measure_noise(source, bench.training_tasks(), settings)
    assert {state.horizon for state in report.states} == {5}
    assert all("noise" not in state.rollout for state in report.states)
    with pytest.raises(UsageError, match="above 0"):
        NoiseSettings(steps=(0,))
    with pytest.raises(DataError, match="no situation"):
        measure_noise(source, [], settings)


def test_the_winning_action_is_to_be_blamed_for_winning(bench: Bench) -> None:
    """With one step left, nothing but the action that won can win: forbidden, it is never taken."""
    drawn = bench.draw(bench.training_tasks(), 2, temperature=0.8, seed=1, label="win")
    won = [episode for episode in drawn.episodes if episode.rollout.success]
    assert won, "the policy solves nothing: the test shows nothing"
    points = []
    for episode in won[:6]:
        rollout, last = episode.rollout, len(episode.rollout.steps) - 1
        start, count = int(episode.starts[last]), int(episode.counts[last])
        free = Point(
            name=rollout.id,
            task=rollout.task,
            number=int(rollout.id.rsplit("#", 1)[1]),
            actions=tuple(step.action for step in rollout.steps[:last]),
            tokens=tuple(episode.tokens[:start].tolist()),
            horizon=1,
        )
        written = tuple(episode.tokens[start : start + count].tolist())
        points += [free, replace(free, forbidden=Spoken(rollout.steps[last].action, written))]
    how = bench.settings(temperature=0.8, seed=0, label="win")
    outcomes = continue_from(bench.world, bench.policy, points, 12, how)
    assert sum(sum(map(bool, free)) for free in outcomes[::2]) > 12
    # Another object of the kind may lie there, so that another command wins as well; the same one never does.
    assert (
        sum(sum(map(bool, bound)) for bound in outcomes[1::2])
        <= sum(sum(map(bool, free)) for free in outcomes[::2]) / 3
    )


def test_suppression_measures_failed_rollouts_by_drift(source: Source, bench: Bench) -> None:
    settings = SuppressSettings(rollouts=5, positions=3, continuations=3, temperature=1.0, seed=4)
    tasks = bench.training_tasks()
    report = measure_suppression(source, tasks, loop_mask_labels, "loop mask", settings)
    assert asdict(measure_suppression(source, tasks, loop_mask_labels, "loop mask", settings)) == asdict(report)
    assert {position.horizon for position in report.positions} == {bench.config.step_limit // 2}
    assert sum(quarter.positions for quarter in report.quarters) == len(report.positions)
    assert report.gain.value == pytest.approx(known(report.recovery) - known(report.baseline))
    by_rollout: dict[str, list[int]] = {}
    for position in report.positions:
        by_rollout.setdefault(position.rollout, []).append(position.step)
        assert 0 <= position.drift <= position.left
        assert position.drift >= (not position.progress)
    assert 1 <= len(by_rollout) <= 5
    assert all(steps == sorted(set(steps)) and len(steps) <= 3 for steps in by_rollout.values())
    own = measure_suppression(source, tasks, loop_mask_labels, "loop mask", replace(settings, horizon=0))
    assert all(position.horizon == position.left for position in own.positions)

    def unknown(batch: RolloutBatch) -> RolloutBatch:
        return RolloutBatch(tuple(rollout.model_copy(update={"covered": False}) for rollout in batch))

    with pytest.raises(DataError, match="does not know the task"):
        measure_suppression(source, tasks, unknown, "nothing", settings)


def test_optimal_play_judges_every_step(bench: Bench) -> None:
    world = bench.world
    assert isinstance(world, AlfWorldWorld)
    env = world.environment()
    judge = OptimalPlay(world)
    for task in world.tasks[:4]:
        env.reset(task)
        plan = find_plan(env.game)
        assert plan is not None
        commands = [plan[0], "look", "dance", *plan[1:]]
        away = next(a for a in env.info.admissible if a.startswith("go to") and a != plan[0])
        verdicts = judge.judge(_carried_out(env, task, commands))
        assert [v.optimal for v in verdicts if v] == [True, False, False] + [True] * (len(plan) - 1)
        assert [v.before for v in verdicts if v][:2] == [len(plan), len(plan) - 1]
        assert not any(v.loses for v in verdicts if v)
        there = judge.judge(_carried_out(env, task, [away]))
        assert there[0] is not None
        assert not there[0].optimal or away.split()[2] == plan[0].split()[2]


def _carried_out(env: object, task: str, commands: list[str]) -> Rollout:
    class Script:
        def act(self, _env: object) -> str:
            if not left:
                raise EnvironmentFailure("done")
            return left.pop(0)

    left = list(commands)
    return play(env, Script(), task, 0, None)  # type: ignore[arg-type]


def _noisy(bench: Bench, first: int) -> RolloutBatch:
    env = bench.world.environment(step_limit=40)
    return RolloutBatch(
        tuple(
            play(env, bench.world.policy("noisy", random.Random(n)), task, n, follower_for(env))
            for task in bench.world.tasks[:4]
            for n in range(first, first + 3)
        )
    )


def test_versions_and_supports_read_back_are_those_that_were(
    bench: Bench, connection: Connection, names: list[str]
) -> None:
    def learn(graph: ReferenceGraph, version: int) -> None:
        graph.evolve(
            _noisy(bench, 3 * version),
            purification="paper",
            ladder_of=ladder_of_rollout,
            version=version,
        )

    base = ReferenceGraph.create(connection, names[0])
    learn(base, 1)
    grown = ReferenceGraph.create(connection, names[1], base=names[0])
    earlier = ReferenceGraph.create(connection, names[2], base=names[0])
    for version in (2, 3, 4):
        learn(grown, version)
    learn(earlier, 2)
    sample = _noisy(bench, 30)
    members = Membership(grown, {rollout.task for rollout in sample})
    assert members.version == 4
    for version in (0, 2, 3, 4):
        told = grown.label(sample, version=version)
        ours = members.label(sample, version, 1)
        for rollout, labels in zip(told, ours, strict=True):
            assert (labels is not None) == rollout.covered
            found = [(s.label.reasonable, s.label.progress, s.label.drift) for s in rollout.steps if s.label]
            assert found == [(x.reasonable, x.progress, x.drift) for x in labels or []]
    then = Membership(earlier, {rollout.task for rollout in sample})
    for support in (1, 2, 3):
        for task in then.tasks:
            assert members.held(task, 2, support) == then.held(task, 2, support)
    counts = [members.count(4, support) for support in (1, 2, 3)]
    assert counts[0] > counts[1] > counts[2]
    strict = grown.label(sample, min_support=2)
    for rollout, labels in zip(strict, members.label(sample, 4, 2), strict=True):
        if rollout.covered and labels is not None:
            assert [s.label.reasonable for s in rollout.steps if s.label] == [x.reasonable for x in labels]


def test_labels_are_compared_with_optimal_play_as_graphs_grow(
    warm: Path, source: Source, bench: Bench, connection: Connection, names: list[str]
) -> None:
    own = ReferenceGraph.create(connection, names[0])
    own.evolve(
        _noisy(bench, 0),
        purification="paper",
        ladder_of=ladder_of_rollout,
        version=1,
    )
    settings = LabelSettings(tasks=3, group_size=2, rounds=2, supports=(1, 2), temperature=0.8)
    judges = Judges(connection, own, "", lambda _iteration: loop_mask_labels, "loop mask")
    report = report_labels(RunDirectory(warm), [source], list(bench.world.tasks[:3]), judges, settings)
    mark = digest("diagnose", str(source.run), settings.seed)[:12]  # other tests use the same server
    assert not [graph.name for graph in list_graphs(connection) if mark in graph.name]
    assert report.sample["optimal"] > 0
    rows = {(row.graph, row.version, row.support): row for row in report.precision}
    assert {name for name, _, _ in rows} == {"run", "paper", "loop_erased"}
    assert {version for name, version, _ in rows if name == "paper"} == {0, 1, 2}
    assert rows["paper", 0, 1].steps == rows["paper", 0, 1].transitions == 0
    assert rows["paper", 2, 1].transitions >= rows["loop_erased", 2, 1].transitions > 0
    for version in (1, 2):
        for name in ("paper", "loop_erased"):
            assert rows[name, version, 1].transitions >= rows[name, version, 2].transitions
            assert known(rows[name, version, 1].recall) >= known(rows[name, version, 2].recall)
    last = rows["loop_erased", 2, 1]
    assert 0 < known(last.precision) <= known(last.sensible) <= 1
    assert report.fresh[0]["unreasonable_in_won"] >= 0
    again = report_labels(RunDirectory(warm), [source], list(bench.world.tasks[:3]), judges, settings)
    assert asdict(again) == asdict(report)
