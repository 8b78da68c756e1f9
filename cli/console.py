"""What the commands print, and where: results on standard output, everything else on standard error.

With ``--json`` standard output holds exactly one JSON document. Colours, widths and progress bars follow the terminal;
a pipe gets plain text. Words that came from data (actions, observations, annotations, paths) pass through
:func:`plain`, so that they can neither style nor steer the terminal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

__all__ = [
    "Advance",
    "Output",
    "columns",
    "counted",
    "facts_table",
    "listed",
    "moment",
    "plain",
    "to_json",
    "use_plain_characters_if_needed",
]

_UNBROKEN = 10_000
"""Width of a table in a pipe: what reads it looks for names, which must be in one piece."""

Advance = Callable[[int, int | None], None]
"""Tell a progress bar how much is done and, where known, of how much."""


def plain(text: object) -> Text:
    """Text from data, with no markup read and control characters made visible."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return Text(shown, overflow="fold")


def to_json(value: object) -> str:
    """One JSON document: ISO 8601 for temporal values, no NaN, ASCII so that every terminal and parser takes it."""
    return json.dumps(value, default=_plain_value, indent=2, allow_nan=False, ensure_ascii=True)


def _plain_value(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    iso = getattr(value, "iso_format", None)  # neo4j.time, without importing the driver
    if callable(iso):
        return iso()
    item = getattr(value, "item", None)  # a number of numpy's, without importing numpy
    if callable(item):
        return item()
    msg = f"{type(value).__name__} has no JSON form"
    raise TypeError(msg)


def use_plain_characters_if_needed() -> None:
    """Let a terminal that lacks a character show a substitute, in place of an error in the middle of the output."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def columns(*names: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table with these columns; those in ``right`` hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def facts_table(facts: Mapping[str, object], *, title: str = "") -> Group:
    """Names and values in two columns, under a title."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, value if isinstance(value, Text) else plain(shown(value)))
    return Group(Text(title, "bold"), table) if title else Group(table)


def shown(value: object) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"  # an identifier is passed as text
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def counted(number: int, what: str) -> str:
    """A number with its noun, such as ``1 state`` and ``2,000 states``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(names: Collection[str], most: int = 5) -> str:
    """Names for a hint, each on a line of its own; those beyond ``most`` are counted."""
    more = [f"and {len(names) - most:,} more"] if len(names) > most else []
    return "".join(f"\n      {line}" for line in (*islice(names, most), *more))


def moment(iso: str) -> Text:
    """A point in time, to the second, from its ISO 8601 form."""
    return Text(iso[:19].replace("T", " "), no_wrap=True)


class Output:
    """Where one run of the program writes.

    Args:
        json_wanted: Standard output is to hold one JSON document and nothing else.
    """

    def __init__(self, *, json_wanted: bool = False) -> None:
        self.json_wanted = json_wanted
        self.out = Console(highlight=False)
        self.err = Console(stderr=True, highlight=False)

    def result(self, document: Mapping[str, Any], *renderables: RenderableType) -> None:
        """Print the result: the document for programs, or the rest for people."""
        if self.json_wanted:
            print(to_json(dict(document)), flush=True)  # noqa: T201 - the one place that writes JSON
            return
        self.show(*renderables)

    def show(self, *renderables: RenderableType) -> None:
        """Print for people. A line that must stay in one piece (``no_wrap``) is left for the terminal to break.

        In a pipe tables are as wide as what they hold, unless ``COLUMNS`` says how wide they may be.
        """
        if self.json_wanted:
            return
        piped = not self.out.is_terminal and not os.environ.get("COLUMNS")
        for renderable in renderables:
            if piped and isinstance(renderable, Table | Group | Tree):
                self._unbroken(renderable)
            else:
                self.out.print(renderable, soft_wrap=isinstance(renderable, Text) and bool(renderable.no_wrap))

    def _unbroken(self, renderable: RenderableType) -> None:
        usual, self.out.width = self.out.width, _UNBROKEN
        with self.out.capture() as caught:
            self.out.print(renderable)
        self.out.width = usual
        for line in caught.get().splitlines():
            self.out.print(Text(line.rstrip()), soft_wrap=True)

    def note(self, message: RenderableType) -> None:
        """Say something on standard error that is not the result."""
        self.err.print(message)

    def done(self, message: str) -> None:
        """Say on standard error that something was done."""
        self.err.print(Text.assemble(("done  ", "green"), plain(message)), soft_wrap=True)

    def warn(self, message: str) -> None:
        """Say on standard error what the user should know."""
        self.err.print(Text.assemble(("note  ", "yellow"), plain(message)), soft_wrap=True)

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar on standard error, gone when done; silent where there is no terminal.

        Yields:
            A function of (done, total); a total of ``None`` keeps the one known.
        """
        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.err,
            transient=True,
            disable=not self.err.is_terminal,
        )
        with bar:
            task = bar.add_task(what, total=total)

            def advance(completed: int, of: int | None = None) -> None:
                bar.update(task, completed=completed, total=of if of is not None else bar.tasks[task].total)

            yield advance

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A spinner on standard error while something of unknown length goes on."""
        if not self.err.is_terminal:
            yield
            return
        with self.err.status(what):
            yield
