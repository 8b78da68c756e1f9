"""What the store answers with: frozen records, each with only plain values so that they pickle and turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proas.rollouts import Reject, RolloutBatch

__all__ = [
    "AddReport",
    "DropReport",
    "EvolveReport",
    "GraphDiff",
    "GraphInfo",
    "GraphStats",
    "LabelReport",
    "PromoteReport",
    "RewindReport",
    "SubgoalGrowth",
    "VerifyReport",
    "VersionInfo",
    "Violation",
]


@dataclass(frozen=True, slots=True)
class GraphInfo:
    """A named graph.

    Attributes:
        name: Its name.
        version: Its current version k.
        base: Name of the graph that it is a layer over; empty for a base graph.
        base_version: The version of the base that it sees, fixed when the layer was made; ``None`` for a base graph.
        created: When it was made, ISO 8601 with offset.
        layers: Names of the layers over it.
        dropping: A drop of it has begun and not ended; only another drop is allowed.
        whole: It was noted to hold all that it was made to hold (:meth:`ReferenceGraph.mark_whole`).
    """

    name: str
    version: int
    base: str
    base_version: int | None
    created: str
    layers: tuple[str, ...] = ()
    dropping: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class AddReport:
    """What :meth:`ReferenceGraph.add` did.

    Attributes:
        tasks: Task graphs read.
        skipped: Of these, stored whole before and left alone.
        added_tasks: Tasks that are new in this graph.
        added_states: States that are new.
        added_transitions: Transitions that are new.
        rejected: Task graphs that contradict themselves or the stored graph, kept aside with the reason.
        seconds: Wall-clock time.
    """

    tasks: int
    skipped: int
    added_tasks: int
    added_states: int
    added_transitions: int
    rejected: tuple[Reject, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What a labelled batch holds.

    Attributes:
        graph: Name of the graph.
        version: Version that was read; ``None`` when the batch was passed through unlabelled.
        rollouts: Rollouts in the batch.
        covered: Rollouts whose task the graph knows.
        uncovered: Rollouts whose task it does not know, or that carry no states: their advantages pass unchanged.
        stateless: Of the uncovered, those that carry no states.
        steps: Steps of the covered rollouts.
        reasonable: Of these steps, those with ``Re = 1``.
        progress: Of these steps, those with ``PA = 1``.
        measured: Of these steps, those before and after which the distance to the goal is known.
        nearer: Of the measured steps, those that came nearer.
        passed_through: The graph could not be asked and the caller chose to go on without it.
    """

    graph: str
    version: int | None
    rollouts: int
    covered: int
    uncovered: int
    stateless: int
    steps: int
    reasonable: int
    progress: int
    measured: int = 0
    nearer: int = 0
    passed_through: bool = False

    @classmethod
    def of(cls, batch: RolloutBatch) -> LabelReport:
        """Counts of a batch that came out of :meth:`ReferenceGraph.label`."""
        covered = [r for r in batch if r.covered]
        labels = [step.label for r in covered for step in r.steps if step.label is not None]
        ways = [(step.distance_before, step.distance) for r in covered for step in r.steps]
        known = [(before, after) for before, after in ways if before is not None and after is not None]
        graph = next((r.graph for r in batch if r.graph), "")
        version = next((r.version for r in batch if r.version is not None), None)
        return cls(
            graph=graph,
            version=version,
            rollouts=len(batch),
            covered=len(covered),
            uncovered=len(batch) - len(covered),
            stateless=sum(not r.has_states for r in batch if not r.covered),
            steps=len(labels),
            reasonable=sum(label.reasonable for label in labels),
            progress=sum(label.progress for label in labels),
            measured=len(known),
            nearer=sum(after < before for before, after in known),
            passed_through=bool(len(batch)) and graph != "" and version is None,
        )

    def metrics(self) -> dict[str, float]:
        """The counts as one flat dictionary with ``proas/graph/...`` names, for a trainer's log."""
        return {
            "proas/graph/version": float(-1 if self.version is None else self.version),
            "proas/graph/coverage": self.covered / self.rollouts if self.rollouts else 0.0,
            "proas/graph/stateless": float(self.stateless),
            "proas/graph/reasonable_share": self.reasonable / self.steps if self.steps else 0.0,
            "proas/graph/progress_share": self.progress / self.steps if self.steps else 0.0,
            "proas/graph/measured_share": self.measured / self.steps if self.steps else 0.0,
            "proas/graph/passed_through": float(self.passed_through),
        }


