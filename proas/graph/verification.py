"""Verification: every rule that a stored graph must keep, checked on the database itself, a page of tasks at a time."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proas.graph.client import Client
from proas.graph.migrations import REQUIRED_CONSTRAINTS
from proas.graph.properties import malformed
from proas.graph.reading import scope_at
from proas.graph.reports import VerifyReport, Violation
from proas.graph.rows import Row, StateRow, SubgoalRow, SuccessRow, TaskRow, TransitionRow
from proas.graph.writing import Scope, ladder_from_rows, subgoal_key
from proas.keys import state_key, transition_key
from proas.subgoals import SEARCHING, Ladder

__all__ = ["RULES", "verify_graph"]

RULES: Mapping[str, str] = {
    "constraint": "every uniqueness constraint is present",
    "graph": "a graph has a version; a layer hangs on one base, which has reached the version that the layer sees",
    "properties": "every element carries its properties, each of its type",
    "orphan": "every subgoal, state, transition and success belongs to a task of the graph",
    "subgoals": "a task has subgoals 0 to M with readable conditions, each with the key of its task and index",
    "state-key": "the key of a state is the digest of environment, task and facts",
    "state-subgoal": "a state is a member of exactly one subgoal, the one that its facts say",
    "start-state": "the start state of a task is stored, and it alone is marked as initial",
    "transition-key": "the key of a transition is the digest of its ends and action",
    "transition-ends": "both ends of a transition are states of its own graph and task",
    "self-loop": "no transition leads to the state that it leaves",
    "regress": "no transition leads to an earlier subgoal, so the subgoal graph has no cycle",
    "goal-reachable": "in a task that was built, some state of the last subgoal can be reached from the start",
    "since": "no element is from a version that the graph has not reached, nor a transition older than its ends",
    "support": "the support of a transition is at least the number of successes that took it, and at least one",
    "success": "every transition that a success names is stored",
    "version-counts": "every version records the states and transitions that it added",
    "distance": "a distance is the length of a shortest way to the goal, over what the graph and its base show",
    "layer-copy": "what a layer marks as inherited is visible in its base, and nothing else in it is",
}
"""Name of each rule and what it asks for."""

PAGE = 32
"""Tasks read in one transaction."""


@dataclass
class _Findings:
    """Violations so far, with bounded samples."""

    samples: int
    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, rule: str, place: str) -> None:
        self.counts[rule] += 1
        places = self.places.setdefault(rule, [])
        if len(places) < self.samples:
            places.append(place)

    def check(self, rule: str, place: str, *, holds: bool) -> None:
        if not holds:
            self.add(rule, place)

    def violations(self) -> tuple[Violation, ...]:
        broken = (rule for rule in RULES if self.counts[rule])
        return tuple(Violation(r, self.counts[r], RULES[r], tuple(self.places.get(r, ()))) for r in broken)


@dataclass
class _Totals:
    """What was seen of the graph's own elements."""

    tasks: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    states_since: Counter[int] = field(default_factory=Counter)
    transitions_since: Counter[int] = field(default_factory=Counter)


def verify_graph(client: Client, name: str, *, samples: int) -> VerifyReport:
    """See :meth:`proas.graph.store.ReferenceGraph.verify`."""
    began = time.monotonic()
    scope = scope_at(client, name, None)
    findings, totals = _Findings(samples), _Totals()
    present = {row["name"] for row in client.rows("constraint_names")}
    for constraint in sorted(REQUIRED_CONSTRAINTS - present):
        findings.add("constraint", constraint)
    scope = _check_root(client, scope, findings)
    for row in _tasks(client, scope):
        _Task(row, scope, findings, totals).check()
    _check_orphans(client, scope, findings, totals)
    _check_versions(client, scope, findings, totals)
    return VerifyReport(
        graph=name,
        version=scope.version,
        tasks=totals.tasks,
        states=totals.seen["states"],
        transitions=totals.seen["transitions"],
        rules=tuple(RULES),
        violations=findings.violations(),
        seconds=time.monotonic() - began,
    )


def _check_root(client: Client, scope: Scope, findings: _Findings) -> Scope:
    """Check the graph itself; the scope with version 0 where it has none, so that the rest can be checked."""
    root = client.rows("verify_root", graph=scope.graph)[0]
    version, seen = root["version"], root["base_version"]
    sound = isinstance(version, int) and version >= 0
    findings.check("graph", f"version of {scope.graph} is {version!r}", holds=sound)
    below = root["below"]
    names = [base["name"] for base in below]
    hangs = names == ([] if root["base"] is None else [root["base"]])
    findings.check("graph", f"base of {scope.graph} is {root['base']!r}, it hangs on {names}", holds=hangs)
    if hangs and below:
        reached = below[0]["version"]
        holds = isinstance(seen, int) and isinstance(reached, int) and 0 <= seen <= reached
        findings.check(
            "graph", f"{scope.graph} sees version {seen!r} of its base, which is at {reached!r}", holds=holds
        )
        findings.check("graph", f"base {names[0]} is itself a layer", holds=below[0]["base"] is None)
    return scope if sound else replace(scope, version=0)


