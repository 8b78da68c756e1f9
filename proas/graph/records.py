"""What goes into a reference graph and what comes out of it, as values without a database.

Builders and evolution speak in :class:`TaskGraph`; the store turns it into Cypher parameters and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from proas.keys import transition_key
from proas.rollouts import State
from proas.subgoals import Ladder

__all__ = ["UNVERIFIED", "Task", "TaskGraph", "Transition"]

UNVERIFIED = "unverified"
"""Source of transitions that were read from a record and not carried out."""


@dataclass(frozen=True, slots=True)
class Task:
    """One instance that a group of rollouts shares.

    Attributes:
        key: Unique name, for example ``pick_and_place_simple-Mug-None-Desk-308/trial_T20190909``.
        env: Name of the environment.
        goal: The goal in the environment's own terms, for example ``heat apple, place in fridge``.
        text: The goal as the agent reads it.
    """

    key: str
    env: str
    goal: str
    text: str = ""


@dataclass(frozen=True)
class Transition:
    """A verified transition ``(s, a, s')``.

    Attributes:
        source_state: Key of ``s``.
        action: Canonical action ``a``.
        target_state: Key of ``s'``.
        source: Where the knowledge comes from: ``plan``, ``search``, ``expand``, ``rollout``, ...;
            :data:`UNVERIFIED` where nothing was carried out.
        support: Number of independent demonstrations seen.
        since: Version of the graph that first held it; the store sets it, and ignores it when writing.
    """

    source_state: str
    action: str
    target_state: str
    source: str
    support: int = 1
    since: int = 0

    @cached_property
    def key(self) -> str:
        """Key of the transition (``proas.keys.transition_key``)."""
        return transition_key(self.source_state, self.action, self.target_state)


@dataclass(frozen=True)
class TaskGraph:
    """The reference graph of one task, or a piece of it that is to be merged in.

    Attributes:
        task: The task.
        ladder: Its subgoals in order.
        start: The state in which every rollout of the task begins.
        states: States by key; holds at least the start and both ends of every transition.
        transitions: No self-loops, no step to an earlier subgoal.
        sources: Source of each state by key, where it differs from the transitions that reach it.
    """

    task: Task
    ladder: Ladder
    start: State
    states: Mapping[str, State]
    transitions: tuple[Transition, ...]
    sources: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def subgoal_of(self) -> Mapping[str, int]:
        """Subgoal index of each state."""
        return {key: self.ladder.index(state.facts) for key, state in self.states.items()}
