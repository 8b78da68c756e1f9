"""Evolution: the verified successes of an iteration, purified and joined in one transaction."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proas.graph.building import fault_against
from proas.graph.client import Client, Transaction
from proas.graph.distances import measure_tasks
from proas.graph.names import check_run_name
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph.reports import EvolveReport
from proas.graph.writing import Known, Scope, known_tasks, lock_graph, missing_pieces, write_pieces
from proas.keys import KEY_VERSION, digest
from proas.purify import Purification, kept_steps
from proas.rollouts import Reject, Rollout, RolloutBatch, State
from proas.subgoals import Ladder

__all__ = ["Evidence", "evidence_of", "evolve_graph", "success_key"]

ROLLOUT_SOURCE = "rollout"
"""``source`` of what evolution adds."""

LadderOf = Callable[[Rollout], Ladder]


def success_key(rollout: Rollout) -> str:
    """Key of a success: the same rollout sent twice is one success, the same walk by two rollouts is two."""
    return digest("success", KEY_VERSION, rollout.task, rollout.transition_keys, rollout.id)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one success teaches.

    Attributes:
        states: Start state, and both ends of every kept transition, by key.
        transitions: Kept transitions by key, each once however often it was taken.
        dropped: Number of steps dropped by reason: ``invalid``, ``self_loops``, ``loops``, ``regress``.
    """

    states: Mapping[str, State]
    transitions: Mapping[str, Transition]
    dropped: Mapping[str, int]


def evidence_of(rollout: Rollout, ladder: Ladder, rule: Purification, index: dict[str, int] | None = None) -> Evidence:
    """Purify one success (the paper's graph evolution; see :mod:`proas.purify`).

    Args:
        rollout: A success with states. A step that does not say whether it was valid counts as valid.
        ladder: Subgoals of its task.
        rule: Purification rule.
        index: Subgoal index of states of the task that are known already; those of this rollout are added.

    Raises:
        ValueError: The rollout carries no states.
    """
    keys = rollout.state_keys
    valid = [step.valid is not False for step in rollout.steps]
    kept = kept_steps(rule, keys, valid)
    visited = [rollout.start, *(step.state for step in rollout.steps)]
    states = {state.key: state for state in visited if state is not None}
    index = {} if index is None else index
    for key, state in states.items():
        if key not in index:
            index[key] = ladder.index(state.facts)
    dropped: Counter[str] = Counter()
    transitions: dict[str, Transition] = {}
    for t, step in enumerate(rollout.steps):
        if kept[t] and index[keys[t + 1]] >= index[keys[t]]:
            action = step.canonical or ""
            transitions[rollout.transition_keys[t]] = Transition(keys[t], action, keys[t + 1], ROLLOUT_SOURCE)
        else:
            dropped[_reason(valid=valid[t], moves=keys[t] != keys[t + 1], kept=kept[t])] += 1
    ends = {keys[0]} | {end for edge in transitions.values() for end in (edge.source_state, edge.target_state)}
    return Evidence({key: states[key] for key in states if key in ends}, transitions, dropped)


def _reason(*, valid: bool, moves: bool, kept: bool) -> str:
    if not valid:
        return "invalid"
    if not moves:
        return "self_loops"
    return "regress" if kept else "loops"


