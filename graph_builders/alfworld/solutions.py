"""Solutions carried out in the engine, as steps between states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.game import Game, Snapshot
from proas.envs.alfworld.planner import ShortestPlans
from proas.purify import loop_erased_steps
from proas.rollouts import State
from proas.states.alfworld import EngineObserver, Mind, parse_command
from proas.states.alfworld.commands import canonical_words

__all__ = ["Move", "Place", "Walk", "carry_out", "moves_of", "simple_path"]


class Move(NamedTuple):
    """One step between two states."""

    before: State
    action: str
    after: State


class Place(NamedTuple):
    """A situation of the engine and what led there; both together make the state."""

    situation: Snapshot
    mind: Mind


@dataclass(frozen=True, slots=True)
class Walk:
    """Commands carried out in the engine from the start of a game.

    Attributes:
        start: The state before the first command.
        commands: The commands as the engine received them.
        moves: What each of them did.
        won: Whether the last of them won.
        places: Where each command was given, and where the last one led.
    """

    start: State
    commands: tuple[str, ...]
    moves: tuple[Move, ...]
    won: bool
    places: tuple[Place, ...] = ()


def carry_out(game: Game, commands: Iterable[str], observer: EngineObserver | None = None) -> Walk:
    """Carry out commands from the start of a game, up to the first that wins or does not apply.

    Args:
        game: The game.
        commands: The commands.
        observer: Which states are made of it; ALFWorld's own if not given.
    """
    observer = observer or EngineObserver(game.key, game.goal)
    engine = AlfWorldEngine(game)
    engine.reset()
    mind = observer.first()
    start = state = observer.state(mind, engine)
    done: list[str] = []
    moves: list[Move] = []
    places = [Place(engine.snapshot(), mind)]
    won = False
    for command in commands:
        if won or not engine.valid(command):
            break
        _answer, won = engine.step(command)
        parsed = parse_command(command)
        if parsed is not None:
            mind = observer.after(mind, parsed, engine)
        reached = observer.state(mind, engine, won=won)
        moves.append(Move(state, canonical_words(command) if parsed is None else parsed.canonical, reached))
        places.append(Place(engine.snapshot(), mind))
        done.append(command)
        state = reached
    return Walk(start, tuple(done), tuple(moves), won, tuple(places))


def simple_path(moves: Sequence[Move]) -> tuple[Move, ...]:
    """The moves without self-loops and without returns to an earlier state."""
    if not moves:
        return ()
    keys = [moves[0].before.key, *(move.after.key for move in moves)]
    kept = loop_erased_steps(keys, [True] * len(moves))
    return tuple(move for move, keep in zip(moves, kept, strict=True) if keep)


def moves_of(
    game: Game, plans: ShortestPlans, observer: EngineObserver | None = None, *, met: dict[str, Place] | None = None
) -> Iterator[Move]:
    """Every move that lies on a shortest plan, in a fixed order.

    A state depends on what was done before as well as on the situation, so the plans are walked through as pairs of
    situation and mind. Each command is carried out in the engine.

    Args:
        game: The game.
        plans: The plans.
        observer: Which states are made of it; ALFWorld's own if not given.
        met: Filled with a place of each state, by its key.
    """
    observer = observer or EngineObserver(game.key, game.goal)
    met = {} if met is None else met
    engine = AlfWorldEngine(game)
    engine.restore(plans.start)
    first = Place(plans.start, observer.first())
    layer: dict[Place, State] = {first: observer.state(first.mind, engine)}
    while layer:
        following: dict[Place, State] = {}
        for place, state in layer.items():
            met.setdefault(state.key, place)
            for command, after in plans.edges.get(place.situation, ()):
                parsed = parse_command(command)
                assert parsed is not None  # the planner writes commands of the game
                engine.restore(after)
                there = Place(after, observer.after(place.mind, parsed, engine))
                reached = following.get(there)
                if reached is None:
                    reached = following[there] = observer.state(there.mind, engine, won=engine.won)
                yield Move(state, parsed.canonical, reached)
        layer = following
