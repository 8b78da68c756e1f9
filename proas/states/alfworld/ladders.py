"""Subgoals of ALFWorld tasks: from the goal alone, or from an annotated plan.

A rung's condition holds by facts that a walk leaves standing (``holding``, ``is hot``, ``in``) and, for a rung of
going somewhere, by where the agent attends in addition. The last rung is the goal itself, which the environment alone
decides: it holds by ``goal reached`` and by nothing else.

Objects count by kind: another apple is as good. What no fact shows (a knife laid down) is a rung without a condition,
which counts as reached as soon as a later one holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import StateError
from proas.states.alfworld.search import KNIVES
from proas.subgoals import GOAL_REACHED, Condition, Ladder, Subgoal

__all__ = [
    "PlanRung",
    "RungKind",
    "at",
    "goal_ladder",
    "held",
    "lit",
    "plan_ladder",
    "put_in",
    "treated",
    "without_falls",
]

RungKind = Literal["goto", "pickup", "put", "clean", "heat", "cool", "slice", "toggle"]
"""Kinds of high-level step in a plan."""

_MARKS = {"clean": "clean", "heat": "hot", "cool": "cool", "slice": "sliced"}
_APPLIANCE = {"clean": "sinkbasin", "hot": "microwave", "cool": "fridge"}
_GOAL: Condition = ((GOAL_REACHED,),)


def held(kind: str, name: str = "a") -> str:
    """Pattern: some object of a kind is held; ``name`` is its variable."""
    return f"holding {{{name}:{kind}}}"


def treated(kind: str, mark: str, name: str = "a") -> str:
    """Pattern: some object of a kind is ``hot``, ``cool``, ``clean`` or ``sliced``."""
    return f"{{{name}:{kind}}} is {mark}"


def put_in(kind: str, receptacle: str, name: str = "a") -> str:
    """Pattern: some object of a kind has been put into some receptacle of a kind (variable ``r``)."""
    return f"{{{name}:{kind}}} in {{r:{receptacle}}}"


def lit(kind: str) -> str:
    """Pattern: some lamp of a kind is on."""
    return f"{{l:{kind}}} is on"


def at(place: str) -> str:
    """Pattern: the agent attends to a place, one by its number (``cabinet 3``) or any of a kind (``sinkbasin``)."""
    return f"at {place}" if any(c.isdigit() for c in place) else f"at {{p:{place}}}"


@dataclass(frozen=True, slots=True)
class PlanRung:
    """One high-level step of a plan.

    Attributes:
        kind: What is done.
        object: Kind of the object it is done to (``apple``, ``knife``, ``desklamp``); empty for ``goto``.
        places: For ``goto`` the places that serve, by number or by kind: the particular ones that hold the object that
            is fetched, any of the kind for a tool or the target. For ``put`` the kind of the receptacle.
        description: What is to be done, in a few words; made up from the other fields when empty.
        phrases: The same in other people's words.
    """

    kind: RungKind
    object: str = ""
    places: tuple[str, ...] = ()
    description: str = ""
    phrases: tuple[str, ...] = ()


def goal_ladder(goal: AlfWorldGoal) -> Ladder:
    """Subgoals that follow from the goal alone, for a task of which no plan is known.

    ===========  ==========================================================================================
    pick         hold it; place it
    clean ...    hold it; treat it; place it
    two          hold one; place it; hold another; place it with the first
    look         hold it; switch the lamp on beside it
    sliced       hold a knife and slice one first
    ===========  ==========================================================================================
    """
    kind, target = goal.object, goal.receptacle
    rungs: list[tuple[str, Condition]] = []
    done: tuple[str, ...] = ()
    if goal.sliced:
        rungs.append(("take a knife", tuple((held(knife),) for knife in sorted(KNIVES))))
        done = (treated(kind, "sliced"),)
        rungs.append((f"slice the {kind}", (done,)))
    rungs.append((f"take the {kind}", ((*done, held(kind)),)))
    if goal.treatment:
        done = (*done, treated(kind, goal.treatment))
        rungs.append((f"make the {kind} {goal.treatment} with the {_APPLIANCE[goal.treatment]}", (done,)))
    if goal.kind == "two":
        done = (*done, put_in(kind, target))
        rungs.append((f"put the {kind} in/on the {target}", (done,)))
        rungs.append((f"take another {kind}", ((*done, held(kind, "b")),)))
        rungs.append((f"put it in/on the same {target}", _GOAL))
    elif goal.kind == "look":
        rungs.append((f"switch the {goal.lamp} on while holding the {kind} beside it", _GOAL))
    else:
        rungs.append((f"put the {kind} in/on the {target}", _GOAL))
    return _ladder(goal, [Subgoal(0, text, condition=condition) for text, condition in rungs])


def plan_ladder(goal: AlfWorldGoal, steps: Sequence[PlanRung]) -> Ladder:
    """Subgoals of a plan, one for each high-level step, in its order.

    Args:
        goal: The goal that the plan reaches.
        steps: The plan without its final no-op.

    Returns:
        A ladder of ``len(steps) + 1`` subgoals, the first of them the start. Along the plan as it was meant, the index
        of the states never falls; a plan that goes to and fro needs :func:`without_falls` as well.

    Raises:
        StateError: The plan is empty, or a step is of no known kind.
    """
    if not steps:
        raise StateError("a plan without steps has no subgoals", hint="use the ladder of the goal alone")
    subgoals: list[Subgoal] = []
    progress = _Progress(goal)
    for number, step in enumerate(steps):
        if step.kind not in get_args(RungKind):
            raise StateError(f"plan step {number}: {step.kind!r} is no high-level step", hint=f"known: {RungKind}")
        last = number == len(steps) - 1
        if step.kind == "goto":
            # Going somewhere counts for what is done there. Where no fact shows that (a knife is laid down), being
            # there is no milestone either: the walk would fall back as soon as it leaves.
            counts = not last and progress.shows(steps[number + 1])
            condition: Condition = progress.at_any(step.places) if counts else ()
        else:
            condition = progress.take(step)
        subgoals.append(Subgoal(0, step.description or _described(step), step.phrases, _GOAL if last else condition))
    return _ladder(goal, subgoals)


def without_falls(ladder: Ladder, walks: Iterable[Sequence[Iterable[str]]]) -> Ladder:
    """The ladder with the conditions removed from which a given walk would fall back.

    Args:
        ladder: Any ladder.
        walks: Facts of the states of each walk, in order. They are taken as right: where one falls from subgoal m to a
            lower one, m was no milestone.

    Returns:
        A ladder of the same subgoals, along which no given walk falls.
    """
    paths = [[frozenset(facts) for facts in walk] for walk in walks]
    while True:
        highest_fall = max((_falls_from(ladder, path) for path in paths), default=0)
        if highest_fall == 0:
            return ladder
        ladder = Ladder(tuple(replace(s, condition=()) if s.index == highest_fall else s for s in ladder.subgoals))


def _falls_from(ladder: Ladder, path: Sequence[frozenset[str]]) -> int:
    """Highest subgoal that a walk falls from, 0 if none; the goal itself is never blamed."""
    indices = [ladder.index(facts) for facts in path]
    return max((m for m, following in pairwise(indices) if following < m), default=0)


def _ladder(goal: AlfWorldGoal, subgoals: Sequence[Subgoal]) -> Ladder:
    start = Subgoal(0, f"start: find the {goal.object}")
    return Ladder((start, *(replace(s, index=m) for m, s in enumerate(subgoals, start=1))))


def _described(step: PlanRung) -> str:
    places = " or ".join(step.places)
    if step.kind == "goto":
        return f"go to {places}"
    if step.kind == "put":
        return f"put the {step.object} in/on the {places}"
    return (
        f"{'take' if step.kind == 'pickup' else 'switch on' if step.kind == 'toggle' else step.kind} the {step.object}"
    )


class _Progress:
    """What a plan has brought about so far, as one conjunction of patterns."""

    def __init__(self, goal: AlfWorldGoal) -> None:
        self.goal = goal
        self.lasting: tuple[str, ...] = ()
        self.hand = ""
        self.name = "a"  # variable of the goal object in hand; the second of two gets another

    def shows(self, step: PlanRung) -> bool:
        """Whether the facts show that a step was done."""
        if step.kind in ("pickup", "goto"):
            return step.kind == "pickup"
        if step.kind == "toggle":
            return step.object == self.goal.lamp
        return step.object == self.goal.object

    def at_any(self, places: Sequence[str]) -> Condition:
        """All so far, and attending to one of some places."""
        here = (*self.lasting, *((self.hand,) if self.hand else ()))
        return tuple((*here, self._place(place)) for place in places)

    def take(self, step: PlanRung) -> Condition:
        """Do a step; its condition, empty where no fact shows it."""
        shown = self.shows(step)
        if step.kind == "pickup":
            ours = step.object == self.goal.object
            self.hand = held(step.object, self.name if ours else "k")
            return ((*self.lasting, self.hand),)
        if step.kind == "put":
            self.hand = ""
            if shown and step.places:
                self.lasting = (*self.lasting, put_in(step.object, _kind(step.places[0]), self.name))
                self.name = "b"
        elif shown and step.kind == "toggle":
            self.lasting = (*self.lasting, lit(step.object))
        elif shown:
            self.lasting = (*self.lasting, treated(step.object, _MARKS[step.kind], self.name))
        return (self.lasting,) if shown and self.lasting else ()

    def _place(self, place: str) -> str:
        """Attending to a place; the second of two objects belongs with the first."""
        with_first = self.name == "b" and self.hand and place == self.goal.receptacle
        return f"at {{r:{place}}}" if with_first else at(place)


def _kind(place: str) -> str:
    return place.rsplit(" ", 1)[0] if any(c.isdigit() for c in place) else place
