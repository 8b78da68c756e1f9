"""Stored elements one by one, exactly as the database holds them: what exchange files are made of.

A graph is the set of its rows. :meth:`ReferenceGraph.rows` streams them in key order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

__all__ = [
    "ORDER",
    "GraphRow",
    "Row",
    "RowKind",
    "StateRow",
    "SubgoalRow",
    "SuccessRow",
    "TaskRow",
    "TransitionRow",
    "VersionRow",
]


@dataclass(frozen=True, slots=True)
class GraphRow:
    """The ``ARG`` node itself.

    Attributes:
        version: Current version.
        base: Base of a layer, else empty.
        base_version: Version of the base that the layer sees; -1 for a base graph.
        created: ISO 8601 with offset.
    """

    version: int
    base: str
    base_version: int
    created: str


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A ``Task`` node.

    Attributes:
        key: Key of the task.
        env: Name of the environment.
        goal: Goal in the environment's terms.
        text: Goal as the agent reads it.
        start: Key of the start state.
        since: Version that first held it.
        inherited: It repeats a task of the base, so that the layer can attach its own elements.
        built: Digests of the task graphs that were added whole.
    """

    key: str
    env: str
    goal: str
    text: str
    start: str
    since: int
    inherited: bool
    built: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubgoalRow:
    """A ``Subgoal`` node and its ``HAS_SUBGOAL`` from the task.

    Attributes:
        key: Key of the subgoal.
        task: Key of the task.
        index: m.
        description: In a few words.
        phrases: In other people's words.
        condition: JSON of :data:`proas.subgoals.Condition`.
    """

    key: str
    task: str
    index: int
    description: str
    phrases: tuple[str, ...]
    condition: str


@dataclass(frozen=True, slots=True)
class StateRow:
    """A ``State`` node and its ``MEMBER_OF`` to a subgoal.

    Attributes:
        key: Key of the state.
        task: Key of the task.
        subgoal: Key of the subgoal that it is a member of.
        facts: Readable facts in sorted order.
        name: The facts in one line for people.
        initial: Whether every rollout of the task begins here.
        source: Where the knowledge comes from.
        since: Version that first held it.
        inherited: It repeats a state of the base, so that the layer's transitions have their ends.
    """

    key: str
    task: str
    subgoal: str
    facts: tuple[str, ...]
    name: str
    initial: bool
    source: str
    since: int
    inherited: bool


@dataclass(frozen=True, slots=True)
class TransitionRow:
    """A ``TRANSITION`` relationship.

    Attributes:
        key: Key of the transition.
        task: Key of the task.
        source_state: Key of the state it leaves.
        action: Canonical action.
        target_state: Key of the state it reaches.
        source: Where the knowledge comes from.
        support: Independent demonstrations seen; for an inherited one, those that the layer itself saw.
        since: Version that first held it.
        inherited: It repeats a transition of the base, to carry the layer's own support.
    """

    key: str
    task: str
    source_state: str
    action: str
    target_state: str
    source: str
    support: int
    since: int
    inherited: bool


@dataclass(frozen=True, slots=True)
class SuccessRow:
    """A ``Success`` node: one verified rollout that evolution joined.

    Attributes:
        key: Digest of task, transition keys and rollout id.
        task: Key of the task.
        rollout: Id of the rollout.
        run: Name of the run.
        transitions: Keys of the transitions that it supports.
        since: Version that it made.
    """

    key: str
    task: str
    rollout: str
    run: str
    transitions: tuple[str, ...]
    since: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A ``Version`` node.

    Attributes:
        k: Its number.
        run: Name of the run that made it.
        added_states: States with ``since = k`` that are not inherited.
        added_transitions: Transitions with ``since = k`` that are not inherited.
        at: When, ISO 8601 with offset.
    """

    k: int
    run: str
    added_states: int
    added_transitions: int
    at: str


Row: TypeAlias = GraphRow | TaskRow | SubgoalRow | StateRow | TransitionRow | SuccessRow | VersionRow
"""Any stored element."""

RowKind = TypeVar("RowKind", GraphRow, TaskRow, SubgoalRow, StateRow, TransitionRow, SuccessRow, VersionRow)

ORDER: tuple[type[Row], ...] = (GraphRow, VersionRow, TaskRow, SubgoalRow, StateRow, TransitionRow, SuccessRow)
"""Order in which rows must be written: what a row refers to comes before it."""
