"""Where a stored policy is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.alfworld import generate
from proas.errors import UsageError
from proas.training.config import TrainConfig
from proas.training.measure import data_of, named_place, plays_own_tasks, under_options, unheard_verbs
from proas.training.run_directory import RunDirectory


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


def test_games_of_another_wording_show_in_what_they_want_done(tmp_path: Path) -> None:
    trials = list(generate(18, seed=12))
    for trial in trials[:12]:
        trial.write(tmp_path / "json_2.1.1" / "train")
    for trial in trials[12:]:
        trial.write(tmp_path / "json_2.1.3" / "valid_seen")
    run = RunDirectory(tmp_path / "run")
    run.begin(TrainConfig(data=str(tmp_path / "json_2.1.1")), graph="", init="")
    assert unheard_verbs(run, split="valid_seen") == ["move"]
    assert unheard_verbs(run, split="valid_seen", options={"wording": "put"}) == []
    assert unheard_verbs(run, split="train") == []
    assert unheard_verbs(run, options={"wording": "move"}) == ["move"]


def test_games_of_other_kinds_in_the_same_wording_are_no_other_wording(tmp_path: Path) -> None:
    for trial in generate(4, seed=12, kinds=("pick",)):
        trial.write(tmp_path / "games" / "train")
    for trial in generate(8, seed=13):
        trial.write(tmp_path / "games" / "valid_seen")
    run = RunDirectory(tmp_path / "run")
    run.begin(TrainConfig(data=str(tmp_path / "games")), graph="", init="")
    assert unheard_verbs(run, split="valid_seen") == []
    other = RunDirectory(tmp_path / "shop")
    other.begin(TrainConfig(env="webshop"), graph="", init="")
    assert unheard_verbs(other, options={"goals": "human"}) == []


def test_an_option_that_chooses_no_tasks_leaves_a_run_its_own() -> None:
    alfworld, shop, science = (TrainConfig(env=name) for name in ("alfworld", "webshop", "scienceworld"))
    assert plays_own_tasks(alfworld, None, None, {"wording": "put"})
    assert plays_own_tasks(shop, None, None, {"observations": "text_rich", "price-seed": "3"})
    assert not plays_own_tasks(shop, None, None, {"goals": "human"})
    assert not plays_own_tasks(science, None, None, {"split": "test"})
    assert not plays_own_tasks(alfworld, "valid_seen", None, {})
    assert not plays_own_tasks(alfworld, None, Path("games"), None)


def test_a_run_whose_data_is_gone_has_nothing_to_say_of_wording(tmp_path: Path) -> None:
    next(iter(generate(1, seed=12))).write(tmp_path / "games")
    run = RunDirectory(tmp_path / "run")
    run.begin(TrainConfig(data=str(tmp_path / "gone")), graph="", init="")
    assert unheard_verbs(run, data=tmp_path / "games") == []
    (tmp_path / "gone").mkdir()
    assert unheard_verbs(run, data=tmp_path / "games") == []
