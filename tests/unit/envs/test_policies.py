"""The policies: the expert is shortest, the noisy one errs as agents do, and a seed determines all."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from proas.envs.alfworld import POLICIES, AlfWorldEnv, ExpertPolicy, Game, NoisyPolicy, Policy, find_plan, make_policy
from proas.errors import EnvironmentFailure, UsageError


def episode(policy: Policy, game: Game, limit: int = 50) -> tuple[list[str], Counter[str]]:
    env = AlfWorldEnv(step_limit=limit)
    _text, info = env.reset(game)
    actions: list[str] = []
    seen: Counter[str] = Counter()
    done = False
    while not done:
        actions.append(policy.act(env))
        result = env.step(actions[-1])
        info, done = result.info, result.done
        seen["invalid"] += not info.valid
    seen["won"] = info.won
    return actions, seen


def test_the_expert_follows_a_shortest_plan(games: list[Game]) -> None:
    expert = ExpertPolicy()
    for game in games:
        actions, seen = episode(expert, game)
        assert actions == list(find_plan(game) or ())
        assert (seen["won"], seen["invalid"]) == (1, 0)


def test_the_expert_replans_when_someone_else_moves(games: list[Game]) -> None:
    expert = ExpertPolicy()
    for game in games:
        env = AlfWorldEnv()
        env.reset(game)
        env.step(expert.act(env))
        env.step(next(c for c in env.engine.admissible() if c.startswith("go to ")))
        while not env.engine.won:
            env.step(expert.act(env))
        assert env.engine.won


@pytest.mark.parametrize("name", POLICIES)
def test_a_seed_determines_the_episode(name: str, games: list[Game]) -> None:
    for game in games:
        first, again = (episode(make_policy(name, random.Random(5)), game) for _ in range(2))
        assert first == again


def test_the_noisy_policy_wins_some_and_wastes_many(games: list[Game]) -> None:
    policy = NoisyPolicy(random.Random(1))
    outcomes = [(episode(policy, game), find_plan(game) or ()) for game in games for _ in range(20)]
    won = sum(seen["won"] for (_a, seen), _p in outcomes) / len(outcomes)
    invalid = sum(seen["invalid"] for (_a, seen), _p in outcomes) / sum(len(a) for (a, _s), _p in outcomes)
    assert 0.2 < won < 0.9
    assert 0.05 < invalid < 0.4
    assert sum(len(a) for (a, seen), _p in outcomes if seen["won"]) > sum(len(p) for (_a, s), p in outcomes if s["won"])


def test_skill_is_the_share_of_expert_steps(games: list[Game]) -> None:
    assert episode(NoisyPolicy(random.Random(0), skill=1.0), games[0])[0] == list(find_plan(games[0]) or ())
    with pytest.raises(UsageError, match="not a probability"):
        NoisyPolicy(random.Random(0), skill=1.5)


def test_random_commands_apply(games: list[Game]) -> None:
    assert episode(make_policy("random", random.Random(0)), games[0])[1]["invalid"] == 0


def test_unknown_names_and_finished_games(games: list[Game]) -> None:
    with pytest.raises(UsageError, match="no policy 'best'"):
        make_policy("best", random.Random(0))
    env = AlfWorldEnv()
    env.reset(games[0])
    for command in find_plan(games[0]) or ():
        env.step(command)
    with pytest.raises(EnvironmentFailure, match="no plan reaches the goal"):
        ExpertPolicy().act(env)
