"""Labels: a batch of rollouts to one statement's parameters, and its answer back onto the steps."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from proas.errors import GraphCapacityError, GraphNotFound, GraphUnavailable, UsageError
from proas.graph.client import Client
from proas.keys import transition_key
from proas.rollouts import Label, Rollout, RolloutBatch, Step

__all__ = ["OnFailure", "label_batch", "label_parameters", "with_labels"]

OnFailure = Literal["raise", "passthrough"]
"""What labelling does when the graph cannot be asked: fail, or hand the batch on unlabelled and say so."""


def label_batch(
    client: Client,
    name: str,
    batch: RolloutBatch,
    *,
    version: int | None,
    on_failure: OnFailure,
    min_support: int = 1,
) -> RolloutBatch:
    """See :meth:`proas.graph.store.ReferenceGraph.label`."""
    if min_support < 1:
        raise UsageError(f"min_support is {min_support}, and every transition has a support of at least 1")
    with _collector_paused():
        groups = _by_task(batch)
        try:
            k, answers = _ask(client, name, list(groups.values()), version, min_support)
        except GraphUnavailable:
            if on_failure == "raise":
                raise
            return RolloutBatch(tuple(_unlabelled(r, name, None) for r in batch), batch.rejects)
        return _apply(batch, groups, name, k, answers)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No garbage collection for the time of one batch.

    Thousands of small records are made and none of them can form a cycle, but each few hundred would make the collector
    walk through all objects of the trainer; that took twice as long as the labelling.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _apply(
    batch: RolloutBatch, groups: Mapping[str, Sequence[Rollout]], name: str, k: int, answers: Sequence[_Answer]
) -> RolloutBatch:
    labelled: dict[str, Rollout] = {}
    for rollouts, answer in zip(groups.values(), answers, strict=True):
        for rollout, verdicts in zip(rollouts, answer.verdicts, strict=True):
            labelled[rollout.id] = (
                _unlabelled(rollout, name, k)
                if verdicts is None
                else _labelled(rollout, name, k, verdicts, answer.distances)
            )
    return RolloutBatch(tuple(labelled.get(r.id) or _unlabelled(r, name, k) for r in batch), batch.rejects)


def label_parameters(batch: RolloutBatch) -> list[dict[str, Any]]:
    """The parameter ``tasks`` of the statement ``label_batch``; rollouts without states are left out."""
    return [_task(group) for group in _by_task(batch).values()]


def _by_task(batch: RolloutBatch) -> dict[str, list[Rollout]]:
    """Rollouts with states by task; the others cannot be looked up."""
    groups: dict[str, list[Rollout]] = {}
    for rollout in batch:
        if rollout.has_states:
            groups.setdefault(rollout.task, []).append(rollout)
    return groups


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the graph says of some rollouts of one task.

    Attributes:
        distances: Known distances by state key.
        verdicts: For each rollout ``[Re, PA, D]``, ``None`` when the task is unknown.
    """

    distances: Mapping[str, int]
    verdicts: Sequence[Sequence[Any] | None]


def _ask(
    client: Client, name: str, groups: Sequence[Sequence[Rollout]], version: int | None, min_support: int
) -> tuple[int, list[_Answer]]:
    """One round trip; only a batch beyond the server's transaction memory takes more, all as of one version."""
    tasks = [_task(group) for group in groups]
    try:
        row = client.rows("label_batch", graph=name, version=version, min_support=min_support, tasks=tasks)[0]
    except GraphCapacityError:
        if len(groups) > 1:
            middle = len(groups) // 2
            k, first = _ask(client, name, groups[:middle], version, min_support)
            _, second = _ask(client, name, groups[middle:], k, min_support)
            return k, first + second
        rollouts = groups[0]
        if len(rollouts) < 2:
            raise
        middle = len(rollouts) // 2
        k, [some] = _ask(client, name, [rollouts[:middle]], version, min_support)
        _, [others] = _ask(client, name, [rollouts[middle:]], k, min_support)
        return k, [_Answer({**some.distances, **others.distances}, [*some.verdicts, *others.verdicts])]
    if row["current"] is None or row["dropping"]:
        raise GraphNotFound(f"there is no graph {name!r}", hint="`proas graph list` shows them")
    k = row["k"]
    if not 0 <= k <= row["current"]:
        raise GraphNotFound(f"graph {name!r} has no version {k}", hint=f"its versions are 0 to {row['current']}")
    return k, [_answer(task, *answer) for task, answer in zip(tasks, row["labels"], strict=True)]


