"""What a run that starts from another's policy says of its policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.errors import UsageError
from proas.training.config import TrainConfig, preset
from proas.training.inherited import with_policy_of
from proas.training.run_directory import RunDirectory


@pytest.fixture
def warm(tmp_path: Path) -> RunDirectory:
    """A run of a policy that is wider than usual."""
    directory = RunDirectory(tmp_path / "warm")
    directory.begin(TrainConfig().updated({"policy.width": 256}), graph="", init="")
    return directory


def test_the_policy_that_plays_is_recorded(warm: RunDirectory) -> None:
    found = with_policy_of(preset("smoke"), warm, named=())
    assert found.policy == warm.config().policy
    assert found.updated({"policy.width": 32}).policy != found.policy
    assert found.model_copy(update={"policy": preset("smoke").policy}) == preset("smoke")


def test_what_was_asked_for_and_contradicts_is_refused(warm: RunDirectory) -> None:
    config = TrainConfig().updated({"policy.width": 512})
    with pytest.raises(UsageError, match=r"policy.width=512 contradicts .*warm has 256"):
        with_policy_of(config, warm, named=["policy.width", "tasks"])
    with pytest.raises(UsageError, match=r"policy.width=128 contradicts"):
        with_policy_of(TrainConfig(), warm)  # a library's caller says all of it
    same = TrainConfig().updated({"policy.width": 256})
    assert with_policy_of(same, warm, named=["policy.width"]) == same
    assert with_policy_of(same, warm) == same


def test_a_run_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        with_policy_of(TrainConfig(), RunDirectory(tmp_path / "nowhere"))
