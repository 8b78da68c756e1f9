"""The py2neo object view on the real server, and what py2neo itself can no longer do there."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from proas.errors import GraphAuthError, GraphError, GraphNotFound, GraphUnavailable, UsageError
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.migrations import migrate
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph.store import ReferenceGraph
from proas.integrations.py2neo_view import ARG, View, open_view
from proas.localdb import ServerInfo
from proas.rollouts import Rollout, RolloutBatch, State, Step
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal

py2neo: Any = pytest.importorskip("py2neo", reason="the extra py2neo is not installed")

LADDER = Ladder(
    (
        Subgoal(0, "find an apple", ("look for an apple", 'find "it"')),
        Subgoal(1, "take it", condition=(("holding {o:apple}",),)),
        Subgoal(2, "done"),
    )
)


@pytest.fixture(scope="module")
def connection(neo4j_server: ServerInfo) -> Connection:
    found = Connection(neo4j_server.uri, neo4j_server.password, neo4j_server.username, neo4j_server.database)
    migrate(found)
    return found


def _states(task: str) -> list[State]:
    facts = (["at start"], ["at table 1"], ["at table 1", "holding apple 1"], [GOAL_REACHED])
    return [State.of("alfworld", task, some) for some in facts]


def _task_graph(task: str) -> TaskGraph:
    states = _states(task)
    actions = ("go to table 1", "take apple 1 from table 1", "put apple 1 in/on <b>desk</b> 1")
    steps = zip(states, actions, states[1:], strict=False)
    return TaskGraph(
        task=Task(task, "alfworld", "place apple on desk", "put an apple on the desk"),
        ladder=LADDER,
        start=states[0],
        states={state.key: state for state in states},
        transitions=tuple(Transition(a.key, action, b.key, "plan") for a, action, b in steps),
    )


def _success(task: str, name: str) -> Rollout:
    start, _, held, done = _states(task)
    steps = (
        Step(action="jump", canonical="jump", state=held, valid=True),
        Step(action="x", canonical="put apple 1 in/on <b>desk</b> 1", state=done, valid=True),
    )
    return Rollout(id=name, env="alfworld", task=task, goal="g", start=start, steps=steps, success=True)


@pytest.fixture(scope="module")
def graphs(connection: Connection) -> Iterator[tuple[ReferenceGraph, ReferenceGraph]]:
    """A base of five tasks, and a layer that found a shortcut."""
    name = f"test-py2neo-{uuid.uuid4().hex[:8]}"
    base = ReferenceGraph.create(connection, name)
    try:
        assert base.add(_task_graph(f"apple {n}") for n in range(5)).added_tasks == 5
        layer = ReferenceGraph.create(connection, f"{name}-layer", base=name)
        layer.evolve(RolloutBatch((_success("apple 0", "one"), _success("new", "two"))))
        base.evolve(RolloutBatch((_success("apple 1", "later"),)))  # after the layer was made: it does not see this
        yield base, layer
    finally:
        base.drop(force=True)


@pytest.fixture(scope="module")
def view(connection: Connection) -> Iterator[View]:
    with open_view(connection) as found:
        yield found


def _arg(view: View, graph: ReferenceGraph) -> ARG:
    found = ARG.match(view, graph.name).first()
    assert found is not None
    return found


# The view


def test_a_walk_from_the_graph_to_the_goal(view: View, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    arg = _arg(view, graphs[0])
    assert (arg.version, arg.base, arg.base_version) == (1, None, None)
    assert [task.key for task in arg.tasks] == [f"apple {n}" for n in range(5)]
    task = arg.tasks[2]
    assert (task.goal, task.text, task.env) == ("place apple on desk", "put an apple on the desk", "alfworld")
    assert [(m.index, m.description) for m in task.subgoals] == [(0, "find an apple"), (1, "take it"), (2, "done")]
    assert list(task.subgoals[0].phrases) == ["look for an apple", 'find "it"']
    assert [len(m.states) for m in task.subgoals] == [2, 1, 1]
    state, walked = task.start_state, []
    assert state.initial
    assert state == task.subgoals[0].states[0]
    while state.transitions:
        step = state.transitions[0]
        walked.append((step.action, step.source, step.support))
        state = step.target
    assert walked[0][0] == "go to table 1"
    assert walked[-1] == ("put apple 1 in/on <b>desk</b> 1", "plan", 1)
    assert list(state.facts) == [GOAL_REACHED]


def test_it_shows_what_the_store_reads(view: View, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    for graph in graphs:
        arg = _arg(view, graph)
        assert [task.key for task in arg.tasks] == [task.key for task in graph.tasks()]
        for task in arg.tasks:
            read = graph.read(task.key)
            states = [state for subgoal in task.subgoals for state in subgoal.states]
            assert {state.key: tuple(state.facts) for state in states} == {k: s.facts for k, s in read.states.items()}
            found = {(t.key, t.action, t.target.key, t.support) for state in states for t in state.transitions}
            assert found == {(t.key, t.action, t.target_state, t.support) for t in read.transitions}
            assert task.start_state.key == read.start.key


def test_a_layer_says_where_each_element_lives(view: View, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    base, layer = graphs
    arg = _arg(view, layer)
    assert (arg.base, arg.base_version) == (base.name, 0)
    assert {task.key: task.graph for task in arg.tasks}["new"] == layer.name
    ways = arg.task("apple 0").start_state.transitions
    assert {way.action: way.graph for way in ways} == {"go to table 1": base.name, "jump": layer.name}
    last = arg.task("apple 0").subgoals[1].states[0].transitions[0]
    assert last.support == 2  # the plan's in the base, and the rollout's in the layer
    assert "jump" not in [way.action for way in arg.task("apple 1").start_state.transitions]


def test_graphs_and_tasks_are_found_by_name(view: View, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    base, layer = graphs
    assert {base.name, layer.name} <= {arg.name for arg in view.graphs}
    arg = _arg(view, base)
    assert [task.key for task in arg.match_tasks("apple 3")] == ["apple 3"]
    assert len(arg.match_tasks("apple ")) == 5
    assert arg.task("apple 4").key == "apple 4"
    with pytest.raises(GraphNotFound, match="has no task 'pear'"):
        arg.task("pear")
    assert not ARG.match(view, "no-such-graph")


def test_listings_are_bounded_and_say_so(connection: Connection, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    with open_view(connection, limit=3) as view:
        arg = _arg(view, graphs[0])
        assert len(arg.tasks) == 3
        assert arg.tasks.more
        assert repr(arg.tasks).endswith(", ...]")
        assert not arg.match_tasks("apple 1").more
        assert [m.index for m in arg.tasks[0].subgoals[1:]] == [1, 2]
    with open_view(connection, limit=1) as view:
        states = _arg(view, graphs[0]).tasks[0].subgoals[0].states
        assert (len(states), states.more) == (1, True)


def test_listings_are_tables_in_notebooks(view: View, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    states = _arg(view, graphs[0]).tasks[0].subgoals[1].states
    html = states[0].transitions._repr_html_()
    assert html.startswith("<table><tr><td>Transition(")
    assert "&lt;b&gt;desk" in html
    assert "<b>" not in html


def test_nothing_shows_the_password(connection: Connection, view: View) -> None:
    assert connection.password.get_secret_value() not in repr(view) + repr(view.graphs) + repr(view.py2neo)


def test_names_are_values_not_cypher(view: View) -> None:
    for name in ("'] DETACH DELETE n //", "`", "$graph", "x'}) MATCH (n) RETURN n //"):
        assert not ARG.match(view, name)


def test_a_wrong_password_is_said_once_and_clearly(connection: Connection) -> None:
    with pytest.raises(GraphAuthError):
        # Another user name, so that no try counts against the real one.
        open_view(replace(connection, username="nobody", password=SecretStr("wrong")))


def test_a_dead_server_is_unavailable(connection: Connection) -> None:
    with pytest.raises(GraphUnavailable):
        open_view(replace(connection, uri="bolt://127.0.0.1:9", connect_deadline=0.3))


def test_a_refused_query_is_one_of_our_errors(view: View) -> None:
    with pytest.raises(GraphError, match="refused a query"):
        view.listing("view_graphs", dict)  # without the parameter that it takes


def test_a_limit_must_be_positive(connection: Connection) -> None:
    with pytest.raises(UsageError, match="must be positive"):
        open_view(connection, limit=0)


def test_without_py2neo_the_error_names_the_extra(connection: Connection) -> None:
    program = (
        "import sys; sys.modules['py2neo'] = None\n"  # what an import of something absent amounts to
        "from pydantic import SecretStr\n"
        "from proas.errors import UsageError\n"
        "from proas.graph.connect import Connection\n"
        "from proas.integrations.py2neo_view import open_view\n"
        "try: open_view(Connection('bolt://127.0.0.1:9', SecretStr('x')))\n"
        "except UsageError as error: print(error)\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "the object view needs py2neo (pip install 'proas[py2neo]')"


# What py2neo 2021.2.4 can no longer do (docs/py2neo.md); each of these fails when a later py2neo or server mends it.


@pytest.fixture(scope="module")
def graph(view: View) -> Any:
    return view.py2neo


def _error(call: Callable[[], object]) -> str:
    with pytest.raises(py2neo.errors.ClientError) as caught:
        call()
    return str(caught.value)


GONE: list[tuple[str, Callable[[Any], object], str]] = [
    ("create_index", lambda g: g.schema.create_index("P2N", "a"), "Invalid create index syntax"),
    ("drop_index", lambda g: g.schema.drop_index("P2N", "a"), "Indexes cannot be dropped by schema"),
    ("get_indexes", lambda g: g.schema.get_indexes("P2N"), "no procedure with the name `db.indexes`"),
    ("create_constraint", lambda g: g.schema.create_uniqueness_constraint("P2N", "a"), "Invalid constraint syntax"),
    ("drop_constraint", lambda g: g.schema.drop_uniqueness_constraint("P2N", "a"), "cannot be dropped by schema"),
    ("get_constraints", lambda g: g.schema.get_uniqueness_constraints("P2N"), "`db.indexes`"),
    ("procedures", lambda g: dir(g.call), "no procedure with the name `dbms.procedures`"),
    ("old parameters", lambda g: g.run("RETURN {x} AS x", x=1), "Invalid input"),
]


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in GONE], ids=[case[0] for case in GONE])
def test_calls_that_the_server_no_longer_knows(graph: Any, call: Callable[[Any], object], message: str) -> None:
    assert message in _error(lambda: call(graph))


def test_it_speaks_bolt_4_3_at_most(graph: Any) -> None:
    (pool,) = graph.service.connector._pools.values()
    connection = pool.acquire()
    connection.release()
    assert connection.protocol_version == (4, 3)


def test_http_addresses_no_longer_work(neo4j_server: ServerInfo) -> None:
    if not neo4j_server.http_url:
        pytest.skip("the test server does not say its HTTP address")
    auth = (neo4j_server.username, neo4j_server.password.get_secret_value())
    assert "Not Found" in _error(lambda: py2neo.Graph(neo4j_server.http_url, auth=auth).run("RETURN 1").data())


def test_it_hides_why_a_login_fails(connection: Connection) -> None:
    with pytest.raises(py2neo.errors.ConnectionUnavailable) as caught:
        py2neo.Graph(connection.uri, auth=("nobody", "wrong"))
    assert str(caught.value) == "Connection has been closed"


def test_asking_for_the_release_opens_a_second_pool_that_nothing_closes(connection: Connection) -> None:
    program = (
        "import gc, os, sys, py2neo\n"
        "graph = py2neo.Graph(sys.argv[1], auth=(sys.argv[2], os.environ['PASSWORD']))\n"
        "print(graph.service.kernel_version)\n"
        "graph.service.connector.close()\n"
        "del graph; gc.collect()\n"
    )
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", program, connection.uri, connection.username]
    environment = {"PASSWORD": connection.password.get_secret_value()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout[0].isdigit()
    assert "ResourceWarning: unclosed <socket" in done.stderr


def test_it_cannot_write_instants_with_a_zone(graph: Any) -> None:
    with pytest.raises(TypeError, match="utcoffset"):
        graph.evaluate("RETURN $d", d=datetime(2026, 3, 1, tzinfo=UTC))


def test_it_reads_some_instants_a_nanosecond_early(graph: Any) -> None:
    found = graph.evaluate("RETURN datetime('2026-11-29T18:31:10.014Z') AS d")
    assert found.iso_format() == "2026-11-29T18:31:10.013999999+00:00"


def test_it_loses_the_zone_of_an_instant(graph: Any) -> None:
    found = graph.evaluate("RETURN datetime('2026-07-01T10:00:00[Europe/Berlin]') AS d")
    assert found.to_native().tzinfo is None


def test_element_ids_are_unknown_to_its_objects(connection: Connection, graph: Any) -> None:
    node = graph.evaluate("MATCH (g:ARG) RETURN g LIMIT 1") or py2neo.Node("ARG")
    assert not hasattr(node, "element_id")


def test_it_pulls_a_whole_result_at_once(graph: Any) -> None:
    cursor = graph.run("UNWIND range(1, 50000) AS n RETURN n")
    assert cursor.forward()
    assert sum(len(item.records) for item in cursor._result._items) == 49_999


def test_what_still_works(connection: Connection, graph: Any, graphs: tuple[ReferenceGraph, ReferenceGraph]) -> None:
    name = graphs[0].name
    assert graph.call.dbms.components().data()[0]["name"] == "Neo4j Kernel"
    assert {"State", "Task"} <= set(graph.schema.node_labels)
    assert graph.nodes.match("Task", graph=name).count() == 5
    # No rollout reached apple 2: what its start leads to is one transition, whichever node the server finds first.
    state = graph.nodes.match("State", graph=name, initial=True, task="apple 2").first()
    assert [r["action"] for r in graph.match((state,), r_type="TRANSITION")] == ["go to table 1"]
    assert "SHOW" not in _error(lambda: graph.query("CREATE (n:P2N)"))  # refused: `query` reads only
    assert graph.run("SHOW CONSTRAINTS").data()
    assert driver_of(connection).execute_query("MATCH (n:P2N) RETURN n", database_=connection.database).records == []
