"""Is a file a graph? Everything that can be checked without a database, in one pass and before the first write.

Memory: 24 bytes a state and 16 a transition, and a few hundred bytes a task and a subgoal. That is 40 MB for a graph
of a million states and transitions.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from proas.errors import DataError
from proas.graph.exchange.envelope import Header, Placed
from proas.graph.rows import (
    GraphRow,
    StateRow,
    SubgoalRow,
    SuccessRow,
    TaskRow,
    TransitionRow,
    VersionRow,
)
from proas.graph.writing import subgoal_key
from proas.keys import state_key, transition_key
from proas.subgoals import Ladder, Subgoal

__all__ = ["Soundness"]

_BATCH = 1_000
_KEY = re.compile(r"[0-9a-f]{32}")
_KEY_BYTES = 16
_NO_KEY = bytes(_KEY_BYTES)


class _Keys:
    """Sorted keys in 16 bytes each, looked up many at a time."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._array: npt.NDArray[np.bytes_] | None = None

    def __len__(self) -> int:
        return len(self._bytes) // _KEY_BYTES

    def append(self, key: str) -> None:
        self._bytes += bytes.fromhex(key)

    def find(self, keys: list[str]) -> npt.NDArray[np.int64]:
        """Position of each key, or -1."""
        if self._array is None or len(self._array) != len(self):
            # A copy: while a view is alive the byte array cannot grow.
            self._array = np.frombuffer(bytes(self._bytes), dtype=f"S{_KEY_BYTES}")
        real = [bool(_KEY.fullmatch(key)) for key in keys]
        packed = b"".join(bytes.fromhex(key) if is_key else _NO_KEY for key, is_key in zip(keys, real, strict=True))
        wanted = np.frombuffer(packed, dtype=f"S{_KEY_BYTES}")
        if not len(self._array):
            return np.full(len(keys), -1)
        places = np.minimum(np.searchsorted(self._array, wanted), len(self._array) - 1)
        return np.where((self._array[places] == wanted) & real, places, -1)


