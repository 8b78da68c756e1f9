"""The ALFWorld builder on generated games, without a database."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proas.envs.alfworld.data import Trial, TrialError, read_traj_data, trial_at
from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.game import bits
from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.load import load_game
from proas.envs.alfworld.planner import all_shortest, find_plan
from proas.errors import DataError, UsageError
from proas.graph.records import TaskGraph, Transition
from proas.graph_builders import BuildOptions, Built, Rejected, builder, builder_names, expansion
from proas.graph_builders.alfworld.builder import build_trial
from proas.graph_builders.alfworld.solutions import carry_out, moves_of, simple_path
from proas.keys import transition_key
from proas.states.alfworld import EngineObserver
from proas.subgoals import GOAL_REACHED

EXPANSIONS = pytest.mark.parametrize("expand", ["plan", "optimal"])


def _answers(data: Path, **options: Any) -> list[Built | Rejected]:
    return list(builder("alfworld").build(data, BuildOptions(**options)))


def _onward(graph: TaskGraph) -> dict[str, list[Transition]]:
    found: dict[str, list[Transition]] = {}
    for transition in graph.transitions:
        found.setdefault(transition.source_state, []).append(transition)
    return found


@EXPANSIONS
def test_graphs_keep_the_invariants(trials: tuple[Trial, ...], expand: Any) -> None:
    for trial in trials:
        graph = build_trial(trial, expand=expand).graph
        index = graph.subgoal_of
        assert graph.start.facts == ()
        assert graph.states[graph.start.key] == graph.start
        assert index[graph.start.key] == 0
        assert len({t.key for t in graph.transitions}) == len(graph.transitions)
        used = {graph.start.key}
        for transition in graph.transitions:
            assert transition.source_state != transition.target_state
            assert index[transition.source_state] <= index[transition.target_state]
            used |= {transition.source_state, transition.target_state}
        assert used == set(graph.states)


@EXPANSIONS
def test_every_state_lies_on_a_way_from_the_start_to_the_goal(trials: tuple[Trial, ...], expand: Any) -> None:
    for trial in trials:
        graph = build_trial(trial, expand=expand).graph
        goals = {key for key, state in graph.states.items() if GOAL_REACHED in state.facts}
        assert goals == {key for key, m in graph.subgoal_of.items() if m == graph.ladder.last}
        onward, back = _onward(graph), {}
        for transition in graph.transitions:
            back.setdefault(transition.target_state, []).append(transition.source_state)
        ahead, behind = {graph.start.key}, set(goals)
        for _ in graph.states:
            ahead |= {t.target_state for key in ahead for t in onward.get(key, [])}
            behind |= {key for target in behind for key in back.get(target, [])}
        assert ahead == behind == set(graph.states)


def test_the_stored_plan_replays_to_a_win_in_the_engine(trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        built = build_trial(trial)
        game = load_game(trial)
        assert built.source == "plan"
        onward = _onward(built.graph)
        assert all(len(transitions) == 1 for transitions in onward.values())
        engine = AlfWorldEngine(game)
        engine.reset()
        observer = EngineObserver(game.key, game.goal)
        state = observer.begin(engine)
        won = False
        while state.key in onward:
            (transition,) = onward[state.key]
            command = transition.action
            if game.rules.wording == "put":
                command = command.replace("move ", "put ").replace(" to ", " in/on ")
            assert engine.valid(command)
            _, won = engine.step(command)
            state = observer.observe(command, engine, valid=True, won=won).state
            assert state.key == transition.target_state
        assert won


def test_each_high_level_step_is_a_subgoal_with_its_three_descriptions(trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        document = read_traj_data(trial)
        steps = [s["discrete_action"]["action"] for s in document["plan"]["high_pddl"]]
        steps = [name for name in steps if name not in ("NoOp", "End")]
        crowd = [annotation["high_descs"] for annotation in document["turk_annotations"]["anns"]]
        built = build_trial(trial)
        subgoals = built.graph.ladder.subgoals
        assert len(subgoals) == len(steps) + 1
        for position, subgoal in enumerate(subgoals[1:]):
            assert subgoal.description
            assert list(subgoal.phrases) == [descriptions[position].strip() for descriptions in crowd]
        assert built.tallies["annotations"] == built.tallies["annotations_aligned"] == 3


def test_all_shortest_solutions_are_walks_of_the_optimal_graph(trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        game = load_game(trial)
        keys = {t.key for t in build_trial(trial, expand="optimal").graph.transitions}
        shortest = all_shortest(game)
        assert shortest is not None
        for commands in shortest.plans(limit=50):
            walk = carry_out(game, commands)
            assert walk.won
            for before, action, after in walk.moves:
                assert transition_key(before.key, action, after.key) in keys


def test_a_target_at_the_spot_of_the_source_may_be_opened_at_once(tmp_path: Path) -> None:
    """Whoever opens it there attends to it, and no longer to where the object lies: still a way, not a fall."""
    seen = 0
    for made in generate(40, seed=88, kinds=("pick", "heat", "cool", "clean")):
        game = made.game()
        thing = bits(game.goal_objects)[0]
        source = next(r for r, inside in enumerate(game.initial.contents) if inside >> thing & 1)
        target = game.goal_receptacles[0]
        if source == target or not game.openable >> target & 1:
            continue
        fact = r"\(receptacleAtLocation {} (\S+)\)"
        place = re.search(fact.format(re.escape(game.receptacle_ids[source])), made.initial_state, re.IGNORECASE)
        there = re.search(fact.format(re.escape(game.receptacle_ids[target])), made.initial_state, re.IGNORECASE)
        assert place is not None
        assert there is not None
        moved = made.initial_state.replace(there[0], there[0].replace(there[1], place[1]))
        trial = replace(made, initial_state=moved).write(tmp_path)
        played, optimal = load_game(trial), build_trial(trial, expand="optimal").graph
        shortest = all_shortest(played)
        assert shortest is not None
        keys = {t.key for t in optimal.transitions}
        taken = [m for m in moves_of(played, shortest) if m.before.key != m.after.key]
        assert {transition_key(m.before.key, m.action, m.after.key) for m in taken} <= keys
        assert build_trial(trial).graph.ladder == optimal.ladder
        seen += 1
    assert seen > 2


def test_optimal_only_adds(trials: tuple[Trial, ...]) -> None:
    grown = 0
    for trial in trials:
        plan, optimal = build_trial(trial).graph, build_trial(trial, expand="optimal").graph
        assert plan.ladder == optimal.ladder
        assert set(plan.transitions) <= set(optimal.transitions)
        assert {t.source for t in set(optimal.transitions) - set(plan.transitions)} <= {"expand"}
        grown += len(optimal.transitions) > len(plan.transitions)
    assert grown > len(trials) / 2


def test_simple_paths_drop_returns_and_standing_still(trials: tuple[Trial, ...]) -> None:
    game = load_game(trials[0])
    plan = find_plan(game)
    assert plan is not None
    direct = carry_out(game, plan)
    first = plan[0]
    elsewhere = next(f"go to {r}" for r in game.receptacles if f"go to {r}" != first)
    wandering = carry_out(game, (elsewhere, "look", first, elsewhere, *plan))
    assert wandering.won
    kept = simple_path(wandering.moves)
    assert len(kept) < len(wandering.moves)
    states = [kept[0].before.key, *(move.after.key for move in kept)]
    assert len(set(states)) == len(states)
    assert kept[-1].after == direct.moves[-1].after


def test_carrying_out_stops_at_the_win_and_at_what_does_not_apply(trials: tuple[Trial, ...]) -> None:
    game = load_game(trials[0])
    plan = find_plan(game)
    assert plan is not None
    assert carry_out(game, (*plan, "look")).commands == plan
    stuck = carry_out(game, (plan[0], "open the pod bay doors", *plan[1:]))
    assert (stuck.commands, stuck.won) == (plan[:1], False)


def _change(trial: Trial, root: Path, change: Callable[[dict[str, Any]], None]) -> Trial:
    """A copy of a trial with another ``traj_data.json``."""
    folder = root / trial.key
    shutil.copytree(trial.path, folder)
    document = json.loads((folder / "traj_data.json").read_text())
    change(document)
    (folder / "traj_data.json").write_text(json.dumps(document))
    return trial_at(folder)


def _break_plan(document: dict[str, Any]) -> None:
    for step in document["plan"]["high_pddl"]:
        if step["discrete_action"]["action"] == "PickupObject":
            step["planner_action"]["objectId"] = "Nothing|+00.00|+00.00|+00.00"


def test_a_plan_that_does_not_carry_over_is_replaced_by_a_search(trials: tuple[Trial, ...], tmp_path: Path) -> None:
    for trial in trials:
        built = build_trial(_change(trial, tmp_path, _break_plan))
        assert built.source == "search"
        assert {t.source for t in built.graph.transitions} == {"search"}
        assert built.graph.ladder.last in built.graph.subgoal_of.values()
        assert all(subgoal.phrases for subgoal in built.graph.ladder.subgoals[1:])


def test_a_trial_without_a_plan_is_searched(trials: tuple[Trial, ...], tmp_path: Path) -> None:
    built = build_trial(_change(trials[0], tmp_path, lambda document: document.pop("plan")))
    assert (built.source, built.tallies["plans"]) == ("search", 0)


def test_a_step_of_an_unknown_kind_costs_the_plan_not_the_trial(trials: tuple[Trial, ...], tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["plan"]["high_pddl"][0]["discrete_action"]["action"] = "LevitateObject"

    built = build_trial(_change(trials[0], tmp_path, change))
    assert built.source == "search"
    assert built.graph.ladder.last in built.graph.subgoal_of.values()


def test_a_treatment_that_does_not_say_of_what_is_of_the_goals_object(
    trials: tuple[Trial, ...], tmp_path: Path
) -> None:
    """As in eight plans of the release, whose ``CleanObject`` and ``HeatObject`` have an empty argument."""

    def forget(document: dict[str, Any]) -> None:
        for step in document["plan"]["high_pddl"]:
            if step["discrete_action"]["action"] in ("CleanObject", "HeatObject", "CoolObject"):
                step["discrete_action"]["args"] = [""]

    for trial in trials:
        assert build_trial(_change(trial, tmp_path, forget)).graph.ladder == build_trial(trial).graph.ladder


def test_misaligned_annotations_are_counted_and_left_out(trials: tuple[Trial, ...], tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        people = document["turk_annotations"]["anns"]
        people[0]["high_descs"] = people[0]["high_descs"][:-1]
        people[1].pop("high_descs")
        people.append("not an annotation")

    built = build_trial(_change(trials[0], tmp_path, change))
    assert built.source == "plan"
    assert (built.tallies["annotations"], built.tallies["annotations_aligned"]) == (4, 1)
    assert [len(subgoal.phrases) for subgoal in built.graph.ladder.subgoals[1:]] == [1] * built.graph.ladder.last


def _spoil(root: Path, name: str, text: str | bytes) -> None:
    content = text if isinstance(text, bytes) else text.encode()
    (root / name).write_bytes(content)


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("traj_data.json", "{", "bad_json"),
        ("traj_data.json", "[]", "bad_json"),
        ("traj_data.json", b"\xff\xfe", "unreadable"),
        ("initial_state.pddl", "(define (problem", "bad_pddl"),
        ("initial_state.pddl", "", "bad_pddl"),
    ],
)
def test_malformed_trials_are_rejected_with_their_reason(
    trials: tuple[Trial, ...], tmp_path: Path, file: str, content: str | bytes, problem: str
) -> None:
    for trial in trials[:3]:
        shutil.copytree(trial.path, tmp_path / trial.key)
    _spoil(tmp_path / trials[1].key, file, content)
    answers = _answers(tmp_path)
    assert [type(answer) for answer in answers] == [Built, Rejected, Built]
    (rejected,) = [answer for answer in answers if isinstance(answer, Rejected)]
    assert (rejected.task, rejected.problem) == (trials[1].key, problem)
    assert rejected.reason
    assert rejected.task in str(rejected.source)
    assert problem in rejected.as_reject().reason


def test_a_game_that_nothing_solves_is_rejected(trials: tuple[Trial, ...], tmp_path: Path) -> None:
    trial = next(t for t in trials if t.key.startswith("pick_and_place_simple"))
    folder = tmp_path / trial.key
    shutil.copytree(trial.path, folder)
    text = (folder / "initial_state.pddl").read_text()
    kept = [line for line in text.splitlines() if "pickupable" not in line.lower()]
    (folder / "initial_state.pddl").write_text("\n".join(kept))
    with pytest.raises(TrialError) as caught:
        build_trial(trial_at(folder))
    assert caught.value.problem == "unsolvable"


def test_release_trials_without_a_game_are_rejected_where_others_have_one(
    trials: tuple[Trial, ...], tmp_path: Path
) -> None:
    # The release withholds the games of trials that it found unplayable; generated trials never have a game file.
    for number, trial in enumerate(trials[:2]):
        folder = tmp_path / trial.task / f"trial_T20190908_00212{number}_419694"
        shutil.copytree(trial.path, folder)
    (tmp_path / trials[0].task / "trial_T20190908_002120_419694" / "game.tw-pddl").write_text("{}")
    answers = [answer for answer in _answers(tmp_path) if isinstance(answer, Rejected)]
    assert sorted(answer.problem for answer in answers) == ["bad_json", "no_game"]


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_change_nothing(samples: Path, workers: int) -> None:
    answers = _answers(samples, workers=workers)
    assert [answer.task for answer in answers] == sorted(answer.task for answer in answers)
    graphs = [answer.graph for answer in answers if isinstance(answer, Built)]
    assert graphs == [answer.graph for answer in _answers(samples) if isinstance(answer, Built)]
    assert len(graphs) == len(answers)


def test_the_limit_takes_the_first(samples: Path) -> None:
    whole = [answer.task for answer in _answers(samples)]
    assert [answer.task for answer in _answers(samples, limit=4)] == whole[:4]
    assert builder("alfworld").count(samples, BuildOptions(limit=4)) == 4
    assert builder("alfworld").count(samples, BuildOptions()) == len(whole)


def test_a_single_trial_is_a_source(trials: tuple[Trial, ...]) -> None:
    assert [answer.task for answer in _answers(trials[2].path)] == [trials[2].key]


def test_tasks_say_their_goal_in_words_and_in_short(trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        task = build_trial(trial).graph.task
        assert (task.key, task.env) == (trial.key, "alfworld")
        assert task.text.endswith(".")
        assert not task.text.startswith("Your task")
        assert load_game(trial).goal.object in task.goal


def test_sources_are_found_by_name() -> None:
    assert "alfworld" in builder_names()
    with pytest.raises(UsageError, match=r"known: .*alfworld"):
        builder("alf-world")
    with pytest.raises(UsageError, match="plan, optimal"):
        expansion("everything")


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="limit"):
        BuildOptions(limit=0)
    with pytest.raises(UsageError, match="workers"):
        BuildOptions(workers=-1)


def test_a_path_without_trials_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no ALFWorld trial"):
        _answers(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        builder("alfworld").count(tmp_path / "absent", BuildOptions())
