"""What every builder of reference graphs offers, and what comes of running one.

A builder reads a source (released games, recorded trajectories, a model's proposals) and yields one value a task, in a
fixed order: the task's graph, ready to be merged into the database, or the reason why there is none. It never raises
for one bad task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal, Protocol

from proas.errors import UsageError
from proas.graph.records import TaskGraph
from proas.rollouts import Reject

__all__ = [
    "AROUND_SOURCE",
    "EXPANSIONS",
    "LOOKING_AROUND",
    "BuildOptions",
    "BuildProgress",
    "BuildReport",
    "Builder",
    "Built",
    "Expand",
    "NoProgress",
    "Rejected",
    "check_source",
    "expansion",
    "expansion_and_radius",
]

Expand = Literal["plan", "optimal", "around"]
"""``plan`` stores the one solution that was carried out; ``optimal`` adds every shortest one, and ``around`` the states
near all of these too."""

EXPANSIONS: tuple[Expand, ...] = ("plan", "optimal", "around")

AROUND_SOURCE = "around"
"""Source of transitions that are on no solution: known ground, that distances may be measured, and not a way."""

LOOKING_AROUND = frozenset({"alfworld"})
"""Sources that know the surroundings of their solutions."""

_LARGEST_RADIUS = 9


def expansion(name: str) -> Expand:
    """The expansion of that name. Raises ``UsageError`` for any other name."""
    for known in EXPANSIONS:
        if name == known:
            return known
    raise UsageError(f"unknown expansion {name!r}", hint="known: " + ", ".join(EXPANSIONS))


def expansion_and_radius(text: str) -> tuple[Expand, int]:
    """An expansion as it is written, ``around`` with its radius: ``around:2``.

    Raises:
        UsageError: It is none.
    """
    name, colon, radius = text.partition(":")
    if not colon:
        return expansion(name), 1
    if name != "around" or not radius.isdecimal() or not 1 <= int(radius) <= _LARGEST_RADIUS:
        hint = f"plan, optimal, around, or around:R with R from 1 to {_LARGEST_RADIUS}"
        raise UsageError(f"unknown expansion {text!r}", hint=hint)
    return "around", int(radius)


def check_source(source: str, options: BuildOptions) -> None:
    """Refuse a source that cannot do what is asked for.

    Raises:
        UsageError: It does not know the surroundings of its solutions.
    """
    if options.expand == "around" and source not in LOOKING_AROUND:
        raise UsageError(
            f"--expand around does not go with --source {source}", hint="known to " + ", ".join(LOOKING_AROUND)
        )


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What a builder is asked for.

    Attributes:
        expand: What enters the graph beside the solution that was carried out.
        radius: Steps that ``around`` reaches.
        limit: At most this many tasks are considered, in the source's own order; ``None`` for all.
        workers: Number of worker processes; 1 works in the calling process, 0 takes one a core.

    Raises:
        UsageError: A value makes no sense.
    """

    expand: Expand = "plan"
    radius: int = 1
    limit: int | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers that no build can follow."""
        expansion(self.expand)
        if not 1 <= self.radius <= _LARGEST_RADIUS:
            raise UsageError(f"the radius must be from 1 to {_LARGEST_RADIUS}, not {self.radius}")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"the limit must be at least 1, not {self.limit}", hint="leave it out to build everything")
        if self.workers < 0:
            raise UsageError(f"the number of workers must not be negative, not {self.workers}")


@dataclass(frozen=True, slots=True)
class Built:
    """A task's graph and how it came about.

    Attributes:
        graph: The graph, to be merged into the database.
        source: Where the carried-out solution comes from: ``plan``, ``search``, ...
        tallies: Numbers that the report adds up over all tasks, by name.
    """

    graph: TaskGraph
    source: str
    tallies: Mapping[str, int] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """Key of the task."""
        return self.graph.task.key


@dataclass(frozen=True, slots=True)
class Rejected:
    """A task that has no graph, and why.

    Attributes:
        task: Key of the task.
        problem: Kind of fault, for counting, for example ``unsolvable``.
        reason: What is wrong, in words.
        source: File or folder that it came from.
    """

    task: str
    problem: str
    reason: str
    source: str = ""

    def as_reject(self) -> Reject:
        """The same as a record of ``proas.rollout_files.write_rejects``."""
        return Reject(f"{self.problem}: {self.reason}", source=self.source, id=self.task)


class Builder(Protocol):
    """A pipeline that turns a source into the reference graphs of its tasks."""

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of tasks that :meth:`build` will answer for."""
        ...

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """Build the graphs of a source, one answer a task, in the same order on every run.

        Args:
            data: Where the source lies; ``None`` for the builder's own default.
            options: What is asked for.

        Yields:
            One answer for each task.

        Raises:
            DataError: The source as a whole cannot be read.
        """
        ...


