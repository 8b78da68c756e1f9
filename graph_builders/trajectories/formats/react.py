"""Episodes in the form of ReAct's prompts and runs.

Source: ``alfworld.ipynb`` and ``WebShop.ipynb`` of ysymyth/ReAct (Yao et al., 2023). An episode of ALFWorld is one
text: the first observation, then ``> action`` and what the game answered, turn by turn; ``> think: ...`` is a thought,
answered by ``OK.``. A file names its episodes (``{"react_put_0": "...", ...}``), or a record holds one under
``transcript``, ``trajectory`` or ``episode``. An episode of WebShop is ``{"instruction", "turns": [{"action",
"observation"}, ...], "score"}`` whose first action is ``reset``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from proas.graph_builders.trajectories.chat import heard, spoken
from proas.graph_builders.trajectories.episodes import Episode, Record, Turn, Unreadable
from proas.graph_builders.trajectories.fields import Labels, labels_of, plain_text

__all__ = ["NAME", "SUMMARY", "fits", "read"]

NAME = "react"
SUMMARY = "ReAct's episodes: a transcript of '> action' and answers, or instruction, turns and score"

_TRANSCRIPTS = ("transcript", "trajectory", "episode")
_ACTION = re.compile(r"(?:\A|\n)>[ \t]*([^\n]*)")
_PROMPT_TAIL = re.compile(r"\n(?:Interact with a household|Here (?:is|are) )[^\n]*\s*\Z")


def fits(value: object) -> bool:
    """Whether it is a transcript, holds one, or has turns of action and observation."""
    if isinstance(value, str):
        return _ACTION.search(value) is not None
    if not isinstance(value, dict):
        return False
    turns = value.get("turns")
    if isinstance(turns, list):
        return all(isinstance(turn, dict) and "action" in turn for turn in turns)
    return any(isinstance(value.get(name), str) and _ACTION.search(value[name]) for name in _TRANSCRIPTS)


def read(record: Record) -> Episode:
    """The episode. Raises ``Unreadable`` where there is none."""
    value = record.value
    if isinstance(value, str):
        return _episode(record, Labels(None, None, "", (), (), "", ""), *_transcribed(value))
    assert isinstance(value, dict)
    if isinstance(value.get("turns"), list):
        return _episode(record, labels_of(value), *_turned(value["turns"]))
    text = next(value[name] for name in _TRANSCRIPTS if isinstance(value.get(name), str))
    return _episode(record, labels_of(value), *_transcribed(text))


def _episode(record: Record, labels: Labels, observation: str, turns: tuple[Turn, ...]) -> Episode:
    if not turns:
        raise Unreadable("no_turns", "the agent never acts in this record")
    return Episode(
        format=NAME,
        turns=turns,
        observation=observation,
        context=observation,
        goal=labels.goal,
        env=labels.env,
        tasks=labels.tasks,
        names=labels.names,
        success=labels.success,
        score=labels.score,
        id=record.name or labels.id,
        source=record.source,
        line=record.line,
    )


def _transcribed(text: str) -> tuple[str, tuple[Turn, ...]]:
    """First observation and turns of a transcript."""
    text = plain_text(text).replace("\r\n", "\n")
    marks = list(_ACTION.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    turns = [
        Turn(mark.group(1).strip(), _PROMPT_TAIL.sub("", text[mark.end() : end]).strip())
        for mark, end in zip(marks, ends, strict=True)
    ]
    if turns and not turns[-1].action:  # the prompt's last line asks for the next action
        turns.pop()
    return text[: marks[0].start()].strip() if marks else "", tuple(turns)


def _turned(turns: list[Mapping[str, Any]]) -> tuple[str, tuple[Turn, ...]]:
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
