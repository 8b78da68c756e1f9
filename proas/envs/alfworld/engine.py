"""The dynamics of ALFWorld's text games, equal to textworld + alfworld and about a thousand times faster.

What the reference does by translating PDDL and deriving a grammar at every step is done here directly, peculiarities
included (``docs/alfworld.md`` lists them): lists descend, ``examine`` needs the object in hand, ``go to`` is missing
for everything within reach, treating needs no opening, ``use`` reaches into closed receptacles and always turns on,
and winning ends nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from proas.envs.alfworld.commands import Move, parse_command
from proas.envs.alfworld.facts import AlfWorldFacts
from proas.envs.alfworld.game import NOWHERE, Game, Snapshot, bits

__all__ = ["NOTHING_HAPPENS", "AlfWorldEngine"]

NOTHING_HAPPENS: Final = "Nothing happens."
"""The answer to a command that does not apply; the situation stays as it was."""

_WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
_MID_ROOM = "You are in the middle of a room. Looking quickly around you, you see "

_KNOWN_COMMANDS_LIMIT = 4096


class AlfWorldEngine:
    """One game being played.

    Args:
        game: The game; many engines may share it.
    """

    __slots__ = (
        "_admissible",
        "_commands",
        "attended",
        "clean",
        "contents",
        "cool",
        "game",
        "held",
        "hot",
        "lying",
        "opened",
        "place",
        "removed",
        "sliced",
        "toggled",
    )

    def __init__(self, game: Game) -> None:
        self.game = game
        self._commands: dict[str, Move] = {}
        self._admissible: list[str] | None = None
        self.restore(game.initial)

    # -- playing ---------------------------------------------------------------------------------------------------

    def reset(self) -> str:
        """Start again; the introduction with the view of the room and the task."""
        self.restore(self.game.initial)
        return f"{_WELCOME}\n\n{self._look(intro=True)}\n\n{self.game.task}"

    def step(self, command: str) -> tuple[str, bool]:
        """Carry out one command.

        Args:
            command: Exactly as ``admissible`` writes it; white space around it is ignored, case is not.

        Returns:
            The answer, and whether the goal holds now. A command that does not apply is answered with
            ``NOTHING_HAPPENS``.
        """
        verb, a, b = move = self._parsed(command.strip())
        if not self._applies(move):
            return NOTHING_HAPPENS, self.won
        self._admissible = None
        return self._EFFECTS[verb](self, a, b), self.won

    def valid(self, command: str) -> bool:
        """Whether a command applies now."""
        return self._applies(self._parsed(command.strip()))

    def admissible(self) -> list[str]:
        """All commands that apply now, in alphabetical order as the reference gives them."""
        if self._admissible is None:
            self._admissible = sorted(self._applicable())
        return self._admissible.copy()

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        game, contents, candidates = self.game, self.contents, self.game.goal_objects
        if game.goal.kind == "look":
            if self.held == NOWHERE or not candidates >> self.held & 1:
                return False
            if game.goal.sliced and not self.sliced >> self.held & 1:
                return False
            lit = game.lamps & self.toggled
            return any(contents[r] & lit for r in game.at_place[self.place])
        match game.goal.treatment:
            case "hot":
                candidates &= self.hot
            case "cool":
                candidates &= self.cool
            case "clean":
                candidates &= self.clean
        if game.goal.sliced:
            candidates &= self.sliced
        if game.goal.kind == "two":
            return any((contents[r] & candidates).bit_count() > 1 for r in game.goal_receptacles)
        return any(contents[r] & candidates for r in game.goal_receptacles)

    # -- snapshots and views ---------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The situation, to come back to with ``restore``; hashable and comparable."""
        return Snapshot(
            self.place,
            self.held,
            tuple(self.contents),
            self.opened,
            self.hot,
            self.cool,
            self.clean,
            self.toggled,
            self.sliced,
            tuple(self.lying),
            tuple(self.removed),
            self.attended,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a situation of the same game."""
        self.place, self.held = snapshot.place, snapshot.held
        self.contents = list(snapshot.contents)
        self.opened, self.hot, self.cool, self.clean = snapshot.opened, snapshot.hot, snapshot.cool, snapshot.clean
        self.toggled, self.sliced = snapshot.toggled, snapshot.sliced
        self.lying, self.removed = list(snapshot.lying), list(snapshot.removed)
        self.attended = snapshot.attended
        self._admissible = None

    def copy(self) -> AlfWorldEngine:
        """An independent engine in the same situation."""
        other = AlfWorldEngine(self.game)
        other.restore(self.snapshot())
        return other

    def facts(self) -> AlfWorldFacts:
        """The situation in names."""
        game = self.game
        names, things = game.receptacles, game.objects

        def named(mask: int) -> frozenset[str]:
            return frozenset(things[o] for o in bits(mask))

        return AlfWorldFacts(
            attended=names[self.attended] if self.attended != NOWHERE else None,
            standing=tuple(names[r] for r in game.at_place[self.place]),
            held=things[self.held] if self.held != NOWHERE else None,
            contents={names[r]: named(mask) for r, mask in enumerate(self.contents)},
            openable=frozenset(names[r] for r in bits(game.openable)),
            opened=frozenset(names[r] for r in bits(self.opened)),
            hot=named(self.hot),
            cool=named(self.cool),
            clean=named(self.clean),
            sliced=named(self.sliced),
            toggled=named(self.toggled),
            goal=game.goal,
        )

    # -- what applies ----------------------------------------------------------------------------------------------

    def _parsed(self, command: str) -> Move:
        """The move that a command names, whether or not it applies; ``NO_MOVE`` where it names none."""
        move = self._commands.get(command)
        if move is None:
            move = parse_command(self.game, command)
            if len(self._commands) >= _KNOWN_COMMANDS_LIMIT:  # agents write no end of different nonsense
                self._commands.clear()
            self._commands[command] = move
        return move

    def _applies(self, move: Move) -> bool:
        verb, a, b = move
        game = self.game
        match verb:
            case "":
                return False
            case "go":
                return game.receptacle_places[a] not in (NOWHERE, self.place)
            case "open":
                return self._here(a) and bool(game.openable >> a & 1) and not self.opened >> a & 1
            case "close":
                return self._here(a) and bool(game.openable >> a & 1) and bool(self.opened >> a & 1)
            case "examine receptacle":
                return self._here(a)
            case "take":
                return self.held == NOWHERE and self._reaches(b) and bool(self.contents[b] & game.pickupable & 1 << a)
            case "put":
                return self.held == a and self._reaches(b) and bool(game.accepts[b] >> a & 1)
            case "clean" | "heat" | "cool":
                return self.held == a and self._here(b) and self._treats(verb, a, b)
            case "use":
                return bool(game.toggleable >> a & 1) and any(
                    self.contents[r] >> a & 1 for r in game.at_place[self.place]
                )
            case "slice":
                slices = self.held == b and game.knives >> b & 1
                return bool(slices and game.sliceable & self.lying[self.place] & 1 << a)
            case "examine object":
                return self.held == a
        return True  # look, inventory, help

    def _here(self, receptacle: int) -> bool:
        return self.game.receptacle_places[receptacle] == self.place

    def _reaches(self, receptacle: int) -> bool:
        """Whether the agent can put its hand into a receptacle."""
        is_shut = self.game.openable >> receptacle & 1 and not self.opened >> receptacle & 1
        return self._here(receptacle) and not is_shut

    def _treats(self, verb: str, thing: int, receptacle: int) -> bool:
        game, kind = self.game, self.game.receptacle_kinds[receptacle]
        if verb == "heat":
            return kind == "microwave" and bool(game.heatable >> thing & 1)
        if verb == "cool":
            return kind == "fridge" and bool(game.coolable >> thing & 1)
        cleans = kind == "sinkbasin" or (kind == "sink" and game.rules.sinks_clean)
        return cleans and bool(game.cleanable >> thing & 1)

    def _applicable(self) -> set[str]:
        game = self.game
        names, things, held = game.receptacles, game.objects, self.held
        put = _PUT[game.rules.wording]
        found = {"look", "inventory"}
        if game.rules.help_text:
            found.add("help")
        here = self.place
        found.update(f"go to {names[r]}" for r, p in enumerate(game.receptacle_places) if p not in (here, NOWHERE))
        for r in game.at_place[here]:
            name, inside = names[r], self.contents[r]
            found.add(f"examine {name}")
            if game.openable >> r & 1:
                found.add(f"close {name}" if self.opened >> r & 1 else f"open {name}")
            found.update(f"use {things[o]}" for o in bits(inside & game.toggleable))
            if held == NOWHERE:
                if self._reaches(r):
                    found.update(f"take {things[o]} from {name}" for o in bits(inside & game.pickupable))
                continue
            if self._reaches(r) and game.accepts[r] >> held & 1:
                found.add(put.format(things[held], name))
            found.update(f"{verb} {things[held]} with {name}" for verb in _TREATING if self._treats(verb, held, r))
        if held != NOWHERE:
            found.add(f"examine {things[held]}")
            if game.knives >> held & 1:
                found.update(f"slice {things[o]} with {things[held]}" for o in bits(game.sliceable & self.lying[here]))
        return found

    # -- effects and their text ------------------------------------------------------------------------------------

    def _look(self, *, intro: bool = False) -> str:
        game = self.game
        here = game.at_place[self.place]
        if not here:
            seen = [game.receptacles[r] for r, p in enumerate(game.receptacle_places) if p != NOWHERE] if intro else []
            return f"{_MID_ROOM}{_listed([f'a {name}' for name in seen])}."
        lying = self.lying[self.place]
        beside = [f"a {game.objects[o]}" for o in bits(lying) for r in here if self.removed[r] >> o & 1]
        facing = _listed([game.receptacles[r] for r in here])
        return f"You are facing the {facing}. Next to it, you see {_listed(beside)}."

    def _view(self, r: int) -> str:
        game = self.game
        name = game.receptacles[r]
        things = _listed([f"a {game.objects[o]}" for o in bits(self.contents[r])])
        if not game.openable >> r & 1:
            return f"On the {name}, you see {things}."
        if self.opened >> r & 1:
            return f"The {name} is open. In it, you see {things}."
        return f"The {name} is closed."

    def _do_look(self, _a: int, _b: int) -> str:
        return self._look()

    def _do_inventory(self, _a: int, _b: int) -> str:
        if self.held == NOWHERE:
            return "You are not carrying anything."
        return f"You are carrying: a {self.game.objects[self.held]}."

    def _do_help(self, _a: int, _b: int) -> str:
        return self.game.rules.help_text

    def _do_go(self, r: int, _b: int) -> str:
        game = self.game
        self.place, self.attended = game.receptacle_places[r], r
        arrived = game.places[self.place] if game.rules.arrive_at_place else game.receptacles[r]
        return f"You arrive at {arrived}. {self._view(r)}"

    def _do_open(self, r: int, _b: int) -> str:
        self.opened |= 1 << r
        self.attended = r
        return f"You open the {self.game.receptacles[r]}. {self._view(r)}"

    def _do_close(self, r: int, _b: int) -> str:
        self.opened &= ~(1 << r)
        self.attended = r
        return f"You close the {self.game.receptacles[r]}."

    def _do_examine_receptacle(self, r: int, _b: int) -> str:
        self.attended = r
        return self._view(r)

    def _do_examine_object(self, o: int, _b: int) -> str:
        game, name, bit = self.game, self.game.objects[o], 1 << o
        if game.containers & bit:
            inside = _listed([f"a {game.objects[i]}" for i in game.inner.get(o, ())])
            return f"This is a normal {name}. In it, you see {inside}."
        clean, sliced = bool(self.clean & bit), bool(self.sliced & bit)
        # The reference asks for hot before cool where the object is clean and sliced, after it nowhere.
        heat = "hot" if self.hot & bit else "cool" if self.cool & bit else ""
        if heat and clean:
            return f"This is a {heat} and clean {'sliced ' if sliced else ''}{name}."
        if sliced and (heat or clean):
            return f"This is a {heat or 'clean'} sliced {name}."
        if heat or clean:
            return f"This is a {'cold' if heat == 'cool' else heat or 'clean'} {name}."
        if game.toggleable & self.toggled & bit:
            return f"This {name} is on."
        if game.sliceable & bit and sliced:
            return f"This is a sliced {name}."
        return f"There's nothing special about {name}."

    def _do_take(self, o: int, r: int) -> str:
        bit = 1 << o
        self.contents[r] &= ~bit
        self.removed[r] |= bit
        self.lying[self.place] &= ~bit
        self.held, self.attended = o, r
        return f"You pick up the {self.game.objects[o]} from the {self.game.receptacles[r]}."

    def _do_put(self, o: int, r: int) -> str:
        bit = 1 << o
        self.contents[r] |= bit
        self.removed[r] &= ~bit
        self.lying[self.place] |= bit
        self.held, self.attended = NOWHERE, r
        thing, name = self.game.objects[o], self.game.receptacles[r]
        if self.game.rules.wording == "move":
            return f"You move the {thing} to the {name}."
        return f"You put the {thing} in/on the {name}."

    def _do_clean(self, o: int, r: int) -> str:
        self.clean |= 1 << o
        return self._treated("clean", o, r)

    def _do_heat(self, o: int, r: int) -> str:
        self.hot |= 1 << o
        self.cool &= ~(1 << o)
        return self._treated("heat", o, r)

    def _do_cool(self, o: int, r: int) -> str:
        self.cool |= 1 << o
        self.hot &= ~(1 << o)
        return self._treated("cool", o, r)

    def _treated(self, verb: str, o: int, r: int) -> str:
        self.attended = r
        return f"You {verb} the {self.game.objects[o]} using the {self.game.receptacles[r]}."

    def _do_use(self, o: int, _b: int) -> str:
        self.toggled |= 1 << o
        return f"You turn on the {self.game.objects[o]}."

    def _do_slice(self, o: int, knife: int) -> str:
        self.sliced |= 1 << o
        return f"You sliced the {self.game.objects[o]} with the {self.game.objects[knife]}."

    _EFFECTS: ClassVar[dict[str, Callable[[AlfWorldEngine, int, int], str]]] = {
        "look": _do_look,
        "inventory": _do_inventory,
        "help": _do_help,
        "go": _do_go,
        "open": _do_open,
        "close": _do_close,
        "examine receptacle": _do_examine_receptacle,
        "examine object": _do_examine_object,
        "take": _do_take,
        "put": _do_put,
        "clean": _do_clean,
        "heat": _do_heat,
        "cool": _do_cool,
        "use": _do_use,
        "slice": _do_slice,
    }


_TREATING = ("clean", "heat", "cool")
_PUT = {"put": "put {} in/on {}", "move": "move {} to {}"}


def _listed(names: list[str]) -> str:
    """Names as the reference joins them: a comma stands before the last "and" even between two."""
    if not names:
        return "nothing"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])}, and {names[-1]}"