@dataclass(frozen=True)
class BuildReport:
    """What a build did.

    Attributes:
        source: Name of the builder.
        graph: Name of the graph that was built.
        expand: Which solutions entered.
        considered: Number of tasks looked at.
        built: Tasks with a graph, by the source of the solution that was carried out (``plan``, ``search``).
        skipped: Of these, whole in the database before and left alone.
        rejected: Tasks without a graph, by kind of fault.
        rejects: Each of them with its reason, in the order of the source.
        states: States of the built graphs.
        transitions: Transitions of the built graphs, by their source (``plan``, ``search``, ``expand``).
        added_tasks: Tasks that are new in the database.
        added_states: States that are new in the database.
        added_transitions: Transitions that are new in the database.
        tallies: Sums of the builder's own numbers.
        seconds: Wall time.
    """

    source: str
    graph: str
    expand: str
    considered: int
    built: Mapping[str, int]
    skipped: int
    rejected: Mapping[str, int]
    rejects: tuple[Rejected, ...]
    states: int
    transitions: Mapping[str, int]
    added_tasks: int
    added_states: int
    added_transitions: int
    tallies: Mapping[str, int]
    seconds: float

    @property
    def tasks(self) -> int:
        """Number of tasks with a graph."""
        return sum(self.built.values())

    @property
    def rate(self) -> float:
        """Tasks considered a second."""
        return self.considered / self.seconds if self.seconds > 0 else 0.0

    @property
    def carry_over_share(self) -> float | None:
        """Share of the built tasks whose annotated plan was carried out as it is; ``None`` without any from a plan."""
        planned = self.built.get("plan", 0)
        return planned / self.tasks if planned or self.built.get("search", 0) else None

    @property
    def alignment_share(self) -> float | None:
        """Share of the annotations that align one to one with their plan; ``None`` without any."""
        total = self.tallies.get("annotations", 0)
        return self.tallies.get("annotations_aligned", 0) / total if total else None

    def as_json(self) -> dict[str, object]:
        """The report as values that JSON can hold, shares and rate included."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("built", "rejected", "transitions", "tallies"):
            plain[name] = dict(plain[name])
        return plain | {
            "rejects": [asdict(reject) for reject in self.rejects],
            "tasks": self.tasks,
            "carry_over_share": self.carry_over_share,
            "alignment_share": self.alignment_share,
            "seconds": round(self.seconds, 3),
            "rate": round(self.rate, 1),
        }


class BuildProgress(Protocol):
    """Told how a build goes on; the command line draws a bar from it."""

    def begin(self, total: int) -> None:
        """The source holds ``total`` tasks."""
        ...

    def answered(self, answer: Built | Rejected) -> None:
        """One more task is done with, but perhaps not yet stored."""
        ...

    def stored(self, count: int) -> None:
        """So many more task graphs are in the database."""
        ...


class NoProgress:
    """Listens and says nothing."""

    def begin(self, total: int) -> None:
        """Ignore the total."""

    def answered(self, answer: Built | Rejected) -> None:
        """Ignore the answer."""

    def stored(self, count: int) -> None:
        """Ignore the number."""
