"""What matters in a task, from its kind and its words: the same whether the hidden state is looked at or the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from proas.envs.scienceworld.goal import Family

__all__ = ["COOLERS", "HEATERS", "Relevance"]

HEATERS = frozenset({"stove", "oven", "blast furnace", "hot plate", "fire pit"})
COOLERS = frozenset({"fridge", "freezer", "ultra low temperature freezer"})

_VESSELS = frozenset({"pot", "cup", "bowl", "jug", "jar", "glass"})
_WIRING = frozenset({"wire", "battery", "generator", "panel", "switch", "bulb", "motor", "buzzer"})
_TOOLS: Mapping[Family, frozenset[str]] = {
    "matter": _VESSELS | {"thermometer", "lighter", "wood"},
    "melting": _VESSELS | {"thermometer", "lighter", "wood"},
    "thermometer": frozenset({"thermometer"}),
    "circuit": _WIRING,
    "growth": _VESSELS | {"seed", "shovel", "soil"},
    "stages": frozenset(),
    "lifespan": frozenset(),
    "plane": frozenset({"stopwatch", "block", "brick"}),
}
"""Words in the names of what can be carried and is of use. Kinds that are not listed may need anything."""

_DEVICES: Mapping[Family, frozenset[str]] = {
    "matter": HEATERS | COOLERS | {"sink", "lighter"},
    "melting": HEATERS | COOLERS | {"sink", "lighter"},
    "growth": frozenset({"sink"}),
    "mixing": HEATERS | {"sink"},
    "circuit": frozenset({"switch", "gas generator", "nuclear generator", "wind generator", "generator"}),
    "plane": frozenset({"stopwatch"}),
    "thermometer": frozenset(),
    "find": frozenset(),
    "stages": frozenset(),
    "lifespan": frozenset(),
}
_LIQUIDS = frozenset({"matter", "melting", "growth", "mixing", "other"})


@dataclass(frozen=True, slots=True)
class Relevance:
    """What counts in one task.

    Attributes:
        family: The kind of task.
        goal: The task in words.
    """

    family: Family
    goal: str

    def carries(self, name: str, focused: tuple[str, ...] = ()) -> bool:
        """Whether it matters where a thing is.

        Args:
            name: The thing.
            focused: What the agent has focused on.
        """
        tools = _TOOLS.get(self.family)
        if tools is None or name in focused:
            return True
        return not tools.isdisjoint(name.split()) or self.names(name)

    def names(self, name: str) -> bool:
        """Whether the task's words name a thing."""
        plain = re.sub(r"[^a-z0-9]+", " ", self.goal.lower())
        return f" {name} " in f" {plain} "

    def runs(self, device: str) -> bool:
        """Whether it matters that a device is switched on."""
        devices = _DEVICES.get(self.family)
        return devices is None or device in devices

    @property
    def liquids(self) -> bool:
        """Whether it matters what was filled and poured."""
        return self.family in _LIQUIDS

    @property
    def wiring(self) -> bool:
        """Whether it matters what is connected."""
        return self.family in ("circuit", "other")

    @property
    def reading(self) -> bool:
        """Whether it matters what was read."""
        return self.family in ("mixing", "other")

    @property
    def measuring(self) -> bool:
        """Whether it matters that something was measured."""
        return self.family in ("thermometer", "melting")

    @property
    def timing(self) -> bool:
        """Whether it matters what the stopwatch has timed."""
        return self.family == "plane"

    @property
    def focuses(self) -> int:
        """How many things the agent is to focus on, one after the other, before a last one that wins."""
        if self.family in ("stages", "find", "circuit", "matter", "lifespan", "mixing"):
            return 4 if self.family == "stages" else 1
        return 2 if self.family in ("thermometer", "melting") else 1