def _tasks(client: Client, scope: Scope) -> Iterator[Any]:
    """Raw content of every task node of the graph itself, whatever its version, with what its base shows of it."""
    after = ""
    while True:
        page = client.rows("verify_tasks", after=after, limit=PAGE, searching=SEARCHING, **scope.parameters())
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1]["key"]


class _Task:
    """Checks of one task."""

    def __init__(self, row: Any, scope: Scope, findings: _Findings, totals: _Totals) -> None:
        self._key: str = row["key"]
        self._row = row
        self._task: Mapping[str, Any] = row["task"]
        self._scope = scope
        self._findings = findings
        self._totals = totals
        self._below_states: dict[str, int] = {s[0]: s[1] for s in row["base_states"] if isinstance(s[1], int)}
        self._below_edges: dict[str, tuple[str, str]] = {key: (a, b) for key, a, b in row["base_transitions"]}
        self._index: dict[str, int] = dict(self._below_states)

    def check(self) -> None:
        row, totals = self._row, self._totals
        totals.tasks += 1
        for kind in ("subgoals", "states", "transitions", "successes"):
            totals.seen[kind] += len(row[kind])
        self._well_formed(TaskRow, self._task, f"task {self._key}")
        self._since(self._task["since"], f"task {self._key}")
        self._copy("task", self._key, inherited=self._task["inherited"], below=row["below"])
        ladder = self._check_subgoals()
        self._states = self._readable(StateRow, "states", "state")
        for state in self._states:
            self._check_state(state, ladder)
        self._check_start()
        successes = self._readable(SuccessRow, "successes", "success")
        taken = Counter(key for success in successes for key in success["transitions"])
        for edge in self._readable(TransitionRow, "transitions", "transition"):
            self._check_transition(edge, taken)
        self._check_successes(successes, taken)
        self._check_reach(ladder)
        self._check_distances(ladder)

    def _place(self, what: str) -> str:
        return f"{what} of task {self._key}"

    def _say(self, rule: str, what: str, *, holds: bool) -> None:
        if not holds:
            self._findings.add(rule, self._place(what))

    def _well_formed(self, kind: type[Row], found: Mapping[str, Any], what: str) -> bool:
        fault = malformed(kind, found)
        self._findings.check("properties", f"{what}: {fault}", holds=not fault)
        return not fault

    def _readable(self, kind: type[Row], table: str, what: str) -> list[Mapping[str, Any]]:
        """Elements whose properties are as they should be; the others are reported, and no other rule judges them."""
        return [row for row in self._row[table] if self._well_formed(kind, row, self._place(f"{what} {row['key']}"))]

    def _since(self, since: Any, what: str) -> None:
        holds = isinstance(since, int) and 0 <= since <= self._scope.version
        self._findings.check("since", what, holds=holds)

    def _copy(self, kind: str, key: str, *, inherited: bool, below: bool) -> None:
        self._say("layer-copy", f"{kind} {key}", holds=bool(inherited) == bool(below))

    def _check_subgoals(self) -> Ladder | None:
        rows = self._row["subgoals"]
        for row in rows:
            self._well_formed(SubgoalRow, row, self._place(f"subgoal {row['index']}"))
            holds = row["key"] == subgoal_key(self._key, row["index"]) and bool(row["at_home"])
            self._say("subgoals", f"subgoal {row['index']}", holds=holds)
        try:
            return ladder_from_rows(rows)
        except (ValueError, TypeError) as error:
            self._findings.add("subgoals", self._place(f"subgoals ({error})"))
            return None

    def _check_state(self, state: Mapping[str, Any], ladder: Ladder | None) -> None:
        key, facts = state["key"], state["facts"]
        what = f"state {key} ({state['name']})"
        self._since(state["since"], self._place(what))
        self._say("state-key", what, holds=key == state_key(self._task["env"], self._key, facts))
        expected = ladder.index(frozenset(facts)) if ladder else None
        members = [subgoal_key(self._key, expected)] if expected is not None else state["members"][:1]
        holds = state["members"] == members and len(members) == 1 and state["at_home"]
        self._say("state-subgoal", what, holds=holds)
        self._index[key] = -1 if expected is None else expected
        self._copy("state", key, inherited=state["inherited"], below=key in self._below_states)
        if not state["inherited"]:
            self._totals.states_since[state["since"]] += 1

    def _check_start(self) -> None:
        start = self._task["start"]
        self._say("start-state", f"start {start}", holds=start in self._index)
        for state in self._states:
            holds = bool(state["initial"]) == (state["key"] == start)
            self._say("start-state", f"state {state['key']} ({state['name']})", holds=holds)

    def _check_transition(self, edge: Mapping[str, Any], taken: Mapping[str, int]) -> None:
        source, target, key = edge["source_state"], edge["target_state"], edge["key"]
        what = f"transition {key} ({edge['action']})"
        self._since(edge["since"], self._place(what))
        self._say("since", what, holds=isinstance(edge["ends_since"], int) and edge["ends_since"] <= edge["since"])
        self._say("transition-key", what, holds=key == transition_key(source, edge["action"], target))
        self._say("transition-ends", what, holds=bool(edge["at_home"]))
        self._say("self-loop", what, holds=source != target)
        self._say("regress", what, holds=self._index.get(target, -1) >= self._index.get(source, -1))
        self._say("support", what, holds=edge["support"] >= max(1, taken.get(key, 0)))
        self._copy("transition", key, inherited=edge["inherited"], below=key in self._below_edges)
        if not edge["inherited"]:
            self._totals.transitions_since[edge["since"]] += 1

    def _check_successes(self, successes: Iterable[Mapping[str, Any]], taken: Iterable[str]) -> None:
        stored = {edge["key"] for edge in self._row["transitions"]}
        for key in taken:
            self._say("success", f"transition {key}", holds=key in stored)
        for success in successes:
            self._since(success["since"], self._place(f"success {success['key']}"))

    def _check_reach(self, ladder: Ladder | None) -> None:
        """A built task shows a way from its start to its goal.

        One born of rollouts may have gaps, where a step fell back to an earlier subgoal and was not stored.
        """
        if ladder is None or not self._row["built"]:
            return
        onward: dict[str, list[str]] = {}
        edges = [(edge["source_state"], edge["target_state"]) for edge in self._row["transitions"]]
        for source, target in (*edges, *self._below_edges.values()):
            onward.setdefault(source, []).append(target)
        waiting, reached = deque([self._task["start"]]), {self._task["start"]}
        while waiting:
            state = waiting.popleft()
            if self._index.get(state) == ladder.last:
                return
            fresh = [target for target in onward.get(state, ()) if target not in reached]
            reached.update(fresh)
            waiting.extend(fresh)
        self._findings.add("goal-reachable", f"task {self._key}")

    def _check_distances(self, ladder: Ladder | None) -> None:
        """Stored distances against those that a search from the goals finds. A task never measured has none at all."""
        stored: dict[str, Any] = {key: far for key, _index, far, _searching in self._row["base_states"]}
        stored |= {state["key"]: state["distance"] for state in self._states if state["distance"] is not None}
        stored = {state["key"]: None for state in self._states} | stored
        if ladder is None or all(far is None for far in stored.values()):
            return
        blind = {key for key, _index, _far, searching in self._row["base_states"] if searching}
        blind |= {state["key"] for state in self._states if SEARCHING in state["facts"]}
        edges = [(edge["source_state"], edge["target_state"]) for edge in self._row["transitions"]]
        goals = {key for key in stored if self._index.get(key) == ladder.last}
        true = distances_to(goals, (*edges, *self._below_edges.values()), blind)
        own = {state["key"]: state for state in self._states}
        for key, far in stored.items():
            what = f"distance {far!r} of state {key}, which is {true.get(key)} from the goal"
            self._say("distance", what, holds=far == true.get(key) or (far is None and key not in own))
            if far is not None and key in own:
                self._since(own[key]["distance_since"], self._place(what))


