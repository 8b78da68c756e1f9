"""What lies around a task's solutions: states a few steps off them, and the moves by which one comes back.

A policy strays. A graph that holds solutions alone cannot say how far it has strayed; one that holds the surroundings
can. Every move is carried out in the engine. What differs only in things that no state tells (a drawer left open) is
one state, looked at in the situation in which it was first met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.game import NOWHERE, Game, Snapshot, bits
from proas.envs.alfworld.planner import GoalMoves
from proas.graph_builders.alfworld.solutions import Move, Place
from proas.rollouts import State
from proas.states.alfworld import EngineObserver, parse_command
from proas.subgoals import GOAL_REACHED, SEARCHING

__all__ = ["Surroundings", "looks", "surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found around some places.

    Attributes:
        moves: Moves between the places and what is near them.
        cut: States that were left out, for there were too many.
    """

    moves: tuple[Move, ...]
    cut: int


def surroundings(game: Game, observer: EngineObserver, places: Sequence[Place], radius: int, most: int) -> Surroundings:
    """States within some steps of given places, and moves between them.

    Within the radius the agent goes anywhere, opens and closes what it is at, and does what can matter for the goal.
    From the outermost states only what can matter is looked at: it leads back.

    Args:
        game: The game.
        observer: Which states are made of it.
        places: Where to start; places of the same state count once, and those still searching are left alone.
        radius: Steps.
        most: States at most, those of ``places`` included.
    """
    scout = _Scout(game, observer)
    known: dict[str, Place] = {}
    for place in places:
        state = scout.state(place)
        if SEARCHING not in state.facts:
            known.setdefault(state.key, place)
    moves: list[Move] = []
    cut: set[str] = set()
    frontier = list(known.values())
    for _ in range(radius):
        further: list[Place] = []
        for place in frontier:
            for move, there in scout.moves(place, scout.anywhere(place.situation)):
                moves.append(move)
                if move.after.key in known:
                    continue
                if len(known) >= most:
                    cut.add(move.after.key)
                    continue
                known[move.after.key] = there
                further.append(there)
        frontier = further
    for place in frontier:
        moves += [move for move, _there in scout.moves(place, scout.useful(place.situation))]
    return Surroundings(tuple(move for move in moves if move.after.key in known), len(cut - known.keys()))


def looks(game: Game, observer: EngineObserver, places: Sequence[Place], commands: Sequence[str]) -> Iterator[Move]:
    """Looking into each receptacle from each place of a walk that still searches, and then walking on.

    A solution knows where things are; an agent that searches does not, and where it looks first is as good a place as
    any. So each such look is a way too.

    Args:
        game: The game.
        observer: Which states are made of it.
        places: Places of the walk, the start first.
        commands: The commands between them.
    """
    scout = _Scout(game, observer)
    walked = {scout.state(place).key for place in places}
    for t, place in enumerate(places):
        if SEARCHING not in scout.state(place).facts:
            continue
        for command in scout.everywhere(place.situation):
            receptacle = command.removeprefix("go to ")
            here = place
            for following in (command, f"open {receptacle}", *commands[t:]):
                for move, there in scout.moves(here, [following]):
                    yield move
                    here = there
                state = scout.state(here)
                if state.key in walked and state.key != scout.state(place).key:
                    break


class _Scout:
    """Carries commands out from any place of a game."""

    def __init__(self, game: Game, observer: EngineObserver) -> None:
        self._game = game
        self._observer = observer
        self._engine = AlfWorldEngine(game)
        self._goal_moves = GoalMoves(game, every_name=True)
        self._states: dict[Place, State] = {}

    def state(self, place: Place) -> State:
        """The state of a place."""
        if place not in self._states:
            self._engine.restore(place.situation)
            won = self._engine.won
            self._states[place] = self._observer.state(place.mind, self._engine, won=won)
        return self._states[place]

    def moves(self, place: Place, commands: Iterable[str]) -> Iterator[tuple[Move, Place]]:
        """What those of the commands do that apply and change the state. Nothing is done once the goal is reached."""
        before = self.state(place)
        if GOAL_REACHED in before.facts:
            return
        for command in commands:
            self._engine.restore(place.situation)
            parsed = parse_command(command)
            if parsed is None or not self._engine.valid(command):
                continue
            self._engine.step(command)
            there = Place(
                self._engine.snapshot()._replace(removed=(0,) * len(place.situation.removed)),
                self._observer.after(place.mind, parsed, self._engine),
            )
            after = self.state(there)
            if after.key != before.key:
                yield Move(before, parsed.canonical, after), there

    def useful(self, situation: Snapshot) -> list[str]:
        """Commands that can matter for the goal."""
        return self._goal_moves.commands(situation)

    def everywhere(self, situation: Snapshot) -> list[str]:
        """Going to each receptacle that is not within reach."""
        places = self._game.receptacle_places
        return [
            f"go to {name}"
            for name, place in zip(self._game.receptacles, places, strict=True)
            if place not in (NOWHERE, situation.place)
        ]

    def anywhere(self, situation: Snapshot) -> list[str]:
        """Commands that can matter, going everywhere, and opening and closing what is within reach."""
        here = [r for r in self._game.at_place[situation.place] if self._game.openable >> r & 1]
        opened = set(bits(situation.opened))
        doors = [f"{'close' if r in opened else 'open'} {self._game.receptacles[r]}" for r in here]
        return list(dict.fromkeys([*self.useful(situation), *doors, *self.everywhere(situation)]))
