"""Fixtures of the environment tests: a cache of their own, and the sample games."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.alfworld import Game, Trial, iter_trials, load_game, sample_root


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def samples() -> list[Trial]:
    """The trials that come with the package."""
    return list(iter_trials(sample_root()))


@pytest.fixture(scope="session")
def games(samples: list[Trial]) -> list[Game]:
    """Their games."""
    return [load_game(trial, cached=False) for trial in samples]
