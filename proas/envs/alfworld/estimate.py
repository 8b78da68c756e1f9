"""A lower bound on the number of commands that still have to come.

For each object that could serve, the actions that cannot be avoided (put down what is in hand, open, take, treat, put)
and the changes of place between them are counted; the least over all choices is the bound. For goals without slicing
it is nearly always exact, which keeps the search at a few dozen situations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from proas.envs.alfworld.game import NOWHERE, Game, Snapshot, bits

__all__ = ["UNREACHABLE", "Estimate"]

UNREACHABLE = 1 << 20
"""Estimate of a situation from which no choice of objects can win."""

_Spot = tuple[int, int, int]
"""A receptacle, its place, and 1 where it is closed."""


class Estimate:
    """The bound for situations of one game."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._treaters = tuple(r for r in range(len(game.receptacles)) if self.treats(r))
        self._treater_places = tuple(
            sorted({game.receptacle_places[r] for r in self._treaters if game.receptacle_places[r] != NOWHERE})
        )

    def treats(self, receptacle: int) -> bool:
        """Whether a receptacle gives the treatment that the goal asks for."""
        game, kind = self.game, self.game.receptacle_kinds[receptacle]
        match game.goal.treatment:
            case "hot":
                return kind == "microwave"
            case "cool":
                return kind == "fridge"
            case "clean":
                return kind == "sinkbasin" or (kind == "sink" and game.rules.sinks_clean)
        return False

    def treated(self, s: Snapshot) -> int:
        """Objects in the condition that the goal asks for; all where it asks for none."""
        return {"hot": s.hot, "cool": s.cool, "clean": s.clean}.get(self.game.goal.treatment, -1)

    def __call__(self, s: Snapshot) -> int:
        """The bound; 0 exactly where the goal holds."""
        goal = self.game.goal
        if goal.kind == "two":
            return self._two(s)
        return min((self._one(s, o) for o in bits(self.game.goal_objects)), default=UNREACHABLE)

    def _one(self, s: Snapshot, o: int) -> int:
        game, bit = self.game, 1 << o
        untreated, unsliced = not self.treated(s) & bit, game.goal.sliced and not s.sliced & bit
        targets = list(self._targets(s, o))
        best = UNREACHABLE
        if game.goal.kind != "look" and self._placed(s, o):
            if not untreated and not unsliced:
                return 0
            if not untreated:  # slicing it where it lies wins
                best = self._fetch_knife(s, o)
        middle = self._treater_places if untreated else (None,)
        if unsliced:
            return min(best, self._sliced_too(s, o, targets, middle))
        for cost, stops, source in self._in_hand(s, o):
            # Some things lie in two receptacles at once. Taken from one, such a thing still counts as placed.
            placed = game.goal.kind != "look" and self._placed(s, o, but=source)
            for place in middle:
                through = stops if place is None else (*stops, place)
                treat = 0 if place is None else 1
                if placed:
                    best = min(best, cost + treat + _moves(through))
                for r, p, closed in targets:
                    shut = closed if r != source else 0
                    best = min(best, cost + treat + shut + self._finish(s, r) + _moves((*through, p)))
        return best

    def _placed(self, s: Snapshot, o: int, *, but: int = NOWHERE) -> bool:
        """Whether an object lies where the goal wants it, in a receptacle other than ``but``."""
        return any(s.contents[r] >> o & 1 for r in self.game.goal_receptacles if r != but)

    def _finish(self, s: Snapshot, r: int) -> int:
        """Actions at the target itself: put, or switch the lamp on if it is not."""
        if self.game.goal.kind != "look":
            return 1
        return 0 if s.contents[r] & self.game.lamps & s.toggled else 1

    def _targets(self, s: Snapshot, o: int) -> Iterator[_Spot]:
        """Where the object has to go. Of many receptacles at places of no other use, one open and one closed do."""
        game = self.game
        if game.goal.kind == "look":
            for r, mask in enumerate(s.contents):
                if mask & game.lamps and game.receptacle_places[r] != NOWHERE:
                    yield r, game.receptacle_places[r], 0
            return
        for r in game.goal_receptacles:
            if game.receptacle_places[r] != NOWHERE and (game.accepts[r] | s.contents[r]) >> o & 1:
                yield r, game.receptacle_places[r], self._closed(s, r)

    def _closed(self, s: Snapshot, r: int) -> int:
        return self.game.openable >> r & 1 and not s.opened >> r & 1

    def _sources(self, s: Snapshot, mask: int) -> Iterator[_Spot]:
        places = self.game.receptacle_places
        for r, inside in enumerate(s.contents):
            if inside & mask and places[r] != NOWHERE:
                yield r, places[r], self._closed(s, r)

    def _in_hand(self, s: Snapshot, o: int) -> Iterator[tuple[int, tuple[int, ...], int]]:
        """Ways to get an object into the hand: actions, stops on the way, and the receptacle that it is taken from."""
        if s.held == o:
            yield 0, (s.place,), NOWHERE
            return
        if not self.game.pickupable >> o & 1:
            return
        free = 0 if s.held == NOWHERE else 1
        for r, p, closed in self._sources(s, 1 << o):
            yield free + closed + 1, (s.place, p), r

    def _fetch_knife(self, s: Snapshot, o: int) -> int:
        """Actions to slice an object where it lies."""
        if s.held != NOWHERE and self.game.knives >> s.held & 1:
            return 1 if s.lying[s.place] >> o & 1 else 2
        knives = list(self._sources(s, self.game.knives & self.game.pickupable))
        if not knives:
            return UNREACHABLE
        free = 0 if s.held == NOWHERE else 1
        return 2 + free + min(closed + (p != s.place) for _r, p, closed in knives)

    def _sliced_too(self, s: Snapshot, o: int, targets: list[_Spot], middle: tuple[int | None, ...]) -> int:
        """Take the knife, slice, take, treat and put, in whichever order; each counted once.

        A thing that lies in two receptacles at once need not be put: taken from one, it still counts as placed.
        """
        game = self.game
        stays = self._placed(s, o) and (s.held == o or len(list(self._sources(s, 1 << o))) > 1)
        ends = [s.place] if stays else [p for _r, p, _c in targets]
        if s.held != NOWHERE and game.knives >> s.held & 1:
            actions, knives = 2, [(NOWHERE, s.place, 0)]  # slice, put the knife down
        else:
            actions = 2 + (s.held not in (NOWHERE, o))
            knives = list(self._sources(s, game.knives & game.pickupable))
        actions += (s.held != o) + (middle != (None,)) + (not stays)
        ways = (closed + len({k, m, p} - {None, s.place}) for _k, k, closed in knives for m in middle for p in ends)
        return min((actions + way for way in ways), default=UNREACHABLE)

    def _two(self, s: Snapshot) -> int:
        """Two objects into one receptacle."""
        game = self.game
        objects = game.goal_objects
        done = objects & (s.sliced if game.goal.sliced else -1)
        best = UNREACHABLE
        for r in game.goal_receptacles:
            place = game.receptacle_places[r]
            inside = s.contents[r] & objects
            ready = (inside & done).bit_count()
            if ready > 1:
                return 0
            if place == NOWHERE:
                continue
            missing = 2 - min(2, inside.bit_count())
            slices = (
                (2 - ready if missing == 0 else max(0, 2 - (objects & done).bit_count())) if game.goal.sliced else 0
            )
            movable = objects & game.accepts[r] & ~inside
            carried = self._carry(s, r, place, movable, missing)
            best = min(best, carried + slices)
        return best

    def _carry(self, s: Snapshot, r: int, place: int, movable: int, missing: int) -> int:
        """Actions to bring ``missing`` more of the movable objects into a receptacle."""
        if missing == 0:
            return 0
        here, cost = s.place, missing + self._closed(s, r)  # a put each
        left = missing
        stops = [here]
        if s.held != NOWHERE:
            if movable >> s.held & 1:
                stops.append(place)
                left -= 1
                movable &= ~(1 << s.held)
            else:
                cost += 1
        fetches = [
            (o, source, p, shut)
            for o in bits(movable & self.game.pickupable)
            for source, p, shut in self._sources(s, 1 << o)
        ]
        if len({o for o, *_ in fetches}) < left:
            return UNREACHABLE
        if left == 0:
            return cost + _moves(tuple(stops))
        return cost + left + self._rounds(fetches, tuple(stops), place, left)

    @staticmethod
    def _rounds(fetches: list[tuple[int, int, int, int]], stops: tuple[int, ...], place: int, left: int) -> int:
        """Openings and moves of the cheapest one or two trips that bring different objects."""
        best = UNREACHABLE
        for o, source, p, shut in fetches:
            once = (*stops, p, place)
            if left == 1:
                best = min(best, shut + _moves(once))
                continue
            for o2, source2, p2, shut2 in fetches:
                if o2 != o:
                    shuts = shut + (shut2 if source2 != source else 0)
                    best = min(best, shuts + _moves((*once, p2, place)))
        return best


def _moves(stops: tuple[int, ...]) -> int:
    return sum(a != b for a, b in pairwise(stops))
