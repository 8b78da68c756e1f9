"""Puts the example and its broken variants where they can be imported, in other processes too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="session")
def broken() -> Iterator[ModuleType]:
    """The module of the variants, which registers them."""
    folders = [str(HERE), str(EXAMPLES)]
    sys.path[:0] = folders
    try:
        import broken_vaults

        yield broken_vaults
    finally:
        for folder in folders:
            sys.path.remove(folder)
