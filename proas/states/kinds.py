"""What is known of the states of each environment, by its name: ours, and those that others register."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from proas.errors import UsageError
from proas.plugins import load_plugins
from proas.rollouts import State
from proas.states.observer import Observed, StateObserver
from proas.subgoals import Ladder

if TYPE_CHECKING:
    from proas.states.lifting import Lifting

__all__ = ["Follower", "StateKind", "register", "state_kind", "state_names"]


class Follower(Protocol):
    """Follows an episode in a running environment, whose hidden state it may read."""

    def begin(self, env: Any, observation: str) -> State:
        """State of an episode that was just reset."""
        ...

    def observe(self, env: Any, action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        """State after an action, its canonical form, and whether it looked for something."""
        ...


def _no_goal(observation: str) -> str:
    del observation
    return ""


@dataclass(frozen=True, slots=True)
class StateKind:
    """The states of one environment.

    Attributes:
        name: Name of the environment, the ``env`` of its rollouts.
        observer: Reads states of a task, given its key and goal text, from text alone.
        ladder: Subgoals of a task, given its key and goal text.
        goal: The goal text that a first observation states, else empty.
        follower: Reads states from a running environment's hidden state; ``None`` where text is all there is.
        command: Canonical form of a command of the environment, before it is carried out; used to find the command
            that a canonical action stands for.
        lifting: Roles of a task's names, given its key and goal text (``proas.states.lifting``); ``None`` where names
            have no roles, and ``None`` as its answer for a goal of no known family.
    """

    name: str
    observer: Callable[[str, str], StateObserver]
    ladder: Callable[[str, str], Ladder]
    goal: Callable[[str], str] = _no_goal
    follower: Callable[[Any], Follower] | None = None
    command: Callable[[str], str] = str.strip
    lifting: Callable[[str, str], Lifting | None] | None = None


_KINDS: dict[str, StateKind] = {}


def register(kind: StateKind) -> None:
    """Make the states of an environment known. Registering the same kind again changes nothing.

    Raises:
        UsageError: The name is taken by another.
    """
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise UsageError(f"states of an environment {kind.name!r} are registered already", hint="choose another name")


def state_kind(env: str) -> StateKind | None:
    """What is known of an environment's states; ``None`` where nothing is."""
    _load()
    return _KINDS.get(env)


def state_names() -> tuple[str, ...]:
    """Names of the environments whose states are known, sorted."""
    _load()
    return tuple(sorted(_KINDS))


def _load() -> None:
    from proas.states.alfworld.kind import ALFWORLD, ALFWORLD_KNOWLEDGE
    from proas.states.scienceworld.kind import SCIENCEWORLD
    from proas.states.webshop.kind import WEBSHOP

    for kind in (ALFWORLD, ALFWORLD_KNOWLEDGE, SCIENCEWORLD, WEBSHOP):
        _KINDS.setdefault(kind.name, kind)
    load_plugins()
