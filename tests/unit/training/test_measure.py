"""Where a stored policy is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.errors import UsageError
from proas.training.config import TrainConfig
from proas.training.measure import data_of, named_place, under_options


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with an unpacked release, archives beside it and games of one's own."""
    for name in ("json_2.1.1/train", "json_2.1.1/valid_seen", "games/pick_and_place-1/trial_1"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("train-1540.tar.xz", "valid_unseen-134.tar.xz", "LICENSE", "notes.tar"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_split_is_found_in_a_release_folder_or_an_archive(shelf: Path) -> None:
    config = TrainConfig()
    assert data_of(config, "valid_seen", shelf) == shelf / "json_2.1.1/valid_seen"
    assert data_of(config, "valid_unseen", shelf) == shelf / "valid_unseen-134.tar.xz"
    assert data_of(config, "train", shelf) == shelf / "json_2.1.1/train"  # a folder is there at once
    assert data_of(config, "valid_seen", shelf / "json_2.1.1") == shelf / "json_2.1.1/valid_seen"


def test_a_split_is_found_beside_the_run_s_data(shelf: Path) -> None:
    for data in ("games", "train-1540.tar.xz"):
        config = TrainConfig(data=str(shelf / data))
        assert data_of(config, "valid_unseen", None) == shelf / "valid_unseen-134.tar.xz"


def test_a_missing_split_names_those_that_are_there(shelf: Path) -> None:
    with pytest.raises(UsageError, match=r"no split 'test' in .*there are train, valid_seen, valid_unseen"):
        data_of(TrainConfig(data=str(shelf / "games")), "test", None)
    with pytest.raises(UsageError, match="leave --split out"):
        data_of(TrainConfig(data=str(shelf / "games/pick_and_place-1")), "test", None)
    with pytest.raises(UsageError, match="--option split=NAME"):
        data_of(TrainConfig(env="scienceworld"), "test", None)


def test_options_of_the_environment_take_the_place_of_the_run_s() -> None:
    config = TrainConfig(env="scienceworld", options={"split": "train", "task": "boil"})
    assert under_options(config, {"split": "test"}).options == {"split": "test", "task": "boil"}
    assert under_options(config, None) == config
    assert named_place(None, {"split": "test"}) == "the default data with split=test"
    assert named_place(Path("games"), None) == "games"
