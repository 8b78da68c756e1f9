"""Rollouts attached to a graph to be looked at: where they go along with it, and where they leave it.

::

    (:Rollout {graph, key, id, task, name, success, ended, reward, advantage, steps, version, labels, run, place, at})
    (:Rollout)-[:STEP_START {t: 0}]->(:State)
    (:Rollout)-[:STEP_PROGRESS | STEP_AGAIN | STEP_ASTRAY
                {t, action, key, re, pa, drift, advantage, base_advantage, valid, seeks}]->(:State | :Stray)
    (:Stray {graph, key, task, name, facts})                     a state that the graph does not know
    (place)-[:DETOUR {graph, key, task, action, times, rollouts}]->(place)

A step points at the state that it reached. ``STEP_PROGRESS`` is ``PA = 1``, ``STEP_AGAIN`` is ``Re = 1`` with
``PA = 0``, ``STEP_ASTRAY`` is ``Re = 0``. A detour stands for all steps that took one way that the graph does not know;
steps that changed nothing make none. What is attached shows the labels that the rollouts carry: a graph that learns a
way later leaves it as it is until it is attached again.

Nothing here is read by labelling, evolution, verification or exchange, and nothing of theirs is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proas.errors import GraphCapacityError, UsageError
from proas.graph.attached_rows import detour_rows, key_of, labels_of, rollout_row, states_of, step_rows
from proas.graph.captions import caption_of
from proas.graph.client import Client, Transaction
from proas.graph.writing import Scope, known_tasks, lock_graph
from proas.rollouts import Reject, Rollout

__all__ = [
    "MOST_ROLLOUTS",
    "MOST_STEPS",
    "AttachReport",
    "Attached",
    "PruneReport",
    "attach",
    "attached",
    "drop_attached",
    "prune",
]

MOST_ROLLOUTS = 200
"""Rollouts that a graph holds at most, if nothing else is said: a few iterations of a few tasks."""

MOST_STEPS = 1000
"""Steps of a rollout at most: longer ones are no picture."""

_STEPS_A_TRANSACTION = 4000


@dataclass(frozen=True, slots=True)
class Attached:
    """A rollout that is attached.

    Attributes:
        key: Digest of its task, id and way.
        id: Its id.
        task: Key of its task.
        run: What it came from.
        version: Version of the graph that labelled it.
        steps: Number of its steps.
        at: When it was attached, ISO 8601.
    """

    key: str
    id: str
    task: str
    run: str
    version: int
    steps: int
    at: str


@dataclass(frozen=True, slots=True)
class AttachReport:
    """What :func:`attach` did.

    Attributes:
        rollouts: Rollouts attached.
        replaced: Of these, attached before with other labels, which gave way.
        known: Attached before with the same labels, and left alone.
        left_out: Left out because the graph holds as many as it may.
        steps: Steps attached.
        strays: States off the graph that are new.
        rejected: Rollouts that cannot be attached, with the reason.
    """

    rollouts: int
    replaced: int
    known: int
    left_out: int
    steps: int
    strays: int
    rejected: tuple[Reject, ...]


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What :func:`prune` removed, and the rollouts that are still attached.

    Attributes:
        rollouts: Rollouts removed.
        steps: Their steps.
        strays: States off the graph that no rollout reaches any more.
        left: Rollouts still attached.
    """

    rollouts: int
    steps: int
    strays: int
    left: int


@dataclass
class _Tally:
    rollouts: int = 0
    replaced: int = 0
    known: int = 0
    left_out: int = 0
    steps: int = 0
    strays: int = 0
    rejected: list[Reject] = field(default_factory=list)


def attached(client: Client, name: str) -> tuple[Attached, ...]:
    """What is attached to a graph, the newest first."""
    return tuple(
        Attached(row["key"], row["id"], row["task"], row["run"], row["version"], row["steps"], row["at"])
        for row in client.rows("attached_rollouts", graph=name)
    )


def attach(
    client: Client, name: str, rollouts: Sequence[Rollout], *, run: str = "", most: int = MOST_ROLLOUTS
) -> AttachReport:
    """Attach labelled rollouts to the states that they visit, in batches; repeating it changes nothing.

    Args:
        client: The database.
        name: Name of the graph.
        rollouts: Rollouts with states and labels, in the order in which they are to be taken.
        run: Where they come from, in a word.
        most: Rollouts that the graph may hold in all; what is beyond it is left out and counted.

    Raises:
        GraphNotFound: No such graph.
        GraphConflict: It is being dropped.
        GraphCapacityError: Even one rollout does not fit the server's transaction memory.
    """
    tally = _Tally()
    fitting: list[Rollout] = []
    for rollout in rollouts:
        if reason := _unfit(rollout):
            tally.rejected.append(Reject(reason, id=rollout.id))
        else:
            fitting.append(rollout)
    places = {rollout.id: place for place, rollout in enumerate(rollouts)}
    steps = _STEPS_A_TRANSACTION
    waiting = fitting
    while waiting:
        batch = _first(waiting, steps)
        try:
            done = client.write(lambda tx, b=batch: _attach(tx, name, b, places, run, most))  # type: ignore[misc]
        except GraphCapacityError:
            if len(batch) == 1:
                raise
            steps = sum(1 + len(rollout.steps) for rollout in batch) // 2
            continue
        for one, amount in vars(done).items():
            setattr(tally, one, getattr(tally, one) + amount)
        waiting = waiting[len(batch) :]
    counts = {one: value for one, value in vars(tally).items() if one != "rejected"}
    return AttachReport(rejected=tuple(tally.rejected), **counts)


