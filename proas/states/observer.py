"""What every state observer does, whatever the environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from proas.rollouts import State

__all__ = ["Observed", "StateMaker", "StateObserver"]


@dataclass(frozen=True, slots=True)
class Observed:
    """What one step came to.

    Attributes:
        state: The state after the step.
        canonical: Canonical form of what the environment carried out, or of the words where it carried out nothing.
        valid: Whether the environment carried the action out.
        seeks: The step looked for a needed object where this rollout had not looked before.
    """

    state: State
    canonical: str
    valid: bool
    seeks: bool


class StateObserver(Protocol):
    """Follows one rollout and says in which state it is.

    One observer serves one rollout at a time; ``begin`` starts afresh.
    """

    def begin(self, observation: str) -> State:
        """State before the first action.

        Args:
            observation: The environment's first words.

        Raises:
            StateError: The observer cannot tell what the task is.
        """
        ...

    def observe(self, action: str, observation: str, *, valid: bool | None = None, won: bool = False) -> Observed:
        """State after an action.

        Args:
            action: The agent's words, as the environment received them.
            observation: The environment's answer.
            valid: Whether the action applied, where the environment says so.
            won: Whether the task is solved after this step.

        Returns:
            The state and what else is known of the step. Words that make no sense are an invalid step, never an
            error.

        Raises:
            StateError: ``begin`` was not called.
        """
        ...


class StateMaker:
    """Makes states of one task, each once: most states of a batch recur, and a digest costs more than a look-up.

    Args:
        env: Name of the environment.
        task: Key of the task.
    """

    __slots__ = ("_made", "env", "task")

    def __init__(self, env: str, task: str) -> None:
        self.env = env
        self.task = task
        self._made: dict[frozenset[str], State] = {}

    def __call__(self, facts: Iterable[str]) -> State:
        """The state with these facts."""
        unordered = frozenset(facts)
        state = self._made.get(unordered)
        if state is None:
            state = self._made[unordered] = State.of(self.env, self.task, unordered)
        return state
