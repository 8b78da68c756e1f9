"""Names of graphs: short, printable, the same on every file system and shell."""

from __future__ import annotations

import re

from proas.errors import UsageError

__all__ = ["GRAPH_NAME", "check_graph_name", "check_run_name"]

_RUN_LENGTH = 200
_SHOWN = 60

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
            f"{_short(name)} is not a graph name",
            hint="start with a letter or digit, then letters, digits, '.', '_' or '-', at most 100 characters",
        )
    return name


def check_run_name(run: str) -> str:
    """Return the name of a run if it is one: any printable text of at most 200 characters, or none.

    It is kept with each version and shown in tables, so it must fit there.

    Raises:
        UsageError: It is longer, or holds a line break or another character that cannot be printed.
    """
    if not isinstance(run, str) or len(run) > _RUN_LENGTH or not run.isprintable():
        raise UsageError(f"{_short(run)} is not a name for a run", hint="at most 200 characters on one line")
    return run


def _short(name: object) -> str:
    shown = repr(name)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
