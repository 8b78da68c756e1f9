"""What a person sees of a teacher: how its attempts go, and the coverage report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from proas.cli.console import Output, columns, facts_table

if TYPE_CHECKING:
    from proas.graph_builders.distill import Coverage
    from proas.graph_builders.distill.teacher import Pace

__all__ = ["TeacherBar", "coverage_tables"]

_EVERY = 30.0
"""Seconds between two lines where there is no terminal to draw a bar on."""


class TeacherBar:
    """Draws the attempts on standard error: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._bar: Progress | None = None
        self._begun = self._told = 0.0
        self._before = 0

    def begin(self, pace: Pace) -> None:
        """Attempts begin."""
        self._begun = self._told = time.monotonic()
        self._before = pace.finished
        if self._output.err.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[told]}"),
                TimeRemainingColumn(),
                console=self._output.err,
                transient=True,
            )
            self._bar.add_task("Attempts", total=pace.planned, completed=pace.finished, told="")
            self._bar.start()

    def moved(self, pace: Pace) -> None:
        """Show how far it is."""
        if self._bar is not None:
            told = f"{pace.successes:,} won, {pace.tokens:,} tokens, {self._speed(pace):,.0f}/s"
            self._bar.update(self._bar.tasks[0].id, completed=pace.finished, told=told)
        elif time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            self._output.note(self._line(pace))

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _speed(self, pace: Pace) -> float:
        return pace.tokens / max(1e-9, time.monotonic() - self._begun)

    def _line(self, pace: Pace) -> str:
        line = (
            f"attempts {pace.finished:,}/{pace.planned:,}, {pace.successes:,} won, "
            f"{pace.tokens:,} tokens, {self._speed(pace):,.0f}/s"
        )
        done = pace.finished - self._before
        if done:
            left = (time.monotonic() - self._begun) / done * (pace.planned - pace.finished)
            line += f", about {left / 60:.0f} min left"
        return line


def coverage_tables(coverage: Coverage) -> tuple[RenderableType, ...]:
    """The coverage report: tasks by kind, and what the attempts cost and came to."""
    table = columns(
        "tasks", "all", "tried", "solved", "covered", "share", right=("all", "tried", "solved", "covered", "share")
    )
    rows = [(name, kind) for name, kind in sorted(coverage.kinds.items())]
    for name, kind in rows:
        share = f"{kind.covered / kind.tasks:.1%}" if kind.tasks else "-"
        table.add_row(name, *(f"{n:,}" for n in (kind.tasks, kind.tried, kind.solved, kind.covered)), share)
    return (_facts(coverage), table)


def _facts(coverage: Coverage) -> RenderableType:
    from proas.graph_builders.distill.coverage import dropped_rows

    about = "about " if coverage.tokens_estimated else ""
    tokens = f"{about}{coverage.prompt_tokens:,} read, {coverage.completion_tokens:,} written"
    if coverage.wasted_tokens:
        tokens += f", about {coverage.wasted_tokens:,} lost with failed calls"
    facts: dict[str, object] = {
        "covered": f"{coverage.covered:,} of {coverage.tasks:,} tasks",
        "attempts": f"{coverage.attempts:,}, {coverage.reused:,} of them from the journal",
        "  won": coverage.successes,
        **{f"  {cause.replace('_', ' ')}": count for cause, count in coverage.causes.most_common()},
        "broken off": coverage.broken_off,
        "not made": coverage.missing,
        "tokens": tokens,
        "steps": f"{coverage.steps:,}, {coverage.invalid_formats:,} replies broke the form",
        **{f"dropped, {words}": count for words, count in dropped_rows(coverage.dropped) if count},
    }
    if coverage.unverified:
        facts["recorded successes that no longer win"] = coverage.unverified
    if coverage.unreadable_lines:
        facts["unreadable lines of the journal"] = coverage.unreadable_lines
    facts["journal"] = coverage.journal
    return facts_table(facts, title=f"Coverage by {coverage.model}")
