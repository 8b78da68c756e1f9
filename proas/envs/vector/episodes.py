"""Episodes played in this process, one a slot: what every vector and every worker does in the end."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from proas.envs.base import Environment, Info, Policy, RewardSettings, StepResult, World
from proas.envs.collect import Follower
from proas.envs.vector.records import Act, Again, Begin, Fault, FaultKind, Turn, fingerprint
from proas.errors import EnvironmentFailure, TaskError, UsageError

__all__ = ["Episodes", "FollowerMaker", "check_answer"]

FollowerMaker = Callable[[Environment], Follower]
"""Makes what says in which state an episode is; ``proas.states.follower_for`` is one."""


@dataclass(slots=True)
class _Episode:
    begin: Begin
    env: Environment
    policy: Policy | None
    follower: Follower | None
    steps: int = 0


class Episodes:
    """Plays episodes and answers for whatever goes wrong in them.

    A slot keeps its environment from episode to episode, until a fault makes it doubtful.

    Args:
        world: Where they are played.
        step_limit: Steps after which an unsolved episode is cut; ``None`` for the environment's usual number.
        rewards: What steps pay.
        follower: Makes what attaches states; ``None`` for none.
    """

    def __init__(
        self,
        world: World,
        *,
        step_limit: int | None = None,
        rewards: RewardSettings = RewardSettings(),
        follower: FollowerMaker | None = None,
    ) -> None:
        self._world = world
        self._step_limit = step_limit
        self._rewards = rewards
        self._follower = follower
        self._environments: dict[int, Environment] = {}
        self._episodes: dict[int, _Episode] = {}

    def begin(self, request: Begin) -> Turn:
        """Start an episode; the answer holds a fault where that fails."""
        slot, task = request.slot, request.task
        self._episodes.pop(slot, None)
        try:
            env = self._environments.pop(slot, None) or self._new()
            observation, info = env.reset(task, seed=request.seed)
            check_answer(observation, 0.0, info.won, info)
            player = request.player
            # Randomness for a simulation, not for secrets.
            policy = self._world.policy(player.policy, random.Random(player.seed)) if player else None  # noqa: S311
            follower = self._follower(env) if self._follower is not None else None
            state = follower.begin(env, observation) if follower is not None else None
            turn = Turn(slot, task, "", observation, 0.0, info.won, info, goal=env.goal_text, state=state)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an episode's fault must not end the others
            return Turn.of_fault(_fault(request, 0, error))
        self._environments[slot] = env
        if not turn.done:
            self._episodes[slot] = _Episode(request, env, policy, follower)
        return turn

    def act(self, request: Act) -> Turn:
        """Carry out one action; the answer holds a fault where that fails."""
        episode = self._episodes[request.slot]
        step = episode.steps + 1
        action = request.action
        try:
            if action is None:
                assert episode.policy is not None
                try:
                    action = episode.policy.act(episode.env)
                except EnvironmentFailure as error:
                    self._episodes.pop(request.slot)
                    return Turn.of_fault(Fault(request.slot, episode.begin.task, step, "policy", str(error)))
            turn = _stepped(episode, action)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an episode's fault must not end the others
            self._episodes.pop(request.slot)
            self._environments.pop(request.slot, None)
            return Turn.of_fault(_fault(episode.begin, step, error), action or "")
        episode.steps = step
        if turn.done:
            self._episodes.pop(request.slot)
        return turn

    def again(self, request: Again) -> Iterator[Turn | None]:
        """Play an episode up to where it was: one answer for the reset and one for each action.

        Yields:
            Nothing while all is as it was; at the first difference a turn with the fault, and no more.
        """
        begin = request.begin
        turn = self.begin(begin)
        for step, (action, expected) in enumerate(zip(("", *request.actions), request.fingerprints, strict=True)):
            if step:
                turn = self.act(Act(begin.slot, None if begin.player else action))
            if turn.fault is None and fingerprint(turn) != expected:
                self._episodes.pop(begin.slot, None)
                self._environments.pop(begin.slot, None)
                message = f"played again, {f'action {action!r}' if step else 'the reset'} had another result"
                turn = Turn.of_fault(Fault(begin.slot, begin.task, step, "diverged", message), action)
            if turn.fault is not None:
                yield turn
                return
            yield None

    def _new(self) -> Environment:
        return self._world.environment(step_limit=self._step_limit, rewards=self._rewards)


def _stepped(episode: _Episode, action: str) -> Turn:
    env, begin = episode.env, episode.begin
    result: StepResult = env.step(action)
    info = result.info
    check_answer(result.observation, result.reward, result.done, info)
    turn = Turn(begin.slot, begin.task, action, result.observation, float(result.reward), bool(result.done), info)
    if episode.follower is None:
        return turn
    seen = episode.follower.observe(env, action, result.observation, valid=info.valid, won=info.won)
    return replace(turn, state=seen.state, canonical=seen.canonical, seeks=seen.seeks)


def check_answer(observation: Any, reward: Any, done: Any, info: Any) -> None:
    """Refuse what a well-behaved environment never answers.

    Raises:
        EnvironmentFailure: It is no answer.
    """
    if not isinstance(observation, str):
        raise EnvironmentFailure(f"the observation is {type(observation).__name__}, not text")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
        raise EnvironmentFailure(f"the reward is {reward!r}, not a finite number")
    if not isinstance(done, bool) or not isinstance(info, Info):
        raise EnvironmentFailure(f"done is {done!r} and the info {type(info).__name__}: not what a step answers")


def _fault(begin: Begin, step: int, error: BaseException) -> Fault:
    kind: FaultKind = "error"
    problem = ""
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError):
        kind, message = "memory", "memory ran out"
    elif isinstance(error, EnvironmentFailure):
        message = str(error)
    elif step == 0 and isinstance(error, TaskError):
        kind, message, problem = "task", error.reason, error.problem
    elif step == 0 and isinstance(error, UsageError):
        kind, message, problem = "task", str(error), "unknown"
    return Fault(begin.slot, begin.task, step, kind, message, problem)
