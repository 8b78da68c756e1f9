"""Commands of ALFWorld: their canonical form, and how to find one in an agent's words.

The canonical form is lower case with single spaces. Both wordings of putting down have one form,
``move apple 1 to fridge 1``, and so have ``put apple 1 in/on``, ``in`` and ``on``. A thought is ``think``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["NAME", "Command", "canonical_words", "is_thought", "parse_command", "spoken_command"]

NAME = r"[a-z][a-z_'-]* [0-9]+"
"""A thing in the game's text: its kind and its number, ``drawer 3``."""

_VERBS = (
    rf"(?P<go>go to) (?:the )?(?P<go_r>{NAME})",
    rf"(?P<take>take) (?:the )?(?P<take_o>{NAME}) from (?:the )?(?P<take_r>{NAME})",
    rf"(?P<move>put|move) (?:the )?(?P<move_o>{NAME}) (?:in/on|into|onto|in|on|to) (?:the )?(?P<move_r>{NAME})",
    rf"(?P<tool>heat|cool|clean|slice) (?:the )?(?P<tool_o>{NAME}) (?:with|using|in) (?:the )?(?P<tool_r>{NAME})",
    rf"(?P<one>open|close|examine|use) (?:the )?(?P<one_o>{NAME})",
)
_SENTENCE = re.compile(rf"\b(?:{'|'.join(_VERBS)})(?!\w)")
_WORD = re.compile(r"look|inventory|help")


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the game.

    Attributes:
        verb: ``go``, ``take``, ``move``, ``open``, ``close``, ``examine``, ``use``, ``heat``, ``cool``, ``clean``,
            ``slice``, ``look``, ``inventory``, ``help`` or ``think``.
        object: What it is done to; for ``go``, ``open`` and ``close`` the receptacle. Empty for the last four.
        target: Receptacle or tool, where the command names two things.
    """

    verb: str
    object: str = ""
    target: str = ""

    @property
    def canonical(self) -> str:
        """The one text that stands for this command."""
        joint = _JOINTS.get(self.verb)
        if joint is None:
            return f"{self.verb} {self.object}" if self.object else self.verb
        return joint.format(self.object, self.target)


_JOINTS = {
    "go": "go to {}",
    "take": "take {} from {}",
    "move": "move {} to {}",
    "heat": "heat {} with {}",
    "cool": "cool {} with {}",
    "clean": "clean {} with {}",
    "slice": "slice {} with {}",
}


@lru_cache(maxsize=8192)
def parse_command(text: str) -> Command | None:
    """The command that a text is, case, spacing, quotes and a final full stop aside.

    Args:
        text: For example ``put apple 1 in/on fridge 1``. Longer texts than a command are none.
    """
    if len(text) > _LONGEST_COMMAND:
        return None
    words = canonical_words(text)
    if _WORD.fullmatch(words):
        return Command(words)
    found = _SENTENCE.fullmatch(words)
    return _command(found) if found else None


_LONGEST_COMMAND = 300


def _command(found: re.Match[str]) -> Command:
    part = found.group
    if part("go"):
        return Command("go", part("go_r"))
    if part("take"):
        return Command("take", part("take_o"), part("take_r"))
    if part("move"):
        return Command("move", part("move_o"), part("move_r"))
    if part("tool"):
        return Command(part("tool"), part("tool_o"), part("tool_r"))
    return Command(part("one"), part("one_o"))


_EDGES = " \t\r\n\"'`*.!,;:>[](){}“”‘’"


def canonical_words(text: str) -> str:
    """A text in lower case with single spaces, without numbering, prompts, quotes and end marks around it."""
    words = " ".join(text[:_LONGEST_KEPT].lower().split()).strip(_EDGES)
    while True:
        shorter = _LEAD.sub("", words).strip(_EDGES)
        if shorter == words:
            return words
        words = shorter


_LONGEST_KEPT = 400
_LEAD = re.compile(
    r"(?:(?:(?:(?:next|final|my|chosen) )?(?:act(?:ion)?|command|step|turn|answer|do)(?: ?\d+)?(?: is)? ?[:.)\]>-])"
    r"|\d+ ?[.):\]]|[-*•>#]+)\s*"
)

_THOUGHT = re.compile(
    r"[\s>\"'`*]*(?:\d+[.)]\s*)?(?:(?:think|thought|thoughts|reasoning)(?:\s*\d+)?\s*[:\]>]|<think)", re.IGNORECASE
)


def is_thought(action: str) -> bool:
    """Whether an agent's words begin as a thought: ``think: ...``, ``Thought 2: ...``, ``<think>...``."""
    return _THOUGHT.match(action) is not None


def spoken_command(action: str) -> Command | None:
    """The command that an agent means, out of thoughts, numbering, tags, quotes and other talk.

    Tried in this order: the text as it stands; the last ``<action>`` tag; the last line that begins with
    ``Action:`` or the like; what stands in a code fence, in back-ticks or in square brackets; the last line that is a
    command; and, unless the words are a thought, the last command inside a sentence.

    Args:
        action: The agent's words, of any length.

    Returns:
        The command, or ``None`` when there is none.
    """
    plain = parse_command(action)
    if plain is not None:
        return plain
    if len(action) > 2 * _LONGEST_READ:  # the command stands at one end or the other of a long monologue
        action = f"{action[:_LONGEST_READ]}\n{action[-_LONGEST_READ:]}"
    for segment in _segments(action):
        command = parse_command(segment)
        if command is not None:
            return command
    spoken = _without_thinking(action)
    if is_thought(spoken):
        return None
    sentences = list(_SENTENCE.finditer(" ".join(spoken.lower().split())))
    return _command(sentences[-1]) if sentences else None


_LONGEST_READ = 10_000
_TAG = re.compile(r"<(action|act|command|answer)>([^<]*)(?:</\1>|$)", re.IGNORECASE)
_LABEL = re.compile(
    r"^[ \t>*#]*(?:(?:next|final|my|chosen) )?(?:action|act|command)(?: ?\d+)?(?: is)?[*\s]*[:>]\s*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"```(?:[a-z]*\n)?([^`]*)```|`([^`\n]*)`|\[([^\[\]\n]*)\]", re.IGNORECASE)


def _segments(action: str) -> Iterator[str]:
    spoken = _without_thinking(action)
    for text in (spoken, action) if spoken != action else (spoken,):
        for found in reversed(_TAG.findall(text)):
            yield found[1]
    yield from reversed(_LABEL.findall(spoken))
    for found in reversed(_FENCE.findall(spoken)):
        yield from found
    yield from reversed(spoken.splitlines())


def _without_thinking(action: str) -> str:
    """Words after the last closing ``think`` tag; nothing of what follows an opening one that is never closed."""
    lower = action.lower()
    end = max((lower.rfind(tag) + len(tag) for tag in _THINK_ENDS if tag in lower), default=0)
    rest = action[end:]
    opened = rest.lower().find("<think>")
    return rest if opened < 0 else rest[:opened]


_THINK_ENDS = ("</think>", "</thought>", "</reasoning>", "</thinking>")
