"""Furnishes a room for a task: receptacles at places, things in them, and the plan that solves the task."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from proas.envs.alfworld.annotations import PlanStep
from proas.envs.alfworld.furniture import OBJECTS, RECEPTACLES, ROOMS, RoomName
from proas.envs.alfworld.goal import AlfWorldGoal, GoalKind
from proas.envs.alfworld.names import pddl_name

__all__ = ["Furnished", "GoalChoice", "furnish"]

_ROOMS_FOR: dict[GoalKind, tuple[RoomName, ...]] = {
    "pick": ("kitchen", "living room", "bedroom", "bathroom"),
    "look": ("bedroom", "living room"),
    "clean": ("kitchen", "bathroom"),
    "heat": ("kitchen",),
    "cool": ("kitchen",),
    "two": ("kitchen", "living room", "bedroom", "bathroom"),
}
_TREATMENT = {
    "heat": ("HeatObject", "Microwave"),
    "cool": ("CoolObject", "Fridge"),
    "clean": ("CleanObject", "SinkBasin"),
}
_TRAIT = {"heat": "heatable", "cool": "coolable", "clean": "cleanable"}
_LAMP_STANDS = ("Desk", "SideTable", "Dresser", "Shelf", "CoffeeTable")
_SHARED_SPOT = 0.35
"""Probability that a receptacle is within reach from where the one before it of its kind is."""
_NESTED = 0.15
"""Probability that a container holds a piece of cutlery."""


@dataclass(slots=True)
class _Receptacle:
    kind: str
    id: str
    place: str
    openable: bool
    x: float
    z: float


@dataclass(slots=True)
class _Thing:
    kind: str
    id: str
    holder: _Receptacle | None
    place: str
    inside_of: str = ""


@dataclass(frozen=True, slots=True)
class GoalChoice:
    """What the task is about and how it is done.

    Attributes:
        object_kind: Kind of the object, as the simulator spells it.
        target_kind: Kind of the receptacle or lamp.
        steps: The plan.
    """

    object_kind: str
    target_kind: str
    steps: tuple[PlanStep, ...]


@dataclass(slots=True)
class Furnished:
    """A furnished room with its task.

    Attributes:
        goal: What wins.
        scene: Number of the scene.
        choice: The task and its plan.
        start: Where the agent stands at first.
    """

    goal: AlfWorldGoal
    scene: int
    choice: GoalChoice
    start: str
    _receptacles: list[_Receptacle] = field(default_factory=list)
    _things: list[_Thing] = field(default_factory=list)

    def declared(self) -> list[tuple[str, list[str]]]:
        """PDDL types and the names declared under each."""
        places = {self.start, *(r.place for r in self._receptacles), *(t.place for t in self._things)}
        return [
            ("otype", [f"{kind}Type" for kind in sorted({t.kind for t in self._things})]),
            ("rtype", [f"{kind}Type" for kind in sorted({r.kind for r in self._receptacles})]),
            ("object", sorted(_cased(t.id) for t in self._things)),
            ("receptacle", sorted(_cased(r.id) for r in self._receptacles)),
            ("location", sorted(_cased(place) for place in places)),
        ]

    def facts(self) -> Iterator[tuple[str, ...]]:
        """The facts of the initial state."""
        receptacles, things = sorted(self._receptacles, key=lambda r: r.id), sorted(self._things, key=lambda t: t.id)
        yield from (("receptacleType", _cased(r.id), f"{r.kind}Type") for r in receptacles)
        yield from (("objectType", _cased(t.id), f"{t.kind}Type") for t in things)
        object_kinds = sorted({t.kind for t in things})
        for kind in sorted({r.kind for r in receptacles}):
            taken = (k for k in object_kinds if OBJECTS[k].group in RECEPTACLES[kind].accepts)
            yield from (("canContain", f"{kind}Type", f"{k}Type") for k in taken)
        yield from ((trait, _cased(t.id)) for t in things for trait in OBJECTS[t.kind].traits)
        yield from (("openable", _cased(r.id)) for r in receptacles if r.openable)
        yield ("atLocation", "agent1", _cased(self.start))
        for t in things:
            if t.holder is not None and t.holder.kind == "Fridge" and "coolable" in OBJECTS[t.kind].traits:
                yield ("isCool", _cased(t.id))
        yield from (("inReceptacle", _cased(t.id), _cased(t.holder.id)) for t in things if t.holder is not None)
        yield from (("inReceptacleObject", _cased(t.id), _cased(t.inside_of)) for t in things if t.inside_of)
        yield from (("receptacleAtLocation", _cased(r.id), _cased(r.place)) for r in receptacles)
        yield from (("objectAtLocation", _cased(t.id), _cased(t.place)) for t in things)


def _cased(object_id: str) -> str:
    """PDDL name with the case of the id, as in the release's files."""
    kind, bar, rest = object_id.partition("|")
    tail = pddl_name(bar + rest)
    for part in ("SinkBasin", "BathtubBasin"):
        tail = tail.replace(part.lower(), part)
    return kind + tail


