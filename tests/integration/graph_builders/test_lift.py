"""A lifted graph in the database: one task a family, support by tasks, nothing new the second time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import UsageError
from proas.graph import Connection
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, build_graph, builder
from proas.graph_builders.lifting import lift_graph
from proas.states.alfworld.lifting import family_of


@pytest.fixture
def built(graph: ReferenceGraph, samples: Path) -> ReferenceGraph:
    build_graph("alfworld", builder("alfworld"), graph, data=samples, options=BuildOptions(expand="optimal"))
    return graph


@pytest.fixture
def lifted(connection: Connection, graph_name: str) -> Iterator[ReferenceGraph]:
    made = ReferenceGraph.create(connection, f"{graph_name}-lifted")
    yield made
    made.drop(force=True)


def test_every_task_is_lifted_into_its_family(built: ReferenceGraph, lifted: ReferenceGraph) -> None:
    heard: list[int] = []
    report = lift_graph(built, lifted, progress=heard.append)
    goals = [AlfWorldGoal.from_task_key(task.key) for task in built.tasks()]
    families = {family_of(goal.kind, sliced=goal.sliced).key for goal in goals}
    assert sum(heard) == report.tasks == len(goals) == 24
    assert {family.task for family in report.families} == families == {task.key for task in lifted.tasks()}
    assert sum(family.tasks for family in report.families) == 24
    assert lifted.verify().ok
    for family in report.families:
        stored = lifted.read(family.task)
        assert max(transition.support for transition in stored.transitions) <= family.tasks
        first = [t for t in stored.transitions if t.source_state == stored.start.key]
        assert sum(t.support for t in first) >= family.tasks  # every task's way leaves the start
        assert len(stored.states) == family.states


def test_the_second_time_changes_nothing_and_growth_raises_support(
    built: ReferenceGraph, lifted: ReferenceGraph, samples: Path, connection: Connection, graph_name: str
) -> None:
    part = ReferenceGraph.create(connection, f"{graph_name}-part")
    try:
        build_graph("alfworld", builder("alfworld"), part, data=samples, options=BuildOptions(limit=12))
        first = lift_graph(part, lifted)
        again = lift_graph(part, lifted)
        assert first.added_transitions > 0
        assert (again.added_states, again.added_transitions, again.rejected) == (0, 0, ())
        before = {t.key: t.support for graph in lifted.iter_task_graphs() for t in graph.transitions}
        lift_graph(built, lifted)
        after = {t.key: t.support for graph in lifted.iter_task_graphs() for t in graph.transitions}
        assert all(after[key] >= support for key, support in before.items())
        assert sum(after.values()) > sum(before.values())
        assert lifted.verify().ok
    finally:
        part.drop()


def test_a_graph_may_hold_its_own_lifted_tasks(built: ReferenceGraph) -> None:
    report = lift_graph(built, built)
    again = lift_graph(built, built)
    assert again.lifted_tasks == len(report.families)
    assert again.tasks == 24 + len(report.families)
    assert (again.added_states, again.added_transitions) == (0, 0)
    assert built.verify().ok


def test_rare_transitions_are_left_out_where_asked(built: ReferenceGraph, lifted: ReferenceGraph) -> None:
    report = lift_graph(built, lifted, least=2)
    assert report.dropped_rare > 0
    kept = [t for graph in lifted.iter_task_graphs() for t in graph.transitions]
    assert kept
    assert min(t.support for t in kept) >= 2
    with pytest.raises(UsageError, match="at least one task"):
        lift_graph(built, lifted, least=0)
