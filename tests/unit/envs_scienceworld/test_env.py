"""Episodes in the real simulator."""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
from contextlib import closing

import psutil
import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.base import Environment, RewardSettings
from proas.envs.collect import CollectSettings, collect
from proas.envs.scienceworld import ScienceWorldEnv, ScienceWorldWorld, missing_packages, split_of
from proas.errors import EnvironmentFailure, UsageError
from proas.rollouts import Rollout

SHORT = "find-non-living-thing/0"


def _play(env: ScienceWorldEnv, actions: tuple[str, ...]) -> list[str]:
    texts = []
    for action in actions:
        result = env.step(action)
        texts.append(result.observation)
        if result.done:
            break
    return texts


def test_the_planned_solution_wins(world: ScienceWorldWorld) -> None:
    env = world.environment()
    observation, info = env.reset(SHORT)
    assert observation.startswith("Task description:\nYour task is to find a(n) non-living thing.")
    assert "This room is called the hallway." in observation
    assert isinstance(env, Environment)
    assert (info.valid, info.won, info.steps) == (True, False, 0)
    result = None
    for action in world.plan(SHORT):
        result = env.step(action)
        if result.done:
            break
    assert result is not None
    assert result.done
    assert result.info.won
    assert not result.info.truncated
    assert result.reward == 10.0
    assert env.score == 1.0
    with pytest.raises(EnvironmentFailure, match="over"):
        env.step("look around")


def test_refused_and_ambiguous_actions(world: ScienceWorldWorld) -> None:
    env = world.environment(rewards=RewardSettings(invalid=-0.5))
    env.reset("grow-plant/0")
    before = env.info.facts.as_tuples()
    for action in ("fly to the moon", "", "open door to narnia"):
        result = env.step(action)
        assert (result.info.valid, result.reward, result.done) == (False, -0.5, False)
    assert env.info.facts.as_tuples() == before
    for action in ("open door to kitchen", "go to kitchen", "pick up seed jar"):
        assert env.step(action).info.valid
    asked = env.step("move apple seed in seed jar to counter")
    assert not asked.info.valid
    assert asked.observation.startswith("Ambiguous request")
    assert env.info.admissible[0] == "0"
    answered = env.step("0")
    assert answered.info.valid
    assert answered.observation == "You move the apple seed to the counter."


def test_a_wrong_focus_loses_the_episode(world: ScienceWorldWorld) -> None:
    env = world.environment()
    env.reset("boil/0")
    result = env.step("focus on agent")
    assert result.done
    assert env.failed
    assert not result.info.won
    assert not result.info.truncated
    assert env.score == 0.0


def test_the_step_limit_cuts(world: ScienceWorldWorld) -> None:
    env = world.environment(step_limit=2)
    env.reset(SHORT)
    assert not env.step("look around").done
    result = env.step("look around")
    assert result.done
    assert result.info.truncated


def test_facts_and_admissible_belong_to_their_situation(world: ScienceWorldWorld) -> None:
    env = world.environment()
    _first, info = env.reset(SHORT)
    assert info.facts.location == "hallway"
    assert ("at", "hallway") in info.facts.as_tuples()
    assert "open door to kitchen" in info.admissible
    assert list(info.admissible) == sorted(info.admissible)
    late = env.step("open door to kitchen").info
    env.step("go to kitchen")
    assert env.info.facts.location == "kitchen"
    with pytest.raises(EnvironmentFailure, match="passed"):
        _ = late.facts
    copied = pickle.loads(pickle.dumps(info))
    assert copied == info
    assert [told for told, _done in info.facts.milestones] == [
        "focus on a non-living thing",
        "move living thing to answer box",
    ]


