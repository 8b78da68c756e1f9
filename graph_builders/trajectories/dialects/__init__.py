"""How the logs of each environment read, and of which environment an episode is."""

from __future__ import annotations

import re
from collections.abc import Callable

from proas.errors import DataError
from proas.graph_builders.trajectories.dialects.base import Dialect
from proas.graph_builders.trajectories.episodes import Episode

__all__ = ["Dialect", "dialect_of", "environment_of", "known_as"]


def _alfworld(env: str) -> Dialect:
    from proas.graph_builders.trajectories.dialects.alfworld import AlfWorldDialect

    return AlfWorldDialect(env)


def _webshop(env: str) -> Dialect:
    from proas.graph_builders.trajectories.dialects.webshop import WebShopDialect

    return WebShopDialect(env)


class _ScienceWorldDialect(Dialect):
    """Scores count to 100."""

    scale = 100.0


_DIALECTS: dict[str, Callable[[str], Dialect]] = {
    "alfworld": _alfworld,
    "webshop": _webshop,
    "scienceworld": _ScienceWorldDialect,
}
_OTHER_NAMES = {"sciworld": "scienceworld", "alfred": "alfworld"}
_LETTERS = re.compile(r"[^a-z]")
_ROOM = re.compile(r"you are in the middle of a room\. looking quickly around you", re.IGNORECASE)
_SHOP = re.compile(r"\binstruction:", re.IGNORECASE)
_SHOPPING = re.compile(r"(?:search|click|think)\[", re.IGNORECASE)


def dialect_of(env: str) -> Dialect:
    """How episodes of an environment read."""
    return _DIALECTS.get(env, Dialect)(env)


def known_as(name: str, names: tuple[str, ...]) -> str:
    """The environment that a log means by a name, among those that are known; the name itself where none is.

    Logs write ``AlfWorld``, ``alfworld/AlfredTWEnv``, ``sciworld``.
    """
    if name in names:
        return name
    letters = _LETTERS.sub("", name.lower())
    for known in (*names, *_OTHER_NAMES):
        if _LETTERS.sub("", known.lower()) and _LETTERS.sub("", known.lower()) in letters:
            return _OTHER_NAMES.get(known, known)
    return name


def environment_of(episode: Episode, names: tuple[str, ...]) -> str:
    """The environment of an episode: as its record says, else as its first observation shows; empty where neither does.

    Args:
        episode: The episode.
        names: Environments whose states are known.
    """
    shown = _shown(episode)
    if episode.env:
        named = known_as(episode.env, names)
        return named if named in names or not shown else shown
    return shown


def _shown(episode: Episode) -> str:
    told = episode.observation or episode.context
    if _ROOM.search(told) or _ROOM.search(episode.context) or _is_household(episode):
        return "alfworld"
    acts = sum(_SHOPPING.match(turn.action) is not None for turn in episode.turns)
    calls = sum(turn.call is not None and turn.call.name.lower() in ("search", "click") for turn in episode.turns)
    if (_SHOP.search(episode.context) or episode.goal) and acts + calls > 0:
        return "webshop"
    return ""


def _is_household(episode: Episode) -> bool:
    from proas.envs.alfworld.goal import AlfWorldGoal

    if "your task is to:" not in episode.context.lower():
        return False
    try:
        AlfWorldGoal.from_text(episode.context)
    except DataError:
        return False
    return True
