"""Episodes that a language model plays: what is recorded, what a slow or failing environment costs."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.data import sample_root
from proas.envs.alfworld.env import AlfWorldEnv
from proas.errors import EnvironmentFailure
from proas.integrations.verl import worlds as worlds_module
from proas.integrations.verl.episode import Episode, TaskRef
from proas.integrations.verl.play_settings import PlaySettings
from proas.integrations.verl.rows import carried, gather
from proas.integrations.verl.worlds import Worlds
from proas.states import attach_states


@pytest.fixture(scope="module")
def data():
    return str(sample_root())


@pytest.fixture(scope="module")
def tasks(data):
    return list(open_world(EnvSpec("alfworld", sample_root())).tasks)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def worlds():
    return Worlds()


def reply(action):
    return f"<think>Let me see.</think><action>{action}</action>"


def expert_actions(data, task):
    """A planner's actions for a task."""
    import random

    from proas.envs.collect import play

    world = open_world(EnvSpec("alfworld", sample_root()))
    return [step.action for step in play(world.environment(), world.policy("expert", random.Random(0)), task).steps]


def start(data, task, worlds, threads, *, layout="dialogue", **settings):
    ref = TaskRef(data, task, 0, "u_0", "u")
    return Episode(ref, PlaySettings(**settings), layout, worlds, threads)


async def played(episode, replies):
    await episode.begin()
    for words in replies:
        if episode.is_over():
            break
        await episode.act(words, len(words.split()))
    return episode.rollout()


def test_a_success(data, tasks, worlds, threads):
    actions = expert_actions(data, tasks[0])
    episode = start(data, tasks[0], worlds, threads)
    rollout = asyncio.run(played(episode, map(reply, actions)))
    assert rollout.success
    assert rollout.ended == "success"
    assert rollout.reward == 10.0
    assert [step.action for step in rollout.steps] == actions
    assert all(step.valid and step.tokens > 0 for step in rollout.steps)
    assert rollout.has_states
    assert (rollout.id, rollout.group) == ("u_0", "u")
    assert attach_states(rollout.model_copy(update={"start": None, "steps": _bare(rollout)})).state_keys == (
        rollout.state_keys
    )


def _bare(rollout):
    return tuple(s.model_copy(update={"state": None, "canonical": None}) for s in rollout.steps)


@pytest.mark.parametrize(
    "words", ["", "go to desk 1", "<action>look</action>", reply("a") + reply("b"), "<think>x</think>", "<action>"]
)
def test_a_reply_without_form_is_an_invalid_step(data, tasks, worlds, threads, words):
    rollout = asyncio.run(played(start(data, tasks[0], worlds, threads), [words]))
    [step] = rollout.steps
    assert step.valid is False
    assert step.reward == -0.1
    assert rollout.state_keys[0] == rollout.state_keys[1]
    assert rollout.malformed_replies == 1


def test_the_step_limit(data, tasks, worlds, threads):
    episode = start(data, tasks[0], worlds, threads, step_limit=3)
    rollout = asyncio.run(played(episode, [reply("look")] * 5))
    assert (len(rollout.steps), rollout.ended, rollout.success) == (3, "step_limit", False)
    assert rollout.ended_because == "step limit"


def test_stopped_for_want_of_room(data, tasks, worlds, threads):
    episode = start(data, tasks[0], worlds, threads)
    asyncio.run(episode.begin())
    episode.stop("no room for another reply")
    rollout = episode.rollout()
    assert (rollout.ended, rollout.success, rollout.ended_because) == ("stopped", False, "no room for another reply")


def test_a_dialogue_grows_and_turns_show_a_window(data, tasks, worlds, threads):
    async def both():
        for layout in ("dialogue", "turns"):
            episode = start(data, tasks[0], worlds, threads, layout=layout, history=2)
            await episode.begin()
            seen = []
            for number in range(4):
                seen.append(episode.messages())
                await episode.act(reply("look" if number % 2 else "inventory"), 3)
            seen.append(episode.messages())
            yield layout, seen, episode

    async def check():
        async for layout, seen, episode in both():
            if layout == "dialogue":
                assert all(after[: len(before)] == before for before, after in pairwise(seen))
                assert len(seen[-1]) == len(seen[0]) + 8
            else:
                assert [len(messages) for messages in seen] == [2] * 5
                assert "The last 2" in seen[-1][-1]["content"]
                assert "The last" not in episode.messages(history=0)[-1]["content"]

    asyncio.run(check())


def test_an_environment_that_hangs_costs_its_episode_alone(data, tasks, worlds, threads, monkeypatch):
    step = AlfWorldEnv.step
    monkeypatch.setattr(AlfWorldEnv, "step", lambda self, action: time.sleep(0.5) or step(self, action))
    slow = start(data, tasks[0], worlds, threads, timeout=0.05)
    rollout = asyncio.run(played(slow, [reply("look")] * 3))
    assert (rollout.ended, len(rollout.steps)) == ("error", 0)
    assert "took more than 0.05 s" in rollout.ended_because
    monkeypatch.setattr(AlfWorldEnv, "step", step)
    assert worlds.lost == 1
    other = asyncio.run(played(start(data, tasks[0], worlds, threads), [reply("look")]))
    assert len(other.steps) == 1
    time.sleep(0.6)
    assert rollout.steps == (), "what comes late changes nothing"


def test_too_many_that_hang(data, tasks, worlds, threads, monkeypatch):
    monkeypatch.setattr(worlds_module, "MOST_LOST", 2)
    for _ in range(2):
        worlds.lose()
    with pytest.raises(EnvironmentFailure, match="2 environments of this worker hang"):
        asyncio.run(start(data, tasks[0], worlds, threads).begin())


def test_a_task_that_cannot_be_played(data, worlds, threads):
    rollout = asyncio.run(played(start(data, "no-such-task", worlds, threads), [reply("look")]))
    assert (rollout.ended, rollout.steps, rollout.success) == ("error", (), False)
    assert "no-such-task" in rollout.ended_because


def test_environments_are_used_again_and_never_shared(data, tasks, worlds, threads):
    async def many():
        episodes = [start(data, task, worlds, threads) for task in tasks[:6]]
        await asyncio.gather(*(episode.begin() for episode in episodes))
        used = {id(episode._env) for episode in episodes}
        rollouts = [episode.rollout() for episode in episodes]
        again = start(data, tasks[0], worlds, threads)
        await again.begin()
        return len(used), id(again._env) in used, [r.task for r in rollouts]

    count, reused, played_tasks = asyncio.run(many())
    assert (count, reused, played_tasks) == (6, True, tasks[:6])


def test_it_travels(data, tasks, worlds, threads):
    rollout = asyncio.run(played(start(data, tasks[0], worlds, threads), [reply("look"), "nonsense"]))
    field = carried(rollout, first=0, count=2, spans=[(0, 3), (5, 9)])
    [back] = gather([field], [0, 9], padding=[False]).batch
    assert back == rollout
    assert back.ended_because == rollout.ended_because


@pytest.mark.parametrize("env", ["webshop"])
def test_other_environments(env, worlds, threads):
    world = open_world(EnvSpec(env))
    task = world.tasks[0]
    episode = start("", task, worlds, threads, env=env)
    rollout = asyncio.run(played(episode, [reply("search[lamp]"), reply("click[nowhere]"), "x"]))
    assert [step.valid for step in rollout.steps] == [True, False, False]
    assert rollout.has_states
    assert rollout.goal
