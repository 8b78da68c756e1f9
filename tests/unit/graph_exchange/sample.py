"""Rows of small graphs with true keys, made without a database."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from proas.graph.exchange.envelope import Header
from proas.graph.exchange.formats import ExchangeFormat, reader_of, writer_of
from proas.graph.rows import (
    GraphRow,
    Row,
    StateRow,
    SubgoalRow,
    SuccessRow,
    TaskRow,
    TransitionRow,
    VersionRow,
)
from proas.graph.writing import subgoal_key
from proas.keys import digest, state_key, transition_key

VERSION = 3


def graph_rows(tasks: int = 3, states: int = 8, *, seed: int = 0, odd: str = "") -> list[Row]:
    """Rows of a plain graph in file order; ``odd`` is put into every text that may hold anything."""
    draw = random.Random(seed)
    rows: list[Row] = [GraphRow(VERSION, "", -1, "2026-03-01T10:00:00.123456789+01:00")]
    rows += [
        VersionRow(k, f"run {k}{odd}", k, 2 * k, f"2026-03-0{k + 1}T00:00:00.00000000{k}Z") for k in range(VERSION + 1)
    ]
    parts: dict[type[Row], list[Row]] = {
        kind: [] for kind in (TaskRow, SubgoalRow, StateRow, TransitionRow, SuccessRow)
    }
    for number in range(tasks):
        _add_task(parts, f"task {number}{odd}", states, draw, odd)
    for some in parts.values():
        rows += sorted(some, key=lambda row: row.key)  # type: ignore[union-attr]
    return rows


def _add_task(parts: dict[type[Row], list[Row]], task: str, states: int, draw: random.Random, odd: str) -> None:
    keys = [state_key("alfworld", task, [f"at place {n}{odd}"]) for n in range(states)]
    parts[TaskRow].append(TaskRow(task, "alfworld", f"goal{odd}", f"text{odd}", keys[0], 0, False, (digest(task),)))
    for index in range(3):
        key = subgoal_key(task, index)
        condition = '[["at {p:place}","holding {o:*}"]]' if index else "[]"
        parts[SubgoalRow].append(SubgoalRow(key, task, index, f"step {index}{odd}", (f"do{odd}", ""), condition))
    births = [0, *sorted(draw.randint(0, VERSION) for _ in range(states - 1))]
    for n, key in enumerate(keys):
        index, since = min(2, n * 3 // states), births[n]
        facts, caption = (f"at place {n}{odd}",), f"at place {n}"
        row = StateRow(key, task, subgoal_key(task, index), facts, caption, n == 0, "plan", since, False)
        parts[StateRow].append(row)
    taken = []
    for n in range(states - 1):
        action = f"go to place {n + 1}{odd}"
        key = transition_key(keys[n], action, keys[n + 1])
        taken.append(key)
        parts[TransitionRow].append(
            TransitionRow(key, task, keys[n], action, keys[n + 1], "plan", n + 1, births[n + 1], False)
        )
    success = SuccessRow(digest("success", task), task, f"rollout{odd}", f"run{odd}", tuple(taken), VERSION)
    parts[SuccessRow].append(success)


HEADER = Header(schema_version=2, name="sample", version=VERSION, constraints=("arg_name_unique: ...",))


def write(path: Path, rows: Sequence[Row], *, header: Header = HEADER, form: ExchangeFormat | None = None) -> Path:
    """Write rows into a file and return its path."""
    with writer_of(path, header, form) as writer:
        for begin in range(0, len(rows), 7):  # batches that fit no boundary
            writer.write(rows[begin : begin + 7])
    return path


def read(path: Path, form: ExchangeFormat | None = None) -> list[Row]:
    """Rows of a file."""
    return [placed.row for placed in reader_of(path, form).records()]
