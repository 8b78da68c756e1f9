"""What ``proas diagnose`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from proas.cli.console import columns, facts_table, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from proas.training.interventions.credit import CreditReport, CreditSample
    from proas.training.interventions.label_report import LabelReport, Precision
    from proas.training.interventions.noise import NoiseReport
    from proas.training.interventions.statistics import Estimate
    from proas.training.interventions.suppress import SuppressReport
    from proas.training.interventions.sweep import SweepReport

__all__ = ["credit_tables", "labels_tables", "noise_tables", "suppress_tables", "sweep_tables"]

_MODELS = {
    "raw": "drift alone",
    "adjusted": "with prefix length and steps left",
    "labels": "and the step's own labels",
    "matched": "among like prefix lengths",
}


def noise_tables(report: NoiseReport) -> list[RenderableType]:
    """Success by number of steps, slopes, and what was done."""
    names = ("success", "change", "harmless: success", "harmless: change", "beyond length", "tokens")
    table = columns("steps", *names, right=("steps", *names))
    for row in report.rows:
        table.add_row(
            str(row.steps),
            _share(row.success["unreasonable"]),
            row.change["unreasonable"].shown(percent=True),
            _share(row.success["harmless"]),
            row.change["harmless"].shown(percent=True),
            row.beyond_length.shown(percent=True),
            f"{row.tokens['unreasonable']:.0f} / {row.tokens['harmless']:.0f}",
        )
    facts: dict[str, object] = {
        "policy": f"{report.run} after iteration {report.iteration}, T = {report.temperature:g}",
        "situations": f"{len(report.states)} of {report.data}, {report.settings.continuations} continuations each",
        "slope a step": report.slopes["unreasonable"].shown(percent=True),
        "slope, harmless": report.slopes["harmless"].shown(percent=True),
        "slope beyond length": report.slopes["beyond_length"].shown(percent=True),
        "steps of its own": f"{report.own:.0%} of those put in",
    }
    if report.without_control:
        facts["without a control"] = report.without_control
    if report.aside:
        facts["kept aside"] = _aside(report.aside)
    note = Text("points of percent with 95 % intervals by the bootstrap over situations", "dim")
    return [facts_table(facts, title="Unreasonable steps in the visible past"), table, note]


def sweep_tables(report: SweepReport) -> list[RenderableType]:
    """Success, steps and invalid steps by temperature."""
    names = ("success", "steps", "invalid")
    table = columns("T", *names, right=("T", *names))
    for row in report.rows:
        style = "bold" if row is report.best else ""
        cells = (f"{row.temperature:g}", _with_interval(row.success), f"{row.steps:.1f}", f"{row.invalid:.1%}")
        table.add_row(*cells, style=style)
    each = report.settings.repeats
    facts: dict[str, object] = {
        "policy": f"{report.run} after iteration {report.iteration}",
        "tasks": f"{report.tasks} of {report.data}, " + ("an episode each" if each == 1 else f"{each} episodes each"),
    }
    note = Text("success in percent with the 95 % interval by the bootstrap over tasks", "dim")
    return [facts_table(facts, title="Over temperatures"), table, note]


def _with_interval(estimate: Estimate) -> str:
    return estimate.shown(percent=True).replace("+", "")


def credit_tables(report: CreditReport) -> list[RenderableType]:
    """Forms of actions in the first sample, the last, and one between them."""
    facts: dict[str, object] = {
        "rollouts": report.run,
        "samples": ", ".join(sample.name for sample in report.samples),
    }
    if report.aside:
        facts["kept aside"] = _aside(report.aside)
    places = sorted({0, len(report.samples) // 2, len(report.samples) - 1})
    note = Text(
        "sums of advantages over the steps of a form, before shaping and after; gained and lost are the positive and "
        "the negative ones after it. The file has all samples.",
        "dim",
    )
    shown = [_credit_table(report.samples[place]) for place in places]
    return [facts_table(facts, title="Credit by the form of the action"), *shown, note]


def _credit_table(sample: CreditSample) -> RenderableType:
    names = ("steps", "share", "applied", "before", "after", "gained", "lost")
    table = columns(f"{sample.name}: {sample.success:.0%} solved", *names, right=names)
    for row in sample.rows:
        table.add_row(
            plain(row.form),
            f"{row.steps:,}",
            f"{row.share:.1%}",
            _percent(row.applied),
            *(f"{value:+.1f}" for value in (row.before, row.after, row.gained, row.lost)),
        )
    return table


def suppress_tables(report: SuppressReport) -> list[RenderableType]:
    """Recovery by drift, slopes, and the answer."""
    names = ("positions", "prefix", "baseline", "recovery", "gain")
    quarters = columns("drift", *names, right=names)
    for quarter in report.quarters:
        quarters.add_row(
            f"{quarter.low} to {quarter.high}",
            str(quarter.positions),
            f"{quarter.step:.1f}",
            _share(quarter.baseline),
            _share(quarter.recovery),
            quarter.gain.shown(percent=True),
        )
    slopes = columns("ten steps of drift more", "recovery", "gain", right=("recovery", "gain"))
    for name, meaning in _MODELS.items():
        cells = [report.slopes[outcome][name].shown(percent=True) for outcome in ("recovery", "gain")]
        slopes.add_row(meaning, *cells)
    answer = {
        None: "cannot be told: at like prefix lengths drift does not vary enough",
        True: "yes",
        False: "not shown",
    }[report.predicts]
    facts: dict[str, object] = {
        "policy": f"{report.run} after iteration {report.iteration}, T = {report.temperature:g}",
        "labels": report.labels,
        "positions": f"{len(report.positions)}, {report.settings.continuations} continuations each",
        "baseline": _share(report.baseline),
        "recovery": _share(report.recovery),
        "gain": report.gain.shown(percent=True),
        "drift and prefix": "-" if report.drift_and_step is None else f"correlated by {report.drift_and_step:.2f}",
        "drift predicts blame": answer,
    }
    if report.aside:
        facts["kept aside"] = _aside(report.aside)
    note = Text("points of percent with 95 % intervals by the bootstrap over rollouts", "dim")
    return [facts_table(facts, title="Actions forbidden in failed rollouts"), quarters, slopes, note]


def labels_tables(report: LabelReport) -> list[RenderableType]:
    """Statistics of the stored policies' rollouts, and precision by graph, version and support."""
    facts: dict[str, object] = {
        "run": report.run,
        "labels": report.labels,
        "sample": f"{report.sample['steps']:,} steps of {report.data}, T = {report.temperature:g}",
    }
    if "optimal" in report.sample:
        steps = max(1, report.sample["with_plan"])
        facts["optimal steps"] = f"{report.sample['optimal'] / steps:.0%}"
        facts["steps away from the goal"] = f"{report.sample['losing'] / steps:.0%}"
        facts["steps that look for something"] = f"{report.sample['seeking'] / max(1, report.sample['steps']):.0%}"
    iterations = [str(iteration) for iteration in sorted(report.fresh)]
    fresh = columns("fresh rollouts after iteration", *iterations, right=tuple(iterations))
    shown = {
        "success": "success_rate",
        "unreasonable among positive steps": "unreasonable_in_positive",
        "non-progress among negative steps": "nonprogress_in_negative",
        "mask rate": "mask_rate",
        "coverage": "coverage",
    }
    for words, name in shown.items():
        fresh.add_row(words, *(_percent(report.fresh[int(k)].get(name)) for k in iterations))
    fresh.add_row("entropy, nats", *(f"{report.fresh[int(k)]['entropy']:.3f}" for k in iterations))
    parts: list[RenderableType] = [facts_table(facts, title="Labels"), fresh]
    if report.precision:
        names = ("version", "support", "transitions", "precision", "or seeking", "recall", "detours", "PA precision")
        table = columns("graph", *names, right=names)
        for row in _worth_showing(report.precision):
            table.add_row(
                plain(row.graph.replace("_", "-")),
                str(row.version),
                f"{row.support}+",
                f"{row.transitions:,}",
                *(
                    _percent(each.value)
                    for each in (row.precision, row.sensible, row.recall, row.detours, row.progress_precision)
                ),
            )
        note = Text(
            "precision: of the steps called reasonable, those on a shortest way; detours: of the valid steps that are "
            "neither on one nor look for something, those called reasonable. The file has all versions and intervals.",
            "dim",
        )
        parts += [table, note]
    parts += [Text(note, "yellow") for note in report.notes]
    return parts


def _worth_showing(rows: Sequence[Precision]) -> list[Precision]:
    """Of each graph the first version that knows anything, the last, and one between them."""
    shown: set[tuple[str, int]] = set()
    for graph in dict.fromkeys(row.graph for row in rows):
        versions = sorted({row.version for row in rows if row.graph == graph and row.steps})
        shown |= {(graph, versions[place]) for place in (0, len(versions) // 2, -1) if versions}
    return [row for row in rows if (row.graph, row.version) in shown]


def _share(estimate: Estimate) -> str:
    return _percent(estimate.value)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _aside(reasons: object) -> str:
    assert isinstance(reasons, dict)
    return "; ".join(f"{reason}: {count}" for reason, count in reasons.items())
