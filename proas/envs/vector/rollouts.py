"""Collects rollouts in many episodes at once, in the order and with the content that one at a time would give."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from proas.envs.collect import recorded_step, rollout_seed
from proas.envs.vector.base import VectorEnv
from proas.envs.vector.records import Player, Turn
from proas.errors import UsageError
from proas.rollouts import Reject, Rollout, Step

__all__ = ["collect_many"]

_AHEAD = 8
"""Rollouts begun for each slot before the oldest has ended: beyond that, what is finished waits in memory."""

_Place = tuple[str, int]
"""A task, and a number in its group."""


@dataclass(slots=True)
class _Growing:
    place: _Place
    first: Turn
    steps: list[Step] = field(default_factory=list)


def collect_many(
    vector: VectorEnv, tasks: Iterable[str], *, policy: str = "expert", group_size: int = 8, seed: int = 0
) -> Iterator[Rollout | Reject]:
    """Play a group of rollouts of each task, as many at once as the vector has slots.

    With the same seed they are those of :func:`proas.envs.collect.collect`, whatever the number of slots and workers:
    a slot that becomes free begins the next rollout at once.

    Args:
        vector: Where they are played; its step limit, rewards and states hold. What goes on in it is ended.
        tasks: Keys of those to play, in this order.
        policy: Name of one of the world's policies; it plays beside the environment, in its process.
        group_size: Rollouts of each task (G).
        seed: Source of all randomness.

    Yields:
        Rollouts ``<task>#0``, ``<task>#1``, ... of one task after the other; a reject in place of a task that cannot be
        played. A rollout that a fault ended has ``ended="error"``, the steps until then, and the fault in its field
        ``fault``; where the fault came with the reset, it has no step.

    Raises:
        UsageError: The world has no such policy or task, or the group size is not positive.
        EnvironmentFailure: The vector as a whole cannot go on.
    """
    if group_size < 1:
        raise UsageError(f"the group size must be at least 1, not {group_size}")
    collection = _Collection(vector, policy, seed)
    places = ((task, number) for task in tasks for number in range(group_size))
    yield from collection.run(places)


class _Collection:
    def __init__(self, vector: VectorEnv, policy: str, seed: int) -> None:
        self._vector = vector
        self._policy = policy
        self._seed = seed
        self._growing: dict[int, _Growing] = {}
        self._order: deque[_Place] = deque()
        self._done: dict[_Place, Rollout | Reject] = {}
        self._rejected: set[str] = set()
        self._told: set[str] = set()

    def run(self, places: Iterator[_Place]) -> Iterator[Rollout | Reject]:
        """Play them all."""
        exhausted = False
        while True:
            if not exhausted:
                exhausted = self._fill(places)
            yield from self._ripe()
            if self._growing:
                for turn in self._vector.advance(self._growing).values():
                    self._note(turn)
            elif exhausted:
                return

    def _fill(self, places: Iterator[_Place]) -> bool:
        """Begin rollouts in the free slots; says whether there are no more."""
        while free := [slot for slot in range(self._vector.size) if slot not in self._growing]:
            begun: dict[int, _Place] = {}
            for slot in free:
                if len(self._order) >= _AHEAD * self._vector.size:
                    break
                place = next((p for p in places if p[0] not in self._rejected), None)
                if place is None:
                    self._begin(begun)
                    return True
                begun[slot] = place
                self._order.append(place)
            if not begun:
                return False
            self._begin(begun)
        return False

    def _begin(self, begun: dict[int, _Place]) -> None:
        players = {
            slot: Player(self._policy, rollout_seed(self._seed, task, number)) for slot, (task, number) in begun.items()
        }
        tasks = {slot: task for slot, (task, _) in begun.items()}
        seeds = {slot: number for slot, (_, number) in begun.items()}
        for slot, turn in self._vector.reset(tasks, seeds=seeds, players=players).items():
            if slot in begun:
                self._growing[slot] = _Growing(begun[slot], turn)
                if turn.done:
                    self._finish(slot, turn)
            else:
                self._note(turn)

    def _note(self, turn: Turn) -> None:
        growing = self._growing.get(turn.slot)
        if growing is None:
            return  # of an episode that was under way before, and is none of ours
        if turn.fault is None:
            growing.steps.append(
                recorded_step(
                    turn.action,
                    turn.observation,
                    turn.reward,
                    valid=turn.info.valid,
                    state=turn.state,
                    canonical=turn.canonical,
                    seeks=turn.seeks,
                )
            )
        if turn.done:
            self._finish(turn.slot, turn)

    def _finish(self, slot: int, turn: Turn) -> None:
        growing = self._growing.pop(slot)
        task, number = growing.place
        fault = turn.fault
        if fault is not None and fault.kind == "task":
            if fault.problem == "unknown":
                raise UsageError(fault.message)
            self._done[growing.place] = Reject(f"{fault.problem}: {fault.message}", source=self._vector.name, id=task)
            self._rejected.add(task)
            return
        first, steps = growing.first, growing.steps
        rollout = Rollout(
            id=f"{task}#{number}",
            env=self._vector.name,
            task=task,
            goal=first.goal,
            observation=first.observation,
            start=first.state,
            steps=tuple(steps),
            success=turn.ended == "success",
            reward=sum(step.reward for step in steps),
            score=turn.info.score,
            ended=turn.ended or "error",
        )
        if fault is not None and fault.kind != "policy":
            rollout = rollout.model_copy(update={"fault": f"{fault.kind}: {fault.message}"})
        self._done[growing.place] = rollout

    def _ripe(self) -> Iterator[Rollout | Reject]:
        """What is finished and has nothing unfinished before it."""
        while self._order and self._order[0] in self._done:
            place = self._order.popleft()
            made = self._done.pop(place)
            if place[0] in self._told:
                continue  # a task is rejected once; what else was begun of its group goes with it
            if isinstance(made, Reject):
                self._told.add(place[0])
            yield made
