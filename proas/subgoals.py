"""Subgoals: the ordered milestones of a task, and the class ``g_m`` that a state falls into.

A milestone's condition is a disjunction of conjunctions of fact patterns. A pattern is a fact with typed variables,
``{name:kind}``; a variable stands for an object of that kind with its number (``{o:apple}`` matches ``apple 2``), for
any object where the kind is ``*``, and for the same object wherever it recurs in the conjunction. Two variables never
stand for one object: ``("{a:candle} in {r:drawer}", "{b:candle} in {r:drawer}")`` means two candles in one drawer.

The subgoal index of a state is the largest m whose condition holds. Read cumulatively (a milestone counts as reached
when it or a later one holds) this is "the first m milestones hold and the next does not", and it is a function of the
state and the task alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

__all__ = [
    "GOAL_REACHED",
    "SEARCHING",
    "Condition",
    "Ladder",
    "Rung",
    "Subgoal",
    "any_order",
    "generic_ladder",
    "ladder_of",
]

GOAL_REACHED = "goal reached"
"""The fact that the environment reported success."""

SEARCHING = "still searching"
"""The fact that something needed has not been found yet: no way from there can be known, so no distance is."""

Condition = tuple[tuple[str, ...], ...]
"""Any of these conjunctions of fact patterns. Empty: never holds by itself."""

_VARIABLE = re.compile(r"\{(\w+):([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Subgoal:
    """One milestone and the class of states that have reached it and not the next.

    Attributes:
        index: m, from 0 (the start, no condition) to M.
        description: What is to be done, in a few words.
        phrases: The same in other people's words, for example crowd annotations.
        condition: When the milestone holds.
    """

    index: int
    description: str
    phrases: tuple[str, ...] = ()
    condition: Condition = ()


@dataclass(frozen=True, slots=True)
class Ladder:
    """The subgoals of one task in order.

    Raises:
        ValueError: The indices are not 0, 1, ..., M, or a pattern is malformed.
    """

    subgoals: tuple[Subgoal, ...]

    def __post_init__(self) -> None:
        """Check the order and compile every pattern once, so that a bad one is named early."""
        if [s.index for s in self.subgoals] != list(range(len(self.subgoals))) or not self.subgoals:
            msg = f"subgoal indices must be 0..M, not {[s.index for s in self.subgoals]}"
            raise ValueError(msg)
        for subgoal in self.subgoals:
            for conjunction in subgoal.condition:
                for pattern in conjunction:
                    _compiled(pattern)

    @property
    def last(self) -> int:
        """M, the index of the goal."""
        return self.subgoals[-1].index

    def index(self, facts: Collection[str]) -> int:
        """Subgoal index m of a state with these facts; the last class as soon as the goal is reached."""
        if GOAL_REACHED in facts:
            return self.last
        for subgoal in reversed(self.subgoals):
            if any(_satisfiable(conjunction, facts, {}) for conjunction in subgoal.condition):
                return subgoal.index
        return 0


class Rung(NamedTuple):
    """A milestone that has no place on a ladder yet.

    Attributes:
        description: What is to be done, in a few words.
        condition: When it holds.
        phrases: The same in other people's words.
    """

    description: str
    condition: Condition = ()
    phrases: tuple[str, ...] = ()


def ladder_of(rungs: Iterable[Rung], *, start: str = "start", goal: Rung | str = "reach the goal") -> Ladder:
    """A ladder from milestones in order, between the start and the goal.

    Args:
        rungs: The milestones; a later one counts as reached only if its own condition holds.
        start: What is to be done first, in a few words.
        goal: The last milestone. Where it is told in words alone, it holds when the environment reports success.

    Raises:
        ValueError: A pattern is malformed.
    """
    last = Rung(goal, ((GOAL_REACHED,),)) if isinstance(goal, str) else goal
    order = (Rung(start), *rungs, last)
    return Ladder(tuple(Subgoal(m, rung.description, rung.phrases, rung.condition) for m, rung in enumerate(order)))


def any_order(facts: Sequence[str], *, told: str = "{count} of {of}", phrases: tuple[str, ...] = ()) -> list[Rung]:
    """Milestones of things that may be done in any order: one, two, ..., all of these facts hold.

    Args:
        facts: Fact patterns.
        told: Description of each milestone, with ``{count}`` and ``{of}``.
        phrases: What the facts are, in words.

    Returns:
        A milestone for each number of facts, but for those numbers that can be met in more than a thousand ways.
    """
    of = len(facts)
    counts = (count for count in range(1, of + 1) if comb(of, count) <= _MOST_WAYS)
    ways = ((count, tuple(tuple(sorted(some)) for some in combinations(facts, count))) for count in counts)
    return [Rung(told.format(count=count, of=of), any_of, phrases) for count, any_of in ways]


_MOST_WAYS = 1000
"""Ways to meet a milestone that are written out at most; a dozen facts have fewer."""


def generic_ladder(goal: str) -> Ladder:
    """Two classes, under way and done, for a task of which nothing else is known."""
    return Ladder((Subgoal(0, "start"), Subgoal(1, goal or "reach the goal", condition=((GOAL_REACHED,),))))


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[re.Pattern[str], tuple[tuple[str, str], ...]]:
    """Regular expression of a pattern, and its (group, variable) names in order."""
    parts: list[str] = []
    groups: list[tuple[str, str]] = []
    end = 0
    for found in _VARIABLE.finditer(pattern):
        name, kind = found.groups()
        group = f"v{len(groups)}"
        parts.append(_literal(pattern, pattern[end : found.start()]))
        parts.append(rf"(?P<{group}>{'.+' if kind == '*' else re.escape(kind) + r'(?: [0-9]+)?'})")
        groups.append((group, name))
        end = found.end()
    parts.append(_literal(pattern, pattern[end:]))
    return re.compile("".join(parts)), tuple(groups)


def _literal(pattern: str, piece: str) -> str:
    if "{" in piece or "}" in piece:
        msg = f"malformed fact pattern {pattern!r}: write variables as {{name:kind}}"
        raise ValueError(msg)
    return re.escape(piece)


def _matches(pattern: str, facts: Collection[str], bound: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Bindings that extend ``bound`` and make the pattern one of the facts."""
    expression, groups = _compiled(pattern)
    for fact in sorted(facts):
        found = expression.fullmatch(fact)
        if found is None:
            continue
        binding = dict(bound)
        for group, name in groups:
            value = found.group(group)
            taken_by_another = any(v == value for n, v in binding.items() if n != name)
            if binding.setdefault(name, value) != value or taken_by_another:
                break
        else:
            yield binding


def _satisfiable(conjunction: tuple[str, ...], facts: Collection[str], bound: Mapping[str, str]) -> bool:
    if not conjunction:
        return True
    first, *others = conjunction
    return any(_satisfiable(tuple(others), facts, binding) for binding in _matches(first, facts, bound))
