"""Subgoals run from left to right, no two states share a place, and the same graph is always placed alike."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from proas.graph.records import Task, TaskGraph, Transition
from proas.rollouts import State
from proas.subgoals import Ladder, Rung, ladder_of
from proas.views.drawing import OUTSIDE, DrawnState, DrawnTask, draw_task
from proas.views.placing import COLUMN, ROW, place

LADDER: Ladder = ladder_of([Rung("first", (("one",),)), Rung("second", (("two",),))], goal="third")
MARKS: tuple[tuple[str, ...], ...] = ((), ("one",), ("one", "two"), ("goal reached",))


def task_of(classes: list[int], ways: list[tuple[int, int]], *, outside: int = 0, name: str = "t") -> DrawnTask:
    states = [State.of("e", name, [f"at {i}", *MARKS[m]]) for i, m in enumerate([0, *classes])]
    of = [0, *classes]
    edges = {
        (a, b): Transition(states[a].key, f"go {b}", states[b].key, "plan")
        for a, b in ((a % len(states), b % len(states)) for a, b in ways)
        if a != b and of[a] <= of[b]
    }
    graph = TaskGraph(Task(name, "e", "goal"), LADDER, states[0], {s.key: s for s in states}, (*edges.values(),))
    drawn = draw_task(graph, {})
    added = tuple(DrawnState(f"o{i}", i % 4, f"o{i}", (), OUTSIDE, 0) for i in range(outside))
    return replace(drawn, states=(*drawn.states, *added))


classes = st.text("0123", max_size=40).map(lambda told: [int(m) for m in told])
# Two letters are a way from one state to another: quicker to make up than pairs of numbers.
ways = st.text(st.characters(codec="ascii"), max_size=120).map(
    lambda told: [(ord(a), ord(b)) for a, b in zip(told[::2], told[1::2], strict=False)]
)


@given(classes, ways, st.integers(0, 9))
def test_every_state_has_room_in_the_band_of_its_subgoal(m: list[int], to: list[tuple[int, int]], beyond: int) -> None:
    tasks = [task_of(m, to, outside=beyond), task_of(m[::-1], to, name="u")]
    placed = place(tasks)
    assert len(placed.states) == sum(len(task.states) for task in tasks)
    spots = sorted(placed.states.values())
    for (x, y), (u, v) in pairwise(spots):
        assert abs(x - u) >= COLUMN - 0.5 or abs(y - v) >= ROW - 0.5
    bands = {(band.task, band.subgoal): band for band in placed.bands}
    for number, task in enumerate(tasks):
        for state in task.states:
            band = bands[number, state.subgoal]
            x, y = placed.states[number, state.key]
            assert band.left < x < band.right
            assert band.top < y < band.bottom
        rooms = [bands[number, m] for m in range(len(task.subgoals))]
        assert all(a.right < b.left for a, b in pairwise(rooms))
    assert max(b.bottom for b in placed.bands if b.task == 0) < min(b.top for b in placed.bands if b.task == 1)


@given(classes, ways, st.integers(0, 2**32))
def test_the_order_in_which_a_graph_is_told_does_not_matter(m: list[int], to: list[tuple[int, int]], seed: int) -> None:
    dice = random.Random(seed)
    task = task_of(m, to)
    states, transitions = list(task.states), list(task.transitions)
    dice.shuffle(states)
    dice.shuffle(transitions)
    assert place([replace(task, states=tuple(states), transitions=tuple(transitions))]) == place([task])


def test_the_start_stands_first_and_a_chain_runs_to_the_right() -> None:
    task = task_of([0, 0, 0, 1], [(0, 1), (1, 2), (2, 3), (3, 4)])
    placed = place([task])
    captions = {state.key: state.caption for state in task.states}
    order = sorted(placed.states, key=lambda at: placed.states[at][0])
    assert [captions[key] for _, key in order] == ["at 0", "at 1", "at 2", "at 3", "at 4; one"]
