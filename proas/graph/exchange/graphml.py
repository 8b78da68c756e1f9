"""A graph as GraphML, for Gephi, yEd, networkx and their like. One way: nothing reads it back into a store.

Nodes are tasks, subgoals and states; edges are ``HAS_SUBGOAL``, ``MEMBER_OF`` and ``TRANSITION``. Every element has a
``kind`` and a readable ``label``. Lists become one text with a member a line. Versions and successes are bookkeeping
and stay out; the version of the graph is an attribute of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from xml.sax.saxutils import escape, quoteattr

from proas.graph.exchange.envelope import GraphWriter, Header
from proas.graph.exchange.places import Placing
from proas.graph.rows import Row, StateRow, SubgoalRow, TaskRow, TransitionRow

__all__ = ["GraphMLWriter"]

_TYPES: Mapping[str, Mapping[str, str]] = {
    "graph": {"name": "string", "version": "long"},
    "node": {
        "kind": "string",
        "label": "string",
        "key": "string",
        "task": "string",
        "env": "string",
        "goal": "string",
        "text": "string",
        "index": "long",
        "phrases": "string",
        "condition": "string",
        "facts": "string",
        "initial": "boolean",
        "source": "string",
        "since": "long",
    },
    "edge": {
        "kind": "string",
        "label": "string",
        "key": "string",
        "task": "string",
        "source": "string",
        "support": "long",
        "since": "long",
    },
}
"""Name and type of every attribute; its id in the file is the first letter of the element, a dot and the name."""

# What XML 1.0 has no way to write, not even as a reference; shown as a Python escape instead of being lost.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Values = Mapping[str, str | int | bool | tuple[str, ...]]


class GraphMLWriter(GraphWriter):
    """Writes ``path``.

    Args:
        path: The file; replaced if it is there.
        header: Names the graph and its version.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._header = header
        self._placing = Placing(path)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Open a temporary file beside the target and declare the attributes."""
        self._file = self._placing.open_file()
        self._put(
            '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/'
            'xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
        )
        for element, types in _TYPES.items():
            for name, kind in types.items():
                self._put(f'  <key id="{element[0]}.{name}" for="{element}" attr.name="{name}" attr.type="{kind}"/>\n')
        self._put('  <graph edgedefault="directed">\n')
        self._put(_data("graph", {"name": self._header.name, "version": self._header.version}))
        return self

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows; an edge is written with the later of its two nodes or after both."""
        self._put("".join(text for row in rows for text in _elements(row)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the document and move it into place, or remove it."""
        with self._placing.settling(failed=kind is not None):
            assert self._file is not None
            if kind is None:
                self._put("  </graph>\n</graphml>\n")
            self._file.close()

    def _put(self, text: str) -> None:
        assert self._file is not None
        with self._placing.naming_faults():
            self._file.write(text.encode())


def _elements(row: Row) -> Iterator[str]:
    match row:
        case TaskRow():
            attributes: Values = {"key": row.key, "env": row.env, "goal": row.goal, "text": row.text}
            yield _node(f"task:{row.key}", "Task", row.goal or row.text or row.key, {**attributes, "since": row.since})
        case SubgoalRow():
            attributes = {"key": row.key, "task": row.task, "index": row.index, "phrases": row.phrases}
            attributes = {**attributes, "condition": row.condition}
            yield _node(f"subgoal:{row.key}", "Subgoal", f"{row.index}. {row.description}", attributes)
            yield _edge(f"task:{row.task}", f"subgoal:{row.key}", "HAS_SUBGOAL", "has subgoal", {"task": row.task})
        case StateRow():
            attributes = {"key": row.key, "task": row.task, "facts": row.facts, "initial": row.initial}
            attributes = {**attributes, "source": row.source, "since": row.since}
            yield _node(f"state:{row.key}", "State", row.name, attributes)
            yield _edge(f"state:{row.key}", f"subgoal:{row.subgoal}", "MEMBER_OF", "member of", {"task": row.task})
        case TransitionRow():
            attributes = {"key": row.key, "task": row.task, "source": row.source}
            attributes = {**attributes, "support": row.support, "since": row.since}
            ends = f"state:{row.source_state}", f"state:{row.target_state}"
            yield _edge(*ends, "TRANSITION", row.action, attributes)
        case _:
            return


def _node(name: str, kind: str, label: str, attributes: Values) -> str:
    data = _data("node", {"kind": kind, "label": label, **attributes})
    return f"    <node id={_quoted(name)}>\n{data}    </node>\n"


def _edge(begin: str, end: str, kind: str, label: str, attributes: Values) -> str:
    data = _data("edge", {"kind": kind, "label": label, **attributes})
    return f"    <edge source={_quoted(begin)} target={_quoted(end)}>\n{data}    </edge>\n"


def _data(element: str, attributes: Values) -> str:
    return "".join(
        f'      <data key="{element[0]}.{name}">{_content(value)}</data>\n' for name, value in attributes.items()
    )


def _content(value: str | int | bool | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "\n".join(value) if isinstance(value, tuple) else str(value)
    return escape(_writable(text), {"\r": "&#13;"})


def _quoted(text: str) -> str:
    return quoteattr(_writable(text))


def _writable(text: str) -> str:
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
