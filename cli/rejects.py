"""Records that were kept aside: counted, shown, written beside the output, and turned into an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Group

from proas.cli.console import Output, columns, plain
from proas.errors import DataError
from proas.rollout_files import load_rollouts, write_rejects
from proas.rollouts import Reject, RolloutBatch

__all__ = ["end", "load", "reject_file", "settle"]

_SHOWN = 5


def reject_file(out: Path) -> Path:
    """Where the rejects of an output file go."""
    return out.with_name(out.name + ".rejects.jsonl")


def load(path: Path, out: Path, output: Output) -> RolloutBatch:
    """Read a file of rollouts for a command, once it is sure that there is a folder for its output.

    Raises:
        DataError: The file cannot be read, or the output could not be written.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder", hint="give a JSONL file of rollouts")
    if not out.parent.is_dir():
        raise DataError(f"cannot write {out}: there is no folder {out.parent}", hint="make it first")
    with output.waiting(f"Reading {path.name}"):
        return load_rollouts(path)


def settle(rejects: Sequence[Reject], *, usable: int, origin: Path, out: Path, output: Output) -> str | None:
    """Show the rejects on standard error and write them beside the output.

    Args:
        rejects: All that was kept aside.
        usable: Number of rollouts that went through.
        origin: The file that was read.
        out: The output file; the rejects go to :func:`reject_file` of it. One that an earlier run left there is
            removed when there are none.
        output: Where to show them.

    Returns:
        The file that holds them, ``None`` when there are none.

    Raises:
        DataError: Nothing went through.
    """
    aside = reject_file(out)
    if rejects:
        write_rejects(aside, rejects)
        output.warn(f"{len(rejects):,} of {len(rejects) + usable:,} records kept aside, with reasons, in {aside}")
        output.note(_table(rejects))
    elif aside.is_file():
        aside.unlink()
    if not usable:
        hint = f"the reasons are in {aside}" if rejects else "the file is empty"
        raise DataError(f"nothing in {origin} can be used", hint=hint)
    return str(aside) if rejects else None


def end(rejects: Sequence[Reject], *, strict: bool) -> None:
    """End with code 1 when anything was kept aside and that is not allowed."""
    if rejects and strict:
        raise typer.Exit(1)


def _table(rejects: Sequence[Reject]) -> Group:
    table = columns("line", "id", "reason", right=("line",))
    for reject in rejects[:_SHOWN]:
        field = f"{reject.field}: " if reject.field else ""
        table.add_row(str(reject.line or ""), plain(reject.id), plain(field + reject.reason))
    more = len(rejects) - _SHOWN
    return Group(table, f"... and {more:,} more") if more > 0 else Group(table)
