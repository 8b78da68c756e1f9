"""One simulator for all tests here: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from proas.envs.scienceworld import ScienceWorldWorld, missing_packages


@pytest.fixture(scope="session")
def world() -> Iterator[ScienceWorldWorld]:
    if missing := missing_packages():
        pytest.skip(f"not installed: {', '.join(missing)}")
    with closing(ScienceWorldWorld(split="all")) as opened:
        yield opened
