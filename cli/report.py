"""``proas report``: a training run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import DatabaseOptions, Json, with_options
from proas.errors import GraphError, LocalServerError

if TYPE_CHECKING:
    from proas.graph.reports import GraphDiff
    from proas.graph.store import ReferenceGraph
    from proas.rollouts import RolloutBatch
    from proas.training.run_directory import RunDirectory

__all__ = ["report"]


@with_options
def report(
    run: Annotated[Path, typer.Argument(help="Folder of the run: the --out of `proas train`.", metavar="RUN")],
    html: Annotated[Path, typer.Option("--html", "-o", help="The page to write.", metavar="OUT.html")],
    database: DatabaseOptions,
    rollouts: Annotated[
        list[Path] | None,
        typer.Option(
            "--rollouts",
            help="Rollouts of the run to find detours in; those without labels are labelled by the run's graph. May "
            "be repeated. A folder `rollouts` in RUN is read too.",
            metavar="FILE.jsonl",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a page about a training run: curves, labels, the tasks that changed most, the worst detours.

    One file that needs no network. The graph's part is left out, and the page says why, when the database cannot be
    asked.
    """
    from proas.training.run_directory import RunDirectory
    from proas.views.detours import worst_detours
    from proas.views.page import write_page
    from proas.views.report_page import RunReport, charts_of, report_page

    output = Output(json_wanted=json)
    directory = RunDirectory(run)
    settled = directory.document()
    metrics = list(directory.metrics())
    notes: list[str] = []
    store, growth, goals = _graph(settled, database, output, notes)
    labelled = _labelled(_files(run, rollouts), store, notes)
    judged = sum(any(step.label for step in rollout.steps) for rollout in labelled)
    page = RunReport(
        name=run.resolve().name,
        facts=_facts(settled, metrics, directory),
        metrics=metrics,
        growth=growth,
        goals=goals,
        detours=worst_detours(labelled),
        judged=judged,
        notes=tuple(notes),
    )
    write_page(html, report_page(page))
    for note in notes:
        output.warn(note)
    document: dict[str, Any] = {
        "run": str(run),
        "iterations": _last(metrics),
        "charts": [chart.title for chart in charts_of(metrics)],
        "changed_tasks": len({part.task for part in growth.tasks}) if growth else 0,
        "labelled_rollouts": judged,
        "detours": len(page.detours),
        "notes": notes,
        "html": str(html),
    }
    facts = {
        "run": run,
        "iterations": _last(metrics),
        "curves": len(document["charts"]),
        "tasks that changed": document["changed_tasks"],
        "detours": len(page.detours),
        "written to": html,
    }
    output.result(document, facts_table(facts, title="Report"))


def _last(metrics: list[dict[str, float]]) -> int:
    return int(max((row.get("iteration", 0.0) for row in metrics), default=0.0))


def _facts(settled: dict[str, Any], metrics: list[dict[str, float]], directory: RunDirectory) -> dict[str, object]:
    settings = settled.get("settings", {})
    software = settled.get("software", {})
    final = directory.final()
    facts: dict[str, object] = {
        "arm": settled.get("arm", "-"),
        "environment": settings.get("env", "-"),
        "seed": settings.get("seed", "-"),
        "iterations": f"{_last(metrics)} of {settings.get('iterations', '-')}"
        + ("" if final else ", not finished: no final.json"),
        "graph": settled.get("graph") or "none",
        "software": ", ".join(f"{name} {version}" for name, version in software.items() if name != "commit"),
    }
    return facts | ({"commit": software["commit"]} if "commit" in software else {})


def _graph(
    settled: dict[str, Any], database: DatabaseOptions, output: Output, notes: list[str]
) -> tuple[ReferenceGraph | None, GraphDiff | None, dict[str, str]]:
    """The run's graph, what it learnt, and the goals of its tasks."""
    from proas.cli.database import connect, existing_graph

    name = settled.get("graph")
    if not name:
        notes.append("The run used no graph.")
        return None, None, {}
    try:
        store = existing_graph(connect(database, output), name)
        version = store.info().version
        growth = store.diff(0, version) if version else None
        if growth is None:
            notes.append(f"The graph {name} has learnt nothing yet: it is at version 0.")
        return store, growth, {task.key: task.text or task.goal for task in store.tasks()}
    except (GraphError, LocalServerError) as error:
        notes.append(f"The graph {name} could not be read: {error.message}.")
        return None, None, {}


def _files(run: Path, named: list[Path] | None) -> list[Path]:
    return [*(named or []), *sorted((run / "rollouts").glob("*.jsonl"))]


def _labelled(files: list[Path], store: ReferenceGraph | None, notes: list[str]) -> RolloutBatch:
    from proas.rollout_files import load_rollouts
    from proas.rollouts import RolloutBatch
    from proas.states import attach_all

    rollouts = []
    for file in files:
        batch = load_rollouts(file)
        if batch.rejects:
            notes.append(
                f"{len(batch.rejects):,} lines of {file} cannot be used; the first: {batch.rejects[0].reason}."
            )
        bare = tuple(r for r in batch if not any(step.label for step in r.steps))
        rollouts += [r for r in batch if any(step.label for step in r.steps)]
        if bare and store is not None:
            rollouts += store.label(attach_all(RolloutBatch(bare))).rollouts
        elif bare:
            notes.append(f"{len(bare):,} rollouts of {file} carry no labels, and there is no graph to ask.")
    return RolloutBatch(tuple(rollouts))
