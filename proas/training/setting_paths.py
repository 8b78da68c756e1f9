"""Settings by their paths, such as ``update.learning_rate``, in a document of settings."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from proas.errors import UsageError

__all__ = ["flat", "plain", "put"]


def put(document: dict[str, Any], path: list[str], name: str, value: object) -> None:
    """Replace one value of a document of settings, in place."""
    place: Any = document
    for key in path[:-1]:
        place = place.get(key) if isinstance(place, dict) else None
    if not isinstance(place, dict) or (path[-1] not in place and path[0] != "options"):
        near = difflib.get_close_matches(name, list(flat(document)), n=1)
        guess = f"did you mean {near[0]}?" if near else "docs/training.md lists them"
        raise UsageError(f"there is no setting {name!r}", hint=guess)
    if isinstance(place.get(path[-1]), dict):
        raise UsageError(
            f"{name} is a group of settings", hint=f"name one of them, such as {name}.{next(iter(place[path[-1]]), '')}"
        )
    place[path[-1]] = value


def flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document of settings as values by path, in its order."""
    return dict(_paths(document, ""))


def _paths(document: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def plain(value: object) -> object:
    """A list or an absent value that was written as text."""
    if value in ("none", "null"):
        return None
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
