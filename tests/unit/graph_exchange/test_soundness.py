"""What makes rows a graph is checked row by row, and the row that breaks it is named."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from proas.errors import DataError, RecordError
from proas.graph.exchange.envelope import Placed, batches
from proas.graph.exchange.soundness import Soundness, _Keys
from proas.graph.exchange.tables import TABLE_OF
from proas.graph.rows import GraphRow, Row, StateRow, SubgoalRow, SuccessRow, TaskRow, TransitionRow, VersionRow
from proas.keys import digest, state_key, transition_key

from .sample import HEADER, VERSION, graph_rows


def check(rows: list[Row]) -> None:
    soundness = Soundness(HEADER)
    placed = (Placed(TABLE_OF[type(row)], row, "file", line) for line, row in enumerate(rows, start=2))
    for batch in batches(placed, size=10):
        soundness.take_all(batch)
    soundness.finish()


def changed(kind: type[Row], change: Callable[[Any], Row], *, position: int = 0) -> tuple[list[Row], int]:
    """Sample rows with one of a kind changed, and its line."""
    rows = graph_rows(tasks=3, states=12)
    place = [n for n, row in enumerate(rows) if isinstance(row, kind)][position]
    rows[place] = change(rows[place])
    return rows, place + 2


def test_a_sound_graph_passes() -> None:
    check(graph_rows(tasks=20, states=12))
    check(graph_rows(tasks=0))


def _with_action(row: TransitionRow, action: str) -> TransitionRow:
    return replace(row, action=action, key=transition_key(row.source_state, action, row.target_state))


FAULTS: list[tuple[type[Row], Callable[[Any], Row], str, str]] = [
    (GraphRow, lambda r: replace(r, version=9), "", "does not agree with the header"),
    (VersionRow, lambda r: replace(r, k=-1), "k", "is -1, and the graph has version 3"),
    (TaskRow, lambda r: replace(r, start="f" * 32), "start", "is no state of the task"),
    (TaskRow, lambda r: replace(r, start="nonsense"), "start", "is no state of the task"),
    (TaskRow, lambda r: replace(r, since=VERSION + 1), "since", "is 4, and the graph has version 3"),
    (TaskRow, lambda r: replace(r, inherited=True), "inherited", "the graph is no layer"),
    (SubgoalRow, lambda r: replace(r, task="nobody"), "task", "is no task of the file"),
    (SubgoalRow, lambda r: replace(r, index=7), "key", "is not the digest of the task and the index"),
    (SubgoalRow, lambda r: replace(r, condition="{"), "condition", "is not JSON"),
    (SubgoalRow, lambda r: replace(r, condition='["x"]'), "condition", "must be a list of lists"),
    (SubgoalRow, lambda r: replace(r, condition="[[1]]"), "condition", "must be a list of lists"),
    (SubgoalRow, lambda r: replace(r, condition='[["{o:"]]'), "condition", "malformed fact pattern"),
    (StateRow, lambda r: replace(r, facts=("at home",)), "key", "is not the digest of the facts"),
    (StateRow, lambda r: replace(r, facts=r.facts * 2), "facts", "are not in sorted order"),
    (StateRow, lambda r: replace(r, subgoal="0" * 32), "subgoal", "is no subgoal of the task"),
    (StateRow, lambda r: replace(r, since=-1), "since", "is -1"),
    (TransitionRow, lambda r: replace(r, action="fly"), "key", "is not the digest of its two states and its action"),
    (SuccessRow, lambda r: replace(r, task="nobody"), "task", "is no task of the file"),
    (SuccessRow, lambda r: replace(r, transitions=(*r.transitions, "0" * 32)), "transitions", "1 of them are not"),
]


@pytest.mark.parametrize(("kind", "change", "field", "reason"), FAULTS)
def test_a_row_that_breaks_a_rule_is_named(
    kind: type[Row], change: Callable[[Any], Row], field: str, reason: str
) -> None:
    rows, line = changed(kind, change)
    with pytest.raises(RecordError) as caught:
        check(rows)
    assert (caught.value.line, caught.value.field) == (line, field)
    assert reason in caught.value.reason


def test_a_state_of_another_task_is_no_end() -> None:
    rows = graph_rows(tasks=2, states=6)
    states = [row for row in rows if isinstance(row, StateRow)]
    mine = next(row for row in states if row.task == "task 0")
    theirs = next(row for row in states if row.task == "task 1")
    key = transition_key(mine.key, "jump", theirs.key)
    _add(rows, TransitionRow(key, "task 0", mine.key, "jump", theirs.key, "plan", 1, 0, False))
    with pytest.raises(RecordError, match=r"target_state: .* is no state of the task"):
        check(rows)


def test_a_step_back_to_an_earlier_subgoal_is_refused() -> None:
    rows = graph_rows(tasks=1, states=6)
    first = next(row for row in rows if isinstance(row, StateRow) and row.initial)
    late = next(row for row in rows if isinstance(row, StateRow) and row.facts == ("at place 5",))
    key = transition_key(late.key, "go back", first.key)
    _add(rows, TransitionRow(key, "task 0", late.key, "go back", first.key, "plan", 1, 0, False))
    with pytest.raises(RecordError, match="falls back to an earlier subgoal"):
        check(rows)


def test_a_self_loop_is_refused() -> None:
    rows = graph_rows(tasks=1)
    state = next(row for row in rows if isinstance(row, StateRow))
    key = transition_key(state.key, "wait", state.key)
    _add(rows, TransitionRow(key, "task 0", state.key, "wait", state.key, "plan", 1, 0, False))
    with pytest.raises(RecordError, match="leads back to where it starts"):
        check(rows)


@pytest.mark.parametrize("kind", [VersionRow, TaskRow, SubgoalRow, StateRow, TransitionRow, SuccessRow])
def test_repeated_and_unsorted_rows_are_refused(kind: type[Row]) -> None:
    rows = graph_rows()
    place = next(n for n, row in enumerate(rows) if isinstance(row, kind))
    with pytest.raises(RecordError, match="comes again"):
        check([*rows[:place], rows[place], *rows[place:]])
    with pytest.raises(RecordError, match="comes out of order"):
        check([*rows[:place], rows[place + 1], rows[place], *rows[place + 2 :]])


def test_subgoals_must_be_numbered_without_gaps() -> None:
    rows = [row for row in graph_rows(tasks=1, states=1) if not (isinstance(row, SubgoalRow) and row.index == 1)]
    with pytest.raises(RecordError, match="has 2 subgoals, and 2 is one of them"):
        check(rows)


def test_there_is_one_graph() -> None:
    with pytest.raises(DataError, match="0 rows of ARG"):
        check(graph_rows()[1:])
    rows = graph_rows()
    with pytest.raises(DataError, match="does not agree"):
        check([rows[0], *rows])


def test_state_keys_belong_to_the_environment_of_the_task() -> None:
    rows, _ = changed(TaskRow, lambda row: replace(row, env="webshop"))
    with pytest.raises(RecordError, match="is not the digest of the facts"):
        check(rows)


def test_key_lookup_agrees_with_a_dictionary() -> None:
    draw = random.Random(1)
    # Keys that end or begin in zero bytes are the hard ones for fixed-width text.
    keys = {digest(n) for n in range(500)} | {"00" * 16, "ff" * 16, "ab" + "00" * 15, "00" * 15 + "ab"}
    keys |= {key[:30] + "00" for key in list(keys)[:50]}
    ordered = sorted(keys)
    table = _Keys()
    for key in ordered:
        table.append(key)
    asked = [draw.choice([draw.choice(ordered), digest("other", n)]) for n in range(2_000)] + ["", "zz", "é" * 32]
    places = {key: n for n, key in enumerate(ordered)}
    assert table.find(asked).tolist() == [places.get(key, -1) for key in asked]
    assert np.all(_Keys().find(["ab" * 16]) == -1)


def _add(rows: list[Row], row: TransitionRow) -> None:
    rows.append(row)
    order = [type(r) for r in graph_rows(tasks=1)]
    rows.sort(key=lambda r: (order.index(type(r)), getattr(r, "k", 0), getattr(r, "key", "")))


def test_the_sample_has_true_keys() -> None:
    states = [row for row in graph_rows() if isinstance(row, StateRow)]
    assert all(row.key == state_key("alfworld", row.task, row.facts) for row in states)