def furnish(kind: GoalKind, rng: random.Random, *, sliced: bool) -> Furnished | None:
    """A room with a task of this kind, or ``None`` where the dice gave a room that has no place for one."""
    name = rng.choice(("kitchen",) if sliced else _ROOMS_FOR[kind])
    room = ROOMS[name]
    builder = _Builder(rng)
    for furniture, least, most in room.furniture:
        builder.place_all(furniture, rng.randint(least, most))
    start = builder.free_place(rng.uniform(-1.5, 1.5), rng.uniform(-1.5, 1.5), 30)
    task = _Task(kind, rng, builder, sliced=sliced)
    if not task.choose([thing for thing, _most in room.things]):
        return None
    for thing, most in room.things:
        for _ in range(rng.randint(0, most)):
            task.add_distractor(thing)
    for thing in room.scenery:
        builder.stand_about(thing)
    if name in ("living room", "bedroom") and rng.random() < 0.5:
        builder.stand_about("FloorLamp")
    return Furnished(
        goal=task.goal,
        scene=room.scenes + rng.randrange(100),
        choice=GoalChoice(task.object_kind, task.target_kind, tuple(task.plan())),
        start=start,
        _receptacles=builder.receptacles,
        _things=builder.things,
    )


class _Builder:
    """Hands out positions, so that no two ids are the same."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.receptacles: list[_Receptacle] = []
        self.things: list[_Thing] = []
        self._taken: set[str] = set()

    def place_all(self, kind: str, count: int) -> None:
        """Put up receptacles of a kind; neighbours of one kind sometimes share the spot to stand at."""
        spec = RECEPTACLES[kind]
        before: _Receptacle | None = None
        for number in range(count):
            shares = before is not None and (self.rng.random() < _SHARED_SPOT or (kind == "StoveBurner" and number % 2))
            x = before.x + 0.3 if before is not None and shares else self.rng.uniform(-3.5, 3.5)
            z = before.z if before is not None and shares else self.rng.uniform(-3.5, 3.5)
            place = before.place if before is not None and shares else self.free_place(x, z, 60)
            place_id = self._id(spec.part or kind, x, spec.height, z)
            if spec.part:
                place_id += f"|{kind}"
            before = _Receptacle(kind, place_id, place, self.rng.random() < spec.openable, x, z)
            self.receptacles.append(before)

    def put(self, kind: str, holder: _Receptacle) -> _Thing:
        """Put a new thing into a receptacle."""
        x, z = holder.x + self.rng.uniform(-0.3, 0.3), holder.z + self.rng.uniform(-0.3, 0.3)
        height = RECEPTACLES[holder.kind].height + 0.05
        thing = _Thing(kind, self._id(kind, x, height, z), holder, holder.place)
        bowls = [t for t in self.things if t.holder is holder and "isReceptacleObject" in OBJECTS[t.kind].traits]
        if bowls and OBJECTS[kind].group == "tool" and self.rng.random() < _NESTED:
            thing.inside_of = self.rng.choice(bowls).id
        self.things.append(thing)
        return thing

    def stand_about(self, kind: str) -> None:
        """Put up a thing that belongs to no receptacle."""
        x, z = self.rng.uniform(-3.5, 3.5), self.rng.uniform(-3.5, 3.5)
        self.things.append(_Thing(kind, self._id(kind, x, 1.2, z), None, self.free_place(x, z, 0)))

    def free_place(self, x: float, z: float, horizon: int) -> str:
        """A spot to stand at that nothing else uses; the grid has four steps a metre."""
        rotation = self.rng.randrange(4)
        column, row = round(x * 4), round(z * 4)
        while (place := f"loc|{column}|{row}|{rotation}|{horizon}") in self._taken:
            column += 1
        self._taken.add(place)
        return place

    def _id(self, kind: str, x: float, y: float, z: float) -> str:
        while (made := f"{kind}|{x:+06.2f}|{y:+06.2f}|{z:+06.2f}") in self._taken:
            x += 0.01
        self._taken.add(made)
        return made


class _Task:
    """Chooses object and target, places what the task needs, and keeps distractors from solving it."""

    def __init__(self, kind: GoalKind, rng: random.Random, builder: _Builder, *, sliced: bool) -> None:
        self.kind, self.sliced = kind, sliced
        self._rng, self._builder = rng, builder
        self.object_kind = self.target_kind = ""
        self._things: list[_Thing] = []
        self._target: _Receptacle | None = None
        self._lamp: _Thing | None = None
        self._knife: _Thing | None = None

    @property
    def goal(self) -> AlfWorldGoal:
        if self.kind == "look":
            return AlfWorldGoal("look", self.object_kind.lower(), lamp=self.target_kind.lower())
        return AlfWorldGoal(self.kind, self.object_kind.lower(), self.target_kind.lower(), sliced=self.sliced)

    def choose(self, kinds: list[str]) -> bool:
        """Choose the task and place its objects; false where this room has no place for one."""
        needed = [_TRAIT[self.kind]] if self.kind in _TRAIT else []
        needed += ["sliceable"] if self.sliced else []
        fitting = [k for k in kinds if all(trait in OBJECTS[k].traits for trait in needed)]
        self.object_kind = self._rng.choice(fitting)
        if self.kind == "look":
            stands = [r for r in self._builder.receptacles if r.kind in _LAMP_STANDS and not r.openable]
            if not stands:
                return False
            self.target_kind = "DeskLamp"
            self._lamp = self._builder.put("DeskLamp", self._rng.choice(stands))
        elif not self._choose_target():
            return False
        for _ in range(2 if self.kind == "two" else 1):
            places = self._places_for(self.object_kind)
            if not places:
                return False
            self._things.append(self._builder.put(self.object_kind, self._rng.choice(places)))
        if self.sliced:
            places = [r for r in self._builder.receptacles if _takes(r, "Knife")]
            self._knife = self._builder.put(self._rng.choice(("Knife", "ButterKnife")), self._rng.choice(places))
        return True

    def _choose_target(self) -> bool:
        treater = _TREATMENT[self.kind][1] if self.kind in _TREATMENT else ""
        kinds = sorted(
            {
                r.kind
                for r in self._builder.receptacles
                if _takes(r, self.object_kind) and r.kind not in (treater, "Toaster")
            }
        )
        if not kinds:
            return False
        self.target_kind = self._rng.choice(kinds)
        self._target = self._rng.choice([r for r in self._builder.receptacles if r.kind == self.target_kind])
        return True

    def _places_for(self, kind: str) -> list[_Receptacle]:
        """Where a thing may lie without solving the task, or part of it, by itself."""
        solves = kind == self.object_kind and self.kind != "look"
        treats = _TREATMENT[self.kind][1] if self.kind in _TREATMENT else ""
        return [
            r
            for r in self._builder.receptacles
            if _takes(r, kind) and not (solves and r.kind in (self.target_kind, treats))
        ]

    def add_distractor(self, kind: str) -> None:
        """Add a thing of a kind somewhere, if there is a place that leaves the task to be done."""
        places = self._places_for(kind)
        if places:
            self._builder.put(kind, self._rng.choice(places))

    def plan(self) -> Iterator[PlanStep]:
        """The annotated plan."""
        if self._knife is not None:
            yield from self._slice(self._things[0])
        for thing in self._things:
            if self._knife is not None and thing is not self._things[0]:
                yield from self._slice(thing)
            yield from self._fetch(thing)
            if self.kind in _TREATMENT:
                action, treater = _TREATMENT[self.kind]
                by = next(r for r in self._builder.receptacles if r.kind == treater)
                yield _go(by)
                yield _step(action, thing, by)
            if self._target is not None:
                yield _go(self._target)
                yield _step("PutObject", thing, self._target)
        if self._lamp is not None and self._lamp.holder is not None:
            yield _go(self._lamp.holder)
            yield _step("ToggleObject", self._lamp, self._lamp.holder)

    def _fetch(self, thing: _Thing) -> Iterator[PlanStep]:
        if thing.holder is not None:
            yield _go(thing.holder)
            yield _step("PickupObject", thing, thing.holder)

    def _slice(self, thing: _Thing) -> Iterator[PlanStep]:
        """Fetch the knife, slice the thing where it lies, and bring the knife back."""
        knife = self._knife
        if knife is None or knife.holder is None or thing.holder is None:
            return
        yield from self._fetch(knife)
        yield _go(thing.holder)
        yield _step("SliceObject", thing, thing.holder)
        yield _go(knife.holder)
        yield _step("PutObject", knife, knife.holder)


def _takes(receptacle: _Receptacle, kind: str) -> bool:
    return OBJECTS[kind].group in RECEPTACLES[receptacle.kind].accepts


def _go(receptacle: _Receptacle) -> PlanStep:
    return PlanStep("GotoLocation", "", "", receptacle.kind, receptacle.id, receptacle.place)


def _step(action: str, thing: _Thing, receptacle: _Receptacle) -> PlanStep:
    inside = receptacle.openable
    return PlanStep(action, thing.kind, thing.id, receptacle.kind, receptacle.id, receptacle.place, inside)
