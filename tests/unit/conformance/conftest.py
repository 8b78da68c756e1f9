"""Puts the example and its broken variants where they can be imported, in other processes too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from proas.envs import env_names
from tests.support.plugins import EXAMPLES, plugged


@pytest.fixture(scope="module")
def broken() -> Iterator[ModuleType]:
    """The module of the variants, which registers them."""
    with plugged("vault", "broken_vaults", folders=(Path(__file__).parent, EXAMPLES)):
        assert "sound-vault" in env_names()
        yield sys.modules["broken_vaults"]