def distances_to(goals: Iterable[str], edges: Iterable[tuple[str, str]], blind: Container[str]) -> dict[str, int]:
    """Length of a shortest way to a goal from each state that has one, breadth first.

    Args:
        goals: States at distance 0.
        edges: Source and target of each transition.
        blind: States that get no distance, and so hand none on.
    """
    back: dict[str, list[str]] = {}
    for source, target in edges:
        back.setdefault(target, []).append(source)
    found = dict.fromkeys(goals, 0)
    waiting = deque(found)
    while waiting:
        state = waiting.popleft()
        for source in back.get(state, ()):
            if source not in found and source not in blind:
                found[source] = found[state] + 1
                waiting.append(source)
    return found


def _check_orphans(client: Client, scope: Scope, findings: _Findings, totals: _Totals) -> None:
    stored = client.rows("verify_totals", graph=scope.graph)[0]
    for kind in ("subgoals", "states", "transitions", "successes"):
        lost = stored[kind] - totals.seen[kind]
        if lost:
            findings.add("orphan", f"{lost} {kind} are attached to no task of the graph")


def _check_versions(client: Client, scope: Scope, findings: _Findings, totals: _Totals) -> None:
    rows = client.rows("version_history", graph=scope.graph, after=-1, upto=2**62)
    recorded = {row["k"]: (row["added_states"], row["added_transitions"]) for row in rows}
    for k in sorted(
        recorded.keys() | totals.states_since.keys() | totals.transitions_since.keys() | {0, scope.version}
    ):
        found = (totals.states_since[k], totals.transitions_since[k])
        written = recorded.get(k)
        if written != found:
            said = "nothing" if written is None else f"{written[0]} states and {written[1]} transitions"
            findings.add("version-counts", f"version {k} records {said}, {found[0]} and {found[1]} are stored")
        findings.check("since", f"version {k}", holds=k <= scope.version)
