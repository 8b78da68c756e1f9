"""Roles of ALFWorld's names: the object, the target receptacle, the tool, the places that hold what is needed.

Families are the six kinds of task, sliced objects apart: ``lifted/heat``, ``lifted/two/sliced``. Which kinds of thing
a goal names, and every number, is gone; what is left is what a task of the family turns on:

- what is held: an object of the goal's kind with those marks that the goal asks for, a knife where one is needed,
  something else;
- what the place attended to is: a target receptacle (of two objects: the one in use, or another), the tool, a place
  with the lamp, with a knife, with an object to take and its marks, or none of these; and whether it is open;
- how many objects are placed, and for two whether together;
- which marked objects lie elsewhere, and whether the lamp is on.

A place is one "with an object" as long as an object that is still wanted is there and the hands are free for it. So
the place of the second object is told from that of the first, once that is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from proas.envs.alfworld.goal import AlfWorldGoal, GoalKind
from proas.rollouts import Rollout
from proas.states.alfworld.answers import read_answer
from proas.states.alfworld.commands import Command, parse_command
from proas.states.alfworld.memory import kind_of
from proas.states.alfworld.search import KNIVES
from proas.states.alfworld.text import ENV
from proas.states.lifting import LIFTED, LiftedTask, Move
from proas.subgoals import GOAL_REACHED, Condition, Ladder, Rung, ladder_of

__all__ = ["AlfWorldLifting", "family_of"]

_TOOLS = {"clean": "sinkbasin", "hot": "microwave", "cool": "fridge"}
_NUMBERS = ("no", "one", "two")

HELD = "holding an object"
KNIFE = "holding a knife"
OTHER = "holding something else"
LAMP_ON = "the lamp is on"
IS_OPEN = "it is open"
PLACED = "one object placed"
TOGETHER = "two objects placed together"
APART = "objects placed apart"


@dataclass(frozen=True, slots=True)
class _Situation:
    """A state's facts, told apart."""

    at: str = ""
    open: bool = False
    holding: str = ""
    lit: bool = False
    marks: dict[str, frozenset[str]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    reached: bool = False


class AlfWorldLifting:
    """Roles of one task's names; implements :class:`proas.states.lifting.Lifting`.

    Args:
        goal: The task's goal.
    """

    def __init__(self, goal: AlfWorldGoal) -> None:
        self._goal = goal
        self._needed = frozenset({mark for mark in (goal.treatment, "sliced" if goal.sliced else "") if mark})
        self._tool = _TOOLS.get(goal.treatment, "")
        self._homes: dict[str, str] = {}
        self._lamps: set[str] = set()
        self._knives: set[str] = set()
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.task = family_of(goal.kind, sliced=goal.sliced)

    def learn(self, moves: Iterable[Move]) -> None:
        """Places of the objects, the lamp and the knives, by where they are taken and used."""
        self._known.clear()
        for move in moves:
            command = parse_command(move.action)
            if command is None:
                continue
            if command.verb == "take" and f"{command.object} in {command.target}" not in move.before:
                self._lies(command.object, command.target)
            elif command.verb == "use" and kind_of(command.object) == self._goal.lamp:
                self._lamps.update(fact.removeprefix("at ") for fact in move.before if fact.startswith("at "))

    def watch(self, rollout: Rollout) -> None:
        """Places of the objects, the lamp and the knives, by where the rollout was shown them."""
        self._known.clear()
        moved: set[str] = set()
        for step in rollout.steps:
            if step.valid is False:
                continue
            command = parse_command(step.canonical or "")
            if command is not None and command.verb == "take":
                if command.object not in moved:
                    self._lies(command.object, command.target)
                moved.add(command.object)
            place, contents = _shown(step.observation)
            for name in contents:
                if name not in moved:
                    self._lies(name, place)

    def _lies(self, name: str, place: str) -> None:
        kind = kind_of(name)
        if kind == self._goal.object:
            self._homes.setdefault(name, place)
        elif kind == self._goal.lamp:
            self._lamps.add(place)
        elif kind in KNIVES:
            self._knives.add(place)

    def facts(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Lifted facts of a state, sorted."""
        key = tuple(facts)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(sorted(self._lifted(_situation(key, self._goal, self._needed))))
        return found

    def action(self, move: Move) -> str:
        """An action by the roles of what it is done to."""
        command = parse_command(move.action)
        if command is None:
            return move.action if move.action == "think" else "say something else"
        place = " and ".join(fact.removeprefix("at ") for fact in self.facts(move.after) if fact.startswith("at "))
        return _phrase(command, place, self._thing)

    def _thing(self, name: str) -> str:
        kind = kind_of(name)
        if kind == self._goal.object:
            return "an object"
        if kind == self._goal.lamp:
            return "the lamp"
        return "a knife" if self._goal.sliced and kind in KNIVES else "something else"

    def _lifted(self, now: _Situation) -> Iterator[str]:
        placed = self._placed(now)
        yield from self._hand(now)
        yield from self._place(now, placed)
        if len(placed) == 1:
            yield PLACED
        elif placed:
            yield TOGETHER if len(set(placed.values())) == 1 else APART
        yield from self._elsewhere(now, placed)
        if now.lit:
            yield LAMP_ON
        if now.reached:
            yield GOAL_REACHED

    def _hand(self, now: _Situation) -> Iterator[str]:
        if not now.holding:
            return
        role = self._thing(now.holding)
        yield {"an object": HELD, "a knife": KNIFE}.get(role, OTHER)
        if role == "an object":
            yield from (_held(mark) for mark in now.marks.get(now.holding, ()))

    def _place(self, now: _Situation, placed: dict[str, str]) -> Iterator[str]:
        if not now.at:
            return
        roles = list(self._roles(now, placed))
        yield from roles or ["at another place"]
        if now.open:
            yield IS_OPEN

    def _roles(self, now: _Situation, placed: dict[str, str]) -> Iterator[str]:
        here = kind_of(now.at)
        if here == self._goal.receptacle:
            in_use = Counter(sorted(placed.values())).most_common(1)
            yield (
                "at a target receptacle"
                if not in_use
                else "at the target receptacle in use"
                if in_use[0][0] == now.at
                else "at another target receptacle"
            )
        if here == self._tool:
            yield "at the tool"
        if now.at in self._lamps:
            yield "at a place with the lamp"
        if now.holding and self._thing(now.holding) == "an object":
            return
        yield from sorted({_here(now.marks.get(name, frozenset())) for name in self._wanted(now, placed)})
        sliced = sum("sliced" in marks for marks in now.marks.values())
        if self._goal.sliced and not now.holding and sliced < self._goal.count and now.at in self._knives:
            yield "at a place with a knife"

    def _wanted(self, now: _Situation, placed: dict[str, str]) -> Iterator[str]:
        """Objects at the place attended to that are still to be brought somewhere."""
        for name in {*self._homes, *now.places}:
            where = now.places.get(name) or self._homes.get(name, "")
            there_from_the_start = not self._needed and name not in now.places
            if name == now.holding or name in placed or where != now.at:
                continue
            if there_from_the_start and kind_of(where) == self._goal.receptacle:
                continue  # it lies where it should
            yield name

    def _placed(self, now: _Situation) -> dict[str, str]:
        """Objects that the agent has put where the goal wants them, as the goal wants them."""
        return {
            name: place
            for name, place in now.places.items()
            if kind_of(place) == self._goal.receptacle
            and now.marks.get(name, frozenset()) == self._needed
            and name != now.holding
        }

    def _elsewhere(self, now: _Situation, placed: dict[str, str]) -> Iterator[str]:
        lying = Counter(marks for name, marks in now.marks.items() if name != now.holding and name not in placed)
        for marks, count in lying.items():
            yield _lying(marks, min(count, self._goal.count))


def _held(mark: str) -> str:
    return f"the held object is {mark}"


def _lying(marks: Iterable[str], count: int) -> str:
    return f"{_NUMBERS[count]} elsewhere, {' and '.join(sorted(marks))}"


def _here(marks: Iterable[str]) -> str:
    told = " and ".join(sorted(marks))
    return f"at a place with an object, {told}" if told else "at a place with an object"


def _situation(facts: Iterable[str], goal: AlfWorldGoal, needed: frozenset[str]) -> _Situation:
    at = holding = ""
    is_open = lit = reached = False
    marks: dict[str, frozenset[str]] = {}
    places: dict[str, str] = {}
    for fact in facts:
        if fact == GOAL_REACHED:
            reached = True
        elif fact.startswith("at "):
            at = fact[3:]
        elif fact.startswith("holding "):
            holding = fact[8:]
        elif fact.endswith(" is open"):
            is_open = True
        elif fact.endswith(" is on"):
            lit = True
        elif " in " in fact:
            name, _, place = fact.partition(" in ")
            places[name] = place
        else:
            name, _, mark = fact.partition(" is ")
            if mark in needed and kind_of(name) == goal.object:
                marks[name] = marks.get(name, frozenset()) | {mark}
    return _Situation(at, is_open, holding, lit, marks, places, reached)


_TO = {"go": "go to"}


def _phrase(command: Command, place: str, role: Callable[[str], str]) -> str:
    verb = command.verb
    if verb in ("go", "open", "close"):
        return f"{_TO.get(verb, verb)} {place}"
    if verb in ("take", "heat", "cool", "clean", "slice", "use"):
        return f"{verb} {role(command.object)}"
    if verb == "move":
        return f"put {role(command.object)} down"
    return verb


@lru_cache(maxsize=16384)
def _shown(observation: str) -> tuple[str, tuple[str, ...]]:
    """The receptacle whose contents an observation shows, and the contents."""
    answer = read_answer(observation)
    return (answer.receptacle, answer.contents) if answer.sees else ("", ())


_GOALS: dict[GoalKind, str] = {
    "pick": "put {} in a target receptacle",
    "look": "look at {} under the lamp",
    "clean": "clean {}, put it in a target receptacle",
    "heat": "heat {}, put it in a target receptacle",
    "cool": "cool {}, put it in a target receptacle",
    "two": "put two {} in one target receptacle",
}
_TREATMENTS: dict[GoalKind, str] = {"clean": "clean", "heat": "hot", "cool": "cool"}


@lru_cache(maxsize=16)
def family_of(kind: GoalKind, *, sliced: bool) -> LiftedTask:
    """The lifted task of a kind of goal."""
    thing = f"{'sliced ' if sliced else ''}object{'s' if kind == 'two' else ''}"
    goal = _GOALS[kind].format(thing if kind == "two" else f"a {thing}" if sliced else f"an {thing}")
    return LiftedTask(f"{LIFTED}{kind}{'/sliced' if sliced else ''}", ENV, goal, _ladder(kind, goal, sliced=sliced))


def _ladder(kind: GoalKind, goal: str, *, sliced: bool) -> Ladder:
    """Subgoals over lifted facts, as those of ``goal_ladder`` over ground ones."""
    done: tuple[str, ...] = (_held("sliced"),) if sliced else ()
    treatment = _TREATMENTS.get(kind, "")
    rungs: list[Rung] = []
    if sliced:
        anywhere = _anywhere("sliced") + (_anywhere("sliced", treatment) if treatment else ())
        rungs.append(Rung("take a knife", ((KNIFE,),)))
        rungs.append(Rung("slice an object", ((_held("sliced"),), *anywhere)))
    rungs.append(Rung("take the object", ((HELD, *done),)))
    if treatment:
        anywhere = _anywhere(treatment, "sliced") if sliced else _anywhere(treatment)
        rungs.append(Rung(f"make it {treatment} with the tool", ((_held(treatment), *done), *anywhere)))
    if kind == "two":
        rungs.append(Rung("put it in a target receptacle", ((PLACED,), (APART,))))
        rungs.append(Rung("take another object", ((PLACED, HELD, *done),)))
    return ladder_of(rungs, start="start: find an object", goal=goal)


def _anywhere(*marks: str) -> Condition:
    """Objects with just these marks are laid down."""
    return tuple((_lying(marks, count),) for count in (1, 2))
