"""A parsed game: all that the engine needs, in a few kilobytes.

Objects, receptacles and places are numbered in the order of their PDDL names, which is the order of every list in the
text. A set of objects is an integer whose bit ``i`` stands for object ``i``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

from proas.envs.alfworld.data import Wording
from proas.envs.alfworld.goal import AlfWorldGoal
from proas.envs.alfworld.names import numbered_names
from proas.envs.alfworld.pddl import PddlError, Problem
from proas.envs.alfworld.rules import Rules, default_rules

__all__ = ["Game", "Snapshot", "bits", "build_game"]

NOWHERE = -1


class Snapshot(NamedTuple):
    """All that changes while a game is played. Immutable, so that search can keep as many as it likes.

    Attributes:
        place: Where the agent stands, an index into ``Game.places``.
        held: The object in hand, or -1.
        contents: Objects in each receptacle.
        opened: Receptacles that are open.
        hot, cool, clean, toggled, sliced: Objects in that condition.
        lying: Objects that count as lying at each place (for ``slice`` and ``look``).
        removed: Objects once taken out of each receptacle and not put back into it (for ``look``).
        attended: The receptacle that the agent last dealt with at this place, or -1.
    """

    place: int
    held: int
    contents: tuple[int, ...]
    opened: int
    hot: int
    cool: int
    clean: int
    toggled: int
    sliced: int
    lying: tuple[int, ...]
    removed: tuple[int, ...]
    attended: int = NOWHERE


@dataclass(frozen=True, slots=True)
class Game:
    """One game.

    Attributes:
        key: Task key ``<task>/<trial>``; empty for a game that has none.
        task: The sentence that states the task, as the game prints it.
        goal: What wins.
        rules: Wording and other differences between releases.
        receptacles, objects, places: Names in the text.
        receptacle_ids, object_ids: PDDL names.
        receptacle_kinds, object_kinds: Types without their ending, for example ``fridge``.
        receptacle_places: Place of each receptacle; -1 for one that cannot be reached.
        openable: Receptacles that open and close.
        accepts: Objects that each receptacle can contain.
        pickupable, heatable, coolable, cleanable, toggleable, sliceable, containers: Objects of that property.
        inner: Objects inside each container, which never change.
        goal_objects: Objects that can fulfil the goal.
        goal_receptacles: Receptacles that can.
        lamps: Lamps that can.
        knives: Objects that slice.
        initial: The situation at the start.
    """

    key: str
    task: str
    goal: AlfWorldGoal
    rules: Rules
    receptacles: tuple[str, ...]
    objects: tuple[str, ...]
    places: tuple[str, ...]
    receptacle_ids: tuple[str, ...]
    object_ids: tuple[str, ...]
    receptacle_kinds: tuple[str, ...]
    object_kinds: tuple[str, ...]
    receptacle_places: tuple[int, ...]
    openable: int
    accepts: tuple[int, ...]
    pickupable: int
    heatable: int
    coolable: int
    cleanable: int
    toggleable: int
    sliceable: int
    containers: int
    inner: dict[int, tuple[int, ...]]
    goal_objects: int
    goal_receptacles: tuple[int, ...]
    lamps: int
    knives: int
    initial: Snapshot
    receptacle_index: dict[str, int] = field(init=False, repr=False, compare=False)
    object_index: dict[str, int] = field(init=False, repr=False, compare=False)
    at_place: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive the indices that the engine looks things up in."""
        together: list[list[int]] = [[] for _ in self.places]
        for r, place in enumerate(self.receptacle_places):
            if place != NOWHERE:
                together[place].append(r)
        object.__setattr__(self, "receptacle_index", {name: i for i, name in enumerate(self.receptacles)})
        object.__setattr__(self, "object_index", {name: i for i, name in enumerate(self.objects)})
        object.__setattr__(self, "at_place", tuple(tuple(rs) for rs in together))

    def name_of(self, pddl: str) -> str | None:
        """Name in the text of an object or receptacle by its PDDL name; ``None`` where there is no such thing."""
        if pddl in self.object_ids:
            return self.objects[self.object_ids.index(pddl)]
        if pddl in self.receptacle_ids:
            return self.receptacles[self.receptacle_ids.index(pddl)]
        return None

    def in_wording(self, wording: Wording) -> Self:
        """The same game by the rules of the release with this wording: commands, arrivals, help, and which sinks clean.

        The task is stated as the game states it; every release has both of its templates.
        """
        rules = default_rules(wording)
        return self if self.rules == rules else replace(self, rules=rules)

    def to_json(self) -> dict[str, Any]:
        """The game as plain JSON values; ``from_json`` reads it back."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.init}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """A game from ``to_json``'s document. Raises ``KeyError``, ``TypeError`` or ``ValueError`` on another one."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        values["goal"] = AlfWorldGoal(**document["goal"])
        values["rules"] = Rules(**document["rules"])
        values["inner"] = {int(k): tuple(v) for k, v in document["inner"].items()}
        initial: list[Any] = [tuple(v) if isinstance(v, list) else v for v in document["initial"]]
        values["initial"] = Snapshot(*initial)
        return cls(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, AlfWorldGoal | Rules):
        return asdict(value)
    if isinstance(value, dict):
        return {str(k): list(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def bits(mask: int) -> list[int]:
    """Indices of the set bits, ascending."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def build_game(problem: Problem, goal: AlfWorldGoal, task: str, rules: Rules, key: str = "") -> Game:
    """Compile a problem into a game.

    Raises:
        PddlError: The agent is nowhere, or a fact has the wrong number of arguments.
    """
    try:
        return _Compiler(problem).game(goal, task, rules, key)
    except ValueError as error:
        raise PddlError(f"a fact has the wrong number of arguments ({error})") from error


class _Compiler:
    """Numbers the entities of a problem and turns its facts into masks."""

    def __init__(self, problem: Problem) -> None:
        self.facts = problem.facts
        self.names = numbered_names(problem.entities)
        placed = self.pairs("receptacleatlocation")
        receptacles = {r for r, _ in placed} | {r for r, _ in self.pairs("receptacletype")}
        objects = {o for p in ("objecttype", "objectatlocation", "inreceptacle") for o, _ in self.pairs(p)}
        places = {p for _, p in placed} | {p for _, p in self.pairs("atlocation")}
        places |= {p for _, p in self.pairs("objectatlocation")}
        self.receptacles = sorted(receptacles)
        self.objects = sorted(objects)
        self.places = sorted(places)
        self.r = {name: i for i, name in enumerate(self.receptacles)}
        self.o = {name: i for i, name in enumerate(self.objects)}
        self.p = {name: i for i, name in enumerate(self.places)}

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        return [(a, b) for a, b in self.facts.get(predicate, ())]

    def mask(self, predicate: str, index: dict[str, int]) -> int:
        return _mask(index[name] for (name,) in self.facts.get(predicate, ()) if name in index)

    def of_types(self, types: Collection[str]) -> int:
        return _mask(self.o[o] for o, t in self.pairs("objecttype") if t in types)

    def game(self, goal: AlfWorldGoal, task: str, rules: Rules, key: str) -> Game:
        where = dict(self.pairs("receptacleatlocation"))
        receptacle_type = dict(reversed(self.pairs("receptacletype")))
        object_type = dict(reversed(self.pairs("objecttype")))
        heatable, coolable = self.mask("heatable", self.o), self.mask("coolable", self.o)
        cleanable, sliceable = self.mask("cleanable", self.o), self.mask("sliceable", self.o)
        goal_objects = self.of_types((f"{goal.object}type",))
        if goal.treatment:
            goal_objects &= {"hot": heatable, "cool": coolable, "clean": cleanable}[goal.treatment]
        if goal.sliced:
            goal_objects &= sliceable
        toggleable = self.mask("toggleable", self.o)
        inner: dict[int, list[int]] = {}
        for a, b in self.pairs("inreceptacleobject"):
            if a in self.o and b in self.o:
                inner.setdefault(self.o[b], []).append(self.o[a])
        return Game(
            key=key,
            task=task,
            goal=goal,
            rules=rules,
            receptacles=tuple(self.names[r] for r in self.receptacles),
            objects=tuple(self.names[o] for o in self.objects),
            places=tuple(self.names[p] for p in self.places),
            receptacle_ids=tuple(self.receptacles),
            object_ids=tuple(self.objects),
            receptacle_kinds=tuple(receptacle_type.get(r, "").removesuffix("type") for r in self.receptacles),
            object_kinds=tuple(object_type.get(o, "").removesuffix("type") for o in self.objects),
            receptacle_places=tuple(self.p[where[r]] if r in where else NOWHERE for r in self.receptacles),
            openable=self.mask("openable", self.r),
            accepts=self.accepts(),
            pickupable=self.mask("pickupable", self.o),
            heatable=heatable,
            coolable=coolable,
            cleanable=cleanable,
            toggleable=toggleable,
            sliceable=sliceable,
            containers=self.mask("isreceptacleobject", self.o),
            inner={o: tuple(sorted(things)) for o, things in sorted(inner.items())},
            goal_objects=goal_objects,
            goal_receptacles=tuple(
                sorted({self.r[r] for r, t in self.pairs("receptacletype") if t == f"{goal.receptacle}type"})
            ),
            lamps=self.of_types((f"{goal.lamp}type",)) & toggleable if goal.lamp else 0,
            knives=self.of_types(("knifetype", "butterknifetype")),
            initial=self.initial(),
        )

    def accepts(self) -> tuple[int, ...]:
        by_type: dict[str, int] = {}
        for o, t in self.pairs("objecttype"):
            by_type[t] = by_type.get(t, 0) | 1 << self.o[o]
        holds: dict[str, int] = {}
        for receptacle_type, object_type in self.pairs("cancontain"):
            holds[receptacle_type] = holds.get(receptacle_type, 0) | by_type.get(object_type, 0)
        accepted = [0] * len(self.receptacles)
        for r, t in self.pairs("receptacletype"):
            accepted[self.r[r]] |= holds.get(t, 0)
        return tuple(accepted)

    def initial(self) -> Snapshot:
        standing = self.pairs("atlocation")
        if not standing:
            raise PddlError("the agent stands nowhere")
        contents, lying = [0] * len(self.receptacles), [0] * len(self.places)
        for o, r in self.pairs("inreceptacle"):
            if r in self.r:
                contents[self.r[r]] |= 1 << self.o[o]
        for o, p in self.pairs("objectatlocation"):
            lying[self.p[p]] |= 1 << self.o[o]
        held = [o for _, o in self.pairs("holds") if o in self.o]
        return Snapshot(
            place=self.p[standing[0][1]],
            held=self.o[held[0]] if held else NOWHERE,
            contents=tuple(contents),
            opened=self.mask("opened", self.r),
            hot=self.mask("ishot", self.o),
            cool=self.mask("iscool", self.o),
            clean=self.mask("isclean", self.o),
            toggled=self.mask("istoggled", self.o),
            sliced=self.mask("issliced", self.o),
            lying=tuple(lying),
            removed=(0,) * len(self.receptacles),
        )


def _mask(indices: Iterable[int]) -> int:
    mask = 0
    for i in indices:
        mask |= 1 << i
    return mask
