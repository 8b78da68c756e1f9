"""What the answers of an episode add up to, and the facts that count of it.

The situation holds where the agent is, what it brought about and what it was told. Text tells all of it; the first
part can be read from the hidden state as well (:mod:`proas.states.scienceworld.engine`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from proas.states.scienceworld.relevance import COOLERS, HEATERS, Relevance
from proas.states.scienceworld.told import INVENTORY, Told, plain_name

__all__ = ["Placed", "Situation"]

_STAGE = re.compile(r"in the (seedling|adult|reproducing)(?: plant)? stage")
_STATES = {"water": "liquid", "ice": "solid", "steam": "gas"}
_TIMELESS = frozenset({"looked", "listed", "reset", "refused"})
_MANY = frozenset({"seed", "soil"})
"""Words of things that come in heaps: another one of the name is not the same one moved."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Something that the agent put somewhere.

    Attributes:
        thing: What.
        place: Where, by its bare name.
        where: Where, as exactly as is known.
    """

    thing: str
    place: str
    where: str


@dataclass(slots=True)
class Situation:
    """An episode so far.

    Attributes:
        relevance: What counts in the task.
        room: Where the agent is.
        held: What it took and holds, with numbers.
        placed: What it put where.
        running: Devices that it switched on.
        links: Terminals that it connected, in pairs.
        attended: What it opened last in this room.
        focused: What it focused on, in order.
        filled: Vessels that it filled.
        poured: How often it poured something into a vessel.
        made: What it mixed.
        read: What it read.
        seen: Stages of growth and states of matter that it was shown.
        timed: Planes that it timed.
        measured: It measured a temperature.
        idle: Steps that passed time since something last changed, while something goes on that takes time.
    """

    relevance: Relevance
    room: str = ""
    held: Counter[str] = field(default_factory=Counter)
    placed: list[Placed] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    links: set[frozenset[str]] = field(default_factory=set)
    attended: str = ""
    focused: list[str] = field(default_factory=list)
    filled: set[str] = field(default_factory=set)
    poured: Counter[str] = field(default_factory=Counter)
    made: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    timed: set[str] = field(default_factory=set)
    measured: bool = False
    idle: int = 0

    def take_in(self, told: Told, answer: str) -> None:
        """Take in what an answer tells; call :meth:`settle` once the situation is complete."""
        for thing in told.loosened:
            self._loosen(thing)
        handler = getattr(self, f"_{told.kind}", None)
        if handler is not None:
            handler(told)
        if told.kind in ("other", "looked", "focused"):
            self._shown(answer, told)
        if told.kind not in _TIMELESS and self.relevance.liquids and "sink" in self.running:
            self.filled |= {put.thing for put in self.placed if put.place == "sink"}

    def settle(self, told: Told, before: frozenset[str]) -> bool:
        """Count a step that only let time pass; whether it was one.

        Args:
            told: What the step was.
            before: The facts before it, without the count.
        """
        if frozenset(self.facts(idle=False)) != before or not self._goes_on():
            self.idle = 0
            return False
        if told.kind in _TIMELESS:
            return False
        self.idle += 1
        return True

    def facts(self, *, idle: bool = True) -> Iterator[str]:
        """The facts that count, in any order.

        Args:
            idle: Whether the count of steps that let time pass is one of them.
        """
        counts, focused = self.relevance, tuple(self.focused)
        if self.room:
            yield f"in {self.room}"
        if self.attended:
            yield f"{self.attended} is open"
        for thing, number in self.held.items():
            if number > 0 and counts.carries(thing, focused):
                yield f"holding {thing}" if number == 1 else f"holding {number} of {thing}"
        yield from (f"{put.thing} in {put.where}" for put in self.placed if counts.carries(put.thing, focused))
        yield from (f"{device} is on" for device in self.running if counts.runs(device))
        if counts.wiring:
            yield from (" connected to ".join(sorted(pair)) for pair in self.links)
        yield from (f"focus {nth}: {thing}" for nth, thing in enumerate(self.focused, start=1))
        if counts.liquids:
            yield from (f"{vessel} is filled" for vessel in self.filled)
            yield from (f"poured into {vessel}: {times}" for vessel, times in self.poured.items() if times)
        yield from (f"made {thing}" for thing in self.made)
        if counts.reading:
            yield from (f"read {thing}" for thing in self.read)
        yield from (f"seen {what}" for what in self.seen)
        yield from (f"timed {plane}" for plane in self.timed)
        if self.measured and counts.measuring:
            yield "temperature measured"
        if idle and self.idle:
            yield f"waited {self.idle}"

    def _goes_on(self) -> bool:
        """Whether something is under way that takes time."""
        family = self.relevance.family
        if family in ("matter", "melting"):
            hot_or_cold = HEATERS | COOLERS
            return any(put.place in hot_or_cold for put in self.placed) or not hot_or_cold.isdisjoint(self.running)
        if family == "growth":
            return bool(self.seen) or any("seed" in put.thing and "pot" in put.place for put in self.placed)
        if family == "stages":
            return bool(self.focused)
        if family == "plane":
            return any(put.place.startswith("inclined plane") for put in self.placed)
        return family == "circuit" and bool(self.links)

    def _went(self, told: Told) -> None:
        if told.place != self.room:
            self.room, self.attended = told.place, ""

    def _looked(self, told: Told) -> None:
        self._went(told)

    def _put(self, told: Told) -> None:
        thing = told.thing
        many = not _MANY.isdisjoint(thing.split())
        if self.held[thing] > 0 and told.place != INVENTORY:
            self.held[thing] -= 1
        elif not many or any(put.thing == thing and put.where == told.source for put in self.placed):
            gone = [put for put in self.placed if put.thing == thing and (not many or put.where == told.source)]
            if gone:
                self.placed.remove(gone[-1])
        if told.place == INVENTORY:
            self.held[thing] += int(many or self.held[thing] == 0)
        else:
            put = Placed(thing, told.place, told.where)
            if put not in self.placed:
                self.placed.append(put)

    def _ate(self, told: Told) -> None:
        self._take_away(told.thing)

    def _take_away(self, thing: str) -> None:
        """One thing of that name is no longer where it was."""
        if self.held[thing] > 0:
            self.held[thing] -= 1
            return
        lying = [put for put in self.placed if put.thing == thing]
        if lying:
            self.placed.remove(lying[-1])

    def _opened(self, told: Told) -> None:
        self.attended = told.thing

    def _closed(self, told: Told) -> None:
        if self.attended == told.thing:
            self.attended = ""

    def _on(self, told: Told) -> None:
        self.running.add(told.thing)

    def _off(self, told: Told) -> None:
        self.running.discard(told.thing)
        if self.relevance.timing and told.thing == "stopwatch":
            self.timed |= {put.where for put in self.placed if put.place.startswith("inclined plane")}

    def _connected(self, told: Told) -> None:
        self.links.add(frozenset((told.thing, told.place)))

    def _disconnected(self, told: Told) -> None:
        self._loosen(told.thing)

    def _loosen(self, thing: str) -> None:
        ending = f" on {thing}"
        self.links = {pair for pair in self.links if not any(end.endswith(ending) or end == thing for end in pair)}

    def _focused(self, told: Told) -> None:
        limit = self.relevance.focuses
        repeats = self.relevance.family == "stages"  # one animal goes by one name through some of its stages
        if self.focused and self.focused[-1] == told.thing and not repeats:
            return
        if len(self.focused) < limit:
            self.focused.append(told.thing)
        else:
            self.focused[-1] = told.thing

    def _poured(self, told: Told) -> None:
        if self.relevance.liquids:
            self.poured[told.where] += 1
            self.filled.discard(told.thing)
        for put in [put for put in self.placed if put.place == told.thing]:
            self.placed.remove(put)
            if told.place == INVENTORY:
                self.held[put.thing] += 1
            else:
                self.placed.append(Placed(put.thing, told.place, told.where))

    def _tipped(self, told: Told) -> None:
        self._take_away(told.thing)
        if self.relevance.liquids:
            self.poured[told.where] += 1

    def _dunked(self, told: Told) -> None:
        if self.relevance.liquids:
            self.filled.add(told.thing)

    def _made(self, told: Told) -> None:
        self.made.add(told.thing)
        self.placed = [put for put in self.placed if put.place != told.source]  # what was mixed is used up

    def _read(self, told: Told) -> None:
        self.read.add(told.thing)

    def _measured(self, told: Told) -> None:
        del told
        self.measured = True

    def _reset(self, told: Told) -> None:
        del told
        self.focused.clear()
        self.seen.clear()

    def _shown(self, answer: str, told: Told) -> None:
        """Stages of growth, and the state of matter of what the agent focuses on."""
        family = self.relevance.family
        if family == "growth":
            self.seen |= set(_STAGE.findall(answer))
        if family == "matter" and self.focused and told.kind != "looked":
            words = answer.removeprefix("You focus on the ").strip().rstrip(".").lower()
            words = words.removeprefix("a substance called ")
            if plain_name(words) == self.focused[-1]:
                state = _STATES.get(words) or words.partition(" ")[0].replace("gaseous", "gas")
                self.seen |= {state} & {"solid", "liquid", "gas"}
