"""Continuations from a point, and the draw of an action under the condition that it is not a certain one."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    pytest.skip("torch is not installed (extra `train`)", allow_module_level=True)

from dataclasses import replace

import torch

from proas.envs.alfworld.world import AlfWorldWorld
from proas.rollouts import Rollout
from proas.states import follower_for
from proas.training.config import PolicySettings
from proas.training.episodes import Episode, TextLimits
from proas.training.interventions.continuations import (
    Point,
    Spoken,
    _conditioned,
    _Continuation,
    _probability_of_rest,
    continue_from,
)
from proas.training.play import PlaySettings, Words, play_tasks
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.load import policy_from_description
from proas.training.start import fresh_policy

HOW = PlaySettings(seed=3, temperature=0.8, label="test", limits=TextLimits(action=6))


@pytest.fixture(scope="module")
def policy(demonstrations: list[Rollout]) -> LanguagePolicy:
    torch.manual_seed(2)
    small = PolicySettings(width=32, heads=2, hidden=48, vocabulary=400)
    made = policy_from_description(fresh_policy(demonstrations, small, critic=False))
    with torch.no_grad():  # a policy with opinions: some actions are likely
        for parameter in made.module.parameters():
            parameter.mul_(3.0)
    return made


@pytest.fixture(scope="module")
def episode(policy: LanguagePolicy, world: AlfWorldWorld) -> Episode:
    how = replace(HOW, group_size=1, step_limit=4)
    found: Episode = play_tasks(world, policy, world.tasks[:1], how, follower_for).episodes[0]
    return found


def point(episode: Episode, step: int, *, horizon: int = 3) -> Point:
    rollout = episode.rollout
    return Point(
        name="here",
        task=rollout.task,
        number=0,
        actions=tuple(each.action for each in rollout.steps[:step]),
        tokens=tuple(episode.tokens[: episode.starts[step]].tolist()),
        horizon=horizon,
    )


def spoken(episode: Episode, step: int) -> Spoken:
    start, count = int(episode.starts[step]), int(episode.counts[step])
    return Spoken(episode.rollout.steps[step].action, tuple(episode.tokens[start : start + count].tolist()))


def probability(policy: LanguagePolicy, history: tuple[int, ...], action: tuple[int, ...]) -> float:
    with torch.inference_mode():
        tokens = torch.tensor([[*history, *action]])
        places = torch.arange(len(history) - 1, len(history) - 1 + len(action))
        scores, _ = policy.score(tokens, torch.zeros_like(places), places)
        each = torch.log_softmax(scores.double() / HOW.temperature, -1).gather(1, torch.tensor(action).unsqueeze(1))
        return float(each.sum().exp())


def test_the_conditional_draw_is_exact(policy: LanguagePolicy, world: AlfWorldWorld, episode: Episode) -> None:
    """Another action that begins like the forbidden one has probability p / (1 - P(forbidden)), token by token."""
    with torch.inference_mode():
        forbidden = spoken(episode, 1)
        here = replace(point(episode, 1), forbidden=forbidden)
        env = world.environment(step_limit=10)
        talk = _Continuation(env, here, 0, HOW)
        rest = {id(here): _probability_of_rest(policy, here, HOW)}
        taken = probability(policy, here.tokens, forbidden.tokens)
        assert rest[id(here)][0] == pytest.approx(taken, rel=1e-6)
        assert 0 < taken < 1
        other = (*forbidden.tokens[:-1], (forbidden.tokens[-1] + 7) % 300 + 10)
        unrelated = (forbidden.tokens[0] + 11, 20)
        for action in (other, unrelated):
            found = 1.0
            for place, token in enumerate(action):
                words = Words(talk, policy.end, HOW)
                words.tokens = list(action[:place])
                tokens = torch.tensor([[*here.tokens, *action[:place]]])
                scores, _ = policy.score(tokens, torch.zeros(1, dtype=torch.long), torch.tensor([tokens.shape[1] - 1]))
                changed = _conditioned(scores, [(talk, words)], rest, HOW)
                found *= float(torch.softmax(changed.double() / HOW.temperature, -1)[0, token])
            assert found == pytest.approx(probability(policy, here.tokens, action) / (1 - taken), rel=1e-4)
        words = Words(talk, policy.end, HOW)
        words.tokens = list(forbidden.tokens[:-1])
        tokens = torch.tensor([[*here.tokens, *forbidden.tokens[:-1]]])
        scores, _ = policy.score(tokens, torch.zeros(1, dtype=torch.long), torch.tensor([tokens.shape[1] - 1]))
        assert _conditioned(scores, [(talk, words)], rest, HOW)[0, forbidden.tokens[-1]] == float("-inf")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[_Continuation]:
    """All continuations, in the order in which they are begun."""
    noted: list[_Continuation] = []
    begin = _Continuation.__init__

    def note(self: _Continuation, *arguments: object) -> None:
        begin(self, *arguments)  # type: ignore[arg-type]
        noted.append(self)

    monkeypatch.setattr(_Continuation, "__init__", note)
    return noted


def test_continuations_are_those_of_the_episode_itself(
    policy: LanguagePolicy, world: AlfWorldWorld, episode: Episode, made: list[_Continuation]
) -> None:
    """From every point the policy reads what it read in the episode, and has the steps that it is given."""
    for step in range(4):
        made.clear()
        outcomes = continue_from(world, policy, [point(episode, step, horizon=2)], 3, HOW)
        assert [len(each) for each in outcomes] == [3]
        for talk in made:
            assert talk.tokens[: episode.starts[step]] == episode.tokens[: episode.starts[step]].tolist()
            assert talk.env.info.steps == step + len(talk.steps)
            assert talk.ended == "success" or len(talk.steps) == 2
        assert len({tuple(talk.tokens) for talk in made}) > 1


def test_luck_is_shared_by_name_and_differs_by_number(
    policy: LanguagePolicy, world: AlfWorldWorld, episode: Episode, made: list[_Continuation]
) -> None:
    here = point(episode, 1)
    continue_from(world, policy, [here, here, replace(here, name="there")], 2, HOW)
    said = [tuple(step.action for step in talk.steps) for talk in made]
    assert said[0:2] == said[2:4]
    assert said[0:2] != said[4:6]
    assert said[0] != said[1]


def test_a_forbidden_action_is_never_taken_first_and_may_be_taken_later(
    policy: LanguagePolicy, world: AlfWorldWorld, episode: Episode, made: list[_Continuation]
) -> None:
    free = point(episode, 0, horizon=6)
    continue_from(world, policy, [free], 24, HOW)
    likely = made[0]
    words = tuple(likely.tokens[len(free.tokens) : likely.starts[0] + likely.counts[0]])
    forbidden = Spoken(likely.steps[0].action, words)
    made.clear()
    outcomes = continue_from(world, policy, [replace(free, forbidden=forbidden)], 24, HOW)[0]
    assert None not in outcomes
    assert all(talk.steps[0].action.split() != forbidden.text.split() for talk in made)
    assert all(len(talk.steps) == 6 or talk.ended == "success" for talk in made)


def test_a_point_behind_the_end_is_refused(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    task = world.tasks[0]
    env = world.environment()
    env.reset(task)
    import random

    expert = world.policy("expert", random.Random(0))
    actions: list[str] = []
    while not env.info.won:
        actions.append(expert.act(env))
        env.step(actions[-1])
    with pytest.raises(ValueError, match="is over before"):
        continue_from(world, policy, [Point("x", task, 0, tuple(actions), (5, 6), 3)], 1, HOW)
    assert continue_from(world, policy, [], 5, HOW) == []
