"""Surroundings of solutions, and how a solution enters a graph of what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.alfworld.data import Trial
from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.load import load_game
from proas.errors import UsageError
from proas.graph_builders import BuildOptions, Built, build_graph, builder, check_source, expansion_and_radius
from proas.graph_builders.alfworld import AlfWorldBuilder
from proas.graph_builders.alfworld.builder import Wanted, build_trial
from proas.states import ladder_for
from proas.states.alfworld import KNOWLEDGE, EngineObserver
from proas.subgoals import GOAL_REACHED, SEARCHING

AROUND = Wanted("around")
KNOWN = Wanted("around", noting=KNOWLEDGE)


def test_surroundings_only_add(trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        optimal, around = build_trial(trial, expand="optimal").graph, build_trial(trial, wanted=AROUND).graph
        assert around.ladder == optimal.ladder
        kept = {t.key: t.source for t in around.transitions if t.source != "around"}
        assert kept == {t.key: t.source for t in optimal.transitions}
        assert optimal.states.keys() < around.states.keys()
        index = around.subgoal_of
        assert all(index[t.source_state] <= index[t.target_state] for t in around.transitions)


def test_a_step_astray_from_a_solution_is_known_ground(trials: tuple[Trial, ...]) -> None:
    """Wherever one goes from a solution, the state is stored, unless no way leads there and back without a fall."""
    for trial in trials[:6]:
        game = load_game(trial)
        graph = build_trial(trial, wanted=AROUND).graph
        engine, observer = AlfWorldEngine(game), EngineObserver(game.key, game.goal)
        engine.reset()
        observer.begin(engine)
        for command in [c for c in engine.admissible() if c.startswith("go to ")]:
            engine.reset()
            observer.begin(engine)
            engine.step(command)
            assert observer.observe(command, engine, valid=True).state.key in graph.states


def test_every_surrounding_move_is_one_of_the_engine(trials: tuple[Trial, ...]) -> None:
    """From the start, which has one situation, each stored move leads where the engine says."""
    for trial in trials:
        game = load_game(trial)
        graph = build_trial(trial, wanted=AROUND).graph
        engine = AlfWorldEngine(game)
        for transition in graph.transitions:
            if transition.source_state != graph.start.key:
                continue
            observer = EngineObserver(game.key, game.goal)
            engine.reset()
            observer.begin(engine)
            assert engine.valid(transition.action)
            _answer, won = engine.step(transition.action)
            found = observer.observe(transition.action, engine, valid=True, won=won)
            assert found.state.key == transition.target_state


def test_a_wider_circle_holds_the_narrower(trials: tuple[Trial, ...]) -> None:
    for trial in trials[:4]:
        near, far = (build_trial(trial, wanted=Wanted("around", radius)).graph for radius in (1, 2))
        assert near.states.keys() <= far.states.keys()
        assert {t.key for t in near.transitions} <= {t.key for t in far.transitions}


def test_a_bound_is_kept_and_told(trials: tuple[Trial, ...]) -> None:
    trial = trials[0]
    whole = build_trial(trial, wanted=AROUND)
    assert whole.tallies["states_left_out"] == 0
    optimal = build_trial(trial, expand="optimal").graph
    most = len(optimal.states) + 3
    bounded = build_trial(trial, wanted=Wanted("around", most=most))
    assert bounded.tallies["surroundings_cut_short"] == 1
    assert bounded.tallies["states_left_out"] > 0
    assert optimal.states.keys() <= bounded.graph.states.keys()
    assert len(bounded.graph.states) <= most + 3


def test_workers_give_the_same_surroundings(samples: Path) -> None:
    one, two = (
        [
            answer.graph
            for answer in AlfWorldBuilder(KNOWLEDGE).build(samples, BuildOptions("around", limit=4, workers=workers))
            if isinstance(answer, Built)
        ]
        for workers in (1, 2)
    )
    assert one
    assert one == two


@pytest.mark.parametrize("text", ["around:0", "around:x", "around:", "around:10", "plan:1", "near", "", "around:-1"])
def test_unknown_expansions(text: str) -> None:
    with pytest.raises(UsageError):
        expansion_and_radius(text)


def test_expansions_as_they_are_written() -> None:
    assert expansion_and_radius("around") == ("around", 1)
    assert expansion_and_radius("around:3") == ("around", 3)
    assert expansion_and_radius("optimal") == ("optimal", 1)
    with pytest.raises(UsageError):
        BuildOptions("around", radius=0)


@pytest.mark.parametrize("source", ["webshop", "trajectories", "distill"])
def test_a_source_that_knows_no_surroundings_says_so(source: str) -> None:
    with pytest.raises(UsageError):
        check_source(source, BuildOptions("around"))
    with pytest.raises(UsageError):
        build_graph(source, builder("webshop"), None, options=BuildOptions("around"))  # type: ignore[arg-type]


# What is known


def test_every_first_look_is_a_way(trials: tuple[Trial, ...]) -> None:
    """From the start of a task, going to any receptacle leads on to the goal: the informed walk is one among them."""
    for trial in trials:
        game = load_game(trial)
        built = build_trial(trial, wanted=Wanted(noting=KNOWLEDGE))
        graph = built.graph
        assert graph.start.facts == (SEARCHING,)
        assert graph.task.env == "alfworld-knowledge"
        first = {t.action for t in graph.transitions if t.source_state == graph.start.key}
        engine = AlfWorldEngine(game)
        engine.reset()
        assert first == {command for command in engine.admissible() if command.startswith("go to ")}
        assert any(GOAL_REACHED in state.facts for state in graph.states.values())


def test_the_ladder_knows_no_more_than_the_goal(trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        graph = build_trial(trial, wanted=KNOWN).graph
        from_goal = ladder_for("alfworld-knowledge", graph.task.key, graph.task.text)
        assert len(graph.ladder.subgoals) == len(from_goal.subgoals)
        assert not any("at " in p for s in graph.ladder.subgoals for c in s.condition for p in c)


def test_surroundings_hold_no_search_beyond_the_looks(trials: tuple[Trial, ...]) -> None:
    for trial in trials[:6]:
        plain, around = (build_trial(trial, wanted=Wanted(e, noting=KNOWLEDGE)).graph for e in ("optimal", "around"))
        searching = [{s.key for s in g.states.values() if SEARCHING in s.facts} for g in (plain, around)]
        assert searching[0] == searching[1]
