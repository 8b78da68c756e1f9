"""``proas eval``: measure a run's policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, columns, plain
from proas.cli.options import LARGEST, Json

if TYPE_CHECKING:
    from rich.table import Table

    from proas.training.evaluation import Evaluation

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of the run.", metavar="RUN")],
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Name of a split of the run's data, such as valid_seen; the run's validation tasks if not given.",
            metavar="NAME",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Other data of the same environment.", metavar="PATH")
    ] = None,
    checkpoint: Annotated[
        int | None,
        typer.Option("--checkpoint", min=0, max=LARGEST, help="Iteration; the last if not given.", metavar="N"),
    ] = None,
    temperature: Annotated[
        list[float] | None,
        typer.Option(
            "--temperature",
            min=0.0,
            help="Of drawing, 0 for the likeliest words; may be repeated. The run's own if not given.",
            metavar="T",
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", min=1, max=LARGEST, help="At most so many tasks; all of a split.", metavar="N"),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=LARGEST, help="Episodes of each task.", metavar="N")
    ] = 1,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, max=256, help="Processes; the run's own if not given.", metavar="N"),
    ] = None,
    json: Json = False,
) -> None:
    """Measure the policy of a run on fixed tasks, with the same draws for every run."""
    from proas.cli.train.needs import require_torch
    from proas.training.run_directory import RunDirectory

    output = Output(json_wanted=json)
    directory = RunDirectory(run)
    directory.document()
    require_torch()
    from proas.training.measure import measure_run

    with output.waiting("Playing"):
        found = measure_run(
            directory,
            split=split,
            data=data,
            iteration=checkpoint,
            temperatures=tuple(temperature) if temperature else None,
            tasks=tasks,
            repeats=repeats,
            workers=workers,
        )
    document = {
        "run": str(run),
        "iteration": found.iteration,
        "tasks": found.tasks,
        "data": found.data,
        "evaluations": [evaluation.to_dict() for evaluation in found.evaluations],
    }
    title = plain(f"{run} after iteration {found.iteration}, {found.tasks} tasks of {found.data}")
    output.result(document, title, _table(found.evaluations))


def _table(evaluations: tuple[Evaluation, ...]) -> Table:
    right = tuple(f"T={evaluation.temperature:g}" for evaluation in evaluations)
    table = columns("", *right, right=right)
    rows = {
        "success": [f"{evaluation.success:.1%}" for evaluation in evaluations],
        "return": [f"{evaluation.reward:.2f}" for evaluation in evaluations],
        "steps": [f"{evaluation.steps:.1f}" for evaluation in evaluations],
        "invalid": [f"{evaluation.invalid:.1%}" for evaluation in evaluations],
    }
    for kind in evaluations[0].by_kind:
        rows[f"success, {kind}"] = [f"{evaluation.by_kind.get(kind, 0.0):.1%}" for evaluation in evaluations]
    for name, cells in rows.items():
        table.add_row(plain(name), *cells)
    return table
