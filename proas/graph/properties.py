"""The properties that stored elements must carry, as the row types of :mod:`proas.graph.rows` declare them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from proas.graph.rows import ORDER, Row

__all__ = ["malformed"]

_TYPES: Mapping[type[Row], Mapping[str, Any]] = {kind: get_type_hints(kind) for kind in ORDER}


def malformed(kind: type[Row], found: Mapping[str, Any]) -> str:
    """The first property of an element that is missing or of another type; empty when all are as they should be.

    Args:
        kind: Row type of the element.
        found: Properties as the database gave them; those that the row type does not have are passed over.
    """
    types = _TYPES[kind]
    for name, value in found.items():
        if name in types and not _fits(value, types[name]):
            return f"{name} is missing" if value is None else f"{name} is {value!r:.60}"
    return ""


def _fits(value: Any, hint: Any) -> bool:
    if hint == tuple[str, ...]:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
