"""What a ScienceWorld task is called, which kind of task it is, and how the simulator says no.

A key is ``<task>/<variation>``, for example ``boil/3``; simplifications, which change the dynamics, follow after a plus
sign each: ``boil/3+easy``, ``grow-plant/0+openDoors+teleportAction``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from proas.errors import DataError, UsageError

__all__ = [
    "ENV",
    "SIMPLIFICATIONS",
    "Family",
    "ScienceWorldGoal",
    "family_of",
    "is_refusal",
    "parse_simplifications",
    "stated_goal",
]

ENV = "scienceworld"

SIMPLIFICATIONS = (
    "easy",
    "noElectricalAction",
    "openContainers",
    "openDoors",
    "selfWateringFlowerPots",
    "teleportAction",
)
"""Simplifications that the simulator knows; ``easy`` stands for a choice of the others that depends on the task."""

Family = Literal[
    "matter", "melting", "thermometer", "circuit", "find", "growth", "stages", "lifespan", "mixing", "plane", "other"
]
"""Tasks of one kind: they need the same sorts of things."""

_FAMILIES: tuple[tuple[str, Family], ...] = (
    ("boil", "matter"),
    ("melt", "matter"),
    ("freeze", "matter"),
    ("change-the-state-of-matter-of", "matter"),
    ("measure-melting-point", "melting"),
    ("use-thermometer", "thermometer"),
    ("power-component", "circuit"),
    ("test-conductivity", "circuit"),
    ("find-", "find"),
    ("grow-", "growth"),
    ("mendelian-genetics", "growth"),
    ("identify-life-stages", "stages"),
    ("lifespan", "lifespan"),
    ("chemistry-mix", "mixing"),
    ("inclined-plane", "plane"),
)

_KEY = re.compile(r"(?P<name>[a-z][a-z0-9-]*)/(?P<variation>[0-9]{1,6})(?P<simplifications>(?:\+[A-Za-z]+)*)")
_TASK = re.compile(r"^\s*task description:\s*(?P<goal>.+?)\s*(?:\n\s*\n|\Z)", re.IGNORECASE | re.DOTALL)

# How the simulator says that it carried nothing out: each action's own check, the parser, and the ambiguity prompt.
_REFUSAL = re.compile(
    "|".join(
        (
            r"no known action matches that input",
            r"ambiguous request:",
            r"unknown action\b",
            r"<?error\b",
            r"i'm not sure (?:what that means|how to)",
            r"it'?s not clear how to",
            r"something can't be connected to itself",
            r"connections must specify",
            r"you must disconnect entire objects",
            r"you can't (?:move something into itself|dunk something into itself|pick up a (?:liquid|gas)|pour a gas)",
            r"that can't be moved there",
            r"that object (?:already appears|does not appear) to be in the inventory",
            r"that is already flushing",
            r"the door doesn't appear to go anywhere",
            r"the .+ is not (?:something that can be activated|closeable|openable|moveable|edible|open|a container)\.",
            r"the .+ is already (?:activated|deactivated|open|closed)\.",
            r"the .+ the .+ is in is not movable",
            r"the .+ does not contain any liquids to dunk into",
            r"the liquids in .+ aren't able to move",
            r"the .+ appears broken, and can't be",
            r"the .+ isn't open, so you can't see inside",
            r"(?:the )?.+ can't be poured out",
            r"(?:the )?.+ is empty, so there's nothing to pour",
            r".+ is already connected, and must be disconnected",
        )
    ),
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ScienceWorldGoal:
    """One variation of a task.

    Attributes:
        name: Name of the task, for example ``boil``.
        variation: Number of the variation, from 0.
        simplifications: What is made easier, sorted.
    """

    name: str
    variation: int
    simplifications: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The task's key."""
        return "+".join((f"{self.name}/{self.variation}", *self.simplifications))

    @property
    def family(self) -> Family:
        """Which kind of task it is."""
        return family_of(self.name)

    @classmethod
    def from_key(cls, key: str) -> ScienceWorldGoal:
        """Read a key.

        Raises:
            DataError: It is not of this form, or a simplification is not known.
        """
        found = _KEY.fullmatch(key)
        if found is None:
            raise DataError(f"{key!r} is no ScienceWorld task", hint="a key reads like boil/3")
        try:
            chosen = parse_simplifications(found["simplifications"].strip("+"))
        except UsageError as error:
            raise DataError(f"{key!r}: {error.message}", hint=error.hint) from error
        return cls(found["name"], int(found["variation"]), chosen)


def family_of(name: str) -> Family:
    """The kind of a task by its name; ``other`` for one that this package does not know."""
    return next((family for start, family in _FAMILIES if name == start or name.startswith(start)), "other")


def parse_simplifications(text: str) -> tuple[str, ...]:
    """Simplifications separated by plus signs or commas, each once and sorted.

    Raises:
        UsageError: One is not known, or ``easy`` comes with others.
    """
    chosen = tuple(sorted({name for name in re.split(r"[+,\s]+", text) if name}))
    for name in chosen:
        if name not in SIMPLIFICATIONS:
            raise UsageError(f"unknown simplification {name!r}", hint="known: " + ", ".join(SIMPLIFICATIONS))
    if "easy" in chosen and len(chosen) > 1:
        raise UsageError("the simplification easy stands alone", hint="it implies the others")
    return chosen


def stated_goal(observation: str) -> str:
    """The goal that a first observation states, else empty."""
    found = _TASK.search(observation)
    return " ".join(found["goal"].split()) if found else ""


def is_refusal(answer: str) -> bool:
    """Whether an answer says that nothing was carried out."""
    return _REFUSAL.match(answer.strip()) is not None
