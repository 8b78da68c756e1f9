"""From what a user typed to the key of a task."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from proas.errors import GraphNotFound, UsageError

if TYPE_CHECKING:
    from proas.graph.store import ReferenceGraph

__all__ = ["find_task"]

_SUGGESTED = 5


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
        shown = ", ".join(beginning[:_SUGGESTED]) + (", ..." if len(beginning) > _SUGGESTED else "")
        raise UsageError(f"{len(beginning):,} tasks begin with {typed!r}", hint=f"say more: {shown}")
    wanted = typed.lower()
    near = [key for key in keys if wanted and wanted in key.lower()]
    near += [key for key in difflib.get_close_matches(typed, keys, n=_SUGGESTED, cutoff=0.5) if key not in near]
    hint = f"did you mean {' or '.join(near[:_SUGGESTED])}?" if near else f"the graph knows {len(keys):,} tasks"
    raise GraphNotFound(f"graph {graph.name!r} has no task {typed!r}", hint=hint)
