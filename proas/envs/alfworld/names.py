"""Names: from an object id of the simulator to its PDDL name to the numbered name in the text.

``Candle|-00.92|+00.95|-00.83`` is ``candle_bar__minus_00_dot_92_bar__plus_00_dot_95_bar__minus_00_dot_83`` in PDDL and
``candle 2``, say, in the text. Numbers are handed out from the end: with the raw names sorted, the first of a kind
gets the highest number, so that lists in raw order descend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

__all__ = ["kind_of_name", "numbered_names", "object_id", "pddl_name"]

_MARKS = (("|", "_bar_"), ("-", "_minus_"), ("+", "_plus_"), (".", "_dot_"), (",", "_comma_"))


def pddl_name(object_id: str) -> str:
    """PDDL name of a simulator's object id, lower case."""
    name = object_id
    for mark, word in _MARKS:
        name = name.replace(mark, word)
    return name.lower()


def object_id(name: str) -> str:
    """Object id of a PDDL name, in the case of the name."""
    text = name
    for mark, word in _MARKS:
        text = text.replace(word, mark)
    return text


def kind_of_name(name: str) -> str:
    """Kind that the text shows for a PDDL name; basins are told apart from what holds them."""
    kind, bar, _rest = name.partition("_bar_")
    return kind + "basin" if bar and "basin" in name else kind


def numbered_names(names: Iterable[str]) -> dict[str, str]:
    """Text name of each PDDL name of a game.

    Args:
        names: Every entity that occurs in a fact of the initial state.

    Returns:
        ``{"candle_bar_...": "candle 2", ...}``. A name without coordinates has no number and, as in the reference,
        ends in a space.
    """
    ordered = sorted(set(names))
    left = Counter(kind_of_name(name) for name in ordered if "_bar_" in name)
    shown: dict[str, str] = {}
    for name in ordered:
        if "_bar_" not in name:
            shown[name] = f"{name} "
            continue
        kind = kind_of_name(name)
        shown[name] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return shown
