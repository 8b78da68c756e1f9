"""Episodes: rewards, the step limit, and where tasks come from."""

from __future__ import annotations

from contextlib import closing

import pytest

from proas.envs import Environment, EnvSpec, Facts, RewardSettings, open_world
from proas.envs.alfworld import AlfWorldEnv, Game, Trial, find_plan, generate, sample_root
from proas.errors import EnvironmentFailure, UsageError


def play(env: AlfWorldEnv, commands: list[str]) -> list[float]:
    return [env.step(command).reward for command in commands]


def test_it_is_an_environment(games: list[Game]) -> None:
    env: Environment[Game] = AlfWorldEnv()
    _text, info = env.reset(games[0])
    assert isinstance(info.facts, Facts)
    assert (info.valid, info.won, info.truncated, info.steps) == (True, False, False, 0)


def test_rewards_of_a_solved_episode(games: list[Game]) -> None:
    env = AlfWorldEnv()
    for game in games:
        env.reset(game)
        plan = list(find_plan(game) or ())
        assert play(env, ["nonsense", *plan[:-1]]) == [-0.1] + [0.0] * (len(plan) - 1)
        last = env.step(plan[-1])
        assert (last.reward, last.done, last.info.won, last.info.truncated) == (10.0, True, True, False)
        assert last.info.steps == len(plan) + 1
        with pytest.raises(EnvironmentFailure, match="the episode is over"):
            env.step("look")


def test_the_step_limit_cuts_and_the_winning_step_is_not_cut(games: list[Game]) -> None:
    plan = list(find_plan(games[0]) or ())
    env = AlfWorldEnv(step_limit=len(plan))
    env.reset(games[0])
    play(env, plan[:-1])
    cut = env.step("look")
    assert (cut.done, cut.info.truncated, cut.info.won, cut.reward) == (True, True, False, 0.0)
    env.reset(games[0])
    play(env, plan[:-1])
    won = env.step(plan[-1])
    assert (won.done, won.info.truncated, won.info.won) == (True, False, True)


def test_rewards_are_settings(games: list[Game]) -> None:
    env = AlfWorldEnv(rewards=RewardSettings(success=1.0, invalid=-1.0, step=-0.01))
    env.reset(games[0])
    assert play(env, ["look", "nonsense"]) == pytest.approx([-0.01, -1.01])


def test_tasks_by_key(samples: list[Trial]) -> None:
    env = AlfWorldEnv({trial.key: trial for trial in samples})
    for trial in samples:
        text, _info = env.reset(trial.key, seed=7)
        assert env.goal == trial.goal
        assert text.endswith(env.goal_text)
    with pytest.raises(UsageError, match="no ALFWorld task 'elsewhere'"):
        env.reset("elsewhere")


def test_one_wording_for_all_games(samples: list[Trial], games: list[Game]) -> None:
    """Games of either release are played by the rules of one, as if their files had come with it."""
    for generated in generate(4, seed=3):
        older, newer = generated.game("put"), generated.game("move")
        assert newer.in_wording("put") == older
        assert older.in_wording("move") == newer
        env = AlfWorldEnv({"task": newer}, wording="put")
        told, info = env.reset("task")
        native = AlfWorldEnv()
        assert (told, info) == native.reset(older)
        for command in find_plan(older) or ():
            assert env.step(command) == native.step(command)
        assert env.info.won
    kept = AlfWorldEnv({trial.key: trial for trial in samples}, wording=games[0].rules.wording)
    kept.reset(samples[0].key)
    assert kept.game == games[0]


@pytest.mark.parametrize(("wording", "arrival"), [("put", "You arrive at loc "), ("move", "You arrive at ")])
def test_the_wording_is_an_option(wording: str, arrival: str) -> None:
    with closing(open_world(EnvSpec("alfworld", sample_root(), {"wording": wording}))) as world:
        env = world.environment()
        env.reset(world.tasks[0])
        going = next(command for command in env.info.admissible if command.startswith("go to "))
        place = "" if wording == "put" else going.removeprefix("go to ")
        assert env.step(going).observation.startswith(arrival + place)
    with pytest.raises(UsageError, match="wording cannot be 'odd'"):
        open_world(EnvSpec("alfworld", sample_root(), {"wording": "odd"}))


def test_faults_of_use() -> None:
    with pytest.raises(UsageError, match="step limit 0"):
        AlfWorldEnv(step_limit=0)
    with pytest.raises(EnvironmentFailure, match="no episode"):
        AlfWorldEnv().step("look")
