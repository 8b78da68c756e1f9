"""Where an experiment's games come from."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from proas.envs.alfworld import generate
from proas.experiments.data import find_games
from proas.experiments.plan import DataPlan
from proas.training.config import TrainConfig
from proas.training.tasks import split_around


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as PROAS_TEST_DATA names it: the training games in an archive, and those of another split."""
    folder = tmp_path / "data" / "alfworld"
    folder.mkdir(parents=True)
    for name, split, trials in (
        ("train-1540.tar.xz", "json_2.1.1/train", list(generate(3, seed=1))),
        ("valid_seen-140.tar.xz", "json_2.1.3/valid_seen", list(generate(2, seed=2))),
    ):
        for trial in trials:
            trial.write(tmp_path / split)
        with tarfile.open(folder / name, "w:xz") as packed:
            packed.add(tmp_path / split, split)
    monkeypatch.setenv("PROAS_TEST_DATA", str(tmp_path / "data"))
    return folder


def test_other_splits_lie_beside_the_games_and_nothing_is_trained_on_them(release: Path, tmp_path: Path) -> None:
    games = find_games(DataPlan(), TrainConfig(), tmp_path / "out")
    assert (games.kind, games.training, games.validation) == ("real", 3, 0)
    beside = split_around(Path(games.path), "valid_seen")
    assert beside == tmp_path / "out" / "alfworld-release" / "valid_seen-140.tar.xz"
    assert beside.read_bytes() == (release / "valid_seen-140.tar.xz").read_bytes()


def test_half_an_archive_is_copied_again(release: Path, tmp_path: Path) -> None:
    games = find_games(DataPlan(), TrainConfig(), tmp_path / "out")
    beside = split_around(Path(games.path), "valid_seen")
    assert beside is not None
    beside.write_bytes(b"half")
    assert find_games(DataPlan(), TrainConfig(), tmp_path / "out") == games
    assert beside.read_bytes() == (release / "valid_seen-140.tar.xz").read_bytes()
    assert not list(beside.parent.glob(".*.part"))
