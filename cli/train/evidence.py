"""``proas evidence``: the report's runs, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import DatabaseOptions, Json, with_options
from proas.cli.train.ending import ending_in_order
from proas.cli.train.experiments import RunOptions, RunsView, seeds_of, session
from proas.cli.train.needs import require_torch

if TYPE_CHECKING:
    from proas.experiments.plan import Plan
    from proas.experiments.session import Outcome

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Make the report on what shaping does: its runs, its tables, its figures.")

Plans = Annotated[
    list[str] | None,
    typer.Argument(help="Names of plans, or files (.toml); all of the report if none is given.", metavar="PLAN..."),
]
ResultsFolder = Annotated[
    Path, typer.Option("--results", help="Folder of the results, a small file a run.", metavar="DIR")
]
Page = Annotated[
    Path,
    typer.Option(
        "--page",
        help="The page; words written by hand in it are kept. A folder of its name beside it holds the other tables.",
        metavar="FILE",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        "--figures", help="Folder of the figures; images/evidence beside the page, if not given.", metavar="DIR"
    ),
]

_RESULTS = Path("experiments/results")
_PAGE = Path("docs/evidence.md")


@app.command("run")
@with_options
def run(
    runs: RunOptions,
    database: DatabaseOptions,
    plans: Plans = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of games, warm starts and runs.", metavar="DIR")
    ] = Path("experiments/runs"),
    results: ResultsFolder = _RESULTS,
    page: Page = _PAGE,
    figures: Figures = None,
    smoke: Annotated[
        bool,
        typer.Option("--smoke", help="Check the mechanics in a minute: the plan smoke, all of it in DIR.", metavar=""),
    ] = False,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="Only what has no result yet, whoever made those that are there.", metavar=""),
    ] = False,
    json: Json = False,
) -> None:
    """Do the runs of the report from nothing, and the diagnoses that its plans name, then write the page.

    A call that was ended goes on where it was: runs that lie finished in DIR are kept.
    Arms that agree in all settings share their results across plans.
    """
    from proas.errors import UsageError
    from proas.experiments.figures import require_matplotlib

    output = Output(json_wanted=json)
    if smoke and plans:
        raise UsageError("--smoke runs the plan smoke only", hint="leave the plans or --smoke out")
    require_torch()
    require_matplotlib()
    if smoke:
        results, page, figures = out / "results", out / "evidence.md", out / "images"
    chosen = [_narrowed(plan, runs) for plan in _plans(["smoke"] if smoke else plans)]
    outcomes: dict[str, Outcome] = {}
    with ending_in_order(), RunsView(output, "Evidence") as view:
        doing = session(
            runs,
            database,
            output,
            view,
            folder=out,
            results=results,
            missing_only=missing,
            diagnoses=(results.parent / "diagnoses", _drawn(page, figures)),
        )
        for plan in chosen:
            view.begin(plan.title)
            outcomes[plan.name] = doing.run(plan)
    files = _write(["smoke"] if smoke else plans, results, page, figures)
    failed = [failure for outcome in outcomes.values() for failure in outcome.failed]
    done = [key for outcome in outcomes.values() for key in outcome.done]
    reused = [key for outcome in outcomes.values() for key in outcome.reused]
    left = [key for outcome in outcomes.values() for key in outcome.left]
    document = {
        "done": done,
        "reused": reused,
        "left": left,
        "failed": [{"run": failure.key, "reason": failure.reason, "log": failure.log} for failure in failed],
        "files": [str(file) for file in files],
    }
    counts = {"done": len(done), "reused": len(reused), "left": len(left), "failed": len(failed)}
    output.result(document, facts_table({**counts, "page": page}, title="Evidence"))
    if left:
        output.warn(f"{len(left)} runs are left; the same command goes on with them")
    if failed:
        raise typer.Exit(1)


@app.command("page")
def page(
    plans: Plans = None,
    results: ResultsFolder = _RESULTS,
    page: Page = _PAGE,
    figures: Figures = None,
    json: Json = False,
) -> None:
    """Write the page and its figures from the results that are there; nothing is run."""
    output = Output(json_wanted=json)
    files = _write(plans, results, page, figures)
    output.result(
        {"files": [str(file) for file in files]},
        facts_table({"page": page, "figures": sum(file.suffix == ".svg" for file in files)}),
    )


def _plans(names: list[str] | None) -> list[Plan]:
    from proas.experiments.plan_files import SMOKE, load_plan, plan_names

    return [load_plan(name) for name in names or [name for name in plan_names() if name != SMOKE]]


def _narrowed(plan: Plan, runs: RunOptions) -> Plan:
    """A plan with the seeds and arms that are asked for."""
    if runs.seeds is not None:
        plan = plan.with_seeds(seeds_of(runs.seeds))
    return plan.only(tuple(runs.only)) if runs.only else plan


def _write(names: list[str] | None, results: Path, page: Path, figures: Path | None) -> list[Path]:
    from proas.experiments.page import write_page
    from proas.experiments.records import read_results

    drawn = _drawn(page, figures)
    files, _ = write_page(_plans(names), read_results(results), page, drawn, results.parent / "diagnoses")
    return files


def _drawn(page: Path, figures: Path | None) -> Path:
    return figures or page.parent / "images" / "evidence"
