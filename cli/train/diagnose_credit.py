"""``proas diagnose credit``: which forms of actions a run's advantages speak for and against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proas.cli.console import Output
from proas.cli.options import LARGEST, Json
from proas.cli.train.diagnose_parts import Out, finish, listed
from proas.cli.train.diagnose_view import credit_tables

__all__ = ["credit"]


def credit(
    path: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run that kept rollouts, folder of shaped rollouts, or one file of them.", metavar="PATH"
        ),
    ],
    iterations: Annotated[
        str | None,
        typer.Option("--iterations", help="Those wanted; all that were kept if not given.", metavar="N,N,..."),
    ] = None,
    forms: Annotated[
        int, typer.Option("--forms", min=1, max=LARGEST, help="Forms with a row of their own.", metavar="N")
    ] = 12,
    out: Out = None,
    json: Json = False,
) -> None:
    """Sum advantages up by the form of the action: what do they speak for, and what against?

    A policy that falls may have unlearnt one form, such as the only command that takes things. That shows here.
    """
    from proas.cli.train.needs import require_torch

    output = Output(json_wanted=json)
    wanted = None if iterations is None else listed(iterations, int, "iterations", "1,2,3")
    require_torch()
    from proas.training.interventions.credit import measure_credit

    with output.waiting("Reading"):
        report = measure_credit(path, iterations=wanted, most=forms)
    from proas.training.interventions.figures import draw_credit

    home = path.parent if path.is_file() else path
    finish(output, home, out, "credit", report, lambda file: draw_credit(report, file), credit_tables(report))
