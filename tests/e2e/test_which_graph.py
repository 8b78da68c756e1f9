"""Which graph a command means when it is not told, and that what changes a graph must be told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Proas

pytestmark = pytest.mark.neo4j


@pytest.fixture
def second(proas: Proas, graph: str) -> Iterator[str]:
    """Another graph beside ``graph``, so that there are at least two."""
    name = f"{graph}-second"
    assert proas("graph", "create", name).code == 0
    yield name
    proas("graph", "drop", name, "--yes")


def test_several_graphs_could_be_meant(proas: Proas, graph: str, second: str) -> None:
    for command in (["stats"], ["verify"], ["show", "pick"], ["diff", "--from", "0", "--to", "0"]):
        done = proas("graph", *command)
        assert done.code == 2, command
        assert "which graph" in done.err
        assert "--graph" in done.err


def test_the_environment_names_the_graph(
    proas: Proas, graph: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROAS_GRAPH", graph)
    assert proas("graph", "stats", "--json").document["graph"] == graph
    assert proas("graph", "verify", "--json").document["graph"] == graph
    assert proas("graph", "stats", "--graph", second, "--json").document["graph"] == second


def test_what_changes_a_graph_is_told_which(proas: Proas, graph: str) -> None:
    for command in ("drop", "promote", "create"):
        assert proas("graph", command).code == 2
    assert proas("graph", "drop", "one", "--graph", "another", "--yes").code == 2
    name = f"{graph}-third"
    assert proas("graph", "create", "--graph", name).code == 0
    assert proas("graph", "drop", "--graph", name, "--yes").code == 0
