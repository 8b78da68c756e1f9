"""How well a task was met: on the record of the rollout, by whichever way it was played, and in an evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from proas.envs.base import Environment
from proas.envs.collect import play
from proas.envs.webshop import WebShopEnv, open_shop
from proas.rollouts import Rollout


@dataclass(slots=True)
class FirstThatComes:
    """Searches, then buys the first product with none of its options chosen."""

    def act(self, env: Environment) -> str:
        admissible = env.info.admissible
        if "click[buy now]" in admissible:
            return "click[buy now]"
        return next(
            (action for action in admissible if action.startswith("click[p") and "prev" not in action), admissible[0]
        )


@pytest.fixture(scope="module")
def bought() -> list[tuple[Rollout, float | None]]:
    env = WebShopEnv.from_folder()
    return [(play(env, FirstThatComes(), task), env.score) for task in list(env.tasks)[:40]]


def test_a_purchase_that_misses_something_is_a_failure_with_a_score(bought: list[tuple[Rollout, float | None]]) -> None:
    assert all(rollout.score == score is not None for rollout, score in bought)
    parts = [rollout for rollout, _ in bought if rollout.score is not None and 0 < rollout.score < 1]
    assert parts
    assert not any(rollout.success for rollout in parts)
    assert all(rollout.success for rollout, _ in bought if rollout.score == 1)


def test_nothing_bought_has_no_score() -> None:
    env = WebShopEnv(*open_shop(None, "human"), step_limit=1)
    assert play(env, FirstThatComes(), next(iter(env.tasks))).score is None
