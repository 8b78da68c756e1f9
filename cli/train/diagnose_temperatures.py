"""``proas diagnose temperatures``: which sampling temperature suits a policy."""

from __future__ import annotations

from typing import Annotated

import typer

from proas.cli.console import Output
from proas.cli.options import EnvOptions, Json, env_spec
from proas.cli.train.diagnose_parts import Out, Run, finish, listed, ready
from proas.cli.train.diagnose_view import sweep_tables
from proas.cli.train.run_options import At, Data, OwnWorkers, Repeats, Split, Tasks, warn_of_wording

__all__ = ["temperatures"]


def temperatures(
    run: Run,
    at: Annotated[
        str,
        typer.Option("--temperatures", help="Temperatures, 0 for the likeliest words.", metavar="T,T,..."),
    ] = "0.2,0.4,0.6,0.8,1,1.2",
    tasks: Tasks = None,
    repeats: Repeats = 1,
    split: Split = None,
    data: Data = None,
    option: EnvOptions = None,
    checkpoint: At = None,
    workers: OwnWorkers = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure a policy over sampling temperatures: which one suits it, and how much it depends on it.

    Policies that are compared at one temperature may differ by how sure of themselves they are and by nothing else.
    """
    output = Output(json_wanted=json)
    chosen = listed(at, float, "temperatures", "0.2,0.4,0.6,0.8,1")
    directory = ready(run)
    from proas.training.interventions.sweep import SweepSettings, measure_sweep

    options = env_spec(directory.config().env, data, option).options
    warn_of_wording(output, directory, split, data, options)
    with output.waiting("Playing"):
        report = measure_sweep(
            directory,
            SweepSettings(chosen, tasks, repeats, workers),
            split=split,
            data=data,
            options=options,
            iteration=checkpoint,
        )
    from proas.training.interventions.figures import draw_sweep

    finish(output, run, out, "temperatures", report, lambda file: draw_sweep(report, file), sweep_tables(report))
