"""Plays a logged episode again: its actions in our environment, its observations beside ours."""

from __future__ import annotations

from dataclasses import dataclass

from proas.envs.base import Environment
from proas.errors import ProASError
from proas.graph_builders.trajectories.dialects import Dialect
from proas.rollouts import Rollout, State, Step
from proas.states import follower_for
from proas.subgoals import GOAL_REACHED

__all__ = ["Differs", "Replayed", "play_again"]

_THINK = "think"


@dataclass(frozen=True, slots=True)
class Replayed:
    """The environment confirms the episode.

    Attributes:
        rollout: The episode with the states of the environment; it ends with the step that won.
    """

    rollout: Rollout


@dataclass(frozen=True, slots=True)
class Differs:
    """The environment does not confirm the episode.

    Attributes:
        step: Index of the step that differs, from 0; -1 for the first observation; the number of steps where the end
            differs.
        reason: How, in words.
        kind: ``observation``, ``validity``, ``end`` or ``fault``.
    """

    step: int
    reason: str
    kind: str


def play_again(rollout: Rollout, env: Environment, dialect: Dialect, *, threshold: float) -> Replayed | Differs:
    """Carry a rollout's actions out in a running environment.

    Args:
        rollout: The episode; its task is one of the environment's.
        env: The environment.
        dialect: How its logs read.
        threshold: Least score of a success, in [0, 1]; below 1, an environment that tells its score decides by it.

    Returns:
        The episode with the environment's own states, or where the two part. Thoughts are not carried out.
    """
    try:
        return _Player(rollout, env, dialect, threshold).play()
    except ProASError as error:
        return Differs(-1, f"it cannot be played: {error.message}", "fault")


class _Player:
    def __init__(self, rollout: Rollout, env: Environment, dialect: Dialect, threshold: float) -> None:
        self._rollout = rollout
        self._env = env
        self._dialect = dialect
        self._threshold = threshold
        self._last = ""

    def play(self) -> Replayed | Differs:
        rollout, env = self._rollout, self._env
        follower = follower_for(env)
        observation, _info = env.reset(rollout.task)
        if rollout.observation and (how := self._dialect.difference(rollout.observation, observation, rollout.task)):
            return Differs(-1, how, "observation")
        start = state = follower.begin(env, observation)
        steps: list[Step] = []
        for t, step in enumerate(rollout.steps):
            command = self._dialect.command(env, step.action, step.observation)
            if command is None:
                steps.append(step.model_copy(update={"canonical": _THINK, "state": state, "valid": True}))
                continue
            result = env.step(command)
            info = result.info
            if (differs := self._compared(t, step, result.observation, valid=info.valid)) is not None:
                return differs
            seen = follower.observe(env, command, result.observation, valid=info.valid, won=info.won)
            state, self._last = seen.state, result.observation
            found = {"canonical": seen.canonical, "state": state, "valid": info.valid, "seeks": seen.seeks}
            steps.append(step.model_copy(update={**found, "observation": step.observation or result.observation}))
            if result.done:  # agents go on talking after the end
                break
        if not steps or not self._succeeded():
            return Differs(len(steps), "the environment does not confirm the success", "end")
        steps[-1] = self._as_won(steps[-1])
        won = {"start": start, "steps": tuple(steps), "success": True, "ended": "success"}
        told = {"observation": rollout.observation or observation, "goal": rollout.goal or env.goal_text}
        return Replayed(rollout.model_copy(update={**won, **told}))

    def _compared(self, t: int, step: Step, ours: str, *, valid: bool) -> Differs | None:
        if step.valid is False and valid:
            return Differs(
                t, f"the record says that {step.action!r:.80} was refused, the environment takes it", "validity"
            )
        if step.valid is not False and step.observation:
            how = self._dialect.difference(step.observation, ours, self._rollout.task)
            if how:
                return Differs(t, f"at {step.action!r:.80} {how}", "observation")
        return None

    def _succeeded(self) -> bool:
        if self._env.info.won:
            return True
        score = self._dialect.final_score(self._last)
        return score is not None and score >= self._threshold

    def _as_won(self, step: Step) -> Step:
        """The last step with the goal reached, also where a lower threshold makes the success."""
        assert step.state is not None
        facts = {*step.state.facts, GOAL_REACHED}
        return step.model_copy(update={"state": State.of(self._rollout.env, self._rollout.task, facts)})
