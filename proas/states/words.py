"""Finds the command in what an agent said, for environments that need no grammar of their own."""

from __future__ import annotations

import re

__all__ = ["spoken_words"]

_LONGEST = 200
_TAGGED = re.compile(r"<(action|act|command)>([^<]*)(?:</\1>|$)", re.IGNORECASE)
_LABELLED = re.compile(
    r"^[ \t>*#]*(?:next |final )?(?:action|act|command)(?: ?\d+)?[*\s]*:(.*)$", re.IGNORECASE | re.MULTILINE
)
_THOUGHT = re.compile(r"<(think|thought|thinking)>.*?(?:</\1>|$)", re.IGNORECASE | re.DOTALL)
_EDGES = " \t\r\n\"'`*.!>“”‘’"


def spoken_words(action: str) -> str:
    """The command in an agent's words: small letters, single spaces, no quotes, prompt or full stop around it.

    Args:
        action: A command alone, or thoughts with the command in ``<action>`` tags or after ``Action:``; of several the
            last counts.
    """
    said = _THOUGHT.sub(" ", action)
    tagged, labelled = _TAGGED.findall(said), _LABELLED.findall(said)
    words = tagged[-1][1] if tagged else labelled[-1] if labelled else said
    return " ".join(words.lower().split()).strip(_EDGES)[:_LONGEST]
