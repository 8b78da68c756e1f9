"""From a model's reply to an action: think and action tags, read strictly or with tolerance.

The form asked for is ``<think>thoughts</think><action>words</action>``. A reply keeps to it when it has, in this
order, one pair of think tags (where thoughts are asked for) and one pair of action tags with words between them, and
nothing but the thoughts mentions another action. Everything else is an invalid format and is counted as one.

What is then played depends on the reading:

``strict``
    Nothing: the environment receives :data:`NO_ACTION`, which applies nowhere, and the step is invalid. This is what
    training penalises.
``tolerant``
    The first of these that is there, for teachers whose good actions should not be lost to a missing tag:

    1. the first pair of action tags after the thoughts (``several_actions`` where more follow, ``no_thoughts`` where
       think tags are missing);
    2. an opening action tag that is never closed: the rest of its line (``unclosed_action``);
    3. the last line that begins with ``Action:`` (``action_line``);
    4. a whole reply, thoughts aside, that is one line and admissible as it stands (``bare_action``).

Two habits of servers are no fault of the form: thoughts that are sent apart from the text, and thoughts whose opening
tag stands in the prompt, so that the reply has only the closing one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from proas.agents.model import Completion

__all__ = ["NO_ACTION", "Reading", "Reply", "full_text", "parse_reply"]

Reading = Literal["strict", "tolerant"]

NO_ACTION = "(no action)"
"""Sent to the environment in place of an action that could not be read."""

LONGEST_ACTION = 2_000
"""Characters of an action that are passed on; real ones have under 200."""

_THOUGHTS = re.compile(r"<think>(.*?)</think>", re.DOTALL | re.IGNORECASE)
_ACTION = re.compile(r"<action>(.*?)</action>", re.DOTALL | re.IGNORECASE)
_OPEN_ACTION = re.compile(r"<action>[ \t]*\n?([^\n<]+)", re.IGNORECASE)
_ACTION_LINE = re.compile(r"^[ \t>*_`-]*action[ \t*_`]*:[ \t*_`]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"</?(?:think|action)>", re.IGNORECASE)
_QUOTES = "\"'`“”‘’*"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says.

    Attributes:
        action: What the environment is to receive; :data:`NO_ACTION` where nothing can be played.
        thought: The thoughts, without tags.
        format_valid: Whether the reply keeps to the form.
        problem: Why it does not, for counting: ``no_thoughts``, ``several_actions``, ``unclosed_action``,
            ``action_line``, ``bare_action``, ``no_action``; empty where it does.
        readable: Whether there is an action to be played.
    """

    action: str
    thought: str
    format_valid: bool
    problem: str = ""
    readable: bool = True


def full_text(completion: Completion) -> str:
    """The reply with its thoughts in front, where the server sent them apart."""
    if completion.reasoning and "</think>" not in completion.text.lower():
        return f"<think>{completion.reasoning}</think>\n{completion.text}"
    return completion.text


def parse_reply(
    text: str, *, admissible: Sequence[str] = (), thoughts: bool = True, reading: Reading = "tolerant"
) -> Reply:
    """Read a reply.

    Args:
        text: The reply (:func:`full_text`).
        admissible: Actions that apply now. An action that is one of them but for capital letters, spaces, quotes, a
            full stop or HTML escapes becomes that one.
        thoughts: Whether the prompt asked for think tags.
        reading: What becomes of a reply that does not keep to the form.

    Returns:
        The action and what is to be said of the form. No reply is an error.
    """
    thought, rest, opened = _without_thoughts(text)
    found, problem = _find(rest, admissible)
    action = _as_admissible(found, admissible)
    if not action:
        return Reply(NO_ACTION, thought, format_valid=False, problem="no_action", readable=False)
    if not problem and thoughts and not opened:
        problem = "no_thoughts"
    if not problem:
        return Reply(action, thought, format_valid=True)
    if reading == "strict":
        return Reply(NO_ACTION, thought, format_valid=False, problem=problem, readable=False)
    return Reply(action, thought, format_valid=False, problem=problem)


def _without_thoughts(text: str) -> tuple[str, str, bool]:
    """The thoughts, the text without them, and whether they stood between tags."""
    lower = text.lower()
    if "</think>" in lower and "<think>" not in lower.split("</think>", 1)[0]:
        text = "<think>" + text  # the prompt had opened them
    parts = [part.strip() for part in _THOUGHTS.findall(text)]
    if not parts:
        return "", text, False
    return "\n".join(parts), _THOUGHTS.sub("\n", text), True


def _find(rest: str, admissible: Sequence[str]) -> tuple[str, str]:
    """The words of the action, and what is wrong with the form."""
    pairs = [_tidy(words) for words in _ACTION.findall(rest)]
    pairs = [words for words in pairs if words]
    if pairs:
        return pairs[0], "several_actions" if len(pairs) > 1 else ""
    if unclosed := _OPEN_ACTION.findall(rest):
        return _tidy(unclosed[0]), "unclosed_action"
    if lines := _ACTION_LINE.findall(rest):
        return _tidy(lines[-1]), "action_line"
    whole = _tidy(rest)
    if "\n" not in rest.strip() and _as_admissible(whole, admissible) in admissible:
        return whole, "bare_action"
    return "", "no_action"


def _tidy(words: str) -> str:
    """The words in one line, without tags that slipped in."""
    return " ".join(_TAG.sub(" ", words).split())[:LONGEST_ACTION]


def _as_admissible(words: str, admissible: Sequence[str]) -> str:
    """The admissible action that is meant, else the words."""
    if not words or words in admissible:
        return words
    known = {_folded(action): action for action in reversed(admissible)}
    for version in (words, html.unescape(words)):
        if (found := known.get(_folded(version))) is not None:
            return found
    return words.strip(_QUOTES).strip() or words


def _folded(words: str) -> str:
    return " ".join(words.strip(_QUOTES + ".!").split()).casefold()
