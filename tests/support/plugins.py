"""Plug-ins for one test or module: known while it runs, forgotten afterwards."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proas import graph_builders, plugins
from proas.envs import registry
from proas.states import kinds

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@contextmanager
def plugged(*modules: str, folders: tuple[Path, ...] = (EXAMPLES,)) -> Iterator[None]:
    """Modules of these folders named in ``PROAS_PLUGINS``, for this process and for those that it starts."""
    places = [str(folder) for folder in folders]
    tables = (registry._KINDS, kinds._KINDS, graph_builders._BUILDERS)
    known = [dict(table) for table in tables]
    loaded, variable, path = set(plugins._loaded), os.environ.get(plugins.VARIABLE), os.environ.get("PYTHONPATH")
    sys.path[:0] = places
    os.environ[plugins.VARIABLE] = ",".join(modules)
    os.environ["PYTHONPATH"] = os.pathsep.join([*places, *([path] if path else [])])
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)
        for name in modules:
            sys.modules.pop(name, None)
        for table, before in zip(tables, known, strict=True):
            table.clear()  # type: ignore[attr-defined]
            table.update(before)  # type: ignore[attr-defined]
        plugins._loaded.clear()
        plugins._loaded.update(loaded)
        for name, value in ((plugins.VARIABLE, variable), ("PYTHONPATH", path)):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
