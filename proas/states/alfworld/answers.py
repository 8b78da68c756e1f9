"""What the game answered, read from its text in either wording.

The sentences are those of the release's grammar (``game.tw-pddl``), 2.1.1 and 2.1.3. An observation may have words
around them, as trainers that build prompts leave them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from proas.states.alfworld.commands import NAME, Command

__all__ = ["Answer", "read_answer"]

Reply = Literal["done", "sight", "refused", "noted", "unknown"]
"""``done``: the command is plain from the answer. ``sight``: a receptacle is described, after ``go to`` or ``examine``.
``refused``: "Nothing happens." ``noted``: "OK.", the answer to a thought. ``unknown``: none of the game's sentences."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of one observation.

    Attributes:
        reply: What kind of answer it is.
        command: The command that was carried out, where ``reply`` is ``done``.
        receptacle: The receptacle described, else empty.
        opened: Whether it is open; ``None`` where it does not open or none is described.
        contents: Objects listed in or on it.
        sees: Its contents were shown.
        off: A lamp was switched off rather than on.
    """

    reply: Reply
    command: Command | None = None
    receptacle: str = ""
    opened: bool | None = None
    contents: tuple[str, ...] = ()
    sees: bool = False
    off: bool = False


_ANSWER = re.compile(
    rf"(?P<refused>nothing happens)"
    rf"|you arrive at (?P<arrive>{NAME})"
    rf"|you pick up the (?P<take_o>{NAME}) from the (?P<take_r>{NAME})"
    rf"|you (?:put|move) the (?P<move_o>{NAME}) (?:in/on|in|on|to) the (?P<move_r>{NAME})"
    rf"|you (?P<door>open|close) the (?P<door_r>{NAME})"
    rf"|you (?P<treat>heat|cool|clean) the (?P<treat_o>{NAME}) using the (?P<treat_r>{NAME})"
    rf"|you sliced? the (?P<slice_o>{NAME}) with the (?P<slice_k>{NAME})"
    rf"|you turn (?P<turn>on|off) the (?P<turn_o>{NAME})"
    rf"|(?P<look>you are facing the |you are in the middle of a room)"
    rf"|(?P<inventory>you are carrying|you are not carrying)"
    rf"|(?P<help>available commands:)"
    rf"|(?:this is an? (?:[a-z]+ ){{0,4}}?|there's nothing special about )(?P<examine>{NAME})"
    rf"|this (?P<examine_lamp>{NAME}) is o(?:n|ff)\b"
    rf"|(?P<sight>on the {NAME}, you see|the {NAME} is (?:open|closed))"
    rf"|(?P<noted>\A\s*ok\.?\s*\Z)",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    rf"on the (?P<on>{NAME}), you see (?P<on_list>[^.]*)"
    rf"|the (?P<box>{NAME}) is (?:(?P<closed>closed)|open(?:\. in it, you see (?P<in_list>[^.]*))?)",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"\ban? ({NAME})", re.IGNORECASE)

_PROMPT = "current observation is:"
_LONGEST_READ = 20_000


def read_answer(observation: str) -> Answer:
    """Content of an observation.

    Args:
        observation: The game's answer, possibly inside a longer prompt ("... your current observation is: ...").

    Returns:
        What could be read; ``reply`` is ``unknown`` when that is nothing.
    """
    # The agent-prompt of step-wise trainers repeats earlier answers before the present one.
    prompt = observation.lower().rfind(_PROMPT)
    text = observation[prompt + len(_PROMPT) if prompt >= 0 else 0 :][:_LONGEST_READ]
    found = _ANSWER.search(text)
    if found is None:
        return Answer("unknown")
    kind = found.lastgroup or ""
    if kind == "refused":
        return Answer("refused")
    if kind == "noted":
        return Answer("noted")
    receptacle, opened, contents, sees = _description(text, found.start())
    command = _command(found, receptacle)
    return Answer(
        "done" if command is not None else "sight",
        command=command,
        receptacle=receptacle,
        opened=opened,
        contents=contents,
        sees=sees,
        off=kind == "turn_o" and found.group("turn").lower() == "off",
    )


def _command(found: re.Match[str], receptacle: str) -> Command | None:
    """The command behind an answer; ``None`` where going and examining read alike."""
    part = {name: value.lower() for name, value in found.groupdict().items() if value}
    for verb in ("look", "inventory", "help"):
        if verb in part:
            return Command(verb)
    if "arrive" in part:
        # The older wording names a location, "loc 5", and then describes the receptacle that was asked for.
        place = part["arrive"]
        if not place.startswith("loc "):
            return Command("go", place)
        return Command("go", receptacle) if receptacle else None
    if "take_o" in part:
        return Command("take", part["take_o"], part["take_r"])
    if "move_o" in part:
        return Command("move", part["move_o"], part["move_r"])
    if "door" in part:
        return Command(part["door"], part["door_r"])
    if "treat" in part:
        return Command(part["treat"], part["treat_o"], part["treat_r"])
    if "slice_o" in part:
        return Command("slice", part["slice_o"], part["slice_k"])
    if "turn_o" in part:
        return Command("use", part["turn_o"])
    thing = part.get("examine") or part.get("examine_lamp")
    return Command("examine", thing) if thing else None


def _description(text: str, start: int) -> tuple[str, bool | None, tuple[str, ...], bool]:
    """Receptacle described, whether it is open, its contents, and whether they were shown."""
    found = _DESCRIBED.search(text, start)
    if found is None:
        return "", None, (), False
    part = found.groupdict()
    listed = part["on_list"] if part["on"] else part["in_list"]
    contents = tuple(_LISTED.findall(listed.lower())) if listed else ()
    if part["on"]:
        return part["on"].lower(), None, contents, True
    return part["box"].lower(), not part["closed"], contents, listed is not None
