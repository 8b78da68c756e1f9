"""What verl finds after ``import verl``: three trainers, two loops, settings that are checked before anything runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proas.errors import UsageError
from proas.integrations.verl.probe import TRAINERS


def test_proas_itself_does_not_import_verl() -> None:
    """The command line and the graph must not wait for torch and Ray."""
    program = "import sys, proas.cli.app, proas.graph, proas.integrations.credit, proas.integrations.verl.presets; "
    program += "sys.exit(bool({'verl', 'torch', 'ray'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.fixture(scope="module")
def config() -> Any:
    from hydra import compose, initialize_config_module

    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", overrides=["+algorithm.proas.preset=paper"])


@pytest.mark.parametrize("mode", TRAINERS)
def test_each_mode_is_verl_s_own_with_ours_in_front(mode: str, config: Any) -> None:
    from verl.trainer.ppo.v1 import get_trainer_cls

    from proas.integrations.verl.trainers import MODES

    ours, stock = get_trainer_cls(mode), get_trainer_cls(MODES[mode])
    assert issubclass(ours, stock)
    changed = {name for name in dir(ours) if getattr(ours, name) is not getattr(stock, name, None)}
    assert {name for name in changed if not name.startswith("__")} <= {
        "_abc_impl",
        "stock_mode",
        "init",
        "fit",
        "_compute_advantage",
        "_save_checkpoint",
    }
    with pytest.raises(UsageError, match="no graph is named"):
        ours(config)


def test_the_data_set_is_the_environment_s_tasks(games: Path) -> None:
    import torch
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import collate_fn

    from proas.integrations.verl.tasks import TaskDataset

    config = OmegaConf.create({"proas": {"env": "alfworld"}})
    whole = TaskDataset(str(games), config)
    assert len(whole) == 4
    rows = collate_fn([whole[i] for i in range(4)])
    assert isinstance(rows["dummy_tensor"], torch.Tensor)
    assert [info["task"] for info in rows["extra_info"]] == [whole[i]["extra_info"]["task"] for i in range(4)]
    some = [TaskDataset([str(games)], config, max_samples=2) for _ in range(2)]
    assert [some[0][i]["extra_info"]["task"] for i in range(2)] == [some[1][i]["extra_info"]["task"] for i in range(2)]
    with pytest.raises(UsageError, match="2 paths"):
        TaskDataset(["a", "b"], config)
    with pytest.raises(UsageError, match=r"data\.proas\.stepp_limit"):
        TaskDataset(str(games), OmegaConf.create({"proas": {"stepp_limit": 3}}))


def test_tasks_that_cannot_be_played_are_left_out(
    games: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import shutil

    from omegaconf import OmegaConf

    from proas.integrations.verl.tasks import TaskDataset

    copied = tmp_path / "games"
    shutil.copytree(games, copied)
    broken = min(copied.glob("**/initial_state.pddl"))
    broken.write_text("(nonsense", encoding="utf-8")
    left = TaskDataset(str(copied), OmegaConf.create({"proas": {"env": "alfworld"}}))
    assert len(left) == 3
    assert "1 tasks of alfworld cannot be played" in caplog.text
    for other in copied.glob("**/initial_state.pddl"):
        other.write_text("(nonsense", encoding="utf-8")
    with pytest.raises(UsageError, match="no task of"):
        TaskDataset(str(copied), OmegaConf.create({"proas": {"env": "alfworld"}}))
