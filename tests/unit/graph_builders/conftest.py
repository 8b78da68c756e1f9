"""Sample games of the project's own making, written once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.alfworld.data import Trial, iter_trials
from proas.envs.alfworld.generator import generate


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of 18 generated trials, three of each kind, some with sliced goals."""
    root = tmp_path_factory.mktemp("samples")
    for trial in generate(18, seed=11, sliced_share=0.3):
        trial.write(root)
    return root


@pytest.fixture(scope="session")
def trials(samples: Path) -> tuple[Trial, ...]:
    return tuple(iter_trials(samples))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed games go to a cache that the run throws away."""
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
