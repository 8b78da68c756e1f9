"""Modules of others that add to ProAS: environments and their states.

They are named by entry points of the group ``proas.plugins`` and by the variable ``PROAS_PLUGINS`` (module names,
separated by commas), and imported once a process, the first time that something is looked up by name.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from proas.errors import UsageError

__all__ = ["GROUP", "VARIABLE", "load_plugins"]

GROUP = "proas.plugins"
VARIABLE = "PROAS_PLUGINS"

_loaded: set[str] = set()


def load_plugins() -> None:
    """Import the modules that are named and not imported yet.

    Raises:
        UsageError: One cannot be imported.
    """
    named = [
        *_installed(),
        *((name.strip(), VARIABLE) for name in os.environ.get(VARIABLE, "").split(",") if name.strip()),
    ]
    for module, origin in named:
        if module in _loaded:
            continue
        _loaded.add(module)  # before the import: the module's own look-ups must not come back here
        try:
            import_module(module)
        except Exception as error:
            _loaded.discard(module)
            raise UsageError(
                f"plug-in {module!r} ({origin}) cannot be imported: {type(error).__name__}: {error}",
                hint="mend it, or take its name out",
            ) from error


@cache
def _installed() -> tuple[tuple[str, str], ...]:
    return tuple((entry.module, f"entry point {entry.name!r}") for entry in entry_points(group=GROUP))
