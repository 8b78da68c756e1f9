"""Figures of the interventions, as SVG that comes out the same from the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from proas.training.interventions.credit import OTHERS, CreditReport
from proas.training.interventions.label_report import LabelReport
from proas.training.interventions.noise import NoiseReport
from proas.training.interventions.statistics import Estimate
from proas.training.interventions.suppress import PER, SuppressReport
from proas.training.interventions.sweep import SweepReport

__all__ = ["can_draw", "draw_credit", "draw_labels", "draw_noise", "draw_suppression", "draw_sweep"]

_COLOURS = {"unreasonable": "#c0392b", "harmless": "#7f8c8d", "baseline": "#7f8c8d", "recovery": "#2471a3"}
_FORMS = 8
_MODELS = ("raw", "adjusted", "labels", "matched")


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_noise(report: NoiseReport, file: Path) -> None:
    """Success over the number of steps put into the past, and the change by it."""
    figure, (left, right) = _figure(2)
    for arm in ("unreasonable", "harmless"):
        rows = [row for row in report.rows if row.success[arm].value is not None]
        counts = [row.steps for row in rows]
        _line(left, counts, [row.success[arm] for row in rows], f"{arm} steps", _COLOURS[arm])
        _line(right, counts, [row.change[arm] for row in rows], f"{arm} steps", _COLOURS[arm])
    left.set_ylabel("success of continuations")
    right.set_ylabel("change from none")
    right.axhline(0.0, color="black", linewidth=0.6)
    for axes in (left, right):
        axes.set_xlabel("steps put into the visible past")
    left.legend(fontsize=7)
    _save(figure, file)


def draw_suppression(report: SuppressReport, file: Path) -> None:
    """Recovery and baseline by drift, and the slopes on drift under each model."""
    figure, (left, right) = _figure(2)
    drift = [quarter.drift for quarter in report.quarters]
    for name, label in (("baseline", "nothing forbidden"), ("recovery", "action forbidden")):
        _line(left, drift, [getattr(quarter, name) for quarter in report.quarters], label, _COLOURS[name])
    left.set_xlabel("future drift D of the forbidden step")
    left.set_ylabel("success of continuations")
    left.legend(fontsize=7)
    for offset, outcome in ((-0.12, "recovery"), (0.12, "gain")):
        slopes = [report.slopes[outcome][model] for model in _MODELS]
        places = [place + offset for place in range(len(_MODELS))]
        _dots(right, places, slopes, outcome, _COLOURS["recovery" if outcome == "recovery" else "unreasonable"])
    right.set_xticks(range(len(_MODELS)), _MODELS)
    right.axhline(0.0, color="black", linewidth=0.6)
    right.set_ylabel(f"change with {PER} steps of drift")
    right.legend(fontsize=7)
    _save(figure, file)


def draw_labels(report: LabelReport, file: Path) -> None:
    """What the run wrote down over training, and precision and recall of the labels as graphs grow."""
    figure, (left, middle, right) = _figure(3)
    for name in ("unreasonable_in_positive", "nonprogress_in_negative", "mask_rate", "coverage"):
        values = report.series.get(name) or tuple(
            (iteration, row[name]) for iteration, row in sorted(report.fresh.items()) if name in row
        )
        if values:
            left.plot(*zip(*values, strict=True), label=name.replace("_", " "), linewidth=1.1)
    left.set_xlabel("iteration")
    left.set_ylim(0, 1)
    if left.lines:
        left.legend(fontsize=6)
    for graph, colour in (("run", "#1e8449"), ("paper", "#c0392b"), ("loop_erased", "#2471a3")):
        for support in report.settings.supports:
            rows = [row for row in report.precision if (row.graph, row.support) == (graph, support)]
            rows = [row for row in rows if row.precision.value is not None and row.recall.value is not None]
            for axes, name in ((middle, "precision"), (right, "recall")):
                if not rows:
                    continue
                axes.plot(
                    [row.version for row in rows],
                    [getattr(row, name).value for row in rows],
                    label=f"{graph.replace('_', '-')}, {support}+",
                    color=colour,
                    linestyle=("-", "--", ":", "-.")[min(support - 1, 3)],
                    linewidth=1.1,
                )
    for axes, name in ((middle, "precision"), (right, "recall")):
        axes.set_ylim(0, 1)
        axes.set_xlabel("version of the graph")
        axes.set_title(f"{name} of Re against optimal play", fontsize=9)
    if middle.lines:
        middle.legend(fontsize=6)
    _save(figure, file)


def draw_sweep(report: SweepReport, file: Path) -> None:
    """Success, and the share of invalid steps, over temperatures."""
    figure, (left, right) = _figure(2)
    drawn = [row.temperature for row in report.rows]
    _line(left, drawn, [row.success for row in report.rows], "success", _COLOURS["recovery"])
    left.set_ylabel("success")
    right.plot(drawn, [row.invalid for row in report.rows], color=_COLOURS["unreasonable"], marker="o", markersize=3)
    right.set_ylabel("share of invalid steps")
    for axes in (left, right):
        axes.set_xlabel("temperature")
        axes.set_ylim(0, 1)
    _save(figure, file)


def draw_credit(report: CreditReport, file: Path) -> None:
    """The most frequent forms over the samples: their share of the steps, and the sum of their advantages."""
    figure, (left, right) = _figure(2)
    drawn = [form for form in report.forms if form != OTHERS][:_FORMS]
    places = range(len(report.samples))
    for form in drawn:
        found = [next((row for row in sample.rows if row.form == form), None) for sample in report.samples]
        left.plot(places, [row.share if row else 0.0 for row in found], label=form, marker="o", markersize=3)
        right.plot(places, [row.after if row else 0.0 for row in found], label=form, marker="o", markersize=3)
    left.set_ylabel("share of steps")
    left.set_ylim(bottom=0)
    right.set_ylabel("sum of advantages")
    right.axhline(0.0, color="black", linewidth=0.6)
    names = [sample.name.lstrip("0") or sample.name for sample in report.samples]
    for axes in (left, right):
        axes.set_xticks(places, names)
        axes.set_xlabel("iteration")
    left.legend(fontsize=6)
    _save(figure, file)


def _figure(panels: int) -> tuple[Any, list[Any]]:
    import matplotlib as mpl

    mpl.use("svg", force=False)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * panels, 3.4), layout="constrained")
    return figure, [figure.add_subplot(1, panels, place + 1) for place in range(panels)]


def _save(figure: Any, file: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "proas"}):
        figure.savefig(file, format="svg", metadata={"Date": None})


def _line(axes: Any, xs: Sequence[float], estimates: Sequence[Estimate], label: str, colour: str) -> None:
    if not xs:
        return
    values = [estimate.value or 0.0 for estimate in estimates]
    axes.plot(xs, values, label=label, color=colour, linewidth=1.2, marker="o", markersize=3)
    known = [(x, e.low, e.high) for x, e in zip(xs, estimates, strict=True) if e.low is not None and e.high is not None]
    if known:
        axes.fill_between(*zip(*known, strict=True), color=colour, alpha=0.15, linewidth=0)


def _dots(axes: Any, xs: Sequence[float], estimates: Sequence[Estimate], label: str, colour: str) -> None:
    known = [(x, e) for x, e in zip(xs, estimates, strict=True) if e.value is not None]
    axes.plot([x for x, _ in known], [e.value for _, e in known], "o", label=label, color=colour, markersize=4)
    for x, e in known:
        if e.low is not None and e.high is not None:
            axes.plot([x, x], [e.low, e.high], color=colour, linewidth=1.2)
