"""Continuations: an episode is brought to some point of it, and the policy goes on from there, many times.

What the policy has read by then and what the environment has been through are given apart, so that they can be made to
differ. Every continuation has the same number of steps left, whatever came before it, and no limit on its text. Its
draws come from a generator of its own, seeded by the point's name and the continuation's number: points that share a
name share their luck, which lessens the noise of their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from proas.envs.base import Environment, World
from proas.keys import digest
from proas.training.play import Conversation, Played, PlaySettings, Words, converse, draw
from proas.training.policy.base import LanguagePolicy

__all__ = ["Point", "Spoken", "continue_from"]

_TRIES = 16
"""Times that a forbidden action, spelled otherwise, is drawn anew."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """An action of the policy, to the token.

    Attributes:
        text: As the environment reads it.
        tokens: As the policy wrote it.
    """

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of an episode.

    Attributes:
        name: Decides the draws.
        task: Key of the task.
        number: Seed of whatever is random in the environment.
        actions: What was carried out before it, in order.
        tokens: What the policy has read and said by then.
        horizon: Steps that are left; not 0.
        forbidden: An action that the policy must not take as its next one; it is free afterwards.
    """

    name: str
    task: str
    number: int
    actions: tuple[str, ...]
    tokens: tuple[int, ...]
    horizon: int
    forbidden: Spoken | None = None


class _Continuation(Conversation):
    """An episode that is gone on with from a point."""

    def __init__(self, env: Environment, point: Point, number: int, how: PlaySettings) -> None:
        super().__init__(env, None, point.task, point.number, how)
        for action in point.actions:
            result = env.step(action)
            if result.done:
                msg = f"the episode {point.name!r} is over before the point that is to be gone on from"
                raise ValueError(msg)
        self.point = point
        self.tokens = list(point.tokens)
        self.uniforms = np.random.default_rng(int(digest("continue", how.seed, how.label, point.name, number), 16))


@torch.inference_mode()
def continue_from(
    world: World, policy: LanguagePolicy, points: Sequence[Point], repeats: int, how: PlaySettings
) -> list[list[bool | None]]:
    """Go on from points, all at once.

    Args:
        world: Their tasks.
        policy: Who goes on.
        points: Where from.
        repeats: Continuations of each.
        how: Temperature (above 0 where an action is forbidden), seed, label, and limits of the texts' pieces.

    Returns:
        Of each point, whether each continuation solved the task; ``None`` where the policy had nothing to say but what
        is forbidden.
    """
    how = replace(how, limits=replace(how.limits, episode=_room(points, how)))
    groups = [
        [_Continuation(_environment(world, point, how), point, number, how) for number in range(repeats)]
        for point in points
    ]
    talks = [talk for group in groups for talk in group]
    lost = _first_actions(policy, [talk for talk in talks if talk.point.forbidden is not None], how)
    live: list[Conversation] = [talk for talk in talks if talk.ended is None and id(talk) not in lost]
    if live:
        converse(policy, live, how, Played())
    return [[None if id(talk) in lost else talk.ended == "success" for talk in group] for group in groups]


def _environment(world: World, point: Point, how: PlaySettings) -> Environment:
    """One that ends when the point's horizon does."""
    return world.environment(step_limit=len(point.actions) + point.horizon, rewards=how.rewards)


def _room(points: Sequence[Point], how: PlaySettings) -> int:
    """Tokens that no continuation can outgrow: its steps are what ends it."""
    step = how.limits.action + how.limits.observation
    return max((len(point.tokens) + (point.horizon + 1) * step for point in points), default=1)


def _first_actions(policy: LanguagePolicy, talks: list[_Continuation], how: PlaySettings) -> set[int]:
    """Let each take a first action that is not the forbidden one; answers with those that could not.

    The draw is that of the policy under the condition that the whole action differs: with ``p_j`` the probability of
    the forbidden action's token j and ``R_j`` that of all from j on, the forbidden token's probability after the same
    tokens is multiplied by ``1 - R_{j+1}``; the others keep theirs. Where another spelling comes to the same words, the
    action is drawn anew.
    """
    rest = {id(talk.point): _probability_of_rest(policy, talk.point, how) for talk in talks}
    waiting = talks
    for _ in range(_TRIES):
        if not waiting:
            break
        said = _speak(policy, waiting, rest, how)
        again: list[_Continuation] = []
        for talk, words in zip(waiting, said, strict=True):
            assert talk.point.forbidden is not None
            action = policy.write(words.tokens)
            if action.split() == talk.point.forbidden.text.split():
                again.append(talk)
                continue
            answer = talk.act(action, len(words.tokens))
            if talk.ended is None:
                talk.tokens += [*words.tokens, *policy.read(answer, how.limits.observation)]
        waiting = again
    return {id(talk) for talk in waiting}


def _probability_of_rest(policy: LanguagePolicy, point: Point, how: PlaySettings) -> list[float]:
    """``R_1`` to ``R_{n+1}`` of the forbidden action after what the point's policy has read; the last is 1."""
    assert point.forbidden is not None
    written = point.forbidden.tokens
    tokens = torch.tensor([[*point.tokens, *written]])
    places = torch.arange(len(point.tokens) - 1, len(point.tokens) - 1 + len(written))
    scores, _ = policy.score(tokens, torch.zeros_like(places), places)
    logprobs = torch.log_softmax(scores.double() / how.temperature, dim=-1)
    each = logprobs.gather(1, torch.tensor(written).unsqueeze(1)).squeeze(1)
    return [*each.flip(0).cumsum(0).flip(0).exp().tolist(), 1.0]


def _speak(
    policy: LanguagePolicy, talks: Sequence[_Continuation], rest: dict[int, list[float]], how: PlaySettings
) -> list[Words]:
    """One action of each, word by word, under the condition."""
    session, scores, _ = policy.begin([talk.tokens for talk in talks])
    words = [Words(talk, policy.end, how) for talk in talks]
    going = list(range(len(words)))
    while going:
        draw(
            _conditioned(scores[going], [(talks[r], words[r]) for r in going], rest, how),
            [words[r] for r in going],
            how.temperature,
        )
        going = [row for row in going if not words[row].finished]
        if going:
            said: list[list[int]] = [[] for _ in words]
            for row in going:
                said[row] = [words[row].tokens[-1]]
            scores, _ = session.say(said)
    return words


def _conditioned(
    scores: torch.Tensor, rows: Sequence[tuple[_Continuation, Words]], rest: dict[int, list[float]], how: PlaySettings
) -> torch.Tensor:
    """Scores ``(B, V)`` under the condition that no row's action becomes the forbidden one."""
    changed = scores.clone()
    for row, (talk, word) in enumerate(rows):
        forbidden = talk.point.forbidden
        assert forbidden is not None
        done = len(word.tokens)
        if done >= len(forbidden.tokens) or tuple(word.tokens) != forbidden.tokens[:done]:
            continue
        left = max(0.0, 1.0 - rest[id(talk.point)][done + 1])
        factor = float(np.log(left)) if left > 0 else float("-inf")
        changed[row, forbidden.tokens[done]] += how.temperature * factor
    return changed
