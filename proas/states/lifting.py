"""Lifting: a task's states and actions with roles in the place of names, so that tasks of one family share a graph.

A lifted task is an ordinary task. Its key names a family of goals (``lifted/two``), its states are made of facts such
as ``at a place with an object``, and its graph is stored, evolved, verified and asked like any other. Lifting a
rollout gives a rollout of that task; what evolves and labels graphs needs to know nothing of it.

What a name's role is may take knowledge of the whole task: where the objects are that the goal needs. A
:class:`Lifting` gathers it, from the verified transitions of the task's graph or from what rollouts of the task were
shown, and then says what each state and action is called. Once it is asked it is a function of the state alone, so
that lifting keeps walks: where a rollout returns to a state, its lifted one does too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from proas.errors import UsageError
from proas.rollouts import Rollout, RolloutBatch
from proas.states.kinds import state_kind
from proas.states.observer import StateMaker
from proas.subgoals import GOAL_REACHED, Ladder

__all__ = [
    "LIFTED",
    "LiftedRollouts",
    "LiftedTask",
    "Lifting",
    "Move",
    "lift_rollouts",
    "lifting_for",
    "lifts",
    "require_lifting",
]

LIFTED = "lifted/"
"""How the key of a lifted task begins."""


@dataclass(frozen=True, slots=True)
class LiftedTask:
    """A family of goals as one task.

    Attributes:
        key: Key of the lifted task; begins with :data:`LIFTED`.
        env: Name of the environment.
        goal: The goal in roles, for example ``heat an object, place it in a target receptacle``.
        ladder: Its subgoals, over lifted facts.
    """

    key: str
    env: str
    goal: str
    ladder: Ladder


@dataclass(frozen=True, slots=True)
class Move:
    """A transition by its facts.

    Attributes:
        before: Facts of the state it leaves.
        action: Canonical action.
        after: Facts of the state it reaches.
    """

    before: tuple[str, ...]
    action: str
    after: tuple[str, ...]


class Lifting(Protocol):
    """The roles of one task's names. Gather evidence first, then ask."""

    @property
    def task(self) -> LiftedTask:
        """The family that the task belongs to."""
        ...

    def learn(self, moves: Iterable[Move]) -> None:
        """Take in verified transitions of the task."""
        ...

    def watch(self, rollout: Rollout) -> None:
        """Take in what a rollout of the task was shown."""
        ...

    def facts(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Lifted facts of a state."""
        ...

    def action(self, move: Move) -> str:
        """Lifted form of an action, given the states that it leads from and to."""
        ...


def lifting_for(env: str, task: str, goal: str = "") -> Lifting | None:
    """Roles for a task.

    Args:
        env: Name of the environment.
        task: Key of the task.
        goal: The goal as the agent reads it.

    Returns:
        ``None`` where the environment's states cannot be lifted, the goal is of no known family, or the task is a
        lifted one itself.
    """
    kind = state_kind(env)
    if kind is None or kind.lifting is None or task.startswith(LIFTED):
        return None
    return kind.lifting(task, goal)


def lifts(env: str) -> bool:
    """Whether the states of an environment can be lifted."""
    kind = state_kind(env)
    return kind is not None and kind.lifting is not None


def require_lifting(env: str) -> None:
    """Refuse an environment whose states cannot be lifted.

    Raises:
        UsageError: It cannot.
    """
    if not lifts(env):
        raise UsageError(
            f"states of {env!r} cannot be lifted: nobody has said which roles its names play",
            hint="alfworld's can; for others give their StateKind a `lifting` (docs/carry_over.md)",
        )


@dataclass(frozen=True, slots=True)
class LiftedRollouts:
    """Rollouts of a batch with roles in place of names.

    Attributes:
        batch: The lifted rollouts; their ids are their own, as a batch holds each id once.
        origin: Id of the rollout that each was lifted from, by its own id.
        families: Lifted tasks by key.
    """

    batch: RolloutBatch
    origin: dict[str, str]
    families: dict[str, LiftedTask]


def lift_rollouts(rollouts: Iterable[Rollout]) -> LiftedRollouts:
    """Lift those rollouts that can be: they carry states, and their goal is of a family.

    All rollouts of a task share what any of them was shown, as the group that plays it shares its baseline.

    Args:
        rollouts: Rollouts with states and observations, in any order.
    """
    groups: dict[tuple[str, str], list[Rollout]] = {}
    for rollout in rollouts:
        if rollout.has_states:
            groups.setdefault((rollout.env, rollout.task), []).append(rollout)
    lifted: list[Rollout] = []
    origin: dict[str, str] = {}
    families: dict[str, LiftedTask] = {}
    makers: dict[str, StateMaker] = {}
    for (env, task), members in groups.items():
        lifting = lifting_for(env, task, members[0].goal)
        if lifting is None:
            continue
        for rollout in members:
            lifting.watch(rollout)
        family = families.setdefault(lifting.task.key, lifting.task)
        make = makers.setdefault(family.key, StateMaker(env, family.key))
        for rollout in members:
            one = _lifted(rollout, lifting, family, make)
            lifted.append(one)
            origin[one.id] = rollout.id
    return LiftedRollouts(RolloutBatch(tuple(lifted)), origin, families)


def _lifted(rollout: Rollout, lifting: Lifting, family: LiftedTask, make: StateMaker) -> Rollout:
    """One rollout in roles. Whether it succeeded, and which of its steps applied, stays."""
    assert rollout.start is not None
    here = rollout.start.facts
    start = make(lifting.facts(here))
    steps = []
    for step in rollout.steps:
        assert step.state is not None
        there = step.state.facts
        action = lifting.action(Move(here, step.canonical or "", there))
        state = make(lifted_facts(lifting, there))
        steps.append(step.model_copy(update={"canonical": action, "state": state, "label": None}))
        here = there
    update = {
        "id": f"{rollout.id} {LIFTED}",
        "task": family.key,
        "goal": family.goal,
        "group": "",
        "start": start,
        "steps": tuple(steps),
    }
    return rollout.model_copy(update=update)


def lifted_facts(lifting: Lifting, facts: Sequence[str]) -> tuple[str, ...]:
    """Lifted facts of a state. That the goal is reached has the same name in every task."""
    found = lifting.facts(facts)
    return (*found, GOAL_REACHED) if GOAL_REACHED in facts and GOAL_REACHED not in found else tuple(found)
