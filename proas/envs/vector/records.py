"""What passes between a vector of environments and its user, and between its processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Literal, Self

from proas.envs.base import Facts, Info
from proas.envs.collect import ended_by
from proas.errors import EnvironmentFailure
from proas.rollouts import Ended, State

__all__ = ["Act", "Again", "Begin", "Fault", "FaultKind", "NoFacts", "PackedInfo", "Player", "Turn", "fingerprint"]

FaultKind = Literal["timeout", "memory", "crash", "error", "diverged", "policy", "task"]
"""Why an episode was ended from outside.

``timeout``: a step or reset took longer than allowed. ``memory``: its process outgrew the cap, or memory ran out.
``crash``: its process ended. ``error``: the environment raised, or answered with what is no answer. ``diverged``: after
its process was replaced, the same actions had other results. ``policy``: the policy sees no way on. ``task``: the task
cannot be played at all.
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """An episode that did not end by itself.

    Attributes:
        slot: Where it was played.
        task: Key of its task.
        step: Number of the step under way, from 1; 0 for the reset.
        kind: What happened.
        message: The same in words.
        problem: Of a ``task``, the kind of fault (``proas.errors.TaskError.problem``); ``unknown`` where there is no
            such task.
    """

    slot: int
    task: str
    step: int
    kind: FaultKind
    message: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Player:
    """A policy of the world's own that plays an episode beside its environment, whose hidden state it may read.

    Attributes:
        policy: One of the world's ``policies``.
        seed: Source of its randomness.
    """

    policy: str
    seed: str


@dataclass(frozen=True, slots=True)
class NoFacts:
    """Of an episode that a fault ended, nothing is known."""

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        """None."""
        return frozenset()


_NO_FACTS = NoFacts()


class PackedInfo(Info):
    """An info from another process. Its facts are unpacked when they are asked for: most users never do."""

    __slots__ = ("_packed",)

    _packed: bytes

    @classmethod
    def of(cls, info: Info) -> PackedInfo:
        """The same info with its facts packed. Raises whatever pickling them raises."""
        return _packed_info(*(getattr(info, name) for name in _PLAIN), pickle.dumps(info.facts, protocol=5))

    @property
    def facts(self) -> Facts:
        """Typed view of the hidden state. Raises ``EnvironmentFailure`` where its class cannot be imported here."""
        try:
            found: Facts = pickle.loads(self._packed)  # noqa: S301  (our own worker wrote it)
        except Exception as error:
            raise EnvironmentFailure(f"the facts of an isolated episode cannot be read here: {error}") from error
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Info):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(Info))

    __hash__ = None  # type: ignore[assignment]  # facts need not be hashable

    def __reduce__(self) -> tuple[Callable[..., PackedInfo], tuple[Any, ...]]:
        return _packed_info, (*(getattr(self, name) for name in _PLAIN), self._packed)


def _packed_info(*values: Any) -> PackedInfo:
    made = PackedInfo.__new__(PackedInfo)
    for name, value in zip((*_PLAIN, "_packed"), values, strict=True):
        object.__setattr__(made, name, value)
    return made


_PLAIN = tuple(f.name for f in fields(Info) if f.name != "facts")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one slot answers to a reset or a step.

    Attributes:
        slot: The slot.
        task: Key of its episode's task.
        action: The action that was carried out; empty for a reset.
        observation: What the agent reads; empty after a fault.
        reward: Reward of the step; 0 for a reset and after a fault.
        done: The episode is over.
        info: What the environment says beside; after a fault nothing is admissible and the episode counts as truncated.
        fault: What ended the episode from outside, if anything did.
        goal: The goal as the agent reads it, with the answer to a reset; else empty.
        state: The state, where the vector attaches states.
        canonical: Canonical form of the action, where the vector attaches states.
        seeks: The step looked for something, where the vector attaches states.
    """

    slot: int
    task: str
    action: str
    observation: str
    reward: float
    done: bool
    info: Info
    fault: Fault | None = None
    goal: str = ""
    state: State | None = None
    canonical: str | None = None
    seeks: bool = False

    @classmethod
    def of_fault(cls, fault: Fault, action: str = "") -> Self:
        """The answer of an episode that was ended."""
        info = Info(admissible=(), valid=False, won=False, truncated=True, steps=fault.step, facts=_NO_FACTS)
        return cls(fault.slot, fault.task, action, "", 0.0, True, info, fault)

    @property
    def terminated(self) -> bool:
        """The episode came to an end of its own, as Gymnasium has it."""
        return self.done and not self.info.truncated

    @property
    def truncated(self) -> bool:
        """The episode was cut, by the step limit or by a fault, as Gymnasium has it."""
        return self.done and self.info.truncated

    @property
    def ended(self) -> Ended | None:
        """Why the episode ended, in a rollout's words; ``None`` while it goes on."""
        if self.fault is not None:
            return "error"
        return ended_by(self.info) if self.done else None


@dataclass(frozen=True, slots=True)
class Begin:
    """Start an episode.

    Attributes:
        slot: Where.
        task: Key of the task.
        seed: Source of whatever is random in the environment.
        player: Who plays it, if not the caller.
    """

    slot: int
    task: str
    seed: int
    player: Player | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Carry out an action.

    Attributes:
        slot: Where.
        action: The action; ``None`` for the one that the episode's player chooses.
    """

    slot: int
    action: str | None


@dataclass(frozen=True, slots=True)
class Again:
    """Play what was played of an episode before its process was lost.

    Attributes:
        begin: How it began.
        actions: What was done.
        fingerprints: What each came to, the reset first.
    """

    begin: Begin
    actions: tuple[str, ...]
    fingerprints: tuple[bytes, ...]

    @property
    def slot(self) -> int:
        """Where."""
        return self.begin.slot


def fingerprint(turn: Turn) -> bytes:
    """Eight bytes that differ where what came of an action differs, but for its facts."""
    info = turn.info
    seen = (turn.state.key if turn.state is not None else "", turn.canonical, turn.seeks)
    said = (turn.action, turn.observation, turn.reward, turn.done, info.admissible, info.valid, info.won)
    return blake2b(
        repr((said, info.truncated, info.steps, seen)).encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
