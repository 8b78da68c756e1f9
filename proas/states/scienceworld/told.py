"""What one answer of the simulator tells: which action was carried out, on what, whatever words asked for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from proas.envs.scienceworld.goal import is_refusal

__all__ = ["INVENTORY", "Told", "plain_name", "spoken_words", "told_by"]

INVENTORY = "inventory"

_ROOMS = (
    "art studio",
    "bathroom",
    "bedroom",
    "foundry",
    "greenhouse",
    "hallway",
    "kitchen",
    "living room",
    "outside",
    "workshop",
)

_ASIDE = re.compile(r"^\(disconnecting (?P<thing>[^)]*)\)\s*")
_ANSWERS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for kind, pattern in (
        ("went", r"you (?:move|teleport)(?: through the .+?)? to the (?P<place>[^.]+)\.$"),
        ("put", r"you move the (?P<thing>.+) to the (?P<place>[^.]+)\.$"),
        ("focused", r"you focus on the (?P<thing>.+)\.$"),
        ("poured", r"you pour the contents of the (?P<thing>.+) into the (?P<place>[^.]+)\.$"),
        ("tipped", r"you pour the (?P<thing>.+) into the (?P<place>[^.]+)\.$"),
        ("dunked", r"you dunk the (?P<thing>.+?) in the (?P<place>[^,]+), moving the liquids"),
        ("connected", r"(?P<thing>[^.\n]+) is now connected to (?P<place>[^.\n]+)$"),
        ("disconnected", r"(?P<thing>[^.\n]+) has been disconnected$"),
        ("opened", r"the (?P<thing>.+) is now open\.$"),
        ("closed", r"the (?P<thing>.+) is now closed\.$"),
        ("on", r"the (?P<thing>.+) is now activated\.$"),
        ("off", r"the (?P<thing>.+) is now deactivated\.$"),
        ("made", r"[^.]+ mix to produce (?:an? )?(?P<thing>.+)\.$"),
        ("measured", r"the thermometer measures a temperature of"),
        ("read", r"the (?P<thing>[^\n]+?) reads:"),
        ("ate", r"the (?P<thing>.+) was delicious\.$"),
        ("waited", r"you decide to wait for \d+ iterations"),
        ("looked", r"this (?:room|outside location) is called the (?P<place>[^.\n]+)\."),
        ("listed", r"in your inventory, you see:"),
        ("listed", r"task description:"),
        ("listed", r"possible (?:actions|object references):"),
        ("reset", r"you reset the goal progress and focus"),
    )
)
_FORMS = {
    "went": "go to {place}",
    "focused": "focus on {thing}",
    "poured": "pour {thing} into {place}",
    "tipped": "pour {thing} into {place}",
    "dunked": "dunk {thing} in {place}",
    "connected": "connect {thing} to {place}",
    "disconnected": "disconnect {thing}",
    "opened": "open {thing}",
    "closed": "close {thing}",
    "on": "activate {thing}",
    "off": "deactivate {thing}",
    "made": "mix to {thing}",
    "read": "read {thing}",
    "ate": "eat {thing}",
    "looked": "look around",
    "reset": "reset task",
}
_WORDS = re.compile(r"^\W*(?:(?:step|act|action)\s*\d*\s*:|>)\s*", re.IGNORECASE)
_TAGGED = re.compile(r"<action>(?P<inside>.*?)</action>", re.IGNORECASE | re.DOTALL)
_INTO = re.compile(r" (?:to|into|in|onto|on) ")
_PHASES = {"ice": "water", "steam": "water"}
_STATE = re.compile(r"^(?:(?:solid|liquid|gaseous) )+")


@dataclass(frozen=True, slots=True)
class Told:
    """One answer, understood.

    Attributes:
        kind: What was carried out; ``refused`` where nothing was, ``other`` where the answer only describes.
        thing: What it was done to.
        place: Where, in the answer's words.
        where: The same, as exactly as the command said it; equal to ``place`` where it said no more.
        source: What the command said that the thing was in, or that was mixed; often empty.
        loosened: What was disconnected on the way.
        canonical: Canonical form of the action.
    """

    kind: str
    thing: str = ""
    place: str = ""
    where: str = ""
    source: str = ""
    loosened: tuple[str, ...] = ()
    canonical: str = ""


def spoken_words(action: str) -> str:
    """The command in an agent's words: lower case, single spaces, without tags, quotes and prompts."""
    tagged = _TAGGED.search(action)
    lines = [line for line in (tagged["inside"] if tagged else action).splitlines() if line.strip()]
    return " ".join(_WORDS.sub("", lines[-1]).strip().strip("`\"'[]").lower().split()) if lines else ""


def plain_name(name: str) -> str:
    """A thing's name whatever its state of matter: ice and steam are water, liquid chocolate is chocolate."""
    words = " ".join(name.lower().split())
    words = re.sub(r"^(?:(?:an?|the|some) )?(?:substance called )?", "", words)
    words = _STATE.sub("", words)
    return _PHASES.get(words, words)


def told_by(action: str, answer: str, *, room: str = "") -> Told:
    """What an answer tells.

    Args:
        action: The agent's words.
        answer: The simulator's answer to them.
        room: Where the agent is, which a command may name and need not.
    """
    words = spoken_words(action)
    said, loosened = answer.strip(), []
    while aside := _ASIDE.match(said):
        loosened.append(plain_name(aside["thing"]))
        said = said[aside.end() :]
    if not said or is_refusal(said):
        return Told("refused", canonical=words)
    for kind, pattern in _ANSWERS:
        found = pattern.match(said)
        if found is None:
            continue
        if kind == "looked" and words not in ("look around", "look"):
            return Told("other", canonical=words)  # the next room, seen through an open door
        groups = found.groupdict()
        thing, place = plain_name(groups.get("thing") or ""), plain_name(groups.get("place") or "")
        if kind in ("opened", "closed"):
            thing = _exactly(thing, _object_of(words), room)
        where, source = place, ""
        if kind in ("put", "poured", "tipped", "dunked"):
            phrase = _object_of(words)
            parts = _INTO.split(phrase)
            source = parts[1] if len(parts) > 2 else ""
            where = _exactly(place, parts[-1] if len(parts) > 1 else "", room)
        if kind == "made":
            source = _exactly("", _object_of(words), room)
        return Told(kind, thing, place, where, source, tuple(loosened), _canonical(kind, thing, where, words))
    return Told("other", canonical=words)


def _canonical(kind: str, thing: str, where: str, words: str) -> str:
    if kind == "put":
        return f"pick up {thing}" if where == INVENTORY else f"move {thing} to {where}"
    form = _FORMS.get(kind)
    return form.format(thing=thing, place=where) if form else words


def _object_of(words: str) -> str:
    """A command without its verb."""
    verbs = ("pick up ", "put down ", "look at ", "look in ", "turn on ", "turn off ")
    for verb in verbs:
        if words.startswith(verb):
            return words.removeprefix(verb)
    return words.partition(" ")[2]


def _exactly(name: str, phrase: str, room: str) -> str:
    """A name as exactly as a phrase gives it: one of two planes, a door by where it leads, a drawer by its cupboard."""
    if name.endswith("door"):
        beyond = next((known for known in _ROOMS if known in phrase and known != room), "")
        return f"door to {beyond}" if beyond else name
    phrase = re.sub(rf" (?:in|on) (?:the )?(?:inventory|{re.escape(room) or 'inventory'})$", "", phrase)
    at = phrase.find(name)
    return phrase[at:] if at >= 0 and (at == 0 or phrase[at - 1] == " ") else name
