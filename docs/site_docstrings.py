"""Docstrings as the site shows them: references and tables of reStructuredText become Markdown."""

from __future__ import annotations

import re

import griffe

_REFERENCE = re.compile(r":\w+:`~?([^`]+)`")
_LITERAL = re.compile(r"``([^`]+)``")
_TABLE = re.compile(r"^=+(?: +=+)+$\n(?:.*\n)*?=+(?: +=+)+$\n(?:.*\n)*?=+(?: +=+)+$", re.MULTILINE)


def plain(text: str) -> str:
    """A docstring without the markup that Markdown does not know."""
    return _TABLE.sub(_as_table, _LITERAL.sub(r"`\1`", _REFERENCE.sub(r"`\1`", text)))


def _as_table(found: re.Match[str]) -> str:
    rule, head, _, *rows = found[0].splitlines()
    starts = [mark.start() for mark in re.finditer(r"=+", rule)]
    ends = [*starts[1:], None]
    cells = [[row[a:b].strip() for a, b in zip(starts, ends, strict=True)] for row in (head, *rows[:-1])]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * len(starts), *lines[1:]])


class PlainMarkup(griffe.Extension):
    """Rewrites each docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        """Called for every module, class, function and attribute."""
        if obj.name == "__post_init__":
            obj.docstring = None  # what it refuses is told by the class; without a docstring it is not shown
        elif obj.docstring:
            obj.docstring.value = plain(obj.docstring.value)
