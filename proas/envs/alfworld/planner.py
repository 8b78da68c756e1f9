"""Shortest plans by search in the engine, and all of them at once.

A* over situations of the engine itself, so that nothing is modelled twice. Only moves that can matter are tried: going
where a goal's object, its receptacle, its lamp, its treatment or a knife is, opening those, taking and putting those
objects, treating, slicing and lighting. The estimate counts the actions that must still come and the changes of place
between them (``proas.envs.alfworld.estimate``); it never overstates, so the first plan found is a shortest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.estimate import UNREACHABLE, Estimate
from proas.envs.alfworld.game import NOWHERE, Game, Snapshot, bits

__all__ = ["DEFAULT_LIMIT", "GoalMoves", "ShortestPlans", "all_shortest", "find_plan"]

DEFAULT_LIMIT = 20_000
"""Situations looked at before a search gives up. The games of the release need a few dozen."""


def find_plan(game: Game, *, start: Snapshot | None = None, limit: int = DEFAULT_LIMIT) -> tuple[str, ...] | None:
    """A shortest sequence of commands that wins.

    Args:
        game: The game.
        start: Where to start; by default the game's initial situation.
        limit: Number of situations to look at before giving up.

    Returns:
        The commands, empty where the goal holds already; ``None`` where there is no plan or the limit was reached.
        The same arguments give the same plan.
    """
    search = GoalMoves(game, every_name=False)
    first = start if start is not None else game.initial
    frontier: list[tuple[int, int, int, int, Snapshot]] = []
    came: dict[Snapshot, tuple[Snapshot, str] | None] = {}
    best: dict[Snapshot, int] = {_key(first): 0}
    pushed = 0
    estimate = search.estimate(first)
    if estimate >= UNREACHABLE:
        return None
    heappush(frontier, (estimate, estimate, pushed, 0, first))
    came[_key(first)] = None
    for _ in range(limit):
        if not frontier:
            return None
        _total, left, _order, cost, situation = heappop(frontier)
        key = _key(situation)
        if cost > best[key]:
            continue
        if left == 0:
            return _commands_to(key, came)
        for command, after in search.successors(situation):
            after_key = _key(after)
            if cost + 1 >= best.get(after_key, UNREACHABLE):
                continue
            estimate = search.estimate(after)
            if estimate >= UNREACHABLE:
                continue
            best[after_key] = cost + 1
            came[after_key] = (key, command)
            pushed += 1
            heappush(frontier, (cost + 1 + estimate, estimate, pushed, cost + 1, after))
    return None


@dataclass(frozen=True)
class ShortestPlans:
    """Every shortest plan of a game, as a graph of situations without cycles.

    Attributes:
        length: Number of commands in each plan.
        start: The situation at the start.
        edges: The commands that lie on a shortest plan from each situation, and where they lead.
        complete: False where the limit was reached and some shortest plans are missing.
    """

    length: int
    start: Snapshot
    edges: Mapping[Snapshot, tuple[tuple[str, Snapshot], ...]]
    complete: bool

    @cached_property
    def count(self) -> int:
        """Number of different shortest plans."""
        ways: dict[Snapshot, int] = {}
        for situation in self._leaves_first():
            onward = self.edges.get(situation, ())
            ways[situation] = sum(ways[after] for _command, after in onward) if onward else 1
        return ways[self.start]

    def plans(self, limit: int = 1_000) -> Iterator[tuple[str, ...]]:
        """Up to ``limit`` of the plans as command sequences, in a fixed order."""
        stack: list[tuple[Snapshot, tuple[str, ...]]] = [(self.start, ())]
        given = 0
        while stack and given < limit:
            situation, commands = stack.pop()
            onward = self.edges.get(situation, ())
            if not onward:
                given += 1
                yield commands
            stack.extend((after, (*commands, command)) for command, after in reversed(onward))

    def _leaves_first(self) -> list[Snapshot]:
        layers: list[list[Snapshot]] = [[self.start]]
        for _ in range(self.length):
            layers.append(list({after: None for s in layers[-1] for _c, after in self.edges.get(s, ())}))
        return list(dict.fromkeys(situation for layer in reversed(layers) for situation in layer))


def all_shortest(game: Game, *, start: Snapshot | None = None, limit: int = DEFAULT_LIMIT) -> ShortestPlans | None:
    """Every shortest plan.

    Every order of independent steps, every choice between equally near objects and receptacles, and every name of a
    spot that several receptacles share are covered. Situations that differ only in what ``look`` would say are one.

    Args:
        game: The game.
        start: Where to start; by default the game's initial situation.
        limit: Number of situations to look at before leaving the rest out.

    Returns:
        The plans, or ``None`` where ``find_plan`` finds none.
    """
    first = _plain(start if start is not None else game.initial)
    shortest = find_plan(game, start=first, limit=limit)
    if shortest is None:
        return None
    search = GoalMoves(game, every_name=True)
    layer = [first]
    depths = {first: 0}
    onward: dict[Snapshot, list[tuple[str, Snapshot]]] = {}
    seen = 0
    for depth in range(len(shortest)):
        following: dict[Snapshot, bool] = {}
        for situation in layer:
            seen += 1
            if seen > limit:
                break
            for command, reached in search.successors(situation):
                after = _plain(reached)
                if depths.setdefault(after, depth + 1) <= depth:
                    continue  # a way around to a situation that can be had sooner
                near_enough = following.get(after)
                if near_enough is None:
                    near_enough = following[after] = search.estimate(after) <= len(shortest) - depth - 1
                if near_enough:
                    onward.setdefault(situation, []).append((command, after))
        layer = [situation for situation, near_enough in following.items() if near_enough]
    return ShortestPlans(len(shortest), first, _leading_to(set(layer), onward), complete=seen <= limit)


def _leading_to(
    goals: set[Snapshot], onward: dict[Snapshot, list[tuple[str, Snapshot]]]
) -> dict[Snapshot, tuple[tuple[str, Snapshot], ...]]:
    """The edges from which a goal can be reached."""
    kept: dict[Snapshot, tuple[tuple[str, Snapshot], ...]] = {}
    for situation in reversed(onward):  # inserted layer by layer, so the last come first
        edges = tuple((command, after) for command, after in onward[situation] if after in goals or after in kept)
        if edges:
            kept[situation] = edges
    return dict(reversed(kept.items()))


def _key(situation: Snapshot) -> Snapshot:
    """The situation without what no further move depends on."""
    return situation._replace(removed=(), attended=NOWHERE)


def _plain(situation: Snapshot) -> Snapshot:
    """The situation without the memory that only ``look`` reads."""
    return situation._replace(removed=(0,) * len(situation.removed))


def _commands_to(key: Snapshot, came: Mapping[Snapshot, tuple[Snapshot, str] | None]) -> tuple[str, ...]:
    commands: list[str] = []
    while (step := came[key]) is not None:
        key, command = step
        commands.append(command)
    return tuple(reversed(commands))


class GoalMoves:
    """The moves of one game that can matter for its goal.

    Args:
        game: The game.
        every_name: Go to a spot by the name of each receptacle there, not just by those that matter.
    """

    def __init__(self, game: Game, *, every_name: bool) -> None:
        self.game = game
        self.engine = AlfWorldEngine(game)
        self.estimate = Estimate(game)
        self.every_name = every_name
        self.things = game.goal_objects | (game.knives if game.goal.sliced else 0)

    def successors(self, situation: Snapshot) -> Iterator[tuple[str, Snapshot]]:
        """Commands that can matter, and the situations they lead to, in a fixed order."""
        for command in self.commands(situation):
            self.engine.restore(situation)
            self.engine.step(command)
            yield command, self.engine.snapshot()

    def commands(self, s: Snapshot) -> list[str]:
        """Commands that can matter in a situation, in a fixed order."""
        game = self.game
        here = game.at_place[s.place]
        found = [command for r in here for command in self._at(r, s)]
        if s.held != NOWHERE and game.knives >> s.held & 1 and game.goal.sliced:
            ready = game.goal_objects & s.lying[s.place] & ~s.sliced
            found += [f"slice {game.objects[o]} with {game.objects[s.held]}" for o in bits(ready)]
        useful = [r for r in range(len(game.receptacles)) if self._worth_going(r, s)]
        if self.every_name:
            useful = sorted({r for u in useful for r in game.at_place[game.receptacle_places[u]]})
        found += [f"go to {game.receptacles[r]}" for r in useful if game.receptacle_places[r] not in (NOWHERE, s.place)]
        return found

    def _at(self, r: int, s: Snapshot) -> Iterator[str]:
        """Commands at a receptacle within reach."""
        game, name = self.game, self.game.receptacles[r]
        shut = game.openable >> r & 1 and not s.opened >> r & 1
        for lamp in bits(s.contents[r] & game.lamps & ~s.toggled):
            yield f"use {game.objects[lamp]}"
        wanted = s.contents[r] & self.things & game.pickupable
        accepted = s.held != NOWHERE and game.accepts[r] >> s.held & 1
        if shut and (wanted or accepted or r in game.goal_receptacles):
            yield f"open {name}"
        if s.held == NOWHERE:
            if not shut:
                yield from (f"take {game.objects[o]} from {name}" for o in bits(wanted))
            return
        thing, bit = game.objects[s.held], 1 << s.held
        verb = {"hot": "heat", "cool": "cool", "clean": "clean"}.get(game.goal.treatment)
        if verb and game.goal_objects & bit and self.estimate.treats(r) and not self.estimate.treated(s) & bit:
            yield f"{verb} {thing} with {name}"
        if accepted and not shut:
            yield self._put(thing, name)

    def _put(self, thing: str, receptacle: str) -> str:
        return (
            f"move {thing} to {receptacle}" if self.game.rules.wording == "move" else f"put {thing} in/on {receptacle}"
        )

    def _worth_going(self, r: int, s: Snapshot) -> bool:
        game = self.game
        if s.contents[r] & (self.things & game.pickupable | game.lamps):
            return True
        if s.held == NOWHERE:
            return False
        bit = 1 << s.held
        if not self.things & bit:  # something useless in hand: wherever it can be put down
            return bool(game.accepts[r] & bit)
        return (
            r in game.goal_receptacles or self.estimate.treats(r) or (game.goal.sliced and bool(game.accepts[r] & bit))
        )
