"""Graphs with history on the real server: built, evolved, layered; every one is dropped afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest

from proas.errors import GraphNotFound
from proas.graph.connect import Connection
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph.store import ReferenceGraph
from proas.rollouts import Rollout, RolloutBatch, State, Step
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal

ODD = "\"'`\\ \n\t é 日本 🙂 $x // ') DETACH DELETE n"


@pytest.fixture
def new_name(connection: Connection, graph_name: str) -> Iterator[Callable[[], str]]:
    """Makes names of graphs; what bears one of them is dropped after the test, layers first."""
    given: list[str] = []

    def make() -> str:
        given.append(f"{graph_name}-{len(given)}-{uuid.uuid4().hex[:4]}")
        return given[-1]

    yield make
    for name in reversed(given):
        try:
            ReferenceGraph(connection, name).drop(force=True)
        except GraphNotFound:
            continue


def place(task: str, number: int, length: int) -> State:
    """The n-th state on the way."""
    facts = [f"at place {number}", f"said {task}"] + ([GOAL_REACHED] if number == length - 1 else [])
    return State.of("alfworld", task, facts)


def ladder(length: int) -> Ladder:
    """Three milestones on the way."""
    half = tuple((f"at place {n}",) for n in range(length // 2, length))
    return Ladder((Subgoal(0, "set out"), Subgoal(1, f"half {ODD}", ("midway", ODD), half), Subgoal(2, "arrive")))


def way(task: str, *, length: int = 6, source: str = "plan") -> TaskGraph:
    """The reference graph of a task: a way of ``length`` places."""
    states = [place(task, n, length) for n in range(length)]
    steps = [Transition(a.key, f"go to place {n + 1}", b.key, source) for n, (a, b) in enumerate(pairwise(states))]
    return TaskGraph(
        task=Task(task, "alfworld", f"reach the end of {task}", f"Please {ODD}"),
        ladder=ladder(length),
        start=states[0],
        states={state.key: state for state in states},
        transitions=tuple(steps),
    )


def success(task: str, name: str, stops: Sequence[int], *, length: int = 6) -> Rollout:
    """A success that visits these places of the way in order."""
    states = [place(task, n, length) for n in stops]
    steps = tuple(
        Step(action=f"go to place {n}", canonical=f"go to place {n}", state=state, valid=True)
        for n, state in zip(stops[1:], states[1:], strict=True)
    )
    return Rollout(id=name, env="alfworld", task=task, goal=f"reach {task}", start=states[0], steps=steps, success=True)


def grown(connection: Connection, name: str, *, tasks: int = 3) -> ReferenceGraph:
    """A graph with builds, two evolutions, a new task found by evolution, versions and successes."""
    graph = ReferenceGraph.create(connection, name)
    assert graph.add(way(f"walk {n}") for n in range(tasks)).added_tasks == tasks
    shortcut = success("walk 0", "shortcut", [0, 2, 5])
    graph.evolve(
        RolloutBatch((shortcut, success("walk 1", f"same way {ODD}", range(6)))),
        run=f"run {ODD}".replace("\n", " ").replace("\t", " "),
    )
    graph.evolve(RolloutBatch((success("walk 0", "again", [0, 2, 5]), success("found", "new task", [0, 3, 5]))))
    return graph


def layered(connection: Connection, base: ReferenceGraph, name: str) -> ReferenceGraph:
    """A layer with its own build, its own evolutions, and support for what the base holds."""
    layer = ReferenceGraph.create(connection, name, base=base.name)
    assert not layer.add([way("only here"), way("walk 2")]).rejected
    layer.evolve(RolloutBatch((success("walk 0", "layer", [0, 1, 5]), success("walk 1", "supports", range(6)))))
    base.evolve(RolloutBatch((success("walk 2", "later in the base", [0, 4, 5]),)))
    return layer
