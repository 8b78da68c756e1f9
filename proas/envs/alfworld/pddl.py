"""A small reader of PDDL: s-expressions, the facts of a problem, and the goal as ALFWorld writes it.

PDDL is case-insensitive; everything is lowered on reading. Comments run from ``;`` to the end of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Union

from proas.envs.alfworld.goal import AlfWorldGoal, GoalKind
from proas.errors import DataError

__all__ = [
    "Expression",
    "Facts",
    "PddlError",
    "Problem",
    "UnsupportedGoal",
    "goal_of",
    "read_expression",
    "read_problem",
]

Expression = Union[str, "list[Expression]"]
Facts = Mapping[str, tuple[tuple[str, ...], ...]]
"""Argument tuples of the facts of each predicate."""

_COMMENT = re.compile(r";[^\n]*")
_MAX_DEPTH = 200
"""Far deeper than any goal, and shallow enough for whatever walks the tree."""
_TOKEN = re.compile(r"[()]|[^\s()]+")


class PddlError(DataError):
    """Text that is not the PDDL we expect."""


class UnsupportedGoal(PddlError):
    """A goal that is not one of the six kinds of the benchmark."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A planning problem.

    Attributes:
        name: Name of the problem.
        facts: The facts of ``:init`` but for ``=`` assignments.
        entities: Everything that occurs in a fact, assignments included.
        goal: The goal formula; ``None`` where the file has none.
    """

    name: str
    facts: Facts
    entities: frozenset[str]
    goal: Expression | None


def read_expression(text: str) -> Expression:
    """The one s-expression of a text.

    Raises:
        PddlError: Parentheses do not balance, or there is not exactly one expression.
    """
    open_lists: list[list[Expression]] = [[]]
    for word in _TOKEN.findall(_COMMENT.sub("", text).lower()):
        if word == "(":
            open_lists.append([])
            if len(open_lists) > _MAX_DEPTH:
                raise PddlError(f"nested more than {_MAX_DEPTH} deep")
        elif word == ")":
            if len(open_lists) == 1:
                raise PddlError("a closing parenthesis too many")
            done = open_lists.pop()
            open_lists[-1].append(done)
        else:
            open_lists[-1].append(word)
    if len(open_lists) != 1:
        raise PddlError(f"{len(open_lists) - 1} parentheses are not closed")
    if len(open_lists[0]) != 1:
        raise PddlError(f"expected one expression, found {len(open_lists[0])}")
    return open_lists[0][0]


def read_problem(text: str) -> Problem:
    """A problem from its text.

    Raises:
        PddlError: The text is no PDDL problem with an ``:init`` section of plain facts.
    """
    tree = read_expression(text)
    if not isinstance(tree, list) or not tree or tree[0] != "define":
        raise PddlError("does not start with (define")
    sections = {part[0]: part for part in tree[1:] if isinstance(part, list) and part and isinstance(part[0], str)}
    if ":init" not in sections:
        raise PddlError("has no :init section")
    facts: dict[str, list[tuple[str, ...]]] = {}
    entities: set[str] = set()
    for fact in sections[":init"][1:]:
        if not isinstance(fact, list) or not fact or not isinstance(fact[0], str):
            raise PddlError(f"not a fact: {str(fact)[:80]!r}")
        if fact[0] == "=":
            entities.update(a for part in fact[1:] if isinstance(part, list) for a in part[1:] if isinstance(a, str))
            continue
        arguments = tuple(a for a in fact[1:] if isinstance(a, str))
        if len(arguments) != len(fact) - 1:
            raise PddlError(f"not a plain fact: {str(fact)[:80]!r}")
        facts.setdefault(fact[0], []).append(arguments)
        entities.update(arguments)
    goal = sections.get(":goal")
    name = sections.get("problem", ["problem", ""])
    return Problem(
        name=str(name[1]) if len(name) > 1 else "",
        facts={predicate: tuple(found) for predicate, found in facts.items()},
        entities=frozenset(entities),
        goal=goal[1] if goal is not None and len(goal) > 1 else None,
    )


def goal_of(formula: Expression) -> AlfWorldGoal:
    """The goal that a formula states.

    The formula must be one of those in ALFWorld's goal library for its six task types, sliced or not, in any order of
    its conjuncts and with any names of variables.

    Raises:
        PddlError: It is another formula.
    """
    atoms = sorted(set(_atoms(formula)))
    types = {a[1]: _kind(a[2]) for a in atoms if a[0] in ("objecttype", "receptacletype") and len(a) == 3}
    held = [a[2] for a in atoms if a[0] == "holds" and len(a) == 3]
    toggled = [a[1] for a in atoms if a[0] == "istoggled" and len(a) == 2]
    inside = [(a[1], a[2]) for a in atoms if a[0] == "inreceptacle" and len(a) == 3]
    try:
        if toggled:
            goal = AlfWorldGoal("look", types[held[0]], lamp=types[toggled[0]], sliced=_has(atoms, "issliced"))
        else:
            objects = sorted({o for o, _ in inside})
            kind: GoalKind = "two" if len(objects) == 2 else _treated_kind(atoms)
            goal = AlfWorldGoal(kind, types[objects[0]], types[inside[0][1]], sliced=_has(atoms, "issliced"))
    except (KeyError, IndexError):
        raise UnsupportedGoal("the goal is not one of ALFWorld's six kinds") from None
    if _shape(atoms) != _shape(_expected(goal)):
        raise UnsupportedGoal("the goal is not one of ALFWorld's six kinds")
    return goal


def _atoms(formula: Expression) -> Iterator[tuple[str, ...]]:
    """Atoms of a nest of ``and`` and ``exists``; a negated equality counts as one atom."""
    stack: list[Expression] = [formula]
    while stack:
        node = stack.pop()
        if not isinstance(node, list) or not node or not isinstance(node[0], str):
            raise PddlError(f"not a goal formula: {str(node)[:80]!r}")
        head = node[0]
        if head == "and":
            stack.extend(node[1:])
        elif head == "exists" and len(node) == 3:
            stack.append(node[2])
        elif head == "not" and len(node) == 2 and isinstance(node[1], list) and node[1][:1] == ["="]:
            yield ("differ", *sorted(str(a) for a in node[1][1:]))
        elif head not in ("or", "not", "forall", "imply", "when", "exists"):
            yield tuple(str(part) for part in node)
        else:
            raise UnsupportedGoal(f"a goal with {head!r} is not one of ALFWorld's six kinds")


def _kind(type_name: str) -> str:
    return type_name.removesuffix("type")


def _has(atoms: list[tuple[str, ...]], predicate: str) -> bool:
    return any(a[0] == predicate for a in atoms)


def _treated_kind(atoms: list[tuple[str, ...]]) -> GoalKind:
    if _has(atoms, "isclean"):
        return "clean"
    if _has(atoms, "ishot"):
        return "heat"
    return "cool" if _has(atoms, "iscool") else "pick"


def _expected(goal: AlfWorldGoal) -> list[tuple[str, ...]]:
    """Atoms of the goal library's formula for a goal, with variable names of our own."""
    sliced = ("sliceable", "issliced") if goal.sliced else ()
    if goal.kind == "look":
        atoms = [("objecttype", "?lamp", f"{goal.lamp}type"), ("toggleable", "?lamp"), ("istoggled", "?lamp")]
        atoms += [("receptacleatlocation", "?r", "?l"), ("atlocation", "?a", "?l"), ("inreceptacle", "?lamp", "?r")]
        atoms += [("objecttype", "?o", f"{goal.object}type"), ("holds", "?a", "?o")]
        return atoms + [(flag, "?o") for flag in sliced]
    flags = {"clean": ("cleanable", "isclean"), "heat": ("heatable", "ishot"), "cool": ("coolable", "iscool")}
    atoms = [("receptacletype", "?r", f"{goal.receptacle}type")]
    names = ("?o1", "?o2") if goal.kind == "two" else ("?o",)
    for o in names:
        atoms += [("objecttype", o, f"{goal.object}type"), ("inreceptacle", o, "?r")]
        atoms += [(flag, o) for flag in (*flags.get(goal.kind, ()), *sliced)]
    if len(names) > 1:
        atoms.append(("differ", *names))
    return atoms


def _shape(atoms: list[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    """Atoms with each variable replaced by the signature of the atoms it occurs in, so that names do not matter."""
    signature: dict[str, tuple[str, ...]] = {}
    for variable in {part for atom in atoms for part in atom[1:] if part.startswith("?")}:
        signature[variable] = tuple(
            sorted(
                f"{a[0]}/{i}/{a[-1] if not a[-1].startswith('?') else ''}"
                for a in atoms
                for i, p in enumerate(a)
                if p == variable
            )
        )
    counts = tuple(sorted("|".join(s) for s in signature.values() if s))
    renamed = [tuple("|".join(signature[p]) if p in signature else p for p in atom) for atom in atoms]
    return frozenset({counts, *renamed})
