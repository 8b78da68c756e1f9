"""A typed view of what is hidden behind the text: the simulator's tree of objects and its table of sub-goals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ScienceWorldFacts", "Thing", "read_facts", "read_progress"]

_ROW = re.compile(r"^\d+\t(?P<done>true|false)\s+(?P<kind>\w+)\t(?P<told>.*)$")


@dataclass(frozen=True, slots=True)
class Thing:
    """One object of the world.

    Attributes:
        id: Number that it keeps through the episode.
        name: Its name.
        path: Names of what it lies in, the innermost first and the room last.
        holder: Number of what it lies in.
        active: It is a device, and switched on.
        open: It is a container or a door that can be closed, and is open.
        connected: Numbers of the electrical terminals that it is connected to.
        state: ``solid``, ``liquid`` or ``gas``; empty where it is made of nothing in particular.
    """

    id: str
    name: str
    path: tuple[str, ...]
    holder: str
    active: bool = False
    open: bool = False
    connected: tuple[str, ...] = ()
    state: str = ""


@dataclass(frozen=True, slots=True)
class ScienceWorldFacts:
    """The hidden state of an episode.

    Attributes:
        location: The room that the agent is in.
        things: Every object by its number, the terminals of circuits included.
        held: Numbers of the objects that lie in the agent's inventory.
        milestones: The task's sequential sub-goals, described and whether they are reached.
        deeds: Its unordered sub-goals, the same.
        score: The simulator's score in [-1, 1]; negative after a failure.
        moves: Time units that have passed.
    """

    location: str
    things: Mapping[str, Thing]
    held: tuple[str, ...]
    milestones: tuple[tuple[str, bool], ...]
    deeds: tuple[tuple[str, bool], ...]
    score: float
    moves: int

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        """The same as an unordered set of ``(predicate, argument, ...)``; objects go by name and number."""
        facts: set[tuple[str, ...]] = {("at", self.location)}
        facts |= {("holding", self.things[number].name, number) for number in self.held}
        for thing in self.things.values():
            facts.add(("in", thing.name, thing.id, thing.path[0] if thing.path else "", thing.holder))
            if thing.active:
                facts.add(("active", thing.name, thing.id))
            if thing.open:
                facts.add(("open", thing.name, thing.id))
            if thing.state:
                facts.add((thing.state, thing.name, thing.id))
            facts |= {("connected", thing.id, other) for other in thing.connected}
        facts |= {("reached", str(m)) for m, (_told, done) in enumerate(self.milestones) if done}
        facts |= {("done", str(n)) for n, (_told, done) in enumerate(self.deeds) if done}
        return frozenset(facts)


def read_facts(tree: str, progress: str, *, score: float, moves: int) -> ScienceWorldFacts:
    """The facts behind the simulator's JSON tree and its table of sub-goals."""
    things: dict[str, Thing] = {}
    inventory = ""
    for thing in _things(json.loads(tree), ()):
        things[thing.id] = thing
        if thing.name == "inventory" and thing.path[:1] == ("agent",):
            inventory = thing.id
    agent = things[things[inventory].holder]
    milestones, deeds = read_progress(progress)
    held = tuple(thing.id for thing in things.values() if thing.holder == inventory)
    return ScienceWorldFacts(agent.path[0], things, held, milestones, deeds, score, moves)


def read_progress(table: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """The sequential and the unordered sub-goals of the simulator's table, each described and whether it is reached."""
    sequential, _, unordered = table.partition("Unordered and Optional Subgoals")
    first, second = (
        tuple(
            (found["told"].strip() or found["kind"], found["done"] == "true")
            for found in map(_ROW.match, part)
            if found
        )
        for part in (sequential.splitlines(), unordered.splitlines())
    )
    return first, second


def _things(node: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Thing]:
    """Everything inside a node of the tree."""
    inner = path if node["name"] == "universe" else (node["name"], *path)
    for child in node["contents"].values():
        device, container = child.get("propDevice") or {}, child.get("propContainer") or {}
        portal, wiring = child.get("propPortal") or {}, child.get("propElectricalConnection") or {}
        closes = container.get("isClosable") or portal.get("isOpenable")
        yield Thing(
            id=child["uuid"],
            name=child["name"],
            path=inner,
            holder=node["uuid"],
            active=bool(device.get("isActivated")),
            open=bool(closes and (container.get("isOpen") or portal.get("isOpen"))),
            connected=tuple(wiring.get("connectedTo", ())),
            state=(child.get("propMaterial") or {}).get("stateOfMatter", ""),
        )
        yield from _things(child, inner)
