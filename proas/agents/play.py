"""A language model plays: one episode, or many at once against one endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from proas.agents.budget import BudgetSpent
from proas.agents.endpoint import PromptRefused
from proas.agents.model import Completion, LanguageModel, Sampling, Usage, whole_text
from proas.agents.prompts import Prompter, Turn
from proas.agents.replies import NO_ACTION, Reading, Reply, full_text, parse_reply
from proas.envs import Environment, StepResult
from proas.envs.collect import Follower
from proas.errors import EnvironmentFailure, ModelError, ProASError, StateError
from proas.keys import digest
from proas.rollouts import Ended, Rollout, State, Step

__all__ = ["UNFINISHED", "Cause", "EpisodeSettings", "Job", "Player", "play_all", "play_episode"]

Cause = str
"""Why an episode ended, finer than ``ended``: ``won``, ``step_limit``, ``not_won`` (the environment ended it),
``token_cap``, ``unreadable`` (too many replies in a row without an action), ``refused`` (the prompt was),
``environment`` (it failed), ``unavailable`` (the model was), ``budget``, ``interrupted``."""

_LONGEST_REPLY = 50_000
"""Characters of a reply that are kept with its step."""

UNFINISHED = frozenset({"unavailable", "budget", "interrupted"})
"""Causes that say nothing of the player: the episode was broken off from outside and may be continued."""


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """How an episode is played.

    Attributes:
        sampling: How replies are drawn. A seed becomes another one for each task, attempt and step.
        reading: What becomes of replies that do not keep to the form.
        token_cap: Tokens after which an episode is given up; ``None`` for no cap.
        unreadable_limit: Replies in a row without an action after which it is given up; ``None`` for no limit.
    """

    sampling: Sampling = field(default_factory=Sampling)
    reading: Reading = "tolerant"
    token_cap: int | None = None
    unreadable_limit: int | None = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to be played.

    Attributes:
        task: Key of the task.
        number: Number of the attempt at the task, from 0.
    """

    task: str
    number: int


class _Episode:
    """What has happened so far; ``usage`` and the like since it was begun or continued."""

    def __init__(self) -> None:
        self.observation = ""
        self.admissible: tuple[str, ...] = ()
        self.start: State | None = None
        self.turns: list[Turn] = []
        self.steps: list[Step] = []
        self.usage = Usage()
        self.wasted = 0
        self.calls = 0
        self.invalid_formats = 0
        self.unreadable = 0
        self.fault: ProASError | None = None

    @property
    def tokens(self) -> int:
        return self.usage.total + self.wasted

    def heard(self, completion: Completion, reply: Reply) -> None:
        """Count a reply."""
        self.usage += completion.usage
        self.wasted += completion.wasted
        self.calls += completion.calls
        self.invalid_formats += not reply.format_valid
        self.unreadable = 0 if reply.readable else self.unreadable + 1


async def play_episode(
    env: Environment,
    model: LanguageModel,
    prompter: Prompter,
    job: Job,
    settings: EpisodeSettings | None = None,
    follower: Follower | None = None,
    *,
    begun: Rollout | None = None,
    broken_off: Callable[[Rollout], object] | None = None,
) -> Rollout:
    """Let a model play one episode.

    Args:
        env: Where; it plays nothing else meanwhile.
        model: Who.
        prompter: Makes what the model reads.
        job: The task and the number of the attempt, which is the seed of whatever is random in the environment.
        settings: How.
        follower: Attaches states, if given.
        begun: The same episode as it was broken off before. Its steps are carried out again without asking the model,
            and the episode goes on from there; where the environment answers otherwise, it begins anew.
        broken_off: Told of the episode as it stands when this call is cancelled.

    Returns:
        The rollout ``<task>#<number>``. A step's ``tokens`` are those that the model wrote for it; ``reply`` has its
        words and ``format`` what is wrong with their form. Of the rollout, ``cause`` says why it ended (:data:`Cause`),
        ``model`` who played, ``prompt_tokens``, ``completion_tokens``, ``wasted_tokens``, ``tokens_estimated`` and
        ``calls`` what it cost since it was begun or continued, ``invalid_formats`` how many replies broke the form
        since then, ``fault`` what the model's failure was. A failure of the model ends the episode; it is never raised.

    Raises:
        TaskError: The task cannot be played.
        UsageError: There is no such task.
    """
    settings = settings or EpisodeSettings()
    episode = _Episode()
    cause = _begin(env, episode, job, follower)
    if begun is not None and begun.steps and not cause and not _continue(env, episode, begun, follower):
        episode = _Episode()
        cause = _begin(env, episode, job, follower)
    try:
        while not cause:
            cause = await _turn(env, episode, model, prompter, job, settings, follower)
    except asyncio.CancelledError:
        if broken_off is not None:
            broken_off(_rollout(env, model.name, job, episode, "interrupted"))
        raise
    return _rollout(env, model.name, job, episode, cause)


def _begin(env: Environment, episode: _Episode, job: Job, follower: Follower | None) -> Cause:
    """Reset the environment; returns why the episode is over already, usually empty."""
    observation, info = env.reset(job.task, seed=job.number)
    episode.observation = whole_text(observation)
    episode.admissible = info.admissible
    episode.start = follower.begin(env, episode.observation) if follower is not None else None
    return "won" if info.won else ""


