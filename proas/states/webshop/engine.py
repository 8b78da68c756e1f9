"""WebShop states from the shop's own situation: for the builder, and for rollouts in our own environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from proas.envs.webshop.goal import ENV, Target
from proas.errors import StateError
from proas.rollouts import State
from proas.states.observer import Observed, StateMaker
from proas.states.webshop.actions import plain_words, spoken_action
from proas.states.webshop.projection import Look, Searching, TargetProjection
from proas.subgoals import GOAL_REACHED

__all__ = ["ShopObserver", "Visit"]


class _Score(Protocol):
    @property
    def full(self) -> bool: ...


class Visit(Protocol):
    """What is read of a visit to the shop; ``proas.envs.webshop.Situation`` is one."""

    @property
    def page(self) -> str:
        """Kind of page."""
        ...

    @property
    def number(self) -> int:
        """Page of the last results."""
        ...

    @property
    def asin(self) -> str:
        """The product that is open."""
        ...

    @property
    def options(self) -> Sequence[tuple[str, str]]:
        """Chosen options by group."""
        ...

    @property
    def score(self) -> _Score | None:
        """What the purchase was worth."""
        ...


class Selling(Protocol):
    """What is asked of a shop; ``proas.envs.webshop.Shop`` is one."""

    def listed(self, situation: Visit) -> Sequence[str]:
        """The products on the page of results."""
        ...


class ShopObserver:
    """Follows a visit by the shop's hidden state.

    Args:
        task: Key of the task.
        target: What is to be bought.
    """

    def __init__(self, task: str, target: Target) -> None:
        self._task = task
        self._projection = TargetProjection(target)
        self._make = StateMaker(ENV, task)
        self._look: Look | None = None

    def state(self, visit: Visit, listed: Sequence[str]) -> State:
        """The state of a situation.

        Args:
            visit: The situation.
            listed: The products on its page of results; empty elsewhere.
        """
        return self._state(_look(visit, listed), won=visit.score is not None and visit.score.full)

    def begin(self, visit: Visit, listed: Sequence[str] = ()) -> State:
        """State of a visit that has just begun."""
        self._look = _look(visit, listed)
        self._searching = Searching(self._projection)
        return self._state(self._look, won=False)

    def observe(self, action: str, visit: Visit, listed: Sequence[str], *, valid: bool) -> Observed:
        """State after an action.

        Args:
            action: The action that the environment was given.
            visit: The situation after it.
            listed: The products on its page of results; empty elsewhere.
            valid: Whether the environment carried it out.

        Raises:
            StateError: ``begin`` was not called.
        """
        before = self._look
        if before is None:
            raise StateError(f"task {self._task!r}: a step before the visit began", hint="call begin() first")
        look = _look(visit, listed)
        state = self.state(visit, listed)
        if not valid:
            return Observed(state, plain_words(action), valid=False, seeks=False)
        self._look = look
        return Observed(state, self._canonical(action, before, look), valid=True, seeks=self._searching.seeks(look))

    def _state(self, look: Look, *, won: bool) -> State:
        facts = set(self._projection.facts(look))
        if won:
            facts.add(GOAL_REACHED)
        return self._make(facts)

    def _canonical(self, action: str, before: Look, after: Look) -> str:
        """Canonical form of an action that was carried out."""
        spoken = spoken_action(action)
        if spoken is None:
            return plain_words(action)
        if spoken.verb == "search":
            return self._projection.searched(after)
        if before.page == "search_results" and after.page == "item_page":
            return self._projection.opened(after.asin)
        if before.page == after.page == "item_page":
            group = next((name for name, value in after.options.items() if value == spoken.argument), "")
            return self._projection.chose(after.asin, group, spoken.argument)
        return f"click[{spoken.argument}]"


def _look(visit: Visit, listed: Sequence[str]) -> Look:
    results = visit.page == "search_results"
    number, shown = (visit.number, tuple(listed)) if results else (0, ())
    return Look(visit.page, number, shown, visit.asin, dict(visit.options))
