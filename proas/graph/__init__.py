"""The Agentic Reference Graph in Neo4j.

The names below are loaded when they are first used: records alone (``proas.graph.records``) need no database driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.graph.migrations import migrate
    from proas.graph.records import Task, TaskGraph, Transition
    from proas.graph.store import ReferenceGraph, list_graphs

__all__ = ["Connection", "ReferenceGraph", "Task", "TaskGraph", "Transition", "list_graphs", "migrate"]

_HOME = {
    "Connection": "connect",
    "ReferenceGraph": "store",
    "Task": "records",
    "TaskGraph": "records",
    "Transition": "records",
    "list_graphs": "store",
    "migrate": "migrations",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
