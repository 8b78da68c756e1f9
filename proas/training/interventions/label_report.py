"""What the labels of a run are worth: their statistics over training, and their precision against optimal play.

Statistics come from two places: what the run wrote down in every iteration, and fresh rollouts of the checkpoints that
it kept, labelled by its graph as of that iteration.

Precision needs a judge (:mod:`proas.training.interventions.optimal`) and a fixed sample of steps: the same rollouts are
labelled by every version of a graph, so that what differs is the graph. Three graphs are set side by side. ``run`` is
the run's own, read at its versions. ``paper`` and ``loop_erased`` are made for the comparison, from the same successes
of the stored policies, drawn apart from the sample: they differ in purification alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from proas.errors import UsageError
from proas.graph import Connection, ReferenceGraph
from proas.keys import digest
from proas.purify import Purification
from proas.rollouts import Label, Rollout, RolloutBatch
from proas.shaping import shape
from proas.shaping.diagnostics import Diagnostics
from proas.states import ladder_of_rollout
from proas.training.config import TrainConfig
from proas.training.interventions.bench import Bench, Source, drawing_temperature
from proas.training.interventions.membership import Membership
from proas.training.interventions.optimal import Judged, OptimalPlay
from proas.training.interventions.statistics import Estimate, mean_of
from proas.training.interventions.verdicts import Labeller
from proas.training.run_directory import RunDirectory

__all__ = ["LabelReport", "LabelSettings", "Precision", "report_labels", "series_of"]

PURIFICATIONS: tuple[Purification, ...] = ("paper", "loop_erased")

SERIES = {
    "success": "rollout/success",
    "unreasonable_in_positive": "proas/unreasonable_in_positive",
    "nonprogress_in_negative": "proas/nonprogress_in_negative",
    "mask_rate": "proas/mask_rate",
    "coverage": "proas/graph/coverage",
    "added_transitions": "proas/graph/added_transitions",
    "entropy": "rollout/entropy",
}
"""What is taken from a run's metrics, by its name here."""


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """What is done.

    Attributes:
        tasks: Tasks that are looked at.
        group_size: Rollouts of each, for the sample and in each round.
        rounds: Rounds of rollouts of each stored policy that the two made graphs learn from; each makes a version.
        supports: Demonstrations that a transition must have.
        temperature: Of drawing; the run's own in training if ``None``.
        seed: Of everything.
    """

    tasks: int = 16
    group_size: int = 8
    rounds: int = 3
    supports: tuple[int, ...] = (1, 2, 3)
    temperature: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Precision:
    """Labels of one graph at one version against optimal play, over the fixed sample.

    Attributes:
        graph: ``run``, ``paper`` or ``loop_erased``.
        version: Its version.
        iteration: Of the policy whose successes it had learnt from last.
        support: Demonstrations asked of a transition.
        transitions: Transitions that count, over the tasks of the sample.
        steps: Steps of tasks that the version knows.
        precision: Of the steps called reasonable, the share that is optimal.
        sensible: Of these, the share that is optimal or looks for something.
        recall: Of the optimal steps, the share called reasonable.
        detours: Of the valid steps that are neither optimal nor look for something, the share called reasonable.
        progress_precision: Of the steps called progress, the share that is optimal.
        progress_recall: Of the optimal steps, the share called progress.
    """

    graph: str
    version: int
    iteration: int
    support: int
    transitions: int
    steps: int
    precision: Estimate
    sensible: Estimate
    recall: Estimate
    detours: Estimate
    progress_precision: Estimate
    progress_recall: Estimate


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What came of it.

    Attributes:
        run: Folder of the run.
        data: Where the tasks are from.
        settings: What was done.
        temperature: Of drawing.
        labels: Who labelled the fresh rollouts.
        series: What the run wrote down, by name: iteration and value.
        fresh: Of each stored policy, diagnostics of fresh rollouts.
        sample: Steps of the sample; of these, with a plan; optimal ones; ones that look for something.
        precision: By graph, version and support; empty where the environment has no planner.
        notes: What could not be done, and why.
    """

    run: str
    data: str
    settings: LabelSettings
    temperature: float
    labels: str
    series: Mapping[str, tuple[tuple[int, float], ...]]
    fresh: Mapping[int, Mapping[str, float]]
    sample: Mapping[str, int]
    precision: tuple[Precision, ...]
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Judges:
    """Whom the labels come from.

    Attributes:
        connection: The database, in which the two graphs are made and removed again.
        own: The run's own graph; ``None`` where it has none.
        base: Name of the graph that the made ones lie over; empty for none.
        labeller: Labels fresh rollouts of an iteration.
        labels: Who that is, for the record.
    """

    connection: Connection
    own: ReferenceGraph | None
    base: str
    labeller: Callable[[int], Labeller]
    labels: str


def series_of(directory: RunDirectory) -> dict[str, tuple[tuple[int, float], ...]]:
    """What a run wrote down about its labels, iteration by iteration."""
    rows = list(directory.metrics())
    found = {
        name: tuple((int(row["iteration"]), row[metric]) for row in rows if metric in row)
        for name, metric in SERIES.items()
    }
    return {name: values for name, values in found.items() if values}


def report_labels(
    directory: RunDirectory,
    sources: Sequence[Source],
    tasks: Sequence[str],
    judges: Judges,
    settings: LabelSettings,
    progress: Callable[[str], object] = lambda _: None,
) -> LabelReport:
    """Report on the labels of a run.

    Args:
        directory: The run.
        sources: Its stored policies, in the order of their iterations, with the data of the tasks.
        tasks: Keys of the tasks.
        judges: Whom the labels come from.
        settings: What is done.
        progress: Told of what begins.

    Raises:
        UsageError: There is no stored policy, or nothing can be drawn at the temperature.
        GraphError: The database could not be asked.
    """
    if not sources:
        raise UsageError(f"{directory.path} holds no checkpoint", hint="let its warm start end")
    config = directory.config()
    temperature = drawing_temperature(config, settings.temperature)
    settings = replace(settings, temperature=temperature)
    fresh: dict[int, Mapping[str, float]] = {}
    sample: list[Rollout] = []
    for source in sources:
        progress(f"policy of iteration {source.iteration}")
        drawn = Bench.shared(source).draw(
            tasks, settings.group_size, temperature=temperature, seed=settings.seed, label=f"sample {source.iteration}"
        )
        rollouts = tuple(episode.rollout for episode in drawn.episodes)
        sample += rollouts
        labelled = judges.labeller(source.iteration)(RolloutBatch(rollouts))
        entropy = float(np.mean([episode.entropy for episode in drawn.episodes])) if rollouts else 0.0
        fresh[source.iteration] = {**_diagnosed(labelled, config, source.iteration), "entropy": entropy}
    notes: list[str] = []
    precision: tuple[Precision, ...] = ()
    play = OptimalPlay(Bench.shared(sources[-1]).world)
    counts = {"steps": sum(len(rollout.steps) for rollout in sample)}
    if play.available:
        progress("optimal play")
        judged = [play.judge(rollout) for rollout in sample]
        counts |= _counts(sample, judged)
        precision = tuple(_precision(sources, tasks, sample, judged, judges, settings, progress))
    else:
        notes.append(f"{config.env} has no planner, so labels cannot be compared with optimal play")
    return LabelReport(
        run=str(directory.path.absolute()),
        data="the default data" if sources[-1].data is None else str(sources[-1].data),
        settings=settings,
        temperature=temperature,
        labels=judges.labels,
        series=series_of(directory),
        fresh=fresh,
        sample=counts,
        precision=precision,
        notes=tuple(notes),
    )


def _diagnosed(batch: RolloutBatch, config: TrainConfig, iteration: int) -> dict[str, float]:
    """Diagnostics of labelled rollouts under the run's shaping; over GRPO's advantages where its own need a trainer."""
    shaping = config.shaping_at(iteration)
    if shaping.algorithm == "given":
        shaping = shaping.updated({"algorithm": "grpo"})
    shaped = shape(batch, shaping)
    found = Diagnostics.of(RolloutBatch((*shaped.batch.rollouts, *shaped.filtered))).metrics()
    return {name.removeprefix("proas/"): value for name, value in found.items()}


def _counts(sample: Sequence[Rollout], judged: Sequence[Sequence[Judged | None]]) -> dict[str, int]:
    verdicts = [verdict for row in judged for verdict in row]
    return {
        "with_plan": sum(verdict is not None for verdict in verdicts),
        "optimal": sum(verdict is not None and verdict.optimal for verdict in verdicts),
        "losing": sum(verdict is not None and verdict.loses for verdict in verdicts),
        "seeking": sum(step.seeks and step.valid is not False for rollout in sample for step in rollout.steps),
    }


def _precision(
    sources: Sequence[Source],
    tasks: Sequence[str],
    sample: Sequence[Rollout],
    judged: Sequence[Sequence[Judged | None]],
    judges: Judges,
    settings: LabelSettings,
    progress: Callable[[str], object],
) -> Iterator[Precision]:
    known = {rollout.task for rollout in sample}
    if judges.own is not None:
        progress(f"graph {judges.own.name}")
        members = Membership(judges.own, known)
        for version in _versions(members.version):
            for support in settings.supports:
                yield _compare("run", members, version, version, support, sample, judged)
    names = {rule: f"diagnose-{rule.replace('_', '-')}-{_unique(sources[-1], settings)}" for rule in PURIFICATIONS}
    made: dict[Purification, ReferenceGraph] = {}
    try:
        for rule, name in names.items():
            left = ReferenceGraph(judges.connection, name)
            if left.exists():  # of a run that was ended
                left.drop(force=True)
            made[rule] = ReferenceGraph.create(judges.connection, name, base=judges.base or None)
        learnt = _learn(made, sources, tasks, settings, progress)
        for rule, graph in made.items():
            members = Membership(graph, known)
            for version, iteration in sorted(learnt.items()):
                for support in settings.supports:
                    yield _compare(rule, members, version, iteration, support, sample, judged)
    finally:
        for graph in made.values():
            graph.drop(force=True)


def _unique(source: Source, settings: LabelSettings) -> str:
    return digest("diagnose", str(source.run), settings.seed)[:12]


def _learn(
    graphs: Mapping[Purification, ReferenceGraph],
    sources: Sequence[Source],
    tasks: Sequence[str],
    settings: LabelSettings,
    progress: Callable[[str], object],
) -> dict[int, int]:
    """Let graphs learn from the same successes; answers with the policy's iteration of each version."""
    assert settings.temperature is not None
    learnt: dict[int, int] = {0: 0}
    version = 0
    for source in sources:
        bench = Bench.shared(source)
        for number in range(settings.rounds):
            version += 1
            progress(f"version {version} of {settings.rounds * len(sources)}")
            label = f"evolution {source.iteration}/{number}"
            drawn = bench.draw(
                tasks, settings.group_size, temperature=settings.temperature, seed=settings.seed, label=label
            )
            batch = RolloutBatch(tuple(episode.rollout for episode in drawn.episodes))
            for rule, graph in graphs.items():
                graph.evolve(
                    batch,
                    purification=rule,
                    ladder_of=ladder_of_rollout,
                    run="diagnose",
                    version=version,
                )
            learnt[version] = source.iteration
    return learnt


