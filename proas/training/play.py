"""Multi-turn rollouts in batch: a policy plays many episodes at once, one conversation a row.

Every rollout draws its words from numbers of its own, seeded by the run's seed, the iteration, its task and its
number in the group: what it does depends on no other rollout of the batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from proas.envs.base import Environment, RewardSettings, World
from proas.envs.collect import Follower, ended_by, taken_step
from proas.errors import TaskError
from proas.keys import digest
from proas.rollouts import Ended, Reject, Rollout, State, Step
from proas.training.episodes import Episode, TextLimits, prompt_text
from proas.training.objective import entropy_of
from proas.training.policy.base import LanguagePolicy, Session
from proas.training.starts import GivenWay, command_for

__all__ = ["Conversation", "PlaySettings", "Played", "Words", "converse", "draw", "play_tasks"]


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """How episodes are played.

    Attributes:
        group_size: Rollouts of each task (G).
        temperature: Of drawing; 0 takes the likeliest token.
        seed: Source of all randomness.
        label: Part of every rollout's id and of its seed, for example ``iteration 3``.
        step_limit: Steps after which an unsolved episode is cut; ``None`` for the environment's usual number.
        rewards: What steps pay.
        limits: Text that an episode may hold.
        given: By task, what is walked for the last rollouts of its group before the policy takes over.
    """

    group_size: int = 8
    temperature: float = 1.0
    seed: int = 0
    label: str = ""
    step_limit: int | None = None
    rewards: RewardSettings = field(default_factory=RewardSettings)
    limits: TextLimits = field(default_factory=TextLimits)
    given: Mapping[str, GivenWay] = field(default_factory=dict)


@dataclass(slots=True)
class Played:
    """What came of it.

    Attributes:
        episodes: In the order of the tasks, groups together.
        rejects: Tasks that cannot be played.
        environment_seconds: Time inside the environment, states included.
        policy_seconds: Time inside the policy, texts included.
    """

    episodes: list[Episode] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    environment_seconds: float = 0.0
    policy_seconds: float = 0.0


class Conversation:
    """One episode under way, from its beginning.

    Args:
        env: Where; it plays nothing else meanwhile.
        follower: Attaches states, if given.
        task: Key of the task.
        number: Its number in the group: of the environment's randomness, and of the draws'.
        how: Settings.

    Attributes:
        tokens: Everything that was read and said so far.
        uniforms: The numbers that the draws take.
        ended: Why the episode is over; ``None`` while it is not.
        given: How many of the first steps were given.
    """

    def __init__(self, env: Environment, follower: Follower | None, task: str, number: int, how: PlaySettings) -> None:
        self.env = env
        self.how = how
        self.task = task
        self.number = number
        self.follower = follower
        self.observation, info = env.reset(task, seed=number)
        self.start: State | None = follower.begin(env, self.observation) if follower is not None else None
        self.goal = env.goal_text
        self.steps: list[Step] = []
        self.ended: Ended | None = "success" if info.won else None
        self.tokens: list[int] = []
        self.starts: list[int] = []
        self.counts: list[int] = []
        self.logprobs: list[float] = []
        self.values: list[float] = []
        self.entropy = 0.0
        self.given = 0
        self.uniforms = np.random.default_rng(int(digest("play", how.seed, how.label, task, number), 16))

    def walk(self, way: GivenWay) -> bool:
        """Carry given actions out, before the policy says anything.

        Returns:
            Whether each led to the state that it should, and the episode goes on.
        """
        for action, key in zip(way.actions, way.states, strict=True):
            self.act(command_for(self.env, action), 0)
            reached = self.steps[-1].state
            if self.ended is not None or reached is None or reached.key != key:
                return False
        self.given = len(self.steps)
        return True

    def act(self, action: str, count: int) -> str:
        """Carry an action out and answer with what the environment says."""
        step, result = taken_step(self.env, action, self.follower, tokens=count)
        self.steps.append(step)
        if result.done:
            self.ended = ended_by(result.info)
        return result.observation

    def episode(self) -> Episode:
        """The finished record."""
        label = f"{self.how.label}/" if self.how.label else ""
        rollout = Rollout(
            id=f"{label}{self.task}#{self.number}",
            env=self.env.name,
            task=self.task,
            goal=self.goal,
            observation=self.observation,
            start=self.start,
            steps=tuple(self.steps),
            success=self.ended == "success",
            reward=sum(step.reward for step in self.steps),
            score=self.env.info.score,
            ended=self.ended or "stopped",
        )
        return Episode(
            rollout=rollout,
            tokens=np.array(self.tokens, dtype=np.int32),
            starts=np.array(self.starts, dtype=np.int32),
            counts=np.array(self.counts, dtype=np.int32),
            logprobs=np.array(self.logprobs, dtype=np.float32),
            values=np.array(self.values, dtype=np.float32),
            entropy=self.entropy / max(1, len(self.logprobs)),
            given=self.given,
        )


@torch.inference_mode()
def play_tasks(
    world: World,
    policy: LanguagePolicy,
    tasks: Iterable[str],
    how: PlaySettings,
    follower: Callable[[Environment], Follower] | None = None,
) -> Played:
    """Play a group of episodes of each task, all at once.

    Args:
        world: Tasks.
        policy: Who plays.
        tasks: Keys, each once.
        how: Settings.
        follower: Makes what attaches states to rollouts; without it they carry none.
    """
    done = Played()
    clock = time.perf_counter()
    talks = _open(world, tasks, how, follower, done)
    done.environment_seconds += time.perf_counter() - clock
    live = [talk for talk in talks if talk.ended is None]
    for talk in live:
        talk.tokens += policy.read(prompt_text(talk.goal, talk.observation), how.limits.prompt)
        for step in talk.steps:  # what was given is history
            talk.tokens += policy.read_action(step.action)
            talk.tokens += policy.read(step.observation, how.limits.observation)
    if live:
        converse(policy, live, how, done)
    done.episodes = [talk.episode() for talk in talks]
    return done


def _open(
    world: World,
    tasks: Iterable[str],
    how: PlaySettings,
    follower: Callable[[Environment], Follower] | None,
    done: Played,
) -> list[Conversation]:
    talks: list[Conversation] = []
    for task in tasks:
        try:
            group = [_begun(world, task, number, how, follower) for number in range(how.group_size)]
            way = how.given.get(task)
            if way is not None and not all(talk.walk(way) for talk in group[how.group_size - way.count :]):
                # Some state on the way was another than the graph has: all begin at the task's own start.
                group = [_begun(world, task, number, how, follower) for number in range(how.group_size)]
        except TaskError as error:
            done.rejects.append(Reject(f"{error.problem}: {error.reason}", source=world.name, id=task))
            continue
        talks += group
    return talks


def _begun(
    world: World, task: str, number: int, how: PlaySettings, follower: Callable[[Environment], Follower] | None
) -> Conversation:
    env = world.environment(step_limit=how.step_limit, rewards=how.rewards)
    return Conversation(env, follower(env) if follower is not None else None, task, number, how)


class Words:
    """The action that a conversation is about to say.

    Args:
        talk: The conversation.
        end: Token that ends an action.
        how: Settings.

    Attributes:
        tokens: The words so far.
    """

    def __init__(self, talk: Conversation, end: int, how: PlaySettings) -> None:
        self.tokens: list[int] = []
        self._talk = talk
        self._end = end
        self._most = how.limits.action

    @property
    def finished(self) -> bool:
        """Whether the action is over."""
        return bool(self.tokens) and (self.tokens[-1] == self._end or len(self.tokens) >= self._most)

    def uniform(self) -> float:
        """The number that decides the next word, in [0, 1)."""
        return float(self._talk.uniforms.random())

    def add(self, token: int, logprob: float, entropy: float) -> None:
        """Say a word."""
        self.tokens.append(token)
        self._talk.logprobs.append(logprob)
        self._talk.entropy += entropy


def draw(scores: Tensor, words: Sequence[Words], temperature: float) -> None:
    """Draw the next word of each row from its scores ``(B, V)``."""
    logprobs = torch.log_softmax(scores / temperature if temperature > 0 else scores, dim=-1)
    probabilities = logprobs.exp()
    if temperature > 0:
        reached = probabilities.cumsum(dim=-1)
        # A hair below one, so that rounding never points behind the last possible word.
        target = torch.tensor([word.uniform() for word in words]).unsqueeze(1) * reached[:, -1:] * (1 - 1e-6)
        chosen = (reached <= target).sum(dim=-1)
    else:
        chosen = logprobs.argmax(dim=-1)
    drawn = logprobs.gather(1, chosen.unsqueeze(1)).squeeze(1)
    entropies = entropy_of(logprobs)
    for word, token, logprob, entropy in zip(words, chosen.tolist(), drawn.tolist(), entropies.tolist(), strict=True):
        word.add(token, logprob, entropy)


def converse(policy: LanguagePolicy, live: list[Conversation], how: PlaySettings, done: Played) -> None:
    """Play to the end of all episodes.

    Args:
        policy: Who plays.
        live: Episodes that are not over, with what the policy is to read before its next action.
        how: Settings.
        done: Its seconds are counted up.
    """
    clock = time.perf_counter()
    session, scores, values = policy.begin([talk.tokens for talk in live])
    while True:
        words = _speak(policy, session, live, how, scores)
        actions = [policy.write(word.tokens) for word in words]
        for talk, word, value in zip(live, words, values.tolist(), strict=True):
            talk.values.append(value)
            talk.starts.append(len(talk.tokens))
            talk.counts.append(len(word.tokens))
            talk.tokens += word.tokens
        clock, spent = time.perf_counter(), time.perf_counter() - clock
        done.policy_seconds += spent
        answers = [talk.act(action, len(word.tokens)) for talk, word, action in zip(live, words, actions, strict=True)]
        clock, spent = time.perf_counter(), time.perf_counter() - clock
        done.environment_seconds += spent
        said: list[list[int]] = []
        going: list[int] = []
        for row, (talk, word, answer) in enumerate(zip(live, words, answers, strict=True)):
            if talk.ended is not None:
                continue
            read = policy.read(answer, how.limits.observation)
            if len(talk.tokens) + len(read) + how.limits.action > how.limits.episode:
                talk.ended = "stopped"
                continue
            talk.tokens += read
            said.append([word.tokens[-1], *read])  # the action's last word was not said yet
            going.append(row)
        if not going:
            break
        if len(going) < len(live):
            session.keep(going)
            live = [live[row] for row in going]
        scores, values = session.say(said)
    done.policy_seconds += time.perf_counter() - clock


def _speak(
    policy: LanguagePolicy, session: Session, live: Sequence[Conversation], how: PlaySettings, scores: Tensor
) -> list[Words]:
    """One action of each row, word by word; its last word is drawn but not said yet."""
    words = [Words(talk, policy.end, how) for talk in live]
    draw(scores, words, how.temperature)
    while going := [row for row, word in enumerate(words) if not word.finished]:
        said: list[list[int]] = [[] for _ in words]
        for row in going:
            said[row] = [words[row].tokens[-1]]
        scores, _ = session.say(said)
        draw(scores[going], [words[row] for row in going], how.temperature)
    return words
