"""Reads commands in a game's wording, exactly as the reference writes them."""

from __future__ import annotations

from typing import Final

from proas.envs.alfworld.game import Game

__all__ = ["NO_MOVE", "Move", "parse_command"]

Move = tuple[str, int, int]
"""Verb and up to two indices, -1 where there is none."""

NO_MOVE: Final[Move] = ("", -1, -1)
"""What names no move at all."""


def parse_command(game: Game, command: str) -> Move:
    """The move that a command names in a game's wording."""
    if command in ("look", "inventory") or (command == "help" and game.rules.help_text):
        return (command, -1, -1)
    verb, _, rest = command.partition(" ")
    match verb:
        case "go":
            return _with("go", game.receptacle_index.get(rest.removeprefix("to ")) if rest.startswith("to ") else None)
        case "open" | "close":
            return _with(verb, game.receptacle_index.get(rest))
        case "examine":
            if rest in game.receptacle_index:
                return ("examine receptacle", game.receptacle_index[rest], -1)
            return _with("examine object", game.object_index.get(rest))
        case "use":
            return _with("use", game.object_index.get(rest))
        case "take":
            return _two(game, "take", rest, " from ", game.receptacle_index)
        case "put" | "move" if verb == game.rules.wording:
            return _two(game, "put", rest, " in/on " if verb == "put" else " to ", game.receptacle_index)
        case "clean" | "heat" | "cool":
            return _two(game, verb, rest, " with ", game.receptacle_index)
        case "slice":
            return _two(game, "slice", rest, " with ", game.object_index)
    return NO_MOVE


def _with(verb: str, index: int | None) -> Move:
    return NO_MOVE if index is None else (verb, index, -1)


def _two(game: Game, verb: str, words: str, between: str, seconds: dict[str, int]) -> Move:
    first, _, second = words.partition(between)
    a, b = game.object_index.get(first), seconds.get(second)
    return NO_MOVE if a is None or b is None else (verb, a, b)
