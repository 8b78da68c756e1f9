"""An episode as the policy saw it: one sequence of tokens, and where in it the policy's own words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from proas.rollouts import Rollout
from proas.training.config import TextSettings
from proas.training.policy.base import LanguagePolicy

__all__ = ["Episode", "TextLimits", "episode_of"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TextLimits:
    """How much text an episode may hold, in tokens.

    Attributes:
        prompt: Of the first observation; a longer one loses its middle.
        observation: Of each later observation; a longer one loses its middle.
        action: Of each action; one that does not end by then is taken as it is.
        episode: Of the whole; an episode that would grow beyond ends and has failed.
    """

    prompt: int = 256
    observation: int = 96
    action: int = 16
    episode: int = 4096

    @classmethod
    def of(cls, settings: TextSettings) -> TextLimits:
        """Those that a run's settings name."""
        return cls(**settings.model_dump())


@dataclass(frozen=True, slots=True)
class Episode:
    """One rollout and its tokens. S of its steps are the policy's own; their actions have A tokens in all.

    Attributes:
        rollout: The record that goes to labels and shaping.
        tokens: The whole conversation, ``(T,)``: prompt, action, observation, action, ...; the answer to the last
            action is left out, as nothing follows it.
        starts: Place of each action's first token, ``(S,)``.
        counts: Tokens of each action, its end included, ``(S,)``.
        logprobs: Log-probability of each action token when it was drawn, at the temperature of drawing, ``(A,)``.
        values: The critic's value before each action, ``(S,)``.
        entropy: Mean entropy of the distributions that the action tokens were drawn from, in nats.
        given: How many of the rollout's first steps were given (``proas.training.starts``); they are history, and no
            words of the policy.
    """

    rollout: Rollout
    tokens: Ints
    starts: Ints
    counts: Ints
    logprobs: Floats
    values: Floats
    entropy: float = 0.0
    given: int = 0

    @property
    def action_places(self) -> Ints:
        """Place before each action token, whose scores predict it, ``(A,)``."""
        return np.concatenate(
            [np.arange(s - 1, s - 1 + c, dtype=np.int32) for s, c in zip(self.starts, self.counts, strict=True)]
            or [np.zeros(0, dtype=np.int32)]
        )

    def with_rollout(self, rollout: Rollout) -> Episode:
        """The same tokens under a record with more fields filled."""
        return replace(self, rollout=rollout)


def prompt_text(goal: str, observation: str) -> str:
    """What the policy reads first: the observation, led by the goal where it does not state it."""
    return observation if goal in observation else f"Your task is to: {goal}\n{observation}"


def episode_of(rollout: Rollout, policy: LanguagePolicy, limits: TextLimits) -> Episode:
    """The tokens of a rollout that somebody else played, for imitation; its log-probabilities are zero.

    An episode beyond the limit is cut before the step that does not fit.
    """
    tokens = list(policy.read(prompt_text(rollout.goal, rollout.observation), limits.prompt))
    starts: list[int] = []
    counts: list[int] = []
    answer: Sequence[int] = ()
    for step in rollout.steps:
        action = policy.read_action(step.action)
        if len(tokens) + len(answer) + len(action) > limits.episode:
            break
        tokens += answer
        starts.append(len(tokens))
        counts.append(len(action))
        tokens += action
        answer = policy.read(step.observation, limits.observation)
    return Episode(
        rollout=rollout,
        tokens=np.array(tokens, dtype=np.int32),
        starts=np.array(starts, dtype=np.int32),
        counts=np.array(counts, dtype=np.int32),
        logprobs=np.zeros(sum(counts), dtype=np.float32),
        values=np.zeros(len(starts), dtype=np.float32),
    )
