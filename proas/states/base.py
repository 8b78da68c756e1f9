"""The base class for the states of an environment of your own.

Subclass :class:`States`, say what is known of a situation and which facts follow from it, and register its
:meth:`~States.kind`. The rest is here: the protocol of observers, validity, keys, steps that seek information, the fact
that the goal is reached, and, where the environment's hidden state can be read, a follower beside the reader of text.

A subclass keeps nothing on itself. What it knows of an episode is a value that its methods are given and give back, so
that no episode can leak into the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from proas.errors import StateError
from proas.rollouts import State
from proas.states.kinds import Follower, StateKind
from proas.states.observer import Observed, StateMaker, StateObserver
from proas.states.words import spoken_words
from proas.subgoals import GOAL_REACHED, Ladder, generic_ladder

__all__ = ["States"]

K = TypeVar("K")


class States(ABC, Generic[K]):
    """What counts in the situations of one environment. ``K`` is what is known of a situation.

    Three methods have to be written: :meth:`first`, :meth:`after` and :meth:`facts`. The others have a meaning that
    many environments can keep. ``K`` is best a frozen dataclass or a named tuple, whose sets are frozen sets.

    Attributes:
        env: Name of the environment.
    """

    env: ClassVar[str]

    @abstractmethod
    def first(self, task: str, goal: str, observation: str) -> K:
        """What is known before the first action.

        Args:
            task: Key of the task.
            goal: The goal as the agent reads it; may be empty where a record does not say.
            observation: The environment's first words.

        Raises:
            StateError: None of the three says what the task is.
        """

    @abstractmethod
    def after(self, before: K, command: str, observation: str) -> K | None:
        """What is known after an action; ``None`` where the environment refused it.

        Let the observation decide what was carried out, and the command only fill in what the observation leaves open:
        a command that reads well may still have been refused.

        Args:
            before: What was known before.
            command: The agent's command (:meth:`command`).
            observation: The environment's answer.
        """

    @abstractmethod
    def facts(self, now: K) -> Iterable[str]:
        """The facts of a situation that matter for progress, in any order.

        One short sentence each. What no goal asks for must leave no trace, or the same situation gets many keys; and
        what was done in any order must not be told in one fact that lists it in its order.
        """

    def command(self, action: str) -> str:
        """The command in the agent's words; :func:`~proas.states.words.spoken_words` if not told otherwise."""
        return spoken_words(action)

    def canonical(self, command: str, before: K, now: K) -> str:
        """The one name of a command that was carried out; the command itself if not told otherwise.

        Commands that do the same from the same situation should have one name.
        """
        del before, now
        return command

    def won(self, now: K) -> bool:
        """Whether the text itself says that the goal is reached; the environment's word counts in any case."""
        del now
        return False

    def looks(self, now: K) -> Iterable[str]:
        """Names of the places that the agent is looking into, for steps that seek information."""
        del now
        return ()

    def missing(self, now: K) -> bool:
        """Whether something needed has not been found; from the first time that it has, no step seeks any more."""
        del now
        return True

    def hidden(self, env: Any, before: K | None) -> K:
        """What is known of a running environment by its hidden state. Override it where that can be read.

        Args:
            env: The environment, after its last reset or step.
            before: What was known before the step; ``None`` after a reset.
        """
        raise NotImplementedError

    def ladder(self, task: str, goal: str) -> Ladder:
        """The subgoals of a task (``proas.subgoals.ladder_of``); under way and done if not told otherwise."""
        del task
        return generic_ladder(goal)

    def goal(self, observation: str) -> str:
        """The goal that a first observation states, else empty."""
        del observation
        return ""

    def kind(self) -> StateKind:
        """What ``proas.states.register`` takes."""
        reads_hidden = type(self).hidden is not States.hidden
        return StateKind(self.env, self._observer, self.ladder, self.goal, self._follower if reads_hidden else None)

    def _observer(self, task: str, goal_text: str) -> StateObserver:
        return _TextReader(self, task, goal_text)

    def _follower(self, env: Any) -> Follower:
        del env  # the task is known once an episode begins
        return _HiddenReader(self)


class _Episode(Generic[K]):
    """What has been told so far of one episode."""

    def __init__(self, states: States[K], make: StateMaker, now: K) -> None:
        self._states = states
        self._make = make
        self._seen = set(states.looks(now))
        self._found = not states.missing(now)
        self.now = now
        self.state = make(states.facts(now))

    def refused(self, command: str, *, valid: bool, won: bool) -> Observed:
        """A step that changed nothing that we know of."""
        if won:
            self.state = self._make((*self.state.facts, GOAL_REACHED))
        return Observed(self.state, command, valid, seeks=False)

    def carried_out(self, command: str, now: K, *, won: bool) -> Observed:
        """A step after which this is known."""
        states = self._states
        canonical = states.canonical(command, self.now, now)
        looks = set(states.looks(now))
        seeks = not self._found and not looks <= self._seen
        self._seen |= looks
        self._found = self._found or not states.missing(now)
        self.now = now
        facts = states.facts(now)
        self.state = self._make((*facts, GOAL_REACHED) if won or states.won(now) else facts)
        return Observed(self.state, canonical, valid=True, seeks=seeks)


class _TextReader(Generic[K]):
    """Follows a rollout by its text; implements ``StateObserver``."""

    def __init__(self, states: States[K], task: str, goal: str) -> None:
        self._states = states
        self._task = task
        self._goal = goal
        self._make = StateMaker(states.env, task)
        self._episode: _Episode[K] | None = None

    def begin(self, observation: str) -> State:
        goal = self._goal or self._states.goal(observation)
        first = self._states.first(self._task, goal, observation)
        self._episode = _Episode(self._states, self._make, first)
        return self._episode.state

    def observe(self, action: str, observation: str, *, valid: bool | None = None, won: bool = False) -> Observed:
        episode = _begun(self._episode, self._task)
        command = self._states.command(action)
        now = None if valid is False else self._states.after(episode.now, command, observation)
        if now is None:
            return episode.refused(command, valid=valid is True, won=won)
        return episode.carried_out(command, now, won=won)


class _HiddenReader(Generic[K]):
    """Follows an episode by the environment's hidden state; implements ``Follower``."""

    def __init__(self, states: States[K]) -> None:
        self._states = states
        self._episode: _Episode[K] | None = None

    def begin(self, env: Any, observation: str) -> State:
        del observation
        make = StateMaker(self._states.env, env.task)
        self._episode = _Episode(self._states, make, self._states.hidden(env, None))
        return self._episode.state

    def observe(self, env: Any, action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        del observation
        episode = _begun(self._episode, env.task)
        command = self._states.command(action)
        if not valid:
            return episode.refused(command, valid=False, won=won)
        return episode.carried_out(command, self._states.hidden(env, episode.now), won=won)


def _begun(episode: _Episode[K] | None, task: str) -> _Episode[K]:
    if episode is None:
        raise StateError(f"task {task!r}: a step before the first observation", hint="call begin() first")
    return episode
