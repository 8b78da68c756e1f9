"""What differs between the releases: wording, arrivals, help, and which sinks clean.

The dynamics themselves are fixed (``proas.envs.alfworld.engine``). A game file brings its own domain and grammar; the
domain is compared action by action with the ones we reproduce, so that a game with other rules is refused instead of
being played wrongly.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from proas.envs.alfworld.data import Wording
from proas.envs.alfworld.pddl import Expression, PddlError, read_expression

__all__ = ["Rules", "UnsupportedDomain", "default_rules", "rules_of", "task_of"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings in which the releases differ.

    Attributes:
        wording: ``put X in/on Y`` or ``move X to Y``.
        arrive_at_place: Arrivals name the location (``loc 5``) in place of the receptacle.
        help_text: Answer to ``help``; empty where the command does not exist.
        sinks_clean: A receptacle of type Sink cleans as a SinkBasin does.
    """

    wording: Wording
    arrive_at_place: bool
    help_text: str
    sinks_clean: bool


class UnsupportedDomain(PddlError):
    """A domain whose actions are not those that the engine reproduces."""


_HELP = (
    ("look", "look around your current location"),
    ("inventory", "check your current inventory"),
    ("go to (receptacle)", "move to a receptacle"),
    ("open (receptacle)", "open a receptacle"),
    ("close (receptacle)", "close a receptacle"),
    ("take (object) from (receptacle)", "take an object from a receptacle"),
    ("move (object) to (receptacle):  ", "place an object in or on a receptacle"),
    ("examine (something)", "examine a receptacle or an object"),
    ("use (object)", "use an object"),
    ("heat (object) with (receptacle)", "heat an object using a receptacle"),
    ("clean (object) with (receptacle)", "clean an object using a receptacle"),
    ("cool (object) with (receptacle)", "cool an object using a receptacle"),
    ("slice (object) with (object)", "slice an object using a sharp object"),
)


def default_rules(wording: Wording) -> Rules:
    """Rules of the release with this wording, for a trial that has no game file."""
    if wording == "put":
        return Rules("put", arrive_at_place=True, help_text="", sinks_clean=True)
    # The reference lines the meanings up in column 36, all but one.
    lines = "".join(
        f"  {command}{meaning}\n" if command.endswith(" ") else f"{f'  {command}:':<36}{meaning}\n"
        for command, meaning in _HELP
    )
    return Rules("move", arrive_at_place=False, help_text=f"Available commands:\n{lines}", sinks_clean=False)


@lru_cache(maxsize=64)
def _sinks_clean(domain: str) -> bool:
    """Whether plain sinks clean under a domain, which must otherwise be one we know.

    Raises:
        UnsupportedDomain: An action is missing, new or different.
    """
    tree = read_expression(domain)
    actions: dict[str, str] = {}
    for part in tree[1:] if isinstance(tree, list) else ():
        if isinstance(part, list) and part[:1] == [":action"] and len(part) > 1:
            actions[str(part[1])] = _fingerprint(part)
    different = sorted(name for name, digest in actions.items() if digest not in _KNOWN_ACTIONS.get(name, ()))
    missing = sorted(set(_KNOWN_ACTIONS) - set(actions) - {"help"})
    if different or missing:
        raise UnsupportedDomain(f"the game's rules differ from ALFWorld's in {', '.join(different + missing)}")
    return actions["cleanobject"] == _KNOWN_ACTIONS["cleanobject"][0]


def _fingerprint(action: Expression) -> str:
    return blake2b(json.dumps(action).encode(), digest_size=6).hexdigest()


_KNOWN_ACTIONS: dict[str, tuple[str, ...]] = {
    "look": ("b4a63b69ff15",),
    "inventory": ("152fd3d9977f",),
    "examinereceptacle": ("5f82bce93e37",),
    "examineobject": ("3ff2cb7264a9",),
    "gotolocation": ("88f26a75dbf7",),
    "openobject": ("869410da4010",),
    "closeobject": ("57b6982ecc13",),
    "pickupobject": ("a541a2d89327",),
    "putobject": ("a3fa9cc7cd8f",),
    "cleanobject": ("8b22ff1625e4", "5384429cf70f"),
    "heatobject": ("ba0d37c56cac",),
    "coolobject": ("6d729b4bdc38",),
    "toggleobject": ("0f2c074326a1",),
    "sliceobject": ("6aa3981826c8",),
    "help": ("8e1adb5ca849",),
}
"""Digests of the known forms of each action; ``cleanobject`` first with sinks (2.1.1), then without (2.1.3)."""


def rules_of(domain: str, grammar: str) -> Rules:
    """Rules of a game file.

    Raises:
        UnsupportedDomain: Its dynamics are not those that the engine reproduces.
        PddlError: Its grammar names no way to put an object down.
    """
    return _rules(domain, _TASK.sub("", grammar))


@lru_cache(maxsize=64)
def _rules(domain: str, grammar: str) -> Rules:
    template = re.search(r'action\s+PutObject\s*\{\s*template\s*::\s*"([^"]*)"', grammar)
    phrase = template.group(1) if template else ""
    if phrase not in _PUT_TEMPLATES:
        raise PddlError(f"the game's grammar puts objects down with {phrase!r}, which we do not know")
    found = re.search(r'"help\.feedback"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*("(?:[^"\\]|\\.)*")', grammar)
    return Rules(
        wording=_PUT_TEMPLATES[phrase],
        arrive_at_place="You arrive at {lend.name}" in grammar,
        help_text=_unescape(found.group(1)) if found else "",
        sinks_clean=_sinks_clean(domain),
    )


_PUT_TEMPLATES: dict[str, Wording] = {"put {o} in/on {r}": "put", "move {o} to {r}": "move"}
_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*("(?:[^"\\]|\\.)*")')


def task_of(grammar: str) -> str:
    """The sentence, "Your task is to: ...", in which a game's grammar states the task.

    Raises:
        PddlError: There is none.
    """
    found = _TASK.search(grammar)
    if found is None:
        raise PddlError("the game's grammar states no task")
    return _unescape(found.group(1))


def _unescape(literal: str) -> str:
    """Text of a JSON string inside a grammar, which the reference reads without leading white space."""
    try:
        return str(json.loads(literal, strict=False)).replace("\\n", "\n").lstrip()
    except ValueError as error:
        raise PddlError(f"the game's grammar holds a malformed string ({error})") from error
