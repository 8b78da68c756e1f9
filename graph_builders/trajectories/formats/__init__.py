"""The formats of logged episodes, by name, and which one a record is of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from proas.errors import UsageError
from proas.graph_builders.trajectories.episodes import Episode, Record, Unreadable
from proas.graph_builders.trajectories.formats import agentgym, atif, ours, react, trl, verl

__all__ = ["AUTO", "FORMATS", "Format", "chosen_formats", "episodes_in"]

AUTO = "auto"
"""Each record is read by the format that it shows."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        name: Its name.
        summary: What it is, in a line.
        fits: Whether a value shows the marks of this format; never raises.
        read: The episode of a record; raises ``Unreadable`` where it holds none.
    """

    name: str
    summary: str
    fits: Callable[[object], bool]
    read: Callable[[Record], Episode]


FORMATS: Mapping[str, Format] = {
    module.NAME: Format(module.NAME, module.SUMMARY, module.fits, module.read)
    for module in (ours, atif, agentgym, verl, react, trl)  # in the order in which they are tried
}

_WRAPPERS = ("data", "episodes", "trajectories", "rollouts", "rows", "records")
_EXCERPT = 60


def chosen_formats(name: str) -> tuple[Format, ...]:
    """The formats of a name, all of them for ``auto``.

    Raises:
        UsageError: There is none of that name.
    """
    if name == AUTO:
        return tuple(FORMATS.values())
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", hint="known: " + ", ".join((AUTO, *FORMATS)))
    return (FORMATS[name],)


def episodes_in(record: Record, formats: tuple[Format, ...]) -> Iterator[tuple[Record, Episode | Unreadable]]:
    """The episodes of a value: of itself, of the members of an object, or of a list that an object wraps.

    Args:
        record: The value.
        formats: Those that may read it.

    Yields:
        Each record with its episode, or with the reason why it has none.
    """
    known = next((one for one in formats if one.fits(record.value)), None)
    if known is not None:
        yield record, _read(known, record)
        return
    members = tuple(_members(record))
    fitting = [member for member in members if any(one.fits(member.value) for one in formats)]
    if not fitting:
        yield record, _misfit(record.value, formats)
        return
    for member in members:
        known = next((one for one in formats if one.fits(member.value)), None)
        yield member, _misfit(member.value, formats) if known is None else _read(known, member)


def _read(known: Format, record: Record) -> Episode | Unreadable:
    try:
        return known.read(record)
    except Unreadable as fault:
        return fault


def _members(record: Record) -> Iterator[Record]:
    value = record.value
    if not isinstance(value, dict):
        return
    wrapped = next((value[name] for name in _WRAPPERS if isinstance(value.get(name), list)), None)
    if wrapped is not None:
        for item in wrapped:
            yield Record(item, record.source, record.line)
        return
    for name, member in value.items():
        yield Record(member, record.source, record.line, str(name))


def _misfit(value: object, formats: tuple[Format, ...]) -> Unreadable:
    wanted = formats[0].name if len(formats) == 1 else "any known format"
    if isinstance(value, dict):
        told = f"an object with {', '.join(map(repr, list(value)[:6])) or 'nothing in it'}"[: 2 * _EXCERPT]
    else:
        told = json.dumps(value)[:_EXCERPT]
    return Unreadable("unknown_format", f"not of {wanted}: {told}")
