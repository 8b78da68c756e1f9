"""Names of graphs: short, printable, the same on every file system and shell."""

from __future__ import annotations

import re

from proas.errors import UsageError

__all__ = ["GRAPH_NAME", "check_graph_name"]

GRAPH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""A letter or digit, then up to 99 letters, digits, dots, underscores and hyphens (ASCII)."""


def check_graph_name(name: str) -> str:
    """Return the name if it is one.

    Names only ever travel as parameters, so this guards people and file names, not the database.

    Raises:
        UsageError: It does not match :data:`GRAPH_NAME`.
    """
    # fullmatch, because a trailing newline slips through a pattern that ends in "$".
    if not isinstance(name, str) or GRAPH_NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is not a graph name",
            hint="start with a letter or digit, then letters, digits, '.', '_' or '-', at most 100 characters",
        )
    return name
