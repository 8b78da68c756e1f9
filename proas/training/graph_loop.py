"""The graph in the loop: labels in one call an iteration, evolution in another, versions equal to iterations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from proas.errors import GraphNotFound
from proas.graph import ReferenceGraph
from proas.graph.fallback import LiftedReport, LiftedUse, label_with_fallback
from proas.graph.reports import EvolveReport, LabelReport
from proas.graph.ways import Way, shortest_ways
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import Growth, ShapingConfig
from proas.states import ladder_of_rollout
from proas.states.lifting import LiftedRollouts, lift_rollouts
from proas.subgoals import Ladder

__all__ = ["GraphLoop", "Labelled"]

_BRING_BACK = (
    "name the database that holds it, bring it back by proas db load or proas graph import, or start another run"
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One iteration's labels.

    Attributes:
        batch: The labelled rollouts.
        growth: How the graph grew.
        metrics: ``proas/graph/...``.
        label_seconds: Time of labelling.
        evolve_seconds: Time of evolution.
    """

    batch: RolloutBatch
    growth: Growth | None
    metrics: dict[str, float]
    label_seconds: float
    evolve_seconds: float


class GraphLoop:
    """A run's own graph. Iteration k reads version k - 1 and makes version k.

    Under ``order=evolve_then_label`` its own successes count: it reads version k.

    Args:
        graph: The run's graph or layer.
        shaping: Says the order, the purification, and whether the graph evolves at all.
        run: Name of the run, kept with each version.
        emptied: Forget what the graph itself has learnt before each evolution, so that it holds one iteration's
            successes only; what lies under it stays.
        lifted: When lifted tasks label, and learn from the successes as well.
    """

    def __init__(
        self,
        graph: ReferenceGraph,
        shaping: ShapingConfig,
        run: str,
        *,
        emptied: bool = False,
        lifted: LiftedUse = "off",
    ) -> None:
        self.graph = graph
        self._shaping = shaping
        self._run = run
        self._emptied = emptied
        self._lifted: LiftedUse = lifted
        self._learnt: list[str] | None = [] if emptied else None

    @property
    def learnt(self) -> list[str] | None:
        """The successes, as JSON, that an emptied graph holds beside what lies under it; ``None`` for any other.

        The next iteration removes them, and no version of the graph brings them back: a checkpoint has to keep them.
        """
        return self._learnt

    def make(self, base: str) -> bool:
        """Make the graph where it is not there.

        Args:
            base: Graph that it is a layer over; empty for none.

        Returns:
            Whether it was not there.

        Raises:
            GraphError: There is no such base, or the database could not be asked.
        """
        there = self.graph.exists()
        ReferenceGraph.create(self.graph.connection, self.graph.name, base=base or None)
        return not there

    def iterate(self, batch: RolloutBatch, iteration: int) -> Labelled:
        """Label the rollouts of an iteration and let the graph learn from them.

        Raises:
            GraphError: The database could not be asked.
        """
        clock = time.perf_counter()
        roles = lift_rollouts(batch if self._lifted != "off" else ())
        if self._shaping.order == "evolve_then_label":
            report = self._evolve(batch, roles, iteration)
            evolved = time.perf_counter()
            labelled = self._label(batch, roles)
            labelling, evolving = time.perf_counter() - evolved, evolved - clock
        else:
            labelled = self._label(batch, roles)
            done = time.perf_counter()
            report = self._evolve(batch, roles, iteration)
            labelling, evolving = done - clock, time.perf_counter() - done
        metrics = LabelReport.of(labelled).metrics() if self._shaping.needs_labels else {}
        if self._lifted != "off":
            metrics |= LiftedReport.of(labelled).metrics()
        growth = None
        if report is not None:
            growth = Growth(report.added_states, report.added_transitions, report.version)
            metrics["proas/graph/new_tasks"] = float(report.new_tasks)
            metrics["proas/graph/added_states"] = float(report.added_states)
            metrics["proas/graph/added_transitions"] = float(report.added_transitions)
        return Labelled(labelled, growth, metrics, labelling, evolving)

    def ways(self, tasks: Sequence[str]) -> dict[str, Way]:
        """A shortest verified way of each of these tasks that has one."""
        return shortest_ways(self.graph, tasks)

    def go_back_to(self, iteration: int, learnt: Sequence[str] | None = None) -> None:
        """Make the graph what it was after an iteration, for a run that resumes from its checkpoint.

        Args:
            iteration: Iterations done.
            learnt: What :attr:`learnt` was then.

        Raises:
            GraphNotFound: The graph is gone, or has fewer versions: it is not the one that the run left.
        """
        name, uri = self.graph.name, self.graph.connection.uri
        if not self.graph.exists():
            raise GraphNotFound(f"the run's own graph {name!r} is not in the database at {uri}", hint=_BRING_BACK)
        version = self.graph.info().version
        if not self._shaping.evolve or version == iteration:
            self._learnt = None if self._learnt is None else list(learnt or ())
        elif self._emptied and learnt is not None:
            held = RolloutBatch(tuple(Rollout.model_validate_json(line) for line in learnt))
            self._evolve(held, lift_rollouts(held if self._lifted != "off" else ()), iteration)
        elif version > iteration:
            self.graph.rewind(iteration)
        else:
            raise GraphNotFound(
                f"the run's own graph {name!r} at {uri} has the versions 0 to {version}, and the checkpoint needs "
                f"version {iteration}",
                hint=_BRING_BACK,
            )

    def _label(self, batch: RolloutBatch, roles: LiftedRollouts) -> RolloutBatch:
        if not self._shaping.needs_labels:
            return batch
        least = self._shaping.min_support
        return label_with_fallback(self.graph, batch, roles.batch, roles.origin, self._lifted, min_support=least)

    def _evolve(self, batch: RolloutBatch, roles: LiftedRollouts, iteration: int) -> EvolveReport | None:
        if not self._shaping.evolve:
            return None
        if self._emptied and self.graph.info().version:
            self.graph.rewind(0)

        def ladder(rollout: Rollout) -> Ladder:
            family = roles.families.get(rollout.task)
            return family.ladder if family else ladder_of_rollout(rollout)

        if self._emptied:
            held = (rollout for rollout in batch if rollout.success and rollout.has_states)
            self._learnt = [rollout.model_dump_json(exclude_none=True) for rollout in held]
        return self.graph.evolve(
            RolloutBatch((*batch.rollouts, *roles.batch.rollouts), batch.rejects),
            purification=self._shaping.purification,
            ladder_of=ladder,
            run=self._run,
            version=iteration,
        )
