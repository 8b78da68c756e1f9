"""One simulator for every test of a run: it takes seconds to start."""

from __future__ import annotations

import atexit
from functools import cache

import pytest

from proas.envs.scienceworld import ScienceWorldWorld, missing_packages

__all__ = ["shared_world"]


def shared_world() -> ScienceWorldWorld:
    """All tasks, over one simulator. Skips the test where its packages are not installed."""
    if missing := missing_packages():
        pytest.skip(f"not installed: {', '.join(missing)}")
    return _opened()


@cache
def _opened() -> ScienceWorldWorld:
    world = ScienceWorldWorld(split="all")
    atexit.register(world.close)
    return world
