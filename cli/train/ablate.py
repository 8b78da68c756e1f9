"""``proas ablate``: the arms of one table, run and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proas.cli.console import Output, columns, plain
from proas.cli.options import LARGEST, DatabaseOptions, Json, with_options
from proas.cli.train.ending import ending_in_order
from proas.cli.train.experiments import RunOptions, RunsView, seeds_of, session, shown_tables
from proas.cli.train.needs import require_torch
from proas.cli.train.train import assignments

__all__ = ["ablate"]


@with_options
def ablate(
    runs: RunOptions,
    database: DatabaseOptions,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="main, controls, shaping, graph, webshop, recurrence, group_size, or a plan of your own (.toml); "
            "without it, all are listed.",
            metavar="NAME",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="Training preset in place of the plan's: tiny-alfworld, full.", metavar="NAME"),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", min=1, max=LARGEST, help="Iterations of each run.", metavar="N"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a setting of all runs by its path, such as tasks=8; may be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder of games, runs and results.", metavar="DIR"),
    ] = Path("ablation"),
    json: Json = False,
) -> None:
    """Run the arms of one table over several seeds and compare them.

    All arms start from one warm start and play the same tasks in the same order. A call that was ended goes on where it
    was: finished runs are kept, others go on from their last checkpoint. Results lie in DIR/results.
    """
    from proas.experiments.plan_files import load_plan
    from proas.experiments.records import read_results
    from proas.experiments.statistics import findings
    from proas.experiments.tables import all_tables

    output = Output(json_wanted=json)
    if table is None:
        _list(output)
        return
    changes = assignments(settings) | ({} if iterations is None else {"iterations": iterations})
    plan = load_plan(table).with_settings(changes, preset=preset)
    if runs.seeds is not None:
        plan = plan.with_seeds(seeds_of(runs.seeds))
    if runs.only:
        plan = plan.only(tuple(runs.only))
    require_torch()
    with ending_in_order(), RunsView(output, plan.title) as view:
        outcome = session(runs, database, output, view, folder=out, results=out / "results").run(plan)
    found = findings(plan, read_results(out / "results"))
    tables = all_tables(found)
    document = {
        "plan": plan.name,
        "games": outcome.games.to_record(),
        "done": outcome.done,
        "reused": outcome.reused,
        "left": outcome.left,
        "failed": [{"run": failure.key, "reason": failure.reason, "log": failure.log} for failure in outcome.failed],
        "notes": list(found.notes),
        "tables": [one.to_dict() for one in tables],
        "out": str(out),
    }
    output.result(document, *shown_tables(tables))
    for note in found.notes:
        output.warn(note)
    if outcome.left:
        output.warn(f"{len(outcome.left)} runs are left; the same command goes on with them")
    if outcome.failed:
        raise typer.Exit(1)


def _list(output: Output) -> None:
    from proas.experiments.plan_files import load_plan, plan_names

    plans = [load_plan(name) for name in plan_names()]
    table = columns("table", "question", "arms")
    for plan in plans:
        table.add_row(plan.name, plain(plan.question), plain(", ".join(plan.arms)))
    documents = [
        {
            "table": plan.name,
            "title": plan.title,
            "question": plan.question,
            "seeds": plan.seeds,
            "arms": {name: arm.note for name, arm in plan.arms.items()},
        }
        for plan in plans
    ]
    output.result({"tables": documents}, table)
