"""ScienceWorld states from text alone: what a trainer that sees only observations has."""

from __future__ import annotations

import re
from collections.abc import Callable

from proas.envs.scienceworld.goal import ENV, Family, ScienceWorldGoal, stated_goal
from proas.errors import DataError, StateError
from proas.rollouts import State
from proas.states.observer import Observed, StateMaker
from proas.states.scienceworld.relevance import Relevance
from proas.states.scienceworld.situation import Situation
from proas.states.scienceworld.told import Told, plain_name, told_by
from proas.subgoals import GOAL_REACHED

__all__ = ["TIME_PASSES", "TextObserver", "family_of_task"]

TIME_PASSES = "let time pass"
"""Canonical form of every action that does nothing but let time pass while something goes on."""

_ROOM = re.compile(r"(?:room|outside location) is called the ([^.\n]+)\.", re.IGNORECASE)
_LOOKING = frozenset({"went", "looked", "read", "measured", "other"})


def family_of_task(task: str) -> Family:
    """The kind of task that a key names; ``other`` where it is of another form."""
    try:
        return ScienceWorldGoal.from_key(task).family
    except DataError:
        return "other"


class TextObserver:
    """Follows a rollout by what the agent said and what the simulator answered.

    Args:
        task: Key of the task.
        goal_text: The task in words; may be empty where the first observation states it.
    """

    def __init__(self, task: str, goal_text: str = "") -> None:
        self._task = task
        self._goal = goal_text
        self._make = StateMaker(ENV, task)
        self._now: Situation | None = None
        self._answers: set[str] = set()

    @property
    def situation(self) -> Situation:
        """What is known so far. Raises ``StateError`` before :meth:`begin`."""
        if self._now is None:
            raise StateError(f"task {self._task!r}: a step before the first observation", hint="call begin() first")
        return self._now

    def begin(self, observation: str) -> State:
        """State before the first action."""
        found = _ROOM.search(observation)
        relevance = Relevance(family_of_task(self._task), self._goal or stated_goal(observation))
        self._now = Situation(relevance, room=plain_name(found[1]) if found else "")
        self._answers = {_bare(observation)}
        return self._make(self._now.facts())

    def observe(
        self,
        action: str,
        observation: str,
        *,
        valid: bool | None = None,
        won: bool = False,
        check: Callable[[Situation], None] | None = None,
    ) -> Observed:
        """State after an action; see :class:`~proas.states.observer.StateObserver`.

        Args:
            action: The agent's words.
            observation: The simulator's answer.
            valid: Whether the action applied, where the environment says so.
            won: Whether the task is solved after this step.
            check: Puts right what the answers added up to, where more than text is known.
        """
        now = self.situation
        told = told_by(action, observation, room=now.room)
        if valid is False or told.kind == "refused":
            vouched = valid is True
            return Observed(self._make(self._with(won=won)), told.canonical, valid=vouched, seeks=False)
        before = frozenset(now.facts(idle=False))
        now.take_in(told, observation)
        if check is not None:
            check(now)
        canonical = TIME_PASSES if now.settle(told, before) else told.canonical
        return Observed(self._make(self._with(won=won)), canonical, valid=True, seeks=self._seeks(told, observation))

    def _with(self, *, won: bool) -> set[str]:
        facts = set(self.situation.facts())
        return facts | {GOAL_REACHED} if won else facts

    def _seeks(self, told: Told, observation: str) -> bool:
        """Whether a room, or the answer to a look, a reading or a measurement, is new to this rollout."""
        if told.kind not in _LOOKING:
            return False
        answer = _bare(observation)
        news = answer not in self._answers
        self._answers.add(answer)
        if told.kind != "other":
            return news
        carries = self.situation.relevance.carries
        return news and any(carries(name) for name in _names(answer))


def _bare(observation: str) -> str:
    """An observation without the task in front of it."""
    found = re.search(r"this (?:room|outside location) is called", observation, re.IGNORECASE)
    return " ".join((observation[found.start() :] if found else observation).split())


def _names(answer: str) -> set[str]:
    """Runs of words in an answer that may be the name of a thing."""
    words = re.findall(r"[a-z0-9]+", answer.lower())[:12]
    return {" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + 4, len(words)) + 1)}
