"""GraphML as networkx reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from proas.graph.rows import StateRow, SubgoalRow, TaskRow, TransitionRow
from proas.keys import transition_key

from .sample import graph_rows, write

ODD = '<a href="x">\'&amp; \t é 日本 🙂 {o:apple}'


@pytest.mark.parametrize("odd", ["", ODD])
def test_networkx_reads_every_element_with_typed_attributes(tmp_path: Path, odd: str) -> None:
    rows = graph_rows(tasks=3, states=8, odd=odd)
    graph = nx.read_graphml(write(tmp_path / "g.graphml", rows))
    assert graph.is_directed()
    for row in rows:
        match row:
            case TaskRow():
                node = graph.nodes[f"task:{row.key}"]
                assert (node["kind"], node["label"], node["env"]) == ("Task", row.goal, "alfworld")
            case SubgoalRow():
                node = graph.nodes[f"subgoal:{row.key}"]
                assert (node["kind"], node["index"], node["label"]) == (
                    "Subgoal",
                    row.index,
                    f"{row.index}. {row.description}",
                )
                assert graph.has_edge(f"task:{row.task}", f"subgoal:{row.key}")
            case StateRow():
                node = graph.nodes[f"state:{row.key}"]
                assert (node["kind"], node["label"], node["facts"]) == ("State", row.name, "\n".join(row.facts))
                assert node["initial"] is row.initial
                assert node["since"] == row.since
                assert graph.has_edge(f"state:{row.key}", f"subgoal:{row.subgoal}")
            case TransitionRow():
                edge = graph.edges[f"state:{row.source_state}", f"state:{row.target_state}"]
                assert (edge["kind"], edge["label"], edge["support"]) == ("TRANSITION", row.action, row.support)
            case _:
                pass
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert [kinds.count(kind) for kind in ("Task", "Subgoal", "State")] == [3, 9, 24]
    assert graph.number_of_edges() == 9 + 24 + 21


def test_parallel_transitions_are_all_kept(tmp_path: Path) -> None:
    rows = graph_rows(tasks=1, states=3)
    first = next(row for row in rows if isinstance(row, TransitionRow))
    key = transition_key(first.source_state, "walk", first.target_state)
    rows.append(replace(first, key=key, action="walk"))
    graph = nx.read_graphml(write(tmp_path / "g.graphml", rows), force_multigraph=True)
    between = graph.get_edge_data(f"state:{first.source_state}", f"state:{first.target_state}")
    assert {edge["label"] for edge in between.values()} == {first.action, "walk"}


def test_what_xml_cannot_hold_is_shown_as_an_escape(tmp_path: Path) -> None:
    rows = graph_rows(tasks=1, states=2, odd="\x00\x1f\ufffe\r\n")
    graph = nx.read_graphml(write(tmp_path / "g.graphml", rows))
    goals = [data["label"] for _, data in graph.nodes(data=True) if data["kind"] == "Task"]
    assert goals == ["goal\\u0000\\u001f\\ufffe\r\n"]


def test_it_names_graph_and_version(tmp_path: Path) -> None:
    root = ET.parse(write(tmp_path / "g.graphml", graph_rows())).getroot()
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    found = {data.get("key"): data.text for data in root.findall("g:graph/g:data", space)}
    assert found == {"g.name": "sample", "g.version": "3"}
    ends = {node.get("id") for node in root.findall("g:graph/g:node", space)}
    for edge in root.findall("g:graph/g:edge", space):
        assert {edge.get("source"), edge.get("target")} <= ends
