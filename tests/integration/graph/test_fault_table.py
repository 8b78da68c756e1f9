"""The page of faults names tests that are there; and those of its rows that have no better home."""

from __future__ import annotations

import ast
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proas.errors import GraphNotFound, UsageError
from proas.graph.client import Client, Transaction
from proas.graph.faults import again
from proas.graph.reports import LabelReport
from proas.graph.store import ReferenceGraph, list_graphs
from proas.rollouts import RolloutBatch

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "faults.md"
SEEN_IN = (
    "neo4j#12674",
    "llm-graph-builder#550, neo4j#13840",
    "cartography#2138, graphiti#1080",
    "neo4j#6823",
    "python-driver#517",
    "python-driver#236, #1132",
    "python-driver#969, LightRAG#3829",
    "neo4j#13008",
    "spring-data-neo4j#2632",
    "docker-neo4j#385, redamon#160",
    "LightRAG#3257, graphrag-toolkit#328",
    "NaLLM#27",
)


def rows() -> list[list[str]]:
    """Cells of the table rows of the page, without the heads."""
    if not PAGE.is_file():
        pytest.skip("the docs are not beside the tests")
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [row for row in cells if row[-1] != "tests" and set(row[0]) != {"-"}]


def test_every_fault_has_its_row():
    assert [row[0] for row in rows() if len(row) == 4] == list(SEEN_IN)


def test_every_row_names_tests_that_are_there():
    for row in rows():
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row[-1])
        assert named, row[0]
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert not name or name in there, f"{file} has no {name}"


def test_a_deadlock_is_resolved_by_repeating(connection, graph, client, monkeypatch):
    """Two transactions that lock two graphs in opposite order: the server fails one of them, which is repeated."""
    other = ReferenceGraph.create(connection, f"{graph.name[:90]}-other")
    both_hold_one = threading.Barrier(2)
    failed = []
    monkeypatch.setattr("proas.graph.client.again", lambda error: failed.append(error) or again(error))

    def locking(first: str, second: str) -> list[int]:
        attempts = []

        def work(tx: Transaction) -> None:
            attempts.append(1)
            tx.rows("lock_graph", graph=first)
            if len(attempts) == 1:
                both_hold_one.wait(timeout=60)
            tx.rows("lock_graph", graph=second)

        Client(connection).write(work)
        return attempts

    with ThreadPoolExecutor(2) as pool:
        made = pool.map(locking, (graph.name, other.name), (other.name, graph.name))
        assert sum(len(attempts) for attempts in made) >= 3
    assert {error.code for error in failed} == {"Neo.TransientError.Transaction.DeadlockDetected"}
    other.drop()


def test_all_that_a_worker_gets_or_gives_pickles(connection, graph, corridor):
    batch = RolloutBatch((corridor.win("w", "t1"), corridor.rollout("lost", "unknown", [0, 1])))
    layer = ReferenceGraph.create(connection, f"{graph.name[:90]}-run", base=graph.name)
    labelled = graph.label(batch)
    given = [
        connection,
        batch,
        graph.add([corridor.graph("t1")]),
        layer.evolve(batch),
        labelled,
        LabelReport.of(labelled),
        graph.info(),
        graph.stats(),
        layer.stats(),
        layer.diff(0, 1),
        graph.read("t1"),
        list(graph.tasks()),
        graph.verify(),
        layer.promote(),
        list_graphs(connection),
        layer.drop(),
    ]
    for one in given:
        assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(graph)).info() == graph.info()
    for error in (GraphNotFound("none", hint="look"), UsageError("no")):
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), str(back), back.hint) == (type(error), str(error), error.hint)