def _continue(env: Environment, episode: _Episode, begun: Rollout, follower: Follower | None) -> bool:
    """Carry out again what was done before; false where the environment does not answer as it did."""
    if begun.observation != episode.observation:
        return False
    for step in begun.steps:
        words = (step.model_extra or {}).get("reply", "")
        reply = Reply(step.action, "", format_valid=True, readable=step.action != NO_ACTION)
        try:
            result = _act(env, episode, reply, str(words), step, follower)
        except (EnvironmentFailure, StateError):
            return False
        if episode.steps[-1].observation != step.observation or result.done:
            return False
    return True


async def _turn(
    env: Environment,
    episode: _Episode,
    model: LanguageModel,
    prompter: Prompter,
    job: Job,
    settings: EpisodeSettings,
    follower: Follower | None,
) -> Cause:
    """Ask for one action and carry it out; returns why the episode is over, empty while it is not."""
    offered = episode.admissible
    messages = prompter.messages(env.goal_text, episode.observation, episode.turns, admissible=offered)
    try:
        completion = await model.complete(messages, _seeded(settings.sampling, job, len(episode.steps)))
    except ModelError as error:
        episode.fault = error
        episode.wasted += error.tokens
        return _cause_of(error)
    text = whole_text(full_text(completion))
    reply = parse_reply(
        text, admissible=env.info.admissible, thoughts=prompter.settings.thoughts, reading=settings.reading
    )
    episode.heard(completion, reply)
    blank = Step(action=reply.action, tokens=completion.usage.completion)
    blank = blank.model_copy(update={"reply": text[:_LONGEST_REPLY], "format": reply.problem})
    try:
        result = _act(env, episode, reply, text, blank, follower)
    except (EnvironmentFailure, StateError) as error:
        episode.fault = error
        return "environment"
    if result.done:
        return "won" if result.info.won else "step_limit" if result.info.truncated else "not_won"
    if settings.token_cap is not None and episode.tokens >= settings.token_cap:
        return "token_cap"
    if settings.unreadable_limit is not None and episode.unreadable >= settings.unreadable_limit:
        return "unreadable"
    return ""


def _act(
    env: Environment, episode: _Episode, reply: Reply, words: str, blank: Step, follower: Follower | None
) -> StepResult:
    """Carry out an action and write down the step, which keeps all else that ``blank`` holds."""
    result = env.step(reply.action)
    info = result.info
    valid = info.valid and reply.readable
    observation = whole_text(result.observation)
    known = {"observation": observation, "reward": result.reward, "valid": valid}
    if follower is not None:
        seen = follower.observe(env, reply.action, result.observation, valid=valid, won=info.won)
        known |= {"canonical": seen.canonical, "state": seen.state, "seeks": seen.seeks}
    episode.steps.append(blank.model_copy(update=known))
    episode.turns.append(Turn(words, reply.action, observation, info.admissible, reply.readable))
    return result


def _seeded(sampling: Sampling, job: Job, step: int) -> Sampling:
    """The same sampling with a seed of the step's own, so that neither attempts nor steps repeat each other."""
    if sampling.seed is None:
        return sampling
    return replace(sampling, seed=int(digest("sampling", sampling.seed, job.task, job.number, step)[:7], 16))


def _cause_of(error: ModelError) -> Cause:
    if isinstance(error, BudgetSpent):
        return "budget"
    return "refused" if isinstance(error, PromptRefused) else "unavailable"


_ENDED: dict[Cause, Ended] = {
    "won": "success",
    "step_limit": "step_limit",
    "not_won": "stopped",
    "token_cap": "stopped",
    "unreadable": "stopped",
}


def _rollout(env: Environment, model: str, job: Job, episode: _Episode, cause: Cause) -> Rollout:
    fields = {
        "id": f"{job.task}#{job.number}",
        "env": env.name,
        "task": job.task,
        "goal": whole_text(env.goal_text),
        "observation": episode.observation,
        "start": episode.start,
        "steps": tuple(episode.steps),
        "success": cause == "won",
        "reward": sum(step.reward for step in episode.steps),
        "ended": _ENDED.get(cause, "error"),
        "attempt": job.number,
        "cause": cause,
        "model": model,
        "prompt_tokens": episode.usage.prompt,
        "completion_tokens": episode.usage.completion,
        "wasted_tokens": episode.wasted,
        "tokens_estimated": episode.usage.estimated,
        "calls": episode.calls,
        "invalid_formats": episode.invalid_formats,
        "fault": str(episode.fault) if episode.fault is not None else "",
    }
    return Rollout.model_validate(fields)


Player = Callable[[Environment, Job], Awaitable[Rollout]]
"""Plays one job in an environment that is free."""


async def play_all(
    jobs: Iterable[Job] | Iterator[Job],
    environments: Callable[[], Environment],
    player: Player,
    done: Callable[[Job, Rollout | Exception], None],
    *,
    concurrency: int = 16,
) -> None:
    """Play many episodes, so many at once, each in an environment of its own.

    Args:
        jobs: What to play. Asked for one by one, when an environment is free: an iterator may decide late.
        environments: Makes an environment: one for each episode under way, and another after an error.
        player: Plays one job, usually with :func:`play_episode`.
        done: Told of every rollout and of every error that a player raised, as they come. What it raises ends all.
        concurrency: Episodes under way at once.
    """
    waiting = iter(jobs)

    async def serve(first: Job) -> None:
        env = environments()
        job: Job | None = first
        while job is not None:
            try:
                rollout = await player(env, job)
            except Exception as error:  # noqa: BLE001  # one task's fault must not end the others; ``done`` decides
                done(job, error)
                env = environments()  # whatever broke may have broken this one
            else:
                done(job, rollout)
            job = next(waiting, None)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                first = next(waiting, None)
                if first is None:
                    break
                group.create_task(serve(first))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None  # ``done`` raised; the others were only told to stop
