"""What ``proas ablate`` and ``proas evidence`` share: their options, and the view of runs side by side."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from proas.cli.console import Output, columns, plain
from proas.cli.options import LARGEST, DatabaseOptions
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.experiments.pool import Deadline, Failed
    from proas.experiments.pool import Progress as Standing
    from proas.experiments.session import Session
    from proas.experiments.tables import Table
    from proas.graph.connect import Connection

__all__ = ["RunOptions", "RunsView", "seeds_of", "session", "shown_tables"]

_PANEL = "Runs"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How runs are done.

    Attributes:
        seeds: Seeds in place of the plan's.
        only: Arms.
        data: The environment's data.
        jobs: Runs side by side.
        until: Time of day.
        budget_minutes: Minutes.
        keep_graphs: Leave the runs' graphs in the database.
    """

    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            help="Seeds, such as 0-4 or 0,2,5; the plan's if not given.",
            metavar="SEEDS",
            rich_help_panel=_PANEL,
        ),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="This arm only; may be repeated.", metavar="ARM", rich_help_panel=_PANEL),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="The environment's data; if not given, what the plan says: the release where PROAS_TEST_DATA or "
            "ALFWORLD_DATA names it, else generated games.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            max=256,
            help="Runs side by side, each on one core.",
            metavar="N",
            rich_help_panel=_PANEL,
        ),
    ] = 1
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            help="Begin no run that would not end by this time of day; a later call goes on.",
            metavar="HH:MM",
            rich_help_panel=_PANEL,
        ),
    ] = None
    budget_minutes: Annotated[
        int | None,
        typer.Option(
            "--budget-minutes",
            min=1,
            max=LARGEST,
            help="Begin no run that would not end within so many minutes.",
            metavar="N",
            rich_help_panel=_PANEL,
        ),
    ] = None
    keep_graphs: Annotated[
        bool,
        typer.Option(
            "--keep-graphs",
            help="Leave each run's own graph in the database, for `proas graph diff`.",
            metavar="",
            rich_help_panel=_PANEL,
        ),
    ] = False

    def deadline(self) -> Deadline:
        """When no more is begun; the earlier of the two.

        Raises:
            UsageError: The time of day is none.
        """
        from proas.experiments.pool import Deadline

        ends = [] if self.budget_minutes is None else [time.time() + 60 * self.budget_minutes]
        if self.until is not None:
            ends.append(_next(self.until))
        return Deadline(min(ends, default=None))


def _next(text: str) -> float:
    """The next moment at which it is so late."""
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text.strip())
    if found is None:
        raise UsageError(f"--until {text!r} is no time of day", hint="for example 07:30")
    now = datetime.now().astimezone()
    then = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
    return (then if then > now else then + timedelta(days=1)).timestamp()


def seeds_of(text: str) -> tuple[int, ...]:
    """Seeds as they are written: ``0-4``, ``0,2,5``, ``0-2,7``.

    Raises:
        UsageError: It is none of these, or a seed is there twice.
    """
    found: list[int] = []
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if span is None or (span[2] and not 0 <= int(span[2]) - int(span[1]) < 1000):
            raise UsageError(f"--seeds {text!r} names no seeds", hint="for example 0-4 or 0,2,5")
        found += range(int(span[1]), int(span[2] or span[1]) + 1)
    if len(set(found)) < len(found):
        raise UsageError(f"--seeds {text!r} names a seed twice", hint="name each once")
    return tuple(found)


def session(
    options: RunOptions,
    database: DatabaseOptions,
    output: Output,
    view: RunsView,
    *,
    folder: Path,
    results: Path,
    missing_only: bool = False,
    diagnoses: tuple[Path, Path] | None = None,
) -> Session:
    """What does the runs."""
    from proas.experiments.session import Session

    def connect() -> Connection:
        from proas.cli.database import prepare

        return prepare(database, output)

    return Session(
        folder=folder,
        results=results,
        connect=connect,
        listener=view,
        jobs=options.jobs,
        deadline=options.deadline(),
        data=options.data,
        keep_graphs=options.keep_graphs,
        missing_only=missing_only,
        diagnoses=diagnoses,
    )


class RunsView:
    """Implements ``proas.experiments.pool.Listener``: a table on a terminal, a line a run elsewhere, on standard error.

    Args:
        output: Where to.
        title: What is done.
    """

    def __init__(self, output: Output, title: str) -> None:
        self._output = output
        self._standing: Standing | None = None
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}")
        )
        self._task = self._bar.add_task(title, total=None, pace="")
        self._live = Live(self._bar, console=output.err, refresh_per_second=2, transient=True)

    def __enter__(self) -> Self:
        if self._output.err.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._live.is_started:
            self._live.stop()

    def begin(self, title: str) -> None:
        """Another plan."""
        self._standing = None
        self._bar.update(self._task, description=title, completed=0, total=None, pace="")

    def progress(self, now: Standing) -> None:
        """How far everything is."""
        self._standing = now
        self._bar.update(self._task, completed=now.done, total=now.total, pace=_pace(now))
        if self._live.is_started:
            self._live.update(self._render())

    def finished(self, key: str, seconds: float, headline: str) -> None:
        """A run is done."""
        took = f"  {seconds:.0f} s" if seconds else ""
        self._say(Text.assemble(("done  ", "green"), plain(key), plain(took), "  ", plain(headline), self._left()))

    def failed(self, failure: Failed) -> None:
        """A run is given up."""
        why = f"{failure.key}: {failure.reason} (all of it in {failure.log})"
        self._say(Text.assemble(("failed  ", "red"), plain(why)))

    def note(self, message: str) -> None:
        """Something that the user should know."""
        self._say(Text.assemble(("note  ", "yellow"), plain(message)))

    def _left(self) -> str:
        now = self._standing
        if now is None or now.left is None or self._live.is_started:
            return ""
        return f"  ({now.done + 1} of {now.total}, {_pace(now)})"

    def _say(self, line: Text) -> None:
        self._output.err.print(line, soft_wrap=True)

    def _render(self) -> RenderableType:
        table = columns("run", "iteration", right=("iteration",))
        for key, reached, total in () if self._standing is None else self._standing.running:
            table.add_row(plain(key), f"{reached} of {total}" if total else "imitating")
        return Group(self._bar, table)


def _pace(now: Standing) -> str:
    if now.left is None or not now.rate:
        return ""
    return f"{60 * now.rate:.1f} iterations a minute, {timedelta(seconds=round(now.left))} left"


def shown_tables(tables: tuple[Table, ...]) -> list[RenderableType]:
    """Tables for a terminal."""
    shown: list[RenderableType] = []
    for table in tables:
        drawn = columns(*table.columns, right=table.columns[1:] if table.name != "arms" else ())
        for row in table.rows:
            drawn.add_row(*(plain(cell.replace("`", "")) for cell in row))
        shown += [Text(table.title, "bold"), drawn]
    return shown
