"""Games and a policy for the tests of training; those that need torch are skipped where it is not installed."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.collect import play
from proas.envs.registry import EnvSpec, open_world
from proas.rollouts import Rollout

NEEDS_TORCH = (
    "decoder",
    "objective",
    "play",
    "update",
    "crew",
    "checkpoint",
    "imitation",
    "huggingface",
    "starts",
    "measure",
    "tensorboard",
)
if find_spec("torch") is None:
    collect_ignore = [f"test_{name}.py" for name in NEEDS_TORCH]
else:
    import torch

    torch.set_num_threads(1)  # small tensors; threads would only wait for one another


def pytest_report_header() -> str | None:
    return None if find_spec("torch") else "training: torch is not installed (extra `train`), its tests are left out"


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve new games, two of each kind."""
    folder = tmp_path_factory.mktemp("training-games")
    for trial in generate(12, seed=21):
        trial.write(folder)
    return folder


@pytest.fixture(scope="session")
def world(games: Path) -> AlfWorldWorld:
    opened = open_world(EnvSpec("alfworld", games))
    assert isinstance(opened, AlfWorldWorld)
    return opened


@pytest.fixture(scope="session")
def demonstrations(world: AlfWorldWorld) -> list[Rollout]:
    env = world.environment()
    return [play(env, world.policy("noisy", random.Random(i)), task, i) for i, task in enumerate(world.tasks)]
