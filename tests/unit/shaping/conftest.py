"""Builders of small labelled rollouts in a world whose states are places on a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from proas.rollouts import Label, Rollout, RolloutBatch, State, Step

Builder = Callable[..., Rollout]


def _state(place: object, task: str) -> State:
    facts = place if isinstance(place, tuple) else (f"at {place}",)
    return State.of("line", task, facts)


def _flags(text: str | Sequence[bool] | None, length: int) -> list[bool]:
    if text is None:
        return [True] * length
    flags = [flag in ("1", True) for flag in text]
    assert len(flags) == length
    return flags


def _rollout(
    name: str,
    walk: Sequence[object],
    *,
    won: bool = False,
    reasonable: str | Sequence[bool] | None = None,
    progress: str | Sequence[bool] | None = None,
    valid: str | Sequence[bool] | None = None,
    seeks: str | None = None,
    rewards: Sequence[float] | None = None,
    tokens: Sequence[int] | None = None,
    task: str = "task",
    covered: bool | None = True,
    reward: float | None = None,
    **more: Any,
) -> Rollout:
    """A rollout along ``walk``; flags as strings of 0 and 1; progress defaults to reasonable, drift follows."""
    count = len(walk) - 1
    re, ok = _flags(reasonable, count), _flags(valid, count)
    pa = re if progress is None else _flags(progress, count)
    seek = [False] * count if seeks is None else _flags(seeks, count)
    steps = []
    for t, place in enumerate(walk[1:]):
        drift = sum(not flag for flag in pa[t:])
        label = Label(reasonable=re[t], progress=pa[t], drift=drift) if covered else None
        steps.append(
            Step(
                action=f"walk to {place}",
                canonical=f"walk to {place}",
                observation=f"You are at {place}.",
                state=_state(place, task),
                valid=ok[t],
                seeks=seek[t],
                reward=rewards[t] if rewards else 0.0,
                tokens=tokens[t] if tokens else 1,
                label=label,
            )
        )
    outcome = (1.0 if won else 0.0) if reward is None else reward
    return Rollout(
        id=name,
        env="line",
        task=task,
        observation=f"You are at {walk[0]}.",
        start=_state(walk[0], task),
        steps=tuple(steps),
        success=won,
        reward=outcome,
        covered=covered,
        **more,
    )


@pytest.fixture(scope="session")
def rollout() -> Builder:
    return _rollout


@pytest.fixture(scope="session")
def batch() -> Callable[..., RolloutBatch]:
    def build(rollouts: Iterable[Rollout]) -> RolloutBatch:
        return RolloutBatch(tuple(rollouts))

    return build
