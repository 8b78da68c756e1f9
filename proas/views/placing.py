"""Where each state stands: from left to right by subgoal, and within a subgoal by its distance from the way in.

Deterministic, so that a page made again looks the same. Rows are ordered by the mean row of what leads to a state
(the barycentre rule of Sugiyama, Tagawa and Toda, 1981), which keeps most arrows from crossing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import fmean

from proas.views.drawing import OUTSIDE, DrawnState, DrawnTask

__all__ = ["Band", "Placed", "place"]

COLUMN = 190
"""From one column to the next, in units of the drawing."""

ROW = 100
"""From one row to the next."""

BAND = 70
"""Between two subgoals."""

SECTION = 200
"""Between two tasks."""

_TALLEST = 11
"""Rows of a column; what is more goes on in the next. Large tasks have taller ones, so that the whole is no ribbon."""

_LARGE = 120
"""A class with more states than this is filled column by column in order of distance, whole levels or not."""


@dataclass(frozen=True, slots=True)
class Band:
    """The room of one subgoal: its left and right edge, top and bottom."""

    task: int
    subgoal: int
    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Placed:
    """Positions.

    Attributes:
        states: Centre of each state by (number of the task, key).
        bands: The rooms of the subgoals.
    """

    states: Mapping[tuple[int, str], tuple[float, float]]
    bands: tuple[Band, ...]


def place(tasks: Sequence[DrawnTask]) -> Placed:
    """Place the states of tasks, one task below the other."""
    states: dict[tuple[int, str], tuple[float, float]] = {}
    bands: list[Band] = []
    top = 0.0
    for number, task in enumerate(tasks):
        grid, edges = _grid(task)
        rows = 1 + max((row for _, row in grid.values()), default=0)
        for key, (x, row) in grid.items():
            states[number, key] = (x, top + row * ROW)
        bottom = top + (rows - 1) * ROW
        bands += [
            Band(number, m, left, right, top - ROW * 0.95, bottom + ROW * 0.5) for m, (left, right) in edges.items()
        ]
        top = bottom + SECTION
    return Placed(states, tuple(bands))


def _grid(task: DrawnTask) -> tuple[dict[str, tuple[float, float]], dict[int, tuple[float, float]]]:
    """(x, row) of each state, and the left and right edge of each subgoal."""
    before: defaultdict[str, list[str]] = defaultdict(list)
    for transition in task.transitions:
        before[transition.target_state].append(transition.source_state)
    grid: dict[str, tuple[float, float]] = {}
    edges: dict[int, tuple[float, float]] = {}
    columns: dict[int, dict[float, int]] = {}
    tallest = max(_TALLEST, round(0.7 * len(task.states) ** 0.5))
    x = 0.0
    for m in range(len(task.subgoals)):
        left = x
        columns[m] = {}
        own = [state for state in task.states if state.subgoal == m and state.source != OUTSIDE]
        levels = _levels(task, own)
        if len(own) > _LARGE:
            levels = [[state for level in levels for state in level]]
        for level in levels:
            for column in _columns(level, grid, before, tallest):
                grid |= {state.key: (x, float(row)) for row, state in enumerate(column)}
                columns[m][x] = len(column)
                x += COLUMN
        columns[m] = columns[m] or {left: 0}
        x = max(x, left + COLUMN)
        edges[m] = (left - COLUMN / 2, x - COLUMN / 2)
        x += BAND
    height = max((rows for taken in columns.values() for rows in taken.values()), default=1)
    for m, taken in columns.items():
        outside = [state for state in task.states if state.subgoal == m and state.source == OUTSIDE]
        grid |= dict(zip((state.key for state in _by_caption(outside)), _free(taken, height), strict=False))
    return grid, edges


def _by_caption(states: list[DrawnState]) -> list[DrawnState]:
    return sorted(states, key=lambda state: (state.caption, state.key))


def _free(taken: Mapping[float, int], height: int) -> Iterator[tuple[float, float]]:
    """Free cells of a subgoal's room, below what stands there already; then further down, without end."""
    for x, rows in sorted(taken.items()):
        yield from ((x, float(row)) for row in range(rows, height))
    for row in count(height):
        yield from ((x, float(row)) for x in sorted(taken))


def _levels(task: DrawnTask, own: list[DrawnState]) -> list[list[DrawnState]]:
    """The states of a subgoal by their distance from where the task, or another subgoal, or nothing leads into it."""
    inside = {state.key: state for state in own}
    after: defaultdict[str, list[str]] = defaultdict(list)
    reached: set[str] = set()
    entered: set[str] = {task.start} & inside.keys()
    for transition in task.transitions:
        if transition.target_state in inside:
            if transition.source_state in inside:
                after[transition.source_state].append(transition.target_state)
                reached.add(transition.target_state)
            else:
                entered.add(transition.target_state)
    distance = dict.fromkeys(sorted(entered | (inside.keys() - reached)), 0)
    _spread(distance, after)
    while missing := [key for key in sorted(inside) if key not in distance]:  # a ring that nothing leads into
        distance[missing[0]] = 0
        _spread(distance, after)
    levels: defaultdict[int, list[DrawnState]] = defaultdict(list)
    for state in own:
        levels[-1 if state.key == task.start else distance[state.key]].append(state)
    return [_by_caption(levels[level]) for level in sorted(levels)]


def _spread(distance: dict[str, int], after: Mapping[str, Sequence[str]]) -> None:
    """Give what can be reached its distance."""
    queue = deque(sorted(distance, key=lambda key: (distance[key], key)))
    while queue:
        key = queue.popleft()
        for target in sorted(after.get(key, ())):
            if target not in distance:
                distance[target] = distance[key] + 1
                queue.append(target)


def _columns(
    level: list[DrawnState],
    grid: Mapping[str, tuple[float, float]],
    before: Mapping[str, Sequence[str]],
    tallest: int,
) -> list[list[DrawnState]]:
    """The states of a level in columns that are not too tall; those of one column in order."""
    if len(level) > _LARGE:
        return [level[i : i + tallest] for i in range(0, len(level), tallest)]

    def middle(state: DrawnState) -> float:
        known = [grid[source][1] for source in before.get(state.key, ()) if source in grid]
        return fmean(known) if known else float("inf")

    ordered = sorted(level, key=lambda state: (middle(state), state.caption, state.key))
    return [ordered[i : i + tallest] for i in range(0, len(ordered), tallest)]