@dataclass(frozen=True, slots=True)
class EvolveReport:
    """What :meth:`ReferenceGraph.evolve` did with one batch.

    Attributes:
        graph: Name of the graph.
        version_before: Version when the transaction took its lock.
        version: Version after it.
        successes: New successes that were joined.
        known: Successes that an earlier evolution had joined already.
        failed: Rollouts that did not succeed.
        stateless: Successes that carry no states and could not be joined.
        new_tasks: Tasks that the graph did not know.
        added_states: States that are new.
        added_transitions: Transitions that are new.
        dropped_invalid: Steps of new successes that were not applicable.
        dropped_self_loops: Applicable steps that changed nothing.
        dropped_loops: Steps inside erased loops (``loop_erased`` only).
        dropped_regress: Steps that fell back to an earlier subgoal.
        seconds: Wall-clock time.
        rejected: Successes that contradict the stored graph, kept aside with the reason.
    """

    graph: str
    version_before: int
    version: int
    successes: int
    known: int
    failed: int
    stateless: int
    new_tasks: int
    added_states: int
    added_transitions: int
    dropped_invalid: int
    dropped_self_loops: int
    dropped_loops: int
    dropped_regress: int
    seconds: float
    rejected: tuple[Reject, ...] = ()

    def metrics(self) -> dict[str, float]:
        """The counts as one flat dictionary with ``proas/evolve/...`` names, for a trainer's log."""
        joined = ("version", "successes", "known", "new_tasks", "added_states", "added_transitions")
        dropped = ("dropped_invalid", "dropped_self_loops", "dropped_loops", "dropped_regress")
        return {f"proas/evolve/{name}": float(getattr(self, name)) for name in (*joined, *dropped, "seconds")}


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One version of a graph.

    Attributes:
        k: Its number.
        run: Name of the run that made it.
        added_states: States with ``since = k``.
        added_transitions: Transitions with ``since = k``.
        at: When it was made, ISO 8601 with offset.
    """

    k: int
    run: str
    added_states: int
    added_transitions: int
    at: str


@dataclass(frozen=True, slots=True)
class GraphStats:
    """Counts of a graph as of a version; a layer counts the union with its base.

    Attributes:
        graph: Name of the graph.
        version: Version counted.
        base: Base of a layer, else empty.
        tasks: Tasks.
        subgoals: Subgoals.
        states: States.
        transitions: Transitions.
        successes: Verified successes joined by evolution.
        own_states: Of the states, those that the layer itself added; all of them for a base graph.
        own_transitions: Of the transitions, those that the layer itself added; all of them for a base graph.
        states_by_source: States by where the knowledge comes from.
        transitions_by_source: Transitions by where the knowledge comes from.
        versions: The versions of the graph itself up to this one.
    """

    graph: str
    version: int
    base: str
    tasks: int
    subgoals: int
    states: int
    transitions: int
    successes: int
    own_states: int
    own_transitions: int
    states_by_source: Mapping[str, int] = field(default_factory=dict)
    transitions_by_source: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[VersionInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class SubgoalGrowth:
    """What one subgoal class of a task gained between two versions.

    Attributes:
        task: Key of the task.
        index: Index m of the subgoal.
        description: The subgoal in words.
        added_states: New states in the class.
        added_transitions: New transitions that start in the class.
    """

    task: str
    index: int
    description: str
    added_states: int
    added_transitions: int


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """What a graph gained after version ``from_version`` up to ``to_version``.

    Attributes:
        graph: Name of the graph.
        from_version: Versions up to this one are the old part.
        to_version: Versions up to this one are the new part.
        added_tasks: New tasks.
        added_states: New states.
        added_transitions: New transitions.
        tasks: Growth by task and subgoal, only where something was gained, in order of task and index.
        versions: The versions in between.
    """

    graph: str
    from_version: int
    to_version: int
    added_tasks: int
    added_states: int
    added_transitions: int
    tasks: tuple[SubgoalGrowth, ...]
    versions: tuple[VersionInfo, ...]


@dataclass(frozen=True, slots=True)
class PromoteReport:
    """What a base gained from one of its layers.

    Attributes:
        layer: The layer that was merged; it stays as it is.
        base: The graph that it was merged into.
        version_before: Version of the base before.
        version: Version of the base after; the same when there was nothing new.
        added_tasks: Tasks that are new in the base.
        added_states: States that are new in the base.
        added_transitions: Transitions that are new in the base.
        successes: Successes carried over.
        seconds: Wall-clock time.
        rejected: Tasks that contradict the base, kept aside with the reason.
    """

    layer: str
    base: str
    version_before: int
    version: int
    added_tasks: int
    added_states: int
    added_transitions: int
    successes: int
    seconds: float
    rejected: tuple[Reject, ...] = ()


@dataclass(frozen=True, slots=True)
class RewindReport:
    """What a graph forgot when it went back to an earlier version.

    Attributes:
        graph: Name of the graph.
        version_before: Version before.
        version: Version after.
        successes: Successes forgotten.
        states: States forgotten.
        transitions: Transitions forgotten.
        seconds: Wall-clock time.
    """

    graph: str
    version_before: int
    version: int
    successes: int
    states: int
    transitions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DropReport:
    """What a drop removed.

    Attributes:
        graphs: Names of the graphs removed: the one asked for, and its layers when forced.
        nodes: Nodes removed.
        relationships: Relationships removed.
        seconds: Wall-clock time.
    """

    graphs: tuple[str, ...]
    nodes: int
    relationships: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that the stored graph breaks.

    Attributes:
        rule: Short name of the rule, for example ``state-key``.
        count: How often it is broken.
        meaning: What the rule asks for.
        samples: A few places where it is broken, readable.
    """

    rule: str
    count: int
    meaning: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The outcome of :meth:`ReferenceGraph.verify`.

    Attributes:
        graph: Name of the graph.
        version: Version that was current.
        tasks: Tasks checked.
        states: States checked.
        transitions: Transitions checked.
        rules: Names of all rules that were checked.
        violations: The rules that are broken; empty for a sound graph.
        seconds: Wall-clock time.
    """

    graph: str
    version: int
    tasks: int
    states: int
    transitions: int
    rules: tuple[str, ...]
    violations: tuple[Violation, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every rule holds."""
        return not self.violations