def _answer(task: Mapping[str, Any], distances: Sequence[Sequence[int]], verdicts: Sequence[Any]) -> _Answer:
    places = task["places"]
    return _Answer({places[i]: far for i, far in distances}, verdicts)


def _task(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Parameters of one task: each distinct transition and state once, rollouts as numbers."""
    number: dict[tuple[str, str, str], int] = {}
    places: dict[str, None] = {}
    encoded = [_numbered(rollout, number, places) for rollout in rollouts]
    keys = [transition_key(source, action, target) for source, action, target in number]
    return {"key": rollouts[0].task, "transitions": keys, "places": list(places), "rollouts": encoded}


def _numbered(
    rollout: Rollout, number: dict[tuple[str, str, str], int], places: dict[str, None]
) -> dict[str, list[int]]:
    """A rollout as numbers of its transitions, and of its states by first visit; one pass, as it is hot."""
    assert rollout.start is not None
    here = rollout.start.key
    first = {here: 0}
    steps: list[int] = []
    states = [0]
    for t, step in enumerate(rollout.steps, start=1):
        assert step.state is not None
        assert step.canonical is not None
        there = step.state.key
        steps.append(number.setdefault((here, step.canonical, there), len(number)))
        states.append(first.setdefault(there, t))
        here = there
    places |= dict.fromkeys(first)
    return {"steps": steps, "states": states}


def _labelled(
    rollout: Rollout, name: str, k: int, verdicts: Sequence[Sequence[Any]], distances: Mapping[str, int]
) -> Rollout:
    assert rollout.start is not None
    far = [distances.get(rollout.start.key)]
    far += [distances.get(step.state.key) for step in rollout.steps if step.state is not None]
    steps = with_labels(rollout.steps, map(_label, *verdicts), far)
    return rollout.model_copy(update={"steps": steps, "covered": True, "graph": name, "version": k})


def _unlabelled(rollout: Rollout, name: str, k: int | None) -> Rollout:
    """A rollout whose advantages pass through; labels of an earlier graph do not survive."""
    update: dict[str, Any] = {"covered": False, "graph": name, "version": k}
    if any(step.label is not None for step in rollout.steps):
        blank = {"label": None, "distance_before": None, "distance": None}
        update["steps"] = tuple(step.model_copy(update=blank) for step in rollout.steps)
    return rollout.model_copy(update=update)


def with_labels(steps: Iterable[Step], labels: Iterable[Label], far: Sequence[int | None]) -> tuple[Step, ...]:
    """Copies of steps with their labels: ``model_copy`` for thousands of steps at once.

    Records are frozen, so copies may share what ``model_copy`` duplicates for each; half of a whole labelling was spent
    there.

    Args:
        steps: The T steps.
        labels: A label for each.
        far: Distances of the T + 1 states, start first.
    """
    made = []
    before: set[str] = set()
    after = {"label", "distance_before", "distance"}
    for step, label, here, there in zip(steps, labels, far[:-1], far[1:], strict=True):
        if step.__pydantic_fields_set__ != before:
            before = step.__pydantic_fields_set__
            after = before | {"label", "distance_before", "distance"}
        copied = object.__new__(Step)
        copied.__dict__.update(step.__dict__, label=label, distance_before=here, distance=there)
        _set(copied, "__pydantic_fields_set__", after)
        _set(copied, "__pydantic_extra__", step.__pydantic_extra__)
        _set(copied, "__pydantic_private__", None)
        made.append(copied)
    return tuple(made)


_set = object.__setattr__


@lru_cache(maxsize=4096)
def _label(reasonable: bool, progress: bool, drift: int) -> Label:
    """One object for each verdict; a batch has thousands of steps and few different ones."""
    return Label(reasonable=reasonable, progress=progress, drift=drift)
