"""A migrated database, an empty graph in it, and generated games."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of 24 generated trials, four of each kind, some with sliced goals."""
    root = tmp_path_factory.mktemp("samples")
    for trial in generate(24, seed=5, sliced_share=0.2):
        trial.write(root)
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacked archives and parsed games go to a cache that the run throws away."""
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
