"""Adding task graphs: idempotent, batched, safe among many writers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from proas.errors import GraphConflict, GraphNotFound, UsageError
from proas.graph.rows import StateRow, SubgoalRow, TaskRow, TransitionRow
from proas.graph.store import ReferenceGraph, list_graphs
from proas.rollouts import State


def test_what_is_added_is_read_back(graph, corridor):
    sent = corridor.graph("t1")
    report = graph.add([sent])
    assert (report.tasks, report.skipped, report.added_tasks, report.rejected) == (1, 0, 1, ())
    assert (report.added_states, report.added_transitions) == (30, 29)
    back = graph.read("t1")
    assert back.task == sent.task
    assert back.ladder == sent.ladder
    assert back.start == sent.start
    assert back.states == sent.states
    assert {t.key: t for t in back.transitions} == {t.key: t for t in sent.transitions}
    assert graph.verify().ok


def test_nodes_carry_what_people_read(graph, corridor, ask):
    graph.add([corridor.graph("t1")])
    row = ask(
        "MATCH (s:State {graph: $g})-[:MEMBER_OF]->(m:Subgoal)<-[:HAS_SUBGOAL]-(t:Task) WHERE s.key = $k "
        "RETURN s.name AS name, s.facts AS facts, m.index AS index, m.phrases AS phrases, t.text AS text",
        g=graph.name,
        k=corridor.state("t1", 10).key,
    )
    assert row == [
        {
            "name": "at place 10; milestone 1 passed",
            "facts": ["at place 10", "milestone 1 passed"],
            "index": 1,
            "phrases": ["get beyond the first mark"],
            "text": "Walk to the end.",
        }
    ]


def test_a_rerun_changes_nothing_and_skips(graph, corridor, ask):
    graphs = [corridor.graph(f"t{i}") for i in range(5)]
    graph.add(graphs)
    before = [list(graph.rows(kind)) for kind in (TaskRow, SubgoalRow, StateRow, TransitionRow)]
    report = graph.add(graphs)
    assert (report.tasks, report.skipped) == (5, 5)
    assert (report.added_tasks, report.added_states, report.added_transitions) == (0, 0, 0)
    assert [list(graph.rows(kind)) for kind in (TaskRow, SubgoalRow, StateRow, TransitionRow)] == before


def test_more_demonstrations_raise_the_support_and_the_same_ones_do_not(graph, corridor):
    sent = corridor.graph("t1")

    def seen(support, source):
        return replace(sent, transitions=tuple(replace(t, support=support, source=source) for t in sent.transitions))

    def stored():
        return {(t.support, t.source) for t in graph.read("t1").transitions}

    for support, source, then in (
        (2, "unverified", (2, "unverified")),
        (2, "unverified", (2, "unverified")),
        (5, "unverified", (5, "unverified")),
        (3, "replayed", (5, "replayed")),  # fewer, but carried out
        (4, "unverified", (5, "replayed")),
    ):
        graph.add([seen(support, source)])
        assert stored() == {then}
    assert graph.verify().ok
    assert graph.add([seen(5, "unverified")]).skipped == 1


def test_small_batches_give_the_same_graph(graph, corridor):
    report = graph.add([corridor.graph("t1"), corridor.graph("t2", 2)], batch_rows=16)
    assert (report.added_states, report.added_transitions) == (30 + 16, 29 + 15)
    assert graph.verify().ok
    assert graph.info().version == 0


def test_a_second_graph_of_a_task_is_joined(graph, corridor):
    graph.add([corridor.graph("t1", 2)])
    report = graph.add([corridor.graph("t1", 3, source="expand")])
    assert report.added_tasks == 0
    assert report.added_transitions == 10
    assert graph.stats().transitions_by_source == {"expand": 10, "plan": 15}
    assert graph.verify().ok


def test_contradictions_are_kept_aside_and_the_rest_goes_on(graph, corridor):
    sound = corridor.graph("sound")
    graph.add([corridor.graph("old")])
    start = corridor.state("lost", 0)
    loop = replace(sound.transitions[0], target_state=sound.transitions[0].source_state)
    back = replace(
        sound.transitions[0], source_state=corridor.state("falls", 12).key, target_state=corridor.state("falls", 3).key
    )
    falls, old = corridor.graph("falls"), corridor.graph("old")
    bad = [
        replace(
            corridor.graph("lost"), states={k: s for k, s in corridor.graph("lost").states.items() if k != start.key}
        ),
        replace(corridor.graph("loops"), transitions=(loop,), states={**sound.states}, start=sound.start),
        replace(falls, transitions=(*falls.transitions, back)),
        replace(corridor.graph("named"), states={**corridor.graph("named").states, "f" * 32: State.of("e", "t", ())}),
        replace(old, start=corridor.state("old", 1)),
    ]
    done: list[int] = []
    report = graph.add([*bad, sound], progress=done.append)
    assert sum(done) == report.tasks == 6
    assert sorted(reject.id for reject in report.rejected) == ["falls", "loops", "lost", "named", "old"]
    assert all(reject.reason for reject in report.rejected)
    assert [task.key for task in graph.tasks()] == ["old", "sound"]


def test_a_task_with_other_subgoals_is_kept_aside(graph, corridor):
    graph.add([corridor.graph("t1")])
    other = corridor.graph("t1", 2)
    ladder = replace(other.ladder, subgoals=other.ladder.subgoals[:3])
    report = graph.add([replace(other, ladder=ladder)])
    assert "subgoals" in report.rejected[0].reason
    assert report.added_transitions == 0


def test_sixteen_writers_make_one_node_of_one_key(connection, graph, corridor, ask):
    def write(_: int) -> None:
        ReferenceGraph(connection, graph.name).add([corridor.graph("t1")])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    [row] = ask("MATCH (s:State {graph: $g}) RETURN count(s) AS n, count(DISTINCT s.key) AS keys", g=graph.name)
    assert row == {"n": 30, "keys": 30}
    assert graph.verify().ok


def test_batches_in_opposite_order_converge(connection, graph, corridor):
    graphs = [corridor.graph(f"t{i}") for i in range(8)]

    def write(order: int) -> None:
        mine = graphs if order % 2 else graphs[::-1]
        ReferenceGraph(connection, graph.name).add(mine, batch_rows=40)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert graph.stats().transitions == 8 * 29
    assert graph.verify().ok


def test_writers_of_different_graphs_share_nothing(connection, graph, corridor, graph_name):
    other = ReferenceGraph.create(connection, f"{graph_name[:80]}-b")
    try:
        graph.add([corridor.graph("t1")])
        other.add([corridor.graph("t1", 2)])
        assert len(graph.read("t1").transitions) == 29
        assert len(other.read("t1").transitions) == 15
    finally:
        other.drop()
    assert len(graph.read("t1").transitions) == 29


def test_a_reset_during_a_build_completes(connection, graph, corridor):
    def build() -> str:
        try:
            for round_ in range(200):
                graph.add([corridor.graph(f"t{round_}-{i}") for i in range(4)], batch_rows=50)
        except (GraphNotFound, GraphConflict) as error:
            return str(error)
        return "went on to its end"

    with ThreadPoolExecutor(2) as pool:
        building = pool.submit(build)
        while graph.stats().tasks < 8:
            pass
        report = ReferenceGraph(connection, graph.name).drop()
        said = building.result(timeout=120)
    assert graph.name in said
    assert report.nodes > 8 * 35
    assert not graph.exists()


def test_nothing_is_left_of_a_dropped_graph(graph, corridor, ask):
    graph.add([corridor.graph(f"t{i}") for i in range(3)])
    [before] = ask("MATCH (n {graph: $g}) RETURN count(n) AS n", g=graph.name)
    report = graph.drop()
    assert report.nodes == before["n"] + 1
    assert report.relationships == 3 * (4 + 30 + 29)
    assert ask("MATCH (n) WHERE n.graph = $g OR n.name = $g RETURN count(n) AS n", g=graph.name) == [{"n": 0}]
    with pytest.raises(GraphNotFound, match=graph.name):
        graph.drop()


def test_a_drop_that_was_cut_off_is_finished_by_the_next(graph, corridor, client):
    graph.add([corridor.graph("t1")])
    client.write(lambda tx: tx.rows("begin_drop", graph=graph.name))
    with pytest.raises(GraphConflict, match="being dropped"):
        graph.add([corridor.graph("t2")])
    with pytest.raises(GraphNotFound):
        graph.stats()
    graph.drop()
    assert not graph.exists()


def test_writing_to_a_graph_that_is_not_there(connection, corridor):
    with pytest.raises(GraphNotFound, match="no-such-graph"):
        ReferenceGraph(connection, "no-such-graph").add([corridor.graph("t1")])


def test_creating_twice_is_one_graph(connection, graph):
    ReferenceGraph.create(connection, graph.name)
    assert [info.name for info in list_graphs(connection)].count(graph.name) == 1


def test_texts_with_cypher_in_them_are_only_texts(graph, corridor):
    nasty = "a` b' c\" \\ \n }) DETACH DELETE n //\t\u2028 $graph"
    graph.add([replace(corridor.graph(nasty), task=replace(corridor.graph(nasty).task, goal=nasty, text=nasty))])
    assert graph.read(nasty).task.text == nasty
    assert [task.key for task in graph.tasks()] == [nasty]
    assert graph.verify().ok


@pytest.mark.parametrize("name", ["", "a b", "x\n", "x`y", "x'y", "é", "-x", ".x", "x" * 101])
def test_a_bad_name_is_refused(connection, name):
    with pytest.raises(UsageError, match="graph name"):
        ReferenceGraph.create(connection, name)
