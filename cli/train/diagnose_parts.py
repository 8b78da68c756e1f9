"""What the commands of ``proas diagnose`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from proas.cli.console import Output
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.training.run_directory import RunDirectory

__all__ = ["Out", "Run", "finish", "listed", "ready"]

Number = TypeVar("Number", int, float)

Run = Annotated[Path, typer.Argument(help="Folder of the run.", metavar="RUN")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the results; RUN/diagnose if not given.", metavar="FOLDER"),
]


def ready(run: Path) -> RunDirectory:
    """A run that is there, where torch is. Raises ``UsageError`` otherwise."""
    from proas.cli.train.needs import require_torch
    from proas.training.run_directory import RunDirectory

    directory = RunDirectory(run)
    directory.document()
    require_torch()
    return directory


def listed(text: str, of: Callable[[str], Number], what: str, example: str) -> tuple[Number, ...]:
    """The values of an option that takes several, in rising order, each once. Raises ``UsageError`` for a slip."""
    try:
        return tuple(sorted({of(part) for part in text.split(",")}))
    except ValueError:
        raise UsageError(f"{text!r} is no list of {what}", hint=f"for example {example}") from None


def finish(
    output: Output,
    run: Path,
    out: Path | None,
    name: str,
    report: Any,
    draw: Callable[[Path], None],
    tables: list[Any],
) -> None:
    """Write the result and show it."""
    from proas.training.interventions.figures import can_draw
    from proas.training.run_directory import write_json

    folder = out or run / "diagnose"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}", hint="name another by --out") from error
    files = [folder / f"{name}.json"]
    document = asdict(report)
    write_json(files[0], document)
    if can_draw():
        files.append(folder / f"{name}.svg")
        draw(files[1])
    output.result({**document, "files": [str(file) for file in files]}, *tables)
    output.done(f"written to {', '.join(map(str, files))}")
