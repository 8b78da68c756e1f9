"""From what a user typed to the key of a task."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from proas.cli.console import listed
from proas.errors import GraphNotFound, UsageError

if TYPE_CHECKING:
    from proas.graph.store import ReferenceGraph

__all__ = ["find_task"]

_ALIKE = 0.7


def find_task(graph: ReferenceGraph, typed: str, version: int | None = None) -> str:
    """The key that was meant: the one typed, or the only one that begins so.

    Raises:
        UsageError: Several keys begin so.
        GraphNotFound: None does; the hint names near ones.
    """
    keys = [task.key for task in graph.tasks(version=version)]
    if typed in keys:
        return typed
    beginning = [key for key in keys if typed and key.startswith(typed)]
    if len(beginning) == 1:
        return beginning[0]
    if beginning:
        raise UsageError(f"{len(beginning):,} tasks begin with {typed!r}", hint=f"say more:{listed(beginning)}")
    near = _near(typed.lower(), keys) if typed else []
    hint = f"did you mean:{listed(near)}" if near else f"the graph knows these:{listed(keys)}"
    if not keys:
        hint = "the graph knows no task yet"
    raise GraphNotFound(f"graph {graph.name!r} has no task {typed!r}", hint=hint)


def _near(wanted: str, keys: list[str]) -> list[str]:
    """Keys that contain what was typed, then those that begin much like it."""
    within = [key for key in keys if wanted in key.lower()]
    alike = {key: SequenceMatcher(None, wanted, key[: len(wanted)].lower()).ratio() for key in keys}
    ranked = sorted((key for key in keys if alike[key] > _ALIKE), key=lambda key: -alike[key])
    return [*within, *(key for key in ranked if key not in within)]
