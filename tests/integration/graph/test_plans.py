"""Every statement compiles without a note of the server, and the hot ones seek where they could scan."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from proas.cypher import browser_files, statement, statement_names
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.labelling import label_parameters
from proas.graph.store import ReferenceGraph
from proas.rollouts import RolloutBatch
from tests.integration.graph.conftest import Corridor

SCANS = {"AllNodesScan", "NodeByLabelScan", "DirectedRelationshipTypeScan", "UndirectedRelationshipTypeScan"}
SCANS |= {"DirectedAllRelationshipsScan", "UndirectedAllRelationshipsScan", "NodeIndexScan"}

# Statements that look at all of a small thing on purpose: the names of all graphs, the records of all migrations.
WHOLE = {"list_graphs", "migration_list", "view_graphs", "graphs_of_task", "latest_graph"}
# Not queries of data: EXPLAIN says nothing of them.
SCHEMA = {"migration_constraint", "constraint_names", "await_indexes", "server_version", "exchange_constraints"}
# Statements that run for every iteration or every batch of a build: none may hold back its rows. (An Eager elsewhere
# holds the one row of a graph or a version, or what is read in order to be deleted.)
HOT = {"label_batch", "lock_graph", "add_support", "create_tasks", "create_subgoals", "create_states"}
HOT |= {"create_transitions", "create_successes", "known_tasks", "known_elements", "known_successes"}
HOT |= {"count_distances", "read_task_graphs", "page_state_rows", "page_transition_rows"}

# Values by the name of a parameter: of the right type, so that the server plans what it will run.
VALUES: dict[str, Any] = {
    "graph": "g",
    "base": "b",
    "base_version": 0,
    "version": 0,
    "after": "",
    "upto": 1,
    "limit": 10,
    "k": 0,
    "run": "r",
    "states": 0,
    "transitions": 0,
    "task": "t",
    "tasks": [],
    "keys": [],
    "rows": [],
    "description": "d",
    "source": "s",
    "checksum": "c",
    "by": "v",
}


@pytest.fixture(scope="module", autouse=True)
def _planned_for_data(connection: Connection) -> Iterator[None]:
    """A server that holds a graph, with counts of it, and no plan from a time when it held none.

    Statements are planned by what the server has counted, and a plan is kept for a while.
    """
    stored = ReferenceGraph.create(connection, f"test-plans-{uuid.uuid4().hex[:8]}")
    stored.add([Corridor().graph(f"t{i}") for i in range(40)])
    driver_of(connection).execute_query("CALL db.prepareForReplanning(60)", database_=connection.database)
    yield
    stored.drop(force=True)


def _parameters(text: str) -> dict[str, Any]:
    names = re.findall(r"\$`?(\w+)", text)
    lists = {name for name in names if re.search(rf"\bIN \${name}\b", text)}
    return {name: [] if name in lists else VALUES.get(name) for name in names}


def _operators(plan: dict[str, Any]) -> set[str]:
    found = {str(plan["operatorType"]).partition("@")[0]}
    for child in plan.get("children", ()):
        found |= _operators(child)
    return found


def _explained(connection: Connection, text: str, parameters: dict[str, Any], how: str = "EXPLAIN") -> dict[str, Any]:
    summary = driver_of(connection).execute_query(
        f"{how} {text}",  # type: ignore[arg-type]  # tests only
        parameters,
        database_=connection.database,
    )[1]
    found = summary.profile if how == "PROFILE" else summary.plan
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(statement_names() - SCHEMA))
def test_a_statement_compiles_and_seeks(name, connection):
    operators = _operators(_explained(connection, statement(name), _parameters(statement(name))))
    if name not in WHOLE:
        assert not operators & SCANS
    if name in HOT:
        assert "Eager" not in operators


@pytest.mark.parametrize("name", sorted(name for name in browser_files() if name.endswith(".cypher")))
def test_a_saved_query_compiles(name, connection):
    _explained(connection, browser_files()[name], _parameters(browser_files()[name]))


def test_labelling_touches_only_the_edges_of_its_tasks(connection, graph, corridor):
    graph.add([corridor.graph(f"t{i}") for i in range(40)])
    batch = RolloutBatch(tuple(corridor.win(f"r{i}", f"t{i % 4}") for i in range(16)))
    tasks = label_parameters(batch)
    parameters = {"graph": graph.name, "version": None, "min_support": 1, "tasks": tasks}
    profile = _explained(connection, statement("label_batch"), parameters, "PROFILE")
    operators = _operators(profile)
    assert not operators & SCANS
    assert "Eager" not in operators
    assert "DirectedRelationshipIndexSeek" in operators
    read = _rows_of(profile, "DirectedRelationshipIndexSeek")
    # Four tasks of twenty-nine edges, out of forty, each looked at twice; some releases do not count in subqueries.
    assert read <= 2 * 4 * 29


def _rows_of(plan: dict[str, Any], operator: str) -> int:
    own = plan["rows"] if str(plan["operatorType"]).startswith(operator) else 0
    return int(own) + sum(_rows_of(child, operator) for child in plan.get("children", ()))