def _condition_fault(text: str) -> str:
    """Why the text is no condition of a subgoal; empty when it is one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "is not JSON"
    lists = isinstance(found, list) and all(isinstance(conjunction, list) for conjunction in found)
    if not lists or not all(isinstance(pattern, str) for conjunction in found for pattern in conjunction):
        return "must be a list of lists of fact patterns"
    try:
        Ladder((Subgoal(0, "", condition=tuple(map(tuple, found))),))
    except ValueError as error:
        return str(error)
    return ""


class Soundness:
    """Checks rows against those before them, as far as later rows refer to them.

    Keys are sorted and unique, and are the digests of what they stand for; whatever a row refers to is there and
    belongs to the same task; no transition is a self-loop or falls back to an earlier subgoal; nothing is newer than
    the graph.

    Args:
        header: Header of the file.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._last: tuple[str, str | int] = ("", "")
        self._tasks: dict[str, tuple[int, str]] = {}
        self._starts: list[tuple[str, int, Placed]] = []
        self._subgoals: dict[str, tuple[int, int]] = {}
        self._ladders: dict[str, tuple[int, Placed, int]] = {}
        self._states = _Keys()
        self._task_of_state = array("i")
        self._class_of_state = array("i")
        self._transitions = _Keys()
        self._graphs = 0
        self._rules: Mapping[type, Callable[[Placed, Any], None]] = {
            GraphRow: self._graph,
            VersionRow: self._version,
            TaskRow: self._task,
            SubgoalRow: self._subgoal,
            StateRow: self._state,
            TransitionRow: self._transition,
            SuccessRow: self._success,
        }

    def take_all(self, batch: list[Placed]) -> None:
        """Check the next rows, all of one table; few at a time cost more.

        Raises:
            RecordError: A row is not sound.
        """
        for placed in batch:
            self._take(placed)
        self._settle(batch)

    def _take(self, placed: Placed) -> None:
        table, row = placed.table, placed.row
        place = (table.name, table.rank(row))
        if table.order and place[0] == self._last[0] and not self._last[1] < place[1]:  # type: ignore[operator]
            what = "again" if self._last[1] == place[1] else "out of order"
            raise placed.fault(f"{place[1]!r} comes {what}", field=table.order, hint="rows are sorted by key")
        self._last = place
        since = getattr(row, "since", 0)
        if not 0 <= since <= self._header.version:
            raise placed.fault(f"is {since}, and the graph has version {self._header.version}", field="since")
        if getattr(row, "inherited", False) and not self._header.base:
            raise placed.fault("is set, and the graph is no layer", field="inherited")
        self._rules[type(row)](placed, row)

    def _settle(self, batch: list[Placed]) -> None:
        """Check what is cheaper to look up for many rows at once."""
        rows = [placed.row for placed in batch]
        if isinstance(rows[0], TransitionRow):
            self._check_ends(batch, [row for row in rows if isinstance(row, TransitionRow)])
        elif isinstance(rows[0], SuccessRow):
            for placed, row in zip(batch, rows, strict=True):
                assert isinstance(row, SuccessRow)
                if missing := int(np.sum(self._transitions.find(list(row.transitions)) < 0)) if row.transitions else 0:
                    raise placed.fault(f"{missing} of them are not in the file", field="transitions")

    def finish(self) -> None:
        """Check what needs all rows.

        Raises:
            RecordError: A row is not sound.
            DataError: There is not exactly one ``ARG`` row.
        """
        for begin in range(0, len(self._starts), _BATCH):
            starts = self._starts[begin : begin + _BATCH]
            places = self._states.find([key for key, _, _ in starts])
            for place, (key, task, placed) in zip(places, starts, strict=True):
                if place < 0 or self._task_of_state[place] != task:
                    raise placed.fault(f"{key!r} is no state of the task", field="start")

        for name, (rungs, placed, last) in self._ladders.items():
            if rungs != last + 1:
                raise placed.fault(f"task {name!r} has {rungs} subgoals, and {last} is one of them", field="index")
        if self._graphs != 1:
            raise DataError(f"there are {self._graphs} rows of ARG, not one", hint="export the graph again")

    def _graph(self, placed: Placed, row: GraphRow) -> None:
        self._graphs += 1
        said = (self._header.version, self._header.base, self._header.base_version)
        if self._graphs > 1 or (row.version, row.base, row.base_version) != said:
            raise placed.fault("does not agree with the header of the file")

    def _version(self, placed: Placed, row: VersionRow) -> None:
        if not 0 <= row.k <= self._header.version:
            raise placed.fault(f"is {row.k}, and the graph has version {self._header.version}", field="k")

    def _task(self, placed: Placed, row: TaskRow) -> None:
        self._starts.append((row.start, len(self._tasks), placed))
        self._tasks[row.key] = (len(self._tasks), row.env)

    def _subgoal(self, placed: Placed, row: SubgoalRow) -> None:
        task = self._task_named(placed, row.task)[0]
        if row.key != subgoal_key(row.task, row.index):
            raise placed.fault("is not the digest of the task and the index", field="key")
        if why := _condition_fault(row.condition):
            raise placed.fault(why, field="condition")
        rungs, _, last = self._ladders.get(row.task, (0, placed, 0))
        self._ladders[row.task] = (rungs + 1, placed, max(last, row.index))
        self._subgoals[row.key] = (task, row.index)

    def _state(self, placed: Placed, row: StateRow) -> None:
        task, env = self._task_named(placed, row.task)
        if row.key != state_key(env, row.task, row.facts):
            raise placed.fault("is not the digest of the facts", field="key")
        if list(row.facts) != sorted(set(row.facts)):
            raise placed.fault("are not in sorted order", field="facts")
        owner, index = self._subgoals.get(row.subgoal, (-1, 0))
        if owner != task:
            raise placed.fault(f"{row.subgoal!r} is no subgoal of the task", field="subgoal")
        self._states.append(row.key)
        self._task_of_state.append(task)
        self._class_of_state.append(index)

    def _transition(self, placed: Placed, row: TransitionRow) -> None:
        self._task_named(placed, row.task)
        if row.key != transition_key(row.source_state, row.action, row.target_state):
            raise placed.fault("is not the digest of its two states and its action", field="key")
        if row.source_state == row.target_state:
            raise placed.fault("leads back to where it starts", field="target_state")
        self._transitions.append(row.key)

    def _success(self, placed: Placed, row: SuccessRow) -> None:
        self._task_named(placed, row.task)

    def _task_named(self, placed: Placed, key: str) -> tuple[int, str]:
        found = self._tasks.get(key)
        if found is None:
            raise placed.fault(f"{key!r} is no task of the file", field="task")
        return found

    def _check_ends(self, batch: list[Placed], rows: list[TransitionRow]) -> None:
        sources = self._states.find([row.source_state for row in rows])
        targets = self._states.find([row.target_state for row in rows])
        for placed, row, source, target in zip(batch, rows, sources, targets, strict=True):
            for field, place in (("source_state", source), ("target_state", target)):
                if place < 0 or self._task_of_state[place] != self._tasks[row.task][0]:
                    raise placed.fault(f"{getattr(row, field)!r} is no state of the task", field=field)
            if self._class_of_state[source] > self._class_of_state[target]:
                raise placed.fault("falls back to an earlier subgoal", field="target_state")