def _versions(last: int, most: int = 6) -> list[int]:
    """Versions spread evenly, the first and the last among them."""
    return sorted({round(last * i / (most - 1)) for i in range(most)})


def _compare(
    name: str,
    members: Membership,
    version: int,
    iteration: int,
    support: int,
    sample: Sequence[Rollout],
    judged: Sequence[Sequence[Judged | None]],
) -> Precision:
    """One line of the table."""
    rows: list[tuple[str, Label, Judged, bool, bool]] = []
    for rollout, labels, verdicts in zip(sample, members.label(sample, version, support), judged, strict=True):
        if labels is None:
            continue
        for step, label, verdict in zip(rollout.steps, labels, verdicts, strict=True):
            if verdict is not None:
                valid = step.valid is not False
                rows.append((rollout.task, label, verdict, step.seeks and valid, valid))

    def share(
        among: Callable[[Label, Judged, bool, bool], bool], of: Callable[[Label, Judged, bool, bool], bool]
    ) -> Estimate:
        chosen = [row for row in rows if among(*row[1:])]
        return mean_of([float(of(*row[1:])) for row in chosen], [row[0] for row in chosen])

    return Precision(
        graph=name,
        version=version,
        iteration=iteration,
        support=support,
        transitions=members.count(version, support),
        steps=len(rows),
        precision=share(lambda label, *_: label.reasonable, lambda _l, judge, *_: judge.optimal),
        sensible=share(lambda label, *_: label.reasonable, lambda _l, judge, seeks, _v: judge.optimal or seeks),
        recall=share(lambda _l, judge, *_: judge.optimal, lambda label, *_: label.reasonable),
        detours=share(
            lambda _l, judge, seeks, valid: valid and not judge.optimal and not seeks,
            lambda label, *_: label.reasonable,
        ),
        progress_precision=share(lambda label, *_: label.progress, lambda _l, judge, *_: judge.optimal),
        progress_recall=share(lambda _l, judge, *_: judge.optimal, lambda label, *_: label.progress),
    )
