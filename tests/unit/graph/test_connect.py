"""Settings: where they come from, what they show, and that they travel."""

from __future__ import annotations

import pickle

import pytest
from pydantic import SecretStr

from proas.errors import UsageError
from proas.graph.connect import Connection
from proas.graph.names import check_graph_name
from proas.graph.store import ReferenceGraph

HERE = "bolt://127.0.0.1:7687"


def test_explicit_arguments_come_before_the_environment():
    env = {"NEO4J_URI": "bolt://elsewhere:7687", "NEO4J_USERNAME": "eve", "NEO4J_PASSWORD": "a", "NEO4J_DATABASE": "d"}
    found = Connection.resolve(environ=env)
    assert (found.uri, found.username, found.database) == ("bolt://elsewhere:7687", "eve", "d")
    assert found.password.get_secret_value() == "a"
    found = Connection.resolve(uri=HERE, username="adam", password="b", database="e", environ=env)
    assert (found.uri, found.username, found.database) == (HERE, "adam", "e")
    assert found.password.get_secret_value() == "b"


def test_a_password_file(tmp_path):
    file = tmp_path / "password"
    file.write_text("secret-1\n", encoding="utf-8")
    found = Connection.resolve(environ={"NEO4J_URI": HERE, "NEO4J_PASSWORD_FILE": str(file)})
    assert found.password.get_secret_value() == "secret-1"
    file.write_text(" \n", encoding="utf-8")
    with pytest.raises(UsageError, match="empty"):
        Connection.resolve(environ={"NEO4J_URI": HERE, "NEO4J_PASSWORD_FILE": str(file)})
    with pytest.raises(UsageError, match="cannot read"):
        Connection.resolve(environ={"NEO4J_URI": HERE, "NEO4J_PASSWORD_FILE": str(tmp_path / "none")})


def test_an_address_without_a_password():
    with pytest.raises(UsageError, match="NEO4J_PASSWORD"):
        Connection.resolve(environ={"NEO4J_URI": HERE})


@pytest.mark.parametrize(
    "uri",
    ["", "127.0.0.1:7687", "http://x:7474", "bolt://", "bolt://x:port", "bolt://neo4j:pw-1@x:7687", "bolt://[::1"],
)
def test_a_bad_address_is_refused_without_showing_a_login(uri):
    with pytest.raises(UsageError) as caught:
        Connection(uri, SecretStr("x"))
    assert "pw-1" not in str(caught.value)


def test_a_bad_address_is_named_before_a_missing_password():
    with pytest.raises(UsageError, match="not the address"):
        Connection.resolve(environ={"NEO4J_URI": "localhost"})


def test_the_password_is_never_shown_and_travels():
    connection = Connection(HERE, SecretStr("secret-1"))
    for shown in (repr(connection), str(connection), repr(ReferenceGraph(connection, "g"))):
        assert "secret-1" not in shown
    back = pickle.loads(pickle.dumps(connection))
    assert back == connection
    assert hash(back) == hash(connection)


@pytest.mark.parametrize("name", ["a", "alfworld", "run-2026.10.01_b", "0", "x" * 100])
def test_good_names(name):
    assert check_graph_name(name) == name


def test_a_bare_password_is_refused_at_once():
    with pytest.raises(UsageError, match="SecretStr") as caught:
        Connection("bolt://127.0.0.1:7687", "open secret")  # type: ignore[arg-type]
    assert "open secret" not in str(caught.value)
