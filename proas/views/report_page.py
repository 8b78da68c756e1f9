"""The page of a training run: its curves, what the labels say, which tasks changed most, where rollouts go astray."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

from proas.graph.reports import GraphDiff
from proas.shaping.diagnostics import Diagnostics
from proas.views.charts import Chart, Series, chart
from proas.views.detours import Detour
from proas.views.diff_page import growth_table
from proas.views.page import Cell, document, table, words

__all__ = ["RunReport", "charts_of", "label_rows", "report_page"]

Metrics = Mapping[str, float]

_MOST_TASKS = 20

_CHARTS: tuple[tuple[str, Mapping[str, str], bool], ...] = (
    ("Success of training rollouts", {"rollout/success": "rollouts"}, True),
    (
        "What the labels say: share of steps",
        {"proas/graph/reasonable_share": "reasonable (Re)", "proas/graph/progress_share": "progress (PA)"},
        True,
    ),
    (
        "Steps of positive advantage: what became of them",
        {"proas/mask_rate": "lessened by shaping", "proas/unreasonable_in_positive": "not in the graph"},
        True,
    ),
    ("Coverage: rollouts whose task the graph knows", {"proas/graph/coverage": "rollouts"}, True),
    (
        "Growth of the graph in each iteration",
        {"proas/graph/added_states": "states", "proas/graph/added_transitions": "transitions"},
        False,
    ),
    (
        "Negative over positive advantage mass",
        {"proas/negative_to_positive_base": "before shaping", "proas/negative_to_positive": "after"},
        False,
    ),
    ("Invalid steps", {"rollout/invalid": "share of steps"}, True),
    ("Steps of a rollout", {"rollout/steps": "all", "rollout/steps_of_successes": "successes"}, False),
    ("Entropy of the policy", {"rollout/entropy": "nats a token"}, False),
)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the page tells.

    Attributes:
        name: Name of the run.
        facts: What decides its result, in order.
        metrics: One record an iteration.
        growth: What its graph learnt; ``None`` where there is none or it could not be asked.
        goals: Goal of each task in words.
        detours: Where rollouts left the graph.
        judged: Labelled rollouts that were looked at for detours.
        notes: What a reader should know, such as a database that did not answer.
    """

    name: str
    facts: Mapping[str, object]
    metrics: Sequence[Metrics]
    growth: GraphDiff | None
    goals: Mapping[str, str]
    detours: tuple[Detour, ...]
    judged: int
    notes: tuple[str, ...] = ()


def report_page(report: RunReport) -> str:
    """The page as HTML; it needs no script."""
    drawn = "".join(chart(one) for one in charts_of(report.metrics))
    facts = "".join(f"<dt>{words(name)}</dt><dd>{words(value)}</dd>" for name, value in report.facts.items())
    notes = "".join(f"<p>{words(note)}</p>" for note in report.notes)
    parts = [
        f"<header><h1>Training run {words(report.name)}</h1><dl>{facts}</dl>{notes}</header><main class='report'>",
        f'<h2>Curves</h2><div class="charts">{drawn}</div>' if drawn else "<h2>Curves</h2><p>No iteration yet.</p>",
        "<h2>Labels and shaping</h2>",
        _labels(report.metrics),
        "<h2>Tasks that changed most</h2>",
        _growth(report),
        "<h2>Worst detours</h2>",
        _detours(report),
        "</main>",
    ]
    return document(f"{report.name} - ProAS", "".join(parts))


def charts_of(metrics: Sequence[Metrics]) -> Iterator[Chart]:
    """The curves for which there are values."""
    evaluated = sorted(
        {name for row in metrics for name in row if name.startswith("evaluation/") and _is_success(name)}
    )
    series = tuple(s for name in evaluated[:4] if (s := _series(metrics, name, f"T = {name.split('/')[1][1:]}")))
    if series:
        yield Chart("Success on validation tasks", series, share=True)
    for title, names, share in _CHARTS:
        series = tuple(s for name, told in names.items() if (s := _series(metrics, name, told)))
        if series:
            yield Chart(title, series, share)


def _is_success(name: str) -> bool:
    return name.startswith("evaluation/") and name.count("/") == 2 and name.endswith("/success")


def _series(metrics: Sequence[Metrics], name: str, told: str) -> Series | None:
    points = tuple((row.get("iteration", float(i)), row[name]) for i, row in enumerate(metrics) if name in row)
    return Series(told, points) if points else None


def label_rows(metrics: Sequence[Metrics]) -> list[tuple[str, float, float, float, float, str]]:
    """(name, first, mean of the last quarter, least, most, meaning) of each measurement of labels and shaping."""
    rows = []
    for item in fields(Diagnostics):
        values = [row[f"proas/{item.name}"] for row in metrics if f"proas/{item.name}" in row]
        if values:
            late = values[-max(1, len(values) // 4) :]
            meaning = str(item.metadata["meaning"])
            rows.append((item.name, values[0], fmean(late), min(values), max(values), meaning))
    return rows


def _labels(metrics: Sequence[Metrics]) -> str:
    found = label_rows(metrics)
    if not found:
        return "<p>The run has recorded none.</p>"
    rows: list[Sequence[Any]] = [
        (name.replace("_", " "), *(_shown(value) for value in values), meaning)
        for name, *values, meaning in found
        if any(values)
    ]
    still = ", ".join(row[0].replace("_", " ") for row in found if not any(row[1:5]))
    columns = ("measure", "#first", "#last quarter", "#least", "#most", "meaning")
    told = f'<p class="soft">0 from the first iteration to the last: {words(still)}.</p>' if still else ""
    return (table("Labels and shaping over the run", columns, rows) if rows else "") + told


def _shown(value: Any) -> str:
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 100 or (number.is_integer() and abs(number) >= 2) else f"{number:.3g}"


def _growth(report: RunReport) -> str:
    if report.growth is None:
        return '<p class="soft">No graph to look at.</p>'
    return growth_table(report.growth, report.goals, most=_MOST_TASKS)


def _detours(report: RunReport) -> str:
    if not report.judged:
        return (
            '<p class="soft">No labelled rollouts to look at. Give some with --rollouts, for example what '
            "<code>proas label</code> writes.</p>"
        )
    if not report.detours:
        return f"<p>None: {report.judged:,} labelled rollouts stay in the graph.</p>"
    rows = [
        (
            Cell(f'{words(d.goal or d.task)}<br><span class="soft">{words(d.task)}</span>'),
            d.left_at,
            d.action,
            d.times,
            d.rollouts,
            d.steps,
            d.returned,
            d.solved,
        )
        for d in report.detours
    ]
    columns = ("task", "left the graph at", "by", "#times", "#rollouts", "#steps off it", "#came back", "#solved")
    told = f"Ways off the graph that cost most steps, in {report.judged:,} labelled rollouts"
    return table(told, columns, rows)
