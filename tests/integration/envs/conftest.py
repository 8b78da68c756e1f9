"""What the environment's integration tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # walks.py is shared with the scripts beside it


@pytest.fixture(scope="session")
def alfworld_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that lasts for the run, so that archives are unpacked once."""
    return tmp_path_factory.mktemp("alfworld-cache")


@pytest.fixture(autouse=True)
def _own_cache(alfworld_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROAS_CACHE_DIR", str(alfworld_cache))