def evolve_graph(
    client: Client,
    name: str,
    batch: RolloutBatch,
    *,
    purification: Purification,
    ladder_of: LadderOf,
    run: str,
    version: int | None,
) -> EvolveReport:
    """See :meth:`proas.graph.store.ReferenceGraph.evolve`."""
    began = time.monotonic()
    failed = sum(not rollout.success for rollout in batch)
    stateless = sum(rollout.success and not rollout.has_states for rollout in batch)
    successes = {success_key(r): r for r in batch if r.success and r.has_states}
    evolution = _Evolution(name, successes, purification, ladder_of, check_run_name(run), version)
    report = client.write(evolution.work)
    return replace(report, failed=failed, stateless=stateless, seconds=time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class _Joined:
    """New successes of one task, and the piece of graph that they make together."""

    successes: Mapping[str, Rollout]
    evidence: Mapping[str, Evidence]
    graph: TaskGraph


class _Evolution:
    """The transaction, repeatable: each attempt looks anew at what is known."""

    def __init__(
        self,
        name: str,
        successes: Mapping[str, Rollout],
        purification: Purification,
        ladder_of: LadderOf,
        run: str,
        version: int | None,
    ) -> None:
        self._name = name
        self._successes = successes
        self._purification = purification
        self._ladder_of = ladder_of
        self._run = run
        self._version = version
        self._attempted: EvolveReport | None = None

    def work(self, tx: Transaction) -> EvolveReport:
        scope = lock_graph(tx, self._name)
        seen = tx.rows("known_successes", keys=sorted(self._successes), **scope.parameters())
        known = {row["key"]: row["since"] for row in seen}
        if self._was_committed(known):
            assert self._attempted is not None
            return self._attempted
        fresh = {key: rollout for key, rollout in self._successes.items() if key not in known}
        tasks = known_tasks(tx, scope, {rollout.task for rollout in fresh.values()})
        joined, rejected = self._join(fresh, tasks)
        target = max(self._version or 0, scope.version + 1 if joined else scope.version)
        report = self._write(tx, replace(scope, version=target), joined, tasks)
        measure_tasks(tx, replace(scope, version=target), [one.graph.task.key for one in joined])
        self._attempted = replace(
            report, version_before=scope.version, known=len(known), rejected=tuple(rejected), version=target
        )
        if target > scope.version:
            tx.rows("set_version", graph=self._name, version=target)
            counts = {"states": report.added_states, "transitions": report.added_transitions}
            tx.rows("count_version", graph=self._name, k=target, run=self._run, **counts)
        return self._attempted

    def _was_committed(self, known: Mapping[str, int]) -> bool:
        """Whether an earlier attempt of this very call was stored although its answer was lost."""
        before = self._attempted
        return (
            before is not None
            and before.successes > 0
            and sum(since == before.version for since in known.values()) == before.successes
        )

    def _join(self, fresh: Mapping[str, Rollout], tasks: Mapping[str, Known]) -> tuple[list[_Joined], list[Reject]]:
        """Purify the new successes task by task; those that contradict the stored task are kept aside."""
        by_task: dict[str, dict[str, Rollout]] = {}
        rejected: list[Reject] = []
        for key, rollout in fresh.items():
            by_task.setdefault(rollout.task, {})[key] = rollout
        joined: list[_Joined] = []
        for task, members in sorted(by_task.items()):
            first = next(iter(members.values()))
            ladder = tasks[task].ladder or self._ladder_of(first)
            accepted: dict[str, Rollout] = {}
            for key, rollout in members.items():
                reason = _contradiction(rollout, next(iter(accepted.values()), rollout), ladder, tasks[task])
                if reason:
                    rejected.append(Reject(reason, id=rollout.id))
                else:
                    accepted[key] = rollout
            if accepted:
                index: dict[str, int] = {}
                evidence = {key: evidence_of(r, ladder, self._purification, index) for key, r in accepted.items()}
                joined.append(_Joined(accepted, evidence, _merged(accepted.values(), evidence.values(), ladder)))
        return joined, rejected

    def _write(
        self, tx: Transaction, scope: Scope, joined: Sequence[_Joined], tasks: Mapping[str, Known]
    ) -> EvolveReport:
        graphs = [one.graph for one in joined]
        supported = {transition.key: transition.support for graph in graphs for transition in graph.transitions}
        pieces = missing_pieces(tx, scope, graphs, tasks, supported=supported)
        write_pieces(tx, scope, pieces)
        created = {row["key"] for name, row in pieces.rows if name == "create_transitions"}
        support = [{"key": key, "support": n} for key, n in sorted(supported.items()) if key not in created]
        if support:
            tx.rows("add_support", graph=scope.graph, rows=support)
        rows = [row for one in joined for row in self._success_rows(one, scope)]
        if rows:
            tx.rows("create_successes", graph=scope.graph, rows=rows)
        dropped: Counter[str] = Counter()
        for one in joined:
            for evidence in one.evidence.values():
                dropped.update(evidence.dropped)
        return EvolveReport(
            graph=scope.graph,
            version_before=scope.version,
            version=scope.version,
            successes=len(rows),
            known=0,
            failed=0,
            stateless=0,
            new_tasks=pieces.tasks,
            added_states=pieces.states,
            added_transitions=pieces.transitions,
            dropped_invalid=dropped["invalid"],
            dropped_self_loops=dropped["self_loops"],
            dropped_loops=dropped["loops"],
            dropped_regress=dropped["regress"],
            seconds=0.0,
        )

    def _success_rows(self, one: _Joined, scope: Scope) -> list[dict[str, Any]]:
        return [
            {
                "key": key,
                "task": rollout.task,
                "rollout": rollout.id,
                "run": self._run,
                "transitions": sorted(one.evidence[key].transitions),
                "since": scope.version,
            }
            for key, rollout in sorted(one.successes.items())
        ]


def _contradiction(rollout: Rollout, first: Rollout, ladder: Ladder, known: Known) -> str:
    """Why a success does not fit its task; empty when it does."""
    assert rollout.start is not None
    assert first.start is not None
    if known.task is None and (rollout.env, rollout.start.key) != (first.env, first.start.key):
        return f"it does not start as rollout {first.id!r} of the same task"
    task = Task(rollout.task, rollout.env, rollout.goal)
    return fault_against(TaskGraph(task, ladder, rollout.start, {}, ()), known)


def _merged(rollouts: Iterable[Rollout], evidence: Iterable[Evidence], ladder: Ladder) -> TaskGraph:
    """The piece of graph that some successes of one task make together; support counts the successes."""
    first = next(iter(rollouts))
    assert first.start is not None
    states: dict[str, State] = {}
    transitions: dict[str, Transition] = {}
    support: Counter[str] = Counter()
    for one in evidence:
        states.update(one.states)
        transitions.update(one.transitions)
        support.update(one.transitions.keys())
    task = Task(first.task, first.env, first.goal, first.goal)
    edges = tuple(replace(transition, support=support[key]) for key, transition in transitions.items())
    return TaskGraph(task, ladder, first.start, states, edges, dict.fromkeys(states, ROLLOUT_SOURCE))
