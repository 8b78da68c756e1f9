"""All tasks, over the simulator that the tests share."""

from __future__ import annotations

import pytest

from proas.envs.scienceworld import ScienceWorldWorld
from tests.support.scienceworld import shared_world


@pytest.fixture(scope="session")
def world() -> ScienceWorldWorld:
    return shared_world()
