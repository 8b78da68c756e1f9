"""The prompted baseline against a local endpoint that replays what an expert says."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.agents import Job, ModelChoice, Patience, PromptSettings
from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.generator import generate
from proas.errors import ModelError
from proas.training.config import TrainConfig, preset
from proas.training.prompted import PromptedSettings, measure_prompted
from proas.training.tasks import fixed_tasks
from tests.support.replay_endpoint import MODEL, Book, ReplayEndpoint, record

QUICK = Patience(retry_for=1.0, first_pause=0.01, longest_pause=0.02)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> TrainConfig:
    folder = tmp_path_factory.mktemp("games")
    for trial in generate(6, seed=41):
        trial.write(folder)
    return preset("smoke").updated({"data": str(folder), "step_limit": 40})


@pytest.fixture(scope="module")
def tasks(config: TrainConfig) -> list[str]:
    """As a run on these games is measured on: half of them."""
    return fixed_tasks(open_world(EnvSpec("alfworld", Path(config.data))), 3)


def settings(url: str) -> PromptedSettings:
    return PromptedSettings(ModelChoice(MODEL, url), patience=QUICK, concurrency=3)


def _recorded(config: TrainConfig, tasks: list[str], player: str) -> Book:
    world = open_world(EnvSpec("alfworld", Path(config.data)))
    seed = config.evaluation.seed
    return record(
        world,
        [Job(task, 0) for task in tasks],
        lambda _job: player,
        prompts=PromptSettings(),
        seed=seed,
        step_limit=config.step_limit,
    )


def test_it_plays_the_run_s_tasks_and_is_recorded_as_a_policy_is(config: TrainConfig, tasks: list[str]) -> None:
    told: list[tuple[int, int]] = []
    with ReplayEndpoint(_recorded(config, tasks, "expert")) as endpoint:
        found = measure_prompted(
            config, settings(endpoint.url), temperatures=(0.0, 0.4), progress=lambda done, of: told.append((done, of))
        )
        asked = {request["temperature"] for request in endpoint.requests}
        again = measure_prompted(config, settings(endpoint.url), temperatures=(0.0, 0.4))
    assert asked == {0.0, 0.4}
    assert told == [(done, 6) for done in range(1, 7)]
    measured = found.measured
    assert (measured.iteration, measured.tasks, measured.data) == (0, 3, config.data)
    assert [(e.temperature, e.episodes, e.success, e.invalid) for e in measured.evaluations] == [
        (0.0, 3, 1.0, 0.0),
        (0.4, 3, 1.0, 0.0),
    ]
    assert again == found
    assert found.calls == sum(round(e.steps * e.episodes) for e in measured.evaluations)
    assert found.prompt_tokens > found.completion_tokens > 0
    assert found.invalid_formats == 0


def test_an_erring_model_fails_and_its_words_are_counted(config: TrainConfig, tasks: list[str]) -> None:
    def rambling(_request: object) -> str:
        return "I would rather look around."

    with ReplayEndpoint(rambling) as endpoint:
        found = measure_prompted(config, settings(endpoint.url), temperatures=(0.4,), tasks=2)
    (evaluation,) = found.measured.evaluations
    assert (evaluation.success, evaluation.invalid, evaluation.episodes) == (0.0, 1.0, 2)
    assert found.invalid_formats == found.calls > 0


def test_half_an_evaluation_is_none(config: TrainConfig, tasks: list[str]) -> None:
    book = _recorded(config, tasks, "expert")
    with (
        ReplayEndpoint(book, fault=lambda number, _request: "reset" if number > 3 else "") as endpoint,
        pytest.raises(ModelError),
    ):
        measure_prompted(config, settings(endpoint.url), temperatures=(0.4,))
