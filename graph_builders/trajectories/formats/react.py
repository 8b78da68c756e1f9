"""Episodes in the form of ReAct's prompts and runs.

Source: ``alfworld.ipynb`` and ``WebShop.ipynb`` of ysymyth/ReAct (Yao et al., 2023). An episode of ALFWorld is one
text: the first observation, then ``> action`` and what the game answered, turn by turn; ``> think: ...`` is a thought,
answered by ``OK.``. A file names its episodes (``{"react_put_0": "...", ...}``), or a record holds one under
``transcript``, ``trajectory`` or ``episode``. An episode of WebShop is ``{"instruction", "turns": [{"action",
"observation"}, ...], "score"}`` whose first action is ``reset``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from proas.graph_builders.trajectories.chat import heard, spoken
from proas.graph_builders.trajectories.episodes import Conversation, Episode, Record, Turn, Unreadable
from proas.graph_builders.trajectories.fields import Labels, labels_of, plain_text

__all__ = ["NAME", "SUMMARY", "fits", "read"]

NAME = "react"
SUMMARY = "ReAct's episodes: a transcript of '> action' and answers, or instruction, turns and score"

_LONGEST_NAME = 512
_TRANSCRIPTS = ("transcript", "trajectory", "episode")
_ACTION = re.compile(r"(?:\A|\n)>[ \t]*([^\n]*)")
_PRINTED = re.compile(r"(?:\A|\n)Act(?:ion)?(?: ?\d+)?:[ \t]*([^\n]*)(?=(\n+Obs(?:ervation)?(?: ?\d+)?:)|\s*\Z)")
_THOUGHT = re.compile(r"\nThought(?: ?\d+)?:.*\Z", re.DOTALL)
_TALLY = re.compile(r"\n+\d+ (?:r (\S+) rs [^\n]*|[0-9.]+ [0-9.]+ [0-9.]+)\s*\Z")
_PROMPT_TAIL = re.compile(r"\n(?:Interact with a household|Here (?:is|are) )[^\n]*\s*\Z")


def fits(value: object) -> bool:
    """Whether it is a transcript, holds one, or has turns of action and observation."""
    if isinstance(value, str):
        return _is_transcript(value)
    if not isinstance(value, dict):
        return False
    turns = value.get("turns")
    if isinstance(turns, list):
        return all(isinstance(turn, dict) and "action" in turn for turn in turns)
    return any(isinstance(value.get(name), str) and _is_transcript(value[name]) for name in _TRANSCRIPTS)


def _is_transcript(text: str) -> bool:
    return _ACTION.search(text) is not None or bool(_printed(text))


def _printed(text: str) -> list[re.Match[str]]:
    """Actions as the notebooks print them; none where not one of them has its answer behind it."""
    marks = list(_PRINTED.finditer(text))
    return marks if any(mark.group(2) for mark in marks) else []


def read(record: Record) -> Episode:
    """The episode. Raises ``Unreadable`` where there is none."""
    value = record.value
    if isinstance(value, str):
        return _episode(record, _printed_labels(value), *_transcribed(value))
    assert isinstance(value, dict)
    if isinstance(value.get("turns"), list):
        return _episode(record, labels_of(value), *_turned(value["turns"]))
    text = next(value[name] for name in _TRANSCRIPTS if isinstance(value.get(name), str))
    return _episode(record, labels_of(value), *_transcribed(text))


def _episode(record: Record, labels: Labels, observation: str, turns: tuple[Turn, ...]) -> Episode:
    if not turns:
        raise Unreadable("no_turns", "the agent never acts in this record")
    named = replace(labels, id=record.name or labels.id)
    return named.episode(NAME, record, Conversation(observation, observation, turns))


def _printed_labels(text: str) -> Labels:
    """What a transcript says around its turns: the name of the game before them, the reward behind them."""
    head = text.lstrip().partition("\n")[0].strip()
    names = (head,) if "/" in head and " " not in head and len(head) <= _LONGEST_NAME else ()
    tally = _TALLY.search(text)
    told = tally.group(1) if tally is not None else None
    success = None if told is None else {"1": True, "True": True, "0": False, "False": False}.get(told)
    return Labels(success, None, "", (), names, "", "")


def _transcribed(text: str) -> tuple[str, tuple[Turn, ...]]:
    """First observation and turns of a transcript."""
    text = _TALLY.sub("", plain_text(text).replace("\r\n", "\n"))
    marks = _printed(text) or list(_ACTION.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    turns = [
        {"action": mark.group(1), "observation": _THOUGHT.sub("", _PROMPT_TAIL.sub("", text[mark.end() : end]))}
        for mark, end in zip(marks, ends, strict=True)
    ]
    if turns and not turns[-1]["action"].strip():  # the prompt's last line asks for the next action
        turns.pop()
    before = _THOUGHT.sub("", text[: marks[0].start()]).strip() if marks else ""
    observation, found = _turned(turns)
    return observation or before, found


def _turned(turns: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[Turn, ...]]:
    """First observation and turns of a list of turns."""
    observation = ""
    found: list[Turn] = []
    for number, turn in enumerate(turns):
        action = turn["action"]
        if not isinstance(action, str):
            raise Unreadable("bad_content", f"the action of turn {number} is no text")
        seen, valid = heard(plain_text(turn.get("observation")))
        if number == 0 and action.strip().lower() in ("reset", "reset[]", ""):
            observation = seen
        else:
            found.append(Turn(spoken(plain_text(action)), seen, valid))
    return observation, tuple(found)
