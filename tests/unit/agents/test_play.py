"""Episodes played by a model, in environments that work and in ones that break."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from proas.agents import (
    NO_ACTION,
    Completion,
    EpisodeSettings,
    Job,
    Message,
    Prompter,
    PromptSettings,
    Sampling,
    Usage,
    play_all,
    play_episode,
)
from proas.envs import EnvSpec, StepResult, open_world
from proas.envs.webshop import WebShopEnv
from proas.errors import EnvironmentFailure, ModelUnavailable
from proas.rollouts import Rollout
from proas.states import attach_states, follower_for


class Speaker:
    """Says what a function of the number of its replies says."""

    name = "speaker"

    def __init__(self, says: Callable[[int], str]) -> None:
        self._says = says
        self.heard: list[Sequence[Message]] = []
        self.seeds: list[int | None] = []

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.heard.append(messages)
        self.seeds.append(sampling.seed)
        return Completion(self._says(len(self.heard) - 1), Usage(10, 5))

    async def check(self) -> None:
        return None

    async def aclose(self) -> None:
        return None


@pytest.fixture(scope="module")
def env() -> WebShopEnv:
    """The shop that ships with the package."""
    made = open_world(EnvSpec("webshop")).environment(step_limit=6)
    assert isinstance(made, WebShopEnv)
    return made


def _play(env: Any, says: Callable[[int], str], **given: Any) -> Rollout:
    settings = EpisodeSettings(**given.pop("settings", {}))
    prompter = Prompter("webshop", PromptSettings(**given.pop("prompts", {})))
    job = Job(env.tasks[0] if hasattr(env, "tasks") else given.pop("task"), 3)
    speaker = given.pop("speaker", None) or Speaker(says)
    return asyncio.run(play_episode(env, speaker, prompter, job, settings, follower_for(env), **given))


def _acting(*actions: str) -> Callable[[int], str]:
    return lambda number: f"<think>x</think><action>{actions[min(number, len(actions) - 1)]}</action>"


def test_an_episode_and_what_it_cost(env: WebShopEnv) -> None:
    speaker = Speaker(_acting("search[case]", "dance", "click[back to search]"))
    rollout = _play(env, lambda _n: "", speaker=speaker, settings={"sampling": Sampling(seed=1)})
    extra = rollout.model_extra or {}
    assert (rollout.ended, extra["cause"], rollout.success) == ("step_limit", "step_limit", False)
    assert [step.valid for step in rollout.steps][:3] == [True, False, True]
    assert (extra["prompt_tokens"], extra["completion_tokens"], extra["calls"]) == (60, 30, 6)
    assert rollout.id.endswith("#3")
    assert len(set(speaker.seeds)) == 6
    assert attach_states(rollout) == rollout
    again = Rollout.model_validate_json(rollout.model_dump_json(exclude_none=True))
    assert again.steps[1].model_extra == {"reply": "<think>x</think><action>dance</action>", "format": ""}


def test_a_strict_reading_plays_nothing_that_breaks_the_form(env: WebShopEnv) -> None:
    rollout = _play(env, lambda _n: "Action: search[case]", settings={"reading": "strict", "unreadable_limit": 2})
    assert [(s.action, s.valid) for s in rollout.steps] == [(NO_ACTION, False)] * 2
    assert (rollout.model_extra or {})["cause"] == "unreadable"
    tolerant = _play(env, lambda _n: "Action: search[case]")
    assert tolerant.steps[0].valid
    assert (tolerant.model_extra or {})["invalid_formats"] == 6


def test_a_cap_of_tokens_ends_an_episode(env: WebShopEnv) -> None:
    rollout = _play(env, _acting("search[case]"), settings={"token_cap": 31})
    assert (len(rollout.steps), rollout.ended, (rollout.model_extra or {})["cause"]) == (3, "stopped", "token_cap")


def test_an_episode_that_was_broken_off_goes_on_where_it_was(env: WebShopEnv) -> None:
    actions = ("search[case]", "hm", "click[next >]", "click[< prev]", "click[back to search]", "search[case]")

    def fails_at(number: int) -> Callable[[int], str]:
        def says(n: int) -> str:
            if n == number:
                raise ModelUnavailable("gone", tokens=4)
            return _acting(*actions)(n)

        return says

    whole = _play(env, _acting(*actions))
    broken = _play(env, fails_at(3))
    assert ((broken.model_extra or {})["cause"], broken.ended, len(broken.steps)) == ("unavailable", "error", 3)
    assert (broken.model_extra or {})["wasted_tokens"] == 4
    speaker = Speaker(lambda n: _acting(*actions)(n + 3))
    continued = _play(env, lambda _n: "", speaker=speaker, begun=broken)
    assert continued.steps == whole.steps
    assert len(speaker.heard) == 3
    assert (continued.model_extra or {})["prompt_tokens"] == 30
    changed = broken.model_copy(
        update={"steps": (broken.steps[0].model_copy(update={"observation": "Another shop."}), *broken.steps[1:])}
    )
    assert _play(env, _acting(*actions), begun=changed).steps == whole.steps


def test_an_interrupt_tells_how_far_it_was(env: WebShopEnv) -> None:
    told: list[Rollout] = []

    class Slow(Speaker):
        async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
            if len(self.heard) == 2:
                raise asyncio.CancelledError
            return await super().complete(messages, sampling)

    with pytest.raises(asyncio.CancelledError):
        _play(env, lambda _n: "", speaker=Slow(_acting("search[case]")), broken_off=told.append)
    assert [(len(one.steps), (one.model_extra or {})["cause"]) for one in told] == [(2, "interrupted")]


def test_an_environment_that_breaks_ends_the_episode_and_keeps_its_cost(
    env: WebShopEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = env.step

    def breaks(action: str) -> StepResult:
        if env.info.steps == 2:
            raise EnvironmentFailure("the shop burnt down")
        return step(action)

    monkeypatch.setattr(env, "step", breaks)
    rollout = _play(env, _acting("search[case]"))
    extra = rollout.model_extra or {}
    assert (extra["cause"], rollout.ended, extra["fault"]) == ("environment", "error", "the shop burnt down")
    assert (len(rollout.steps), extra["calls"]) == (2, 3)


def test_half_characters_of_an_environment_can_be_written_down(
    env: WebShopEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = env.step

    def odd(action: str) -> StepResult:
        result = step(action)
        return StepResult(f"\ud83d {result.observation}", result.reward, result.done, result.info)

    monkeypatch.setattr(env, "step", odd)
    speaker = Speaker(_acting("search[\ud83d case]"))
    rollout = _play(env, lambda _n: "", speaker=speaker)
    assert rollout.steps[0].observation.startswith("\ufffd ")
    rollout.model_dump_json()


def test_many_at_once_each_in_an_environment_of_its_own(env: WebShopEnv) -> None:
    jobs = [Job(task, number) for task in env.tasks[:4] for number in range(5)]
    under_way, most, made = 0, 0, 0
    outcomes: list[tuple[Job, Rollout | Exception]] = []

    def environments() -> WebShopEnv:
        nonlocal made
        made += 1
        return env

    async def player(_env: Any, job: Job) -> Rollout:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001 * (job.number % 3))
        under_way -= 1
        if job.number == 4:
            raise EnvironmentFailure("broken")
        return Rollout(id=f"{job.task}#{job.number}", env="webshop", task=job.task, success=False)

    asyncio.run(
        play_all(jobs, environments, player, lambda job, outcome: outcomes.append((job, outcome)), concurrency=3)
    )
    assert sorted(job.number for job, _ in outcomes) == sorted(job.number for job in jobs)
    assert sum(isinstance(outcome, EnvironmentFailure) for _, outcome in outcomes) == 4
    assert most == 3
    assert made == 3 + 4  # another one after each that broke


def test_what_the_listener_raises_ends_all() -> None:
    async def player(_env: Any, job: Job) -> Rollout:
        return Rollout(id=str(job.number), env="e", task=job.task, success=False)

    def full(_job: Job, _outcome: object) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        asyncio.run(play_all([Job("t", n) for n in range(9)], lambda: None, player, full, concurrency=3))  # type: ignore[arg-type, return-value]