def prune(
    client: Client, name: str, *, before: int | None = None, keep: int | None = None, everything: bool = False
) -> PruneReport:
    """Remove attached rollouts, with the states and ways off the graph that none of the others takes.

    Args:
        client: The database.
        name: Name of the graph.
        before: Those that an earlier version labelled.
        keep: All but this many of the newest.
        everything: All of them.

    Raises:
        UsageError: Not exactly one of the three is asked for.
    """
    if [before is not None, keep is not None, everything].count(True) != 1:
        raise UsageError("which rollouts are to go?", hint="give one of before, keep and everything")
    there = attached(client, name)
    old = there[keep or 0 :]
    doomed = old if before is None else tuple(one for one in there if one.version < before)
    rollouts = steps = strays = 0
    for part in _parts(doomed):
        keys = [one.key for one in part]

        def work(tx: Transaction, keys: list[str] = keys) -> tuple[int, int, int]:
            lock_graph(tx, name)
            return _detach(tx, name, keys)

        gone = client.write(work)
        rollouts, steps, strays = rollouts + gone[0], steps + gone[1], strays + gone[2]
    if everything:

        def sweep(tx: Transaction) -> int:
            lock_graph(tx, name)
            return int(tx.rows("detach_leftovers", graph=name)[0]["n"])

        strays += client.write(sweep)
    return PruneReport(rollouts, steps, strays, len(there) - len(doomed))


def drop_attached(client: Client, name: str) -> int:
    """Remove all that is attached to a graph that is being dropped; returns the number of nodes removed."""
    nodes = 0
    for part in _parts(attached(client, name)):
        keys = [one.key for one in part]
        gone = client.write(lambda tx, k=keys: _detach(tx, name, k))  # type: ignore[misc]
        nodes += gone[0] + gone[2]
    return nodes + int(client.write(lambda tx: tx.rows("detach_leftovers", graph=name))[0]["n"])


def _unfit(rollout: Rollout) -> str:
    """Why a rollout cannot be attached; empty when it can."""
    if not rollout.has_states:
        return "it carries no states"
    if rollout.covered is False:
        return "the graph does not know its task"
    if any(step.label is None for step in rollout.steps):
        return "a step carries no label: label it first"
    if len(rollout.steps) > MOST_STEPS:
        return f"it has {len(rollout.steps):,} steps, more than {MOST_STEPS:,}"
    return ""


def _first(rollouts: Sequence[Rollout], steps: int) -> list[Rollout]:
    """As many rollouts as have that many steps, but at least one."""
    taken: list[Rollout] = []
    size = 0
    for rollout in rollouts:
        size += 1 + len(rollout.steps)
        if taken and size > steps:
            break
        taken.append(rollout)
    return taken


def _parts(rollouts: Sequence[Attached]) -> Iterator[list[Attached]]:
    part: list[Attached] = []
    for one in rollouts:
        if part and sum(1 + other.steps for other in part) + one.steps > _STEPS_A_TRANSACTION:
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def _attach(
    tx: Transaction, name: str, batch: Sequence[Rollout], places: Mapping[str, int], run: str, most: int
) -> _Tally:
    scope = lock_graph(tx, name)
    tally = _Tally()
    stored = {row["key"]: row["labels"] for row in tx.rows("attached_rollouts", graph=name)}
    known = known_tasks(tx, scope, {rollout.task for rollout in batch})
    room = most - len(stored)
    new: dict[str, Rollout] = {}
    outdated: list[str] = []
    for rollout in batch:
        key = key_of(rollout)
        if known[rollout.task].task is None:
            tally.rejected.append(Reject("the graph does not know its task", id=rollout.id))
        elif key in new or stored.get(key) == labels_of(rollout):
            tally.known += 1
        elif key in stored:
            outdated.append(key)
            new[key] = rollout
        elif room > 0:
            room -= 1
            new[key] = rollout
        else:
            tally.left_out += 1
    if outdated:
        _detach(tx, name, outdated)
    tally.rollouts, tally.replaced = len(new), len(outdated)
    tally.steps = sum(len(rollout.steps) for rollout in new.values())
    tally.strays = _write(tx, scope, new, places, run)
    return tally


def _detach(tx: Transaction, name: str, keys: Collection[str]) -> tuple[int, int, int]:
    """Remove rollouts; returns how many, their steps, and the strays that went with them."""
    tx.rows("detach_detours", graph=name, keys=list(keys))
    gone = tx.rows("detach_rollouts", graph=name, keys=list(keys))
    reached = sorted({key for row in gone for key in row["strays"]})
    strays = int(tx.rows("detach_strays", graph=name, keys=reached)[0]["n"])
    return len(gone), sum(max(row["steps"] - 1, 0) for row in gone), strays


def _write(tx: Transaction, scope: Scope, new: Mapping[str, Rollout], places: Mapping[str, int], run: str) -> int:
    """Create rollouts with their steps; returns the number of states off the graph that are new."""
    if not new:
        return 0
    visited = {state.key: (state, r.task) for r in new.values() for state in states_of(r)}
    found = tx.rows("attach_homes", keys=sorted(visited), **scope.parameters())
    homes = {row["key"]: row["home"] for row in found}
    strays = [
        {"key": key, "task": task, "name": caption_of(state.facts), "facts": list(state.facts)}
        for key, (state, task) in sorted(visited.items())
        if key not in homes
    ]
    made = int(tx.rows("attach_strays", graph=scope.graph, rows=strays)[0]["made"]) if strays else 0
    rollouts = [rollout_row(key, rollout, places[rollout.id], run) for key, rollout in new.items()]
    tx.rows("attach_rollouts", graph=scope.graph, rows=rollouts)
    steps = [row for key, rollout in new.items() for row in step_rows(key, rollout, homes, scope.graph)]
    tx.rows("attach_steps", graph=scope.graph, rows=steps)
    tx.rows("attach_detours", graph=scope.graph, rows=detour_rows(new.values(), homes))
    return made
