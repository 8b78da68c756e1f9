"""The part of ProAS that every trainer shares: label, shape, evolve, once an iteration, over one run's layer.

::

    run = CreditRun(CreditSettings(graph="alfworld", run="qwen-1.5b-seed0", preset="recommended"))
    run.open(iterations_done=0)
    for iteration in 1, 2, ...:
        credited = run.credit(batch, iteration)     # rollouts with states and base advantages
        ...                                         # the trainer's update; evolution goes on beside it
    run.close()

The versions of the layer are the iterations: labels of iteration ``i`` read version ``i - 1`` (or ``i``, where
evolution comes first), and its successes make version ``i``. So a run that resumes from a checkpoint finds the version
that it had then: the layer is rewound to it, and what was learnt after the checkpoint is learnt again.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from proas.errors import GraphConflict, GraphError, GraphNotFound, GraphUnavailable, UsageError
from proas.graph import Connection, ReferenceGraph
from proas.graph.names import check_graph_name
from proas.graph.reports import EvolveReport, LabelReport
from proas.integrations.settings import setting_fault
from proas.rollout_files import write_rollouts
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import Growth, Shaped, ShapingConfig, preset, shape
from proas.shaping.config import PresetName
from proas.states import ladder_of_rollout

__all__ = ["CreditRun", "CreditSettings", "Credited"]

_NOT_OURS = ("algorithm", "success_reward", "rows", "dynamic_sampling")
"""Settings of shaping that say what a trainer's own settings say: the base advantage is the trainer's."""


class CreditSettings(BaseModel):
    """How a training run uses the graph. Plain values, so that a trainer's configuration can hold them.

    Attributes:
        graph: Name of the reference graph to start from; ``None`` for settings that use none (loop mask, plain GiGPO).
        run: Name of the run's own layer over it; needed where the run evolves the graph.
        preset: Settings of shaping to start from.
        settings: Settings of shaping that differ from the preset (:class:`proas.shaping.ShapingConfig`).
        distance_fades: Iterations over which the weight of distance (``distance_weight``) falls to 0, linearly; 0 for a
            weight that stays.
        estimator: ``stock``: the trainer's own advantages. ``gigpo``: GiGPO's step advantages are added to them.
        uri: Address of the database; ``None`` for ``NEO4J_URI``, else the local server.
        username: Name to log in with.
        password_file: File that holds the password. A password itself has no place in a trainer's configuration, which
            is printed and logged.
        database: Name of the database.
        on_failure: ``raise``, or ``passthrough``: an iteration whose labels cannot be had keeps its advantages, and
            successes that cannot be stored are stored later.
        retry_deadline: Seconds to keep trying a database that has gone away.
        existing: What a run that starts anew does with a layer of its name that has learnt already: ``refuse`` it, or
            ``rewind`` it to its beginning.
        background: Evolve beside the trainer's update where the order allows it.
        rollout_dir: Folder for each iteration's labelled and shaped rollouts, as JSON lines; ``None`` to keep none.

    Raises:
        UsageError: An unknown setting, a bad value, or settings that contradict each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    graph: str | None = None
    run: str | None = None
    preset: PresetName = "paper"
    settings: dict[str, Any] = Field(default_factory=dict)
    distance_fades: int = Field(default=0, ge=0)
    estimator: Literal["stock", "gigpo"] = "stock"
    uri: str | None = None
    username: str | None = None
    password_file: Path | None = None
    database: str | None = None
    on_failure: Literal["raise", "passthrough"] = "raise"
    retry_deadline: float = Field(default=60.0, gt=0)
    existing: Literal["refuse", "rewind"] = "refuse"
    background: bool = True
    rollout_dir: Path | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> CreditSettings:
        config = self.shaping.faded(1, self.distance_fades)
        for name in (self.graph, self.run):
            if name is not None:
                check_graph_name(name)
        if config.needs_labels and self.graph is None:
            raise UsageError(
                "these settings of shaping need labels, and no graph is named",
                hint="name one (graph=NAME), or choose verdicts=loop_mask, or mui=false and apr=none",
            )
        if self.evolves and self.run is None:
            raise UsageError(
                f"the run would evolve graph {self.graph!r} but has no name",
                hint="give run=NAME for its own layer, or settings.evolve=false to read the graph only",
            )
        if self.run is not None and self.run == self.graph:
            raise UsageError(f"the run's layer cannot have the name of its graph, {self.graph!r}")
        return self

    @classmethod
    def of(cls, values: dict[str, Any]) -> CreditSettings:
        """Settings from a trainer's configuration.

        Raises:
            UsageError: An unknown setting or a bad value.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise setting_fault(error, cls, "ProAS setting ") from None

    @property
    def shaping(self) -> ShapingConfig:
        """Settings of shaping; the base advantages are the trainer's.

        Raises:
            UsageError: A setting is not known, or is the trainer's.
        """
        for name in _NOT_OURS:
            if name in self.settings:
                raise UsageError(f"{name} is set by the trainer here", hint="leave it out of ProAS's settings")
        return preset(self.preset).updated(self.settings).over_given_advantages()

    @property
    def evolves(self) -> bool:
        """Whether the run writes to the graph."""
        return self.graph is not None and self.shaping.evolve

    def connection(self) -> Connection:
        """The database that these settings mean; the local server is not started for a trainer.

        Raises:
            UsageError: No address, or no password.
            GraphUnavailable: Nothing is named and no local server runs.
        """
        environ = dict(os.environ)
        if self.password_file is not None:
            environ.pop("NEO4J_PASSWORD", None)
            environ["NEO4J_PASSWORD_FILE"] = str(self.password_file)
        found = Connection.resolve(
            uri=self.uri, username=self.username, database=self.database, environ=environ, start_local=False
        )
        return replace(found, connect_deadline=self.retry_deadline, retry_deadline=self.retry_deadline)


@dataclass(frozen=True, slots=True)
class Credited:
    """What an iteration's rollouts were given.

    Attributes:
        shaped: Labelled and shaped rollouts, in the order of the batch.
        weights: What each step's base advantage is multiplied with, rollout after rollout, ``(S,)``.
        metrics: Flat dict, ``proas/<name>``.
    """

    shaped: Shaped
    weights: np.ndarray[Any, np.dtype[np.float64]]
    metrics: dict[str, float]


class CreditRun:
    """One training run's use of the graph. Only the process that holds it writes.

    The object opens nothing before :meth:`open`; make it in the process that trains.

    Args:
        settings: How.
    """

    def __init__(self, settings: CreditSettings) -> None:
        self.settings = settings
        self.config = settings.shaping
        self._layer: ReferenceGraph | None = None
        self._version = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[EvolveReport] | None = None
        self._owed: tuple[Rollout, ...] = ()
        self._failures = 0
        self._last: EvolveReport | None = None

    @property
    def layer(self) -> ReferenceGraph | None:
        """The graph that the run reads, and evolves if it does; ``None`` without one, and before :meth:`open`."""
        return self._layer

    def open(self, *, iterations_done: int) -> None:
        """Find the graph, make or resume the run's layer, and go to the version of the iterations that are done.

        Args:
            iterations_done: 0 for a new run; a run that resumes says how many its checkpoint holds.

        Raises:
            GraphNotFound: There is no such graph, or the layer lacks iterations that the checkpoint holds.
            GraphConflict: A new run would go on in a layer that another has used.
            GraphUnavailable: No server answers.
        """
        if self.settings.graph is None:
            return
        connection = self.settings.connection()
        if not self.settings.evolves:
            self._layer = ReferenceGraph(connection, self.settings.graph)
            self._version = self._layer.info().version
            return
        assert self.settings.run is not None
        self._layer = ReferenceGraph.create(connection, self.settings.run, base=self.settings.graph)
        stored = self._layer.info().version
        if stored and not iterations_done and self.settings.existing == "refuse":
            raise GraphConflict(
                f"the run starts anew, but its layer {self.settings.run!r} has learnt from {stored} iterations already",
                hint=f"give the run another name, or `proas graph drop {self.settings.run}`, or set existing=rewind; "
                "to go on with that run, resume from its checkpoint",
            )
        if stored < iterations_done and self.settings.on_failure == "raise":
            raise GraphNotFound(
                f"the run resumes after iteration {iterations_done}, but its layer {self.settings.run!r} knows only "
                f"{stored}",
                hint="is it the right database? Otherwise resume from an earlier checkpoint, or under a new run name "
                "from the start",
            )
        if stored > iterations_done:
            self._layer.rewind(iterations_done)
        self._version = min(stored, iterations_done)

    def credit(self, batch: RolloutBatch, iteration: int) -> Credited:
        """Label and shape the rollouts of an iteration, and let the graph learn from its successes.

        Args:
            batch: Rollouts with states and ``base_advantage`` on every step; those without states pass unchanged.
            iteration: Number of the iteration, from 1, growing.

        Raises:
            GraphError: The graph could not be asked or written, and ``on_failure`` is ``raise``.
            DataError: The rollouts cannot be shaped.
        """
        began = time.monotonic()
        self.wait()
        waited = time.monotonic() - began
        first = self.config.order == "evolve_then_label"
        if first and self.settings.evolves:
            self._learn(batch, iteration, background=False)
        label_began = time.monotonic()
        labelled = self._label(batch)
        shape_began = time.monotonic()
        config = self.config.faded(iteration, self.settings.distance_fades)
        shaped = shape(labelled, config, growth=self._growth())
        weights = _weights(shaped.batch)
        shape_ended = time.monotonic()
        if not first and self.settings.evolves:
            self._learn(batch, iteration, background=self.settings.background)
        self._keep(shaped, iteration)
        metrics = {
            **shaped.metrics,
            **_drift(shaped.batch),
            "proas/time/wait": waited,
            "proas/time/label": shape_began - label_began,
            "proas/time/shape": shape_ended - shape_began,
            "proas/time/total": time.monotonic() - began,
            "proas/evolve/owed": float(len(self._owed)),
            "proas/evolve/failures": float(self._failures),
        }
        if self._layer is not None:
            metrics |= LabelReport.of(labelled).metrics()
        if self._last is not None:
            metrics |= self._last.metrics()
            metrics["proas/time/evolve"] = self._last.seconds
        return Credited(shaped, weights, metrics)

    def wait(self) -> None:
        """Wait until the graph has learnt what it was told.

        Raises:
            GraphError: It could not, and ``on_failure`` is ``raise``.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            self._settle(pending)

    def close(self) -> None:
        """Wait for what is under way and let go of the thread. Raises as :meth:`wait`."""
        try:
            self.wait()
        finally:
            if self._pool is not None:
                self._pool.shutdown(wait=True)
                self._pool = None

    def _label(self, batch: RolloutBatch) -> RolloutBatch:
        if self._layer is None:
            return batch
        return self._layer.label(
            batch,
            version=self._version,
            on_failure=self.settings.on_failure,
            min_support=self.settings.shaping.min_support,
        )

    def _learn(self, batch: RolloutBatch, iteration: int, *, background: bool) -> None:
        won = tuple(rollout for rollout in batch if rollout.success)
        owed = RolloutBatch(tuple({rollout.id: rollout for rollout in (*self._owed, *won)}.values()))
        self._owed = owed.rollouts
        if background:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="proas-evolve")
            self._pending = self._pool.submit(self._evolve, owed, iteration)
        else:
            done: Future[EvolveReport] = Future()
            try:
                done.set_result(self._evolve(owed, iteration))
            except GraphError as error:
                done.set_exception(error)
            self._settle(done)

    def _evolve(self, batch: RolloutBatch, iteration: int) -> EvolveReport:
        assert self._layer is not None
        return self._layer.evolve(
            batch,
            purification=self.config.purification,
            ladder_of=ladder_of_rollout,
            run=self.settings.run or "",
            version=iteration,
        )

    def _settle(self, done: Future[EvolveReport]) -> None:
        try:
            self._last = done.result()
        except GraphUnavailable:
            if self.settings.on_failure == "raise":
                raise
            self._failures += 1  # what is owed is sent again with the next iteration's successes
            return
        self._version = self._last.version
        self._owed = ()

    def _growth(self) -> Growth | None:
        if self._last is None:
            return None
        return Growth(self._last.added_states, self._last.added_transitions, self._last.version)

    def _keep(self, shaped: Shaped, iteration: int) -> None:
        if self.settings.rollout_dir is not None:
            self.settings.rollout_dir.mkdir(parents=True, exist_ok=True)
            write_rollouts(self.settings.rollout_dir / f"iteration-{iteration:05d}.jsonl", iter(shaped.batch))


def _weights(batch: RolloutBatch) -> np.ndarray[Any, np.dtype[np.float64]]:
    pairs = [(step.advantage, step.base_advantage) for rollout in batch for step in rollout.steps]
    return np.array([after / before if before and after is not None else 1.0 for after, before in pairs])


def _drift(batch: RolloutBatch) -> dict[str, float]:
    """How far drift is spread over the steps of failed rollouts, which is what redistribution lives on."""
    drift = [s.label.drift for r in batch if r.covered and not r.success for s in r.steps if s.label is not None]
    if not drift:
        return {}
    return {"proas/drift_mean": float(np.mean(drift)), "proas/drift_std": float(np.std(drift))}
