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
from proas.states.alfworld import EngineObserver, Memory, parse_command

__all__ = ["Move", "Walk", "carry_out", "moves_of", "simple_path"]


class Move(NamedTuple):
    """One step between two states."""

    before: State
    action: str
    after: State


@dataclass(frozen=True, slots=True)
class Walk:
    """Commands carried out in the engine from the start of a game.

    Attributes:
        start: The state before the first command.
        commands: The commands as the engine received them.
        moves: What each of them did.
        won: Whether the last of them won.
    """

    start: State
    commands: tuple[str, ...]
    moves: tuple[Move, ...]
    won: bool


def carry_out(game: Game, commands: Iterable[str]) -> Walk:
    """Carry out commands from the start of a game, up to the first that wins or does not apply."""
    engine = AlfWorldEngine(game)
    engine.reset()
    observer = EngineObserver(game.key, game.goal)
    start = state = observer.begin(engine)
    done: list[str] = []
    moves: list[Move] = []
    won = False
    for command in commands:
        if won or not engine.valid(command):
            break
        _answer, won = engine.step(command)
        seen = observer.observe(command, engine, valid=True, won=won)
        moves.append(Move(state, seen.canonical, seen.state))
        done.append(command)
        state = seen.state
    return Walk(start, tuple(done), tuple(moves), won)


def simple_path(moves: Sequence[Move]) -> tuple[Move, ...]:
    """The moves without self-loops and without returns to an earlier state."""
    if not moves:
        return ()
    keys = [moves[0].before.key, *(move.after.key for move in moves)]
    kept = loop_erased_steps(keys, [True] * len(moves))
    return tuple(move for move, keep in zip(moves, kept, strict=True) if keep)


def moves_of(game: Game, plans: ShortestPlans) -> Iterator[Move]:
    """Every move that lies on a shortest plan, in a fixed order.

    A state depends on what was done before as well as on the situation, so the plans are walked through as pairs of
    situation and memory. Each command is carried out in the engine.
    """
    engine = AlfWorldEngine(game)
    observer = EngineObserver(game.key, game.goal)
    first = Memory(game.goal)
    engine.restore(plans.start)
    layer: dict[tuple[Snapshot, Memory], State] = {(plans.start, first): observer.state(first, engine)}
    while layer:
        following: dict[tuple[Snapshot, Memory], State] = {}
        for (situation, memory), state in layer.items():
            for command, after in plans.edges.get(situation, ()):
                parsed = parse_command(command)
                assert parsed is not None  # the planner writes commands of the game
                then = memory.after(parsed)
                reached = following.get((after, then))
                if reached is None:
                    engine.restore(after)
                    reached = following[after, then] = observer.state(then, engine, won=engine.won)
                yield Move(state, parsed.canonical, reached)
        layer = following
