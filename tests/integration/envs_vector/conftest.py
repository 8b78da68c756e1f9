"""The rough environment as a plug-in, in this process and in the workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from proas.envs import EnvSpec

SUPPORT = Path(__file__).resolve().parents[2] / "support"


@pytest.fixture
def rough(monkeypatch: pytest.MonkeyPatch) -> EnvSpec:
    """An environment with mishaps."""
    monkeypatch.syspath_prepend(str(SUPPORT))
    monkeypatch.setenv("PROAS_PLUGINS", "rough_environment")
    return EnvSpec("rough")


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """Whatever a test does, its workers are gone afterwards."""
    before = set(psutil.Process().children(recursive=True))
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child not in before]
    assert left == []
