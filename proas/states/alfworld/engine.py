"""ALFWorld states from the engine: for the builder, which searches, and for rollouts in our own environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import StateError
from proas.rollouts import State
from proas.states.alfworld.commands import Command, canonical_words, parse_command
from proas.states.alfworld.knowledge import FACTS, Mind, Noting
from proas.states.alfworld.memory import Deed, projected
from proas.states.alfworld.search import Search
from proas.states.observer import Observed, StateMaker
from proas.subgoals import GOAL_REACHED

__all__ = ["EngineObserver", "Playing"]


class _Names(Protocol):
    """Names of a game's things; sets of them are integers, bit ``i`` for thing ``i``."""

    @property
    def objects(self) -> tuple[str, ...]: ...
    @property
    def object_index(self) -> Mapping[str, int]: ...
    @property
    def receptacle_index(self) -> Mapping[str, int]: ...
    @property
    def openable(self) -> int: ...


class Playing(Protocol):
    """What is read of a game under way; ``proas.envs.alfworld.AlfWorldEngine`` is one."""

    @property
    def game(self) -> _Names:
        """The game with its names."""
        ...

    @property
    def held(self) -> int:
        """Object in hand, -1 for none."""
        ...

    @property
    def contents(self) -> Sequence[int]:
        """Objects in each receptacle."""
        ...

    @property
    def opened(self) -> int:
        """Receptacles that are open."""
        ...

    @property
    def hot(self) -> int:
        """Objects that are hot."""
        ...

    @property
    def cool(self) -> int:
        """Objects that are cool."""
        ...

    @property
    def clean(self) -> int:
        """Objects that are clean."""
        ...

    @property
    def sliced(self) -> int:
        """Objects that are sliced."""
        ...

    @property
    def toggled(self) -> int:
        """Lamps that are on."""
        ...


class EngineObserver:
    """Follows a game by the engine's hidden state.

    The agent's deeds are remembered from its commands, and count as facts while the hidden state bears them out.
    A search keeps one :class:`~proas.states.alfworld.knowledge.Mind` with each node (:meth:`first`, :meth:`after`) and
    asks for :meth:`state`; a rollout calls :meth:`begin` and :meth:`observe`.

    Args:
        task: Key of the task.
        goal: Its goal.
        noting: Which kind of states.
    """

    def __init__(self, task: str, goal: AlfWorldGoal, noting: Noting = FACTS) -> None:
        self._task = task
        self._goal = goal
        self._noting = noting
        self._make = StateMaker(noting.env, task)
        self._state: State | None = None

    def first(self) -> Mind:
        """The mind at the start."""
        return self._noting.first(self._goal)

    def after(self, mind: Mind, command: Command, engine: Playing) -> Mind:
        """The mind after a command.

        Args:
            mind: What led to it.
            command: A command that was carried out.
            engine: The situation after it.
        """
        shown, contents = _shown(command, engine)
        return Mind(mind.memory.after(command), mind.noted.after(command, shown, contents))

    def state(self, mind: Mind, engine: Playing, *, won: bool = False) -> State:
        """The state of a situation.

        Args:
            mind: What led there.
            engine: The situation.
            won: Whether the goal holds in it.
        """
        memory, game = mind.memory, engine.game
        standing = frozenset(deed for deed in memory.deeds if _is_true(deed, engine))
        if standing != memory.deeds:
            memory = replace(memory, deeds=standing)
        attended = game.receptacle_index.get(memory.attended, -1)
        is_open = attended >= 0 and bool(game.openable & engine.opened & 1 << attended)
        holding = game.objects[engine.held] if engine.held >= 0 else ""
        facts = set(projected(memory, holding, attended_open=is_open))
        facts.update(mind.noted.facts())
        if won:
            facts.add(GOAL_REACHED)
        return self._make(facts)

    def begin(self, engine: Playing) -> State:
        """State of a game that was just reset."""
        self._mind = self.first()
        self._search = Search(self._goal)
        self._state = self.state(self._mind, engine)
        return self._state

    def observe(self, action: str, engine: Playing, *, valid: bool, won: bool = False) -> Observed:
        """State after an action.

        Args:
            action: The command that the engine was given.
            engine: The situation after it.
            valid: Whether the engine carried it out.
            won: Whether the goal holds now.

        Raises:
            StateError: ``begin`` was not called.
        """
        if self._state is None:
            raise StateError(f"task {self._task!r}: a step before the game began", hint="call begin() first")
        command = parse_command(action)
        canonical = command.canonical if command is not None else canonical_words(action)
        if not valid:
            return Observed(self._state, canonical, valid=False, seeks=False)
        seeks = False
        if command is not None:
            self._mind = self.after(self._mind, command, engine)
            shown, contents = _shown(command, engine)
            seeks = self._search.seeks(command, shown, contents)
        self._state = self.state(self._mind, engine, won=won)
        return Observed(self._state, canonical, valid=True, seeks=seeks)


def _is_true(deed: Deed, engine: Playing) -> bool:
    subject, relation, other = deed
    thing = 1 << engine.game.object_index[subject]
    if relation == "in":
        return bool(engine.contents[engine.game.receptacle_index[other]] & thing)
    mask: int = getattr(engine, "toggled" if other == "on" else other)
    return bool(mask & thing)


def _shown(command: Command, engine: Playing) -> tuple[str, list[str]]:
    """The receptacle whose contents a command shows, and the contents."""
    game = engine.game
    place = game.receptacle_index.get(command.object) if command.verb in ("go", "open", "examine") else None
    if place is None or (game.openable >> place & 1 and not engine.opened >> place & 1):
        return "", []
    return command.object, [name for i, name in enumerate(game.objects) if engine.contents[place] >> i & 1]
