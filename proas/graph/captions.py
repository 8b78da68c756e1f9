"""The facts of a state in one line, for people who look at the graph."""

from __future__ import annotations

from collections.abc import Iterable

from proas.subgoals import GOAL_REACHED

__all__ = ["caption_of"]

_LONGEST = 120


def caption_of(facts: Iterable[str]) -> str:
    """A readable line such as ``holding apple 1 (hot) at fridge 1 (open)``.

    Qualities (``apple 1 is hot``) follow the thing that they are said of where it is held or where the agent is;
    facts that are not of these forms stand as they are. The caption is for reading only: different states may share
    one.
    """
    held, place, qualities, others = _sorted_by_form(facts)
    parts = [*(f"holding {thing}{_qualified(thing, qualities)}" for thing in held)]
    parts += [f"at {spot}{_qualified(spot, qualities)}" for spot in place]
    line = [" ".join(parts)] if parts else []
    line += [f"{thing} is {', '.join(said)}" for thing, said in qualities.items() if said]
    line += others
    text = "; ".join(line) or "start"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _sorted_by_form(facts: Iterable[str]) -> tuple[list[str], list[str], dict[str, list[str]], list[str]]:
    held: list[str] = []
    place: list[str] = []
    qualities: dict[str, list[str]] = {}
    others: list[str] = []
    for fact in sorted(facts):
        thing, verb, quality = fact.partition(" is ")
        if fact.startswith("holding "):
            held.append(fact.removeprefix("holding "))
        elif fact.startswith("at "):
            place.append(fact.removeprefix("at "))
        elif verb:
            qualities.setdefault(thing, []).append(quality)
        elif fact == GOAL_REACHED:
            others.insert(0, fact)
        else:
            others.append(fact)
    return held, place, qualities, others


def _qualified(thing: str, qualities: dict[str, list[str]]) -> str:
    said = qualities.pop(thing, [])
    return f" ({', '.join(said)})" if said else ""