def test_episodes_side_by_side_do_not_disturb_each_other(world: ScienceWorldWorld) -> None:
    """Random numbers, object ids and simplifications are global in the simulator."""
    keys = ("identify-life-stages-1/0", "find-animal/3", "boil/0+easy")
    out = ("open door to kitchen", "go to kitchen", "open door to outside", "go to outside")
    walks = {
        keys[0]: (*out, "wait", "look around"),
        keys[1]: ("open door to kitchen", "go to kitchen", "activate sink", "wait1", "look around"),
        keys[2]: ("teleport to outside", "wait", "look around", "teleport to kitchen", "look around"),
    }  # fmt: skip
    alone = {}
    for key in keys:
        env = world.environment()
        env.reset(key)
        alone[key] = _play(env, walks[key])
    assert alone[keys[2]][0] == "You teleport to the outside."
    together: dict[str, list[str]] = {key: [] for key in keys}
    envs = {key: world.environment() for key in keys}
    for key, env in envs.items():
        env.reset(key)
    for turn in range(max(map(len, walks.values()))):
        for key, env in envs.items():
            if turn < len(walks[key]):
                together[key].append(env.step(walks[key][turn]).observation)
    assert together == alone


def test_rollouts_are_the_same_for_the_same_seed(world: ScienceWorldWorld) -> None:
    settings = CollectSettings(policy="noisy", group_size=2, seed=5)
    first, second = (list(collect(world, ["find-plant/0"], settings)) for _ in range(2))
    assert first == second
    assert all(isinstance(rollout, Rollout) for rollout in first)


def test_the_random_policy_plays_what_is_admissible(world: ScienceWorldWorld) -> None:
    env, policy = world.environment(step_limit=5), world.policy("random", random.Random(1))
    env.reset("melt/1")
    while True:
        action = policy.act(env)
        assert action in env.info.admissible
        if env.step(action).done:
            break


def test_tasks_and_splits(world: ScienceWorldWorld) -> None:
    assert len(world.counts) == 30
    assert sum(world.counts.values()) == 7207 == len(world.tasks) == len(set(world.tasks))
    assert len({key.split("/")[0] for key in world.tasks[:30]}) == 30
    session = world._simulator.session()
    for name in ("identify-life-stages-2", "identify-life-stages-1", "boil", "use-thermometer"):
        session.load(world.goal(f"{name}/0"))
        count = world.counts[name]
        theirs = session._ask(
            lambda it: [list(it.getVariationsTrain()), list(it.getVariationsDev()), list(it.getVariationsTest())]
        )
        assert [list(split_of(count, part)) for part in ("train", "dev", "test")] == theirs  # type: ignore[arg-type]


@pytest.mark.parametrize("count", range(12))
def test_splits_share_out_every_variation(count: int) -> None:
    parts = [split_of(count, part) for part in ("train", "dev", "test")]  # type: ignore[arg-type]
    assert sorted({number for part in parts for number in part}) == list(range(count))


@pytest.mark.parametrize("key", ["boil/999", "fly/0", "boil", "boil/0+flying"])
def test_unknown_tasks(world: ScienceWorldWorld, key: str) -> None:
    with pytest.raises(UsageError):
        world.environment().reset(key)


def test_options_by_name() -> None:
    if missing_packages():
        pytest.skip("scienceworld is not installed")
    spec = EnvSpec("scienceworld", options={"task": "boil", "variations": "2", "split": "dev", "admissible": "none"})
    with closing(open_world(spec)) as opened:
        assert opened.tasks == ("boil/14", "boil/15")
        env = opened.environment()
        assert env.reset("boil/14")[1].admissible == ()
        pid = opened.pid  # type: ignore[attr-defined]
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)
    with pytest.raises(UsageError, match="variations"):
        open_world(EnvSpec("scienceworld", options={"variations": "0"}))


def test_a_dead_simulator_is_told_and_replaced() -> None:
    if missing_packages():
        pytest.skip("scienceworld is not installed")
    with closing(ScienceWorldWorld()) as opened:
        env = opened.environment()
        first, _info = env.reset(SHORT)
        pid = opened.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EnvironmentFailure, match="died"):
            env.step("look around")
        for _ in range(50):
            if not psutil.pid_exists(pid):
                break
            time.sleep(0.1)
        assert env.reset(SHORT)[0] == first
        assert opened.pid not in (pid, None)
    with pytest.raises(EnvironmentFailure, match="closed"):
        env.reset(SHORT)
