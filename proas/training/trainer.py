"""The trainer: warm start, then iterations of play, labels, shaping and update, with evaluation and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from proas.envs import EnvSpec, World, open_world
from proas.errors import ProASError, UsageError
from proas.graph import Connection, ReferenceGraph
from proas.rollouts import Reject, Rollout, RolloutBatch
from proas.shaping import shape
from proas.states import ladder_of_rollout
from proas.states.lifting import require_lifting
from proas.training.accounts import Clock, play_metrics, resident_mib
from proas.training.checkpoint import Checkpoint, latest_checkpoint, prune_checkpoints
from proas.training.config import TrainConfig
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.estimators import StateGraphs, estimate_base
from proas.training.evaluation import Evaluation, Evaluator
from proas.training.graph_loop import GraphLoop
from proas.training.imitation import collect_demonstrations, expert_verbs, imitate, outside_window, verbs_of
from proas.training.measure import validation_count
from proas.training.optimiser import FlatAdam
from proas.training.play import PlaySettings
from proas.training.run_directory import RunDirectory
from proas.training.sampling import sample
from proas.training.shard import Floats, ShardSpec
from proas.training.start import fresh_policy, require_room, starting_weights, stored_policy
from proas.training.starts import Curriculum, GivenWay, own_steps
from proas.training.tasks import Splits, TaskStream, fixed_tasks, recurring
from proas.training.update import signals_of, update
from proas.training.watching import Paced, Watcher

__all__ = ["Trainer", "Watcher"]

Metrics = dict[str, float]

_LOOKED_AT = 8
"""Validation tasks whose wording is looked at."""


@dataclass(slots=True)
class _State:
    """What changes from iteration to iteration."""

    iteration: int
    stream: TaskStream
    adam: FlatAdam
    memory: StateGraphs
    curriculum: Curriculum
    episodes: int = 0


class Trainer:
    """One run.

    Args:
        config: Settings.
        directory: Where it is kept.
        watcher: Who is told.
        connection: The database of the reference graph; needed where ``config.uses_graph``.
        graph: Name of the run's own graph.
        init: Run to take policy and weights from, in place of a warm start.
        writer: Receives each iteration's metrics too, for example TensorBoard's.
    """

    def __init__(
        self,
        config: TrainConfig,
        directory: RunDirectory,
        watcher: Watcher,
        *,
        connection: Connection | None = None,
        graph: str = "",
        init: Path | None = None,
        writer: Callable[[Metrics], None] | None = None,
    ) -> None:
        require_room(config)
        if config.uses_graph and (connection is None or not graph):
            raise UsageError(f"{config.arm} needs a database and a graph's name", hint="give a connection and a name")
        if config.lifted != "off":
            require_lifting(config.env)
            if not config.shaping.needs_labels:
                raise UsageError(
                    f"lifted={config.lifted}: {config.arm} asks no graph for labels", hint="shape by the graph: --proas"
                )
        self.config = config
        self._directory = directory
        self._watcher = watcher
        self._init = init
        self._writer = writer
        self._limits = TextLimits.of(config.text)
        self._splits = Splits.of(config.data, config.train_split, config.valid_split)
        self._wanted: set[str] = set()
        self._graph: GraphLoop | None = None
        if config.uses_graph and connection is not None:
            own = ReferenceGraph(connection, graph)
            self._graph = GraphLoop(own, config.base_shaping, graph, emptied=config.graph_emptied, lifted=config.lifted)

    def run(self, *, resume: bool = False) -> dict[str, Any]:
        """Train to the end.

        Args:
            resume: Go on from the last checkpoint; a run with no iterations left stays as it is.

        Returns:
            The result, as ``final.json`` holds it.

        Raises:
            UsageError: Another process trains in the run's folder, or it holds no checkpoint to go on from.
            GraphNotFound: The run's graph is gone, or is not the one that the checkpoint goes with.
        """
        with self._directory.held():
            if resume:
                return self._finished() or self._run(self._resumed())
            with self._own_graph():
                return self._run(None)

    def _run(self, start: Checkpoint | None) -> dict[str, Any]:
        began = time.perf_counter()
        with closing(open_world(EnvSpec(self.config.env, self._splits.train, self.config.options))) as world:
            valid = self._validation_tasks(world)
            train = self._training_tasks(world, valid)
            policy = start.policy if start is not None else self._starting_policy(world, train)
            spec = ShardSpec.of(self.config, policy, self._splits.train, self._splits.valid)
            weights = (
                start.weights.clone() if start is not None else starting_weights(policy, self.config.seed, self._init)
            )
            with Crew(spec, weights, self.config.workers) as crew:
                evaluator = Evaluator(crew, valid, self._evaluation_settings())
                warmed = self._warm_start(crew, evaluator) if start is None else None
                state = self._state(world, train, crew, start)
                last = self._iterations(crew, evaluator, state, policy, warmed)
        return self._finish(last, state, time.perf_counter() - began, len(train), len(valid))

    # Beginning

    @contextmanager
    def _own_graph(self) -> Iterator[None]:
        """Make the run's graph, and remove it again where the run ends before its first checkpoint.

        Such a run is begun anew, with another graph; nobody would come back for this one.
        """
        made = self._graph is not None and self._graph.make(self.config.graph_base)
        try:
            yield
        except BaseException:
            if self._graph is not None and made and not self._directory.has_checkpoint:
                with suppress(ProASError):  # what ended the run is the news
                    self._graph.graph.drop()
            raise

    def _validation_tasks(self, world: World) -> list[str]:
        wanted = self.config.evaluation
        if self._splits.held_out:
            return fixed_tasks(world, validation_count(self.config, len(world.tasks)), wanted.choice)
        with closing(open_world(EnvSpec(self.config.env, self._splits.valid, self.config.options))) as measured:
            tasks = fixed_tasks(measured, wanted.tasks, wanted.choice)
            self._wanted = expert_verbs(measured, tasks[:_LOOKED_AT])
            return tasks

    def _training_tasks(self, world: World, valid: list[str]) -> list[str]:
        held = set(valid) if self._splits.held_out else set()
        tasks = recurring([task for task in world.tasks if task not in held], self.config.recur, self.config.seed)
        if len(tasks) < self.config.tasks and self.config.algorithm != "sft":
            raise UsageError(
                f"an iteration takes {self.config.tasks} tasks, and there are {len(tasks)} to train on",
                hint="set tasks to fewer, or give more data",
            )
        return tasks

    def _resumed(self) -> Checkpoint:
        found = Checkpoint.read(latest_checkpoint(self._directory.checkpoints))
        if self._graph is not None:
            self._graph.go_back_to(found.iteration, found.learnt)
        self._directory.forget_after(found.iteration)
        return found

    def _finished(self) -> dict[str, Any] | None:
        """The result of a run that has no iterations left; ``None`` while it has."""
        result = self._directory.final()
        done = Checkpoint.read(latest_checkpoint(self._directory.checkpoints)).iteration
        return result if result is not None and result.get("iterations") == done >= self._total else None

    @property
    def _total(self) -> int:
        """Iterations in all."""
        return 0 if self.config.algorithm == "sft" else self.config.iterations

    def _starting_policy(self, world: World, train: list[str]) -> dict[str, Any]:
        """Description of the policy: of the run to start from, else one made for the demonstrations' words."""
        critic = self.config.algorithm == "ppo"
        self._demonstrations: list[Rollout] = []
        if self._init is not None:
            return {**stored_policy(self.config, self._init), "critic": critic}
        self._watcher.phase("demonstrations")
        settings, seed, limit = self.config.warm_start, self.config.seed, self.config.step_limit
        progress = Paced(self._watcher, "demonstrations", settings.demonstrations)
        self._demonstrations = list(
            collect_demonstrations(world, train, settings, seed=seed, step_limit=limit, progress=progress)
        )
        if unheard := sorted(self._wanted - verbs_of(self._demonstrations)):
            self._watcher.note(
                f"validation tasks want {', '.join(unheard)}, which no demonstration does: another wording, or too few"
            )
        return fresh_policy(self._demonstrations, self.config.policy, critic=critic)

    def _warm_start(self, crew: Crew, evaluator: Evaluator) -> Metrics:
        """Imitate, unless the run starts from another. Answers with what the record tells of it."""
        metrics: Metrics = {}
        if self._init is None:
            self._watcher.phase("warm start")
            for step in imitate(crew, self._demonstrations, self.config, evaluator):
                success = step.evaluation.success
                self._watcher.note(f"warm start, pass {step.epoch:.1f}: loss {step.loss:.3f}, success {success:.0%}")
            if advice := outside_window(step, self.config.warm_start):
                self._watcher.note(advice)
            metrics = {"warm_start/success": success, "warm_start/passes": step.epoch}
            metrics["warm_start/in_window"] = float(not advice)
            self._demonstrations = []
        crew.reference.copy_(crew.weights)
        return metrics

    def _state(self, world: World, train: list[str], crew: Crew, start: Checkpoint | None) -> _State:
        adam = FlatAdam(crew.weights, self.config.update.learning_rate)
        rule, size = self.config.starts, self.config.group_size
        if start is None:
            return _State(0, TaskStream(world, train, self.config.seed), adam, StateGraphs(), Curriculum(rule, size))
        crew.reference.copy_(start.reference)
        adam.restore(start.optimiser)
        stream = TaskStream(world, train, self.config.seed, start.position)
        memory, curriculum = StateGraphs.from_json(start.memory), Curriculum(rule, size, start.starts)
        return _State(start.iteration, stream, adam, memory, curriculum, start.episodes)

    # Iterations

    def _iterations(
        self, crew: Crew, evaluator: Evaluator, state: _State, policy: dict[str, Any], warmed: Metrics | None
    ) -> Metrics:
        """To the end; first of all measured as it starts, where it was just made (``warmed`` is not ``None``)."""
        config, total = self.config, self._total
        row: Metrics = {}
        if warmed is not None:
            row = {"iteration": 0.0, **warmed, **self._evaluate(evaluator, 0)}
            self._record(row)
            self._checkpoint(crew, state, policy)
        while state.iteration < total:
            state.iteration += 1
            self._watcher.phase(f"iteration {state.iteration}")
            row = self._iterate(crew, state)
            every, done = config.evaluation.every, state.iteration == total
            if done or (every and state.iteration % every == 0):
                row |= self._evaluate(evaluator, state.iteration)
            self._record(row)
            if done or state.iteration % config.checkpoint_every == 0:
                self._checkpoint(crew, state, policy)
        return row or (list(self._directory.metrics()) or [{}])[-1]

    def _iterate(self, crew: Crew, state: _State) -> Metrics:
        config, k = self.config, state.iteration
        shaping = config.shaping_at(k)
        clock = Clock()

        def how(tasks: Sequence[str]) -> PlaySettings:
            clock.lap("play")
            settings = replace(self._play_settings(k), given=self._given(state.curriculum, tasks))
            clock.lap("graph")
            return settings

        sampled = sample(crew, state.stream, config.tasks, how, config.refills)
        played = sampled.played
        state.episodes += len(played.rollouts)
        clock.lap("play")
        batch = RolloutBatch(tuple(played.rollouts))
        metrics: Metrics = {}
        growth = None
        if self._graph is not None:
            labelled = self._graph.iterate(batch, k)
            batch, growth = labelled.batch, labelled.growth
            metrics |= labelled.metrics
            metrics |= {"seconds/label": labelled.label_seconds, "seconds/evolve": labelled.evolve_seconds}
        clock.lap("graph")
        if config.starts.share:
            metrics |= state.curriculum.learn(batch.rollouts, played.given)
            batch = RolloutBatch(tuple(map(own_steps, batch.rollouts, played.given)), batch.rejects)
        base = estimate_base(
            batch,
            config.algorithm,
            config.estimator,
            shaping,
            ladder_of=ladder_of_rollout,
            values=np.concatenate(played.values).astype(np.float64) if config.algorithm == "ppo" else None,
            kept=state.memory,
            paid=self._play_settings(k).rewards,
        )
        targets = None if base.targets is None else _by_rollout(batch, base.targets.astype(np.float32))
        shaped = shape(base.batch, shaping, growth=growth)
        if config.rollouts_every and k % config.rollouts_every == 0:
            self._directory.keep_rollouts(k, shaped.batch)
        clock.lap("shaping")
        signals = signals_of(shaped.batch.rollouts, config, targets)
        owners = {rollout.id: sampled.places[rollout.task] for rollout in batch}
        metrics |= update(crew, state.adam, signals, owners, config, k)
        clock.lap("update")
        return {
            "iteration": float(k),
            "episodes": float(state.episodes),
            **play_metrics(played),
            **sampled.metrics,
            **shaped.metrics,
            **metrics,
            **clock.metrics(played),
            "memory/resident_mib": resident_mib(),
        }

    def _given(self, curriculum: Curriculum, tasks: Sequence[str]) -> dict[str, GivenWay]:
        if not self.config.starts.share or self._graph is None:
            return {}
        return curriculum.choose(tasks, self._graph.ways([task for task in tasks if curriculum.fails(task)]))

    def _evaluate(self, evaluator: Evaluator, iteration: int) -> Metrics:
        self._watcher.phase("evaluation")
        began = time.perf_counter()
        row: Metrics = {}
        for temperature in self.config.evaluation.temperatures:
            measured: Evaluation = evaluator.measure(temperature)
            self._directory.append_outcomes(iteration, temperature, measured.by_task)
            name = f"evaluation/t{temperature:g}"
            row |= {
                f"{name}/success": measured.success,
                f"{name}/reward": measured.reward,
                f"{name}/score": measured.score,
                f"{name}/steps": measured.steps,
                f"{name}/invalid": measured.invalid,
                f"{name}/episodes": float(measured.episodes),
            }
            row |= {f"{name}/success/{kind}": share for kind, share in measured.by_kind.items()}
        row["seconds/evaluation"] = time.perf_counter() - began
        return row

    def _record(self, row: Metrics) -> None:
        self._directory.append(row)
        self._watcher.metrics(row)
        if self._writer is not None:
            self._writer(row)

    def _checkpoint(self, crew: Crew, state: _State, policy: dict[str, Any]) -> None:
        Checkpoint(
            iteration=state.iteration,
            policy=policy,
            weights=_own(crew.weights),
            reference=_own(crew.reference),
            optimiser=state.adam.state(),
            position=state.stream.position,
            episodes=state.episodes,
            memory=state.memory.to_json() if self.config.algorithm == "tigpo" else {},
            starts=state.curriculum.to_json() if self.config.starts.share else {},
            learnt=None if self._graph is None else self._graph.learnt,
        ).write(self._directory.checkpoints)
        prune_checkpoints(self._directory.checkpoints, self.config.keep_checkpoints)

    def _finish(self, last: Metrics, state: _State, seconds: float, train: int, valid: int) -> dict[str, Any]:
        rejects: list[Reject] = list(state.stream.rejects.values())
        document = {
            "arm": self.config.arm,
            "seed": self.config.seed,
            "iterations": state.iteration,
            "episodes": state.episodes,
            "seconds": seconds,
            "training_tasks": train,
            "validation_tasks": valid,
            "rejected": [{"task": reject.id, "reason": reject.reason} for reject in rejects],
            "last": last,
        }
        self._directory.finish(document)
        return document

    def _play_settings(self, iteration: int) -> PlaySettings:
        return PlaySettings(
            group_size=self.config.group_size,
            temperature=self.config.temperature,
            seed=self.config.seed,
            label=f"iteration {iteration}",
            step_limit=self.config.step_limit,
            limits=self._limits,
        )

    def _evaluation_settings(self) -> PlaySettings:
        settings = self.config.evaluation
        base = self._play_settings(0)
        return replace(base, group_size=settings.repeats, seed=settings.seed, label="evaluation")


def _by_rollout(batch: RolloutBatch, values: Floats) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    at = 0
    for rollout in batch:
        found[rollout.id] = values[at : at + len(rollout.steps)]
        at += len(rollout.steps)
    return found


def _own(tensor: Tensor) -> Tensor:
    """A copy outside shared memory."""
    return torch.empty_like(tensor).copy_(tensor)
