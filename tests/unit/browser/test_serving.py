"""The server of guide and style: only its files, only to this machine, with what a browser asks for."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator

import pytest

from proas.browser import AssetServer, browser_address
from proas.errors import LocalServerError


def broken(_address: str) -> str:
    raise LocalServerError("the database is away")


@pytest.fixture
def server() -> Iterator[AssetServer]:
    files = {"guide.html": lambda address: f"<p>{address} é</p>", "proas.grass": lambda _: "node {}", "away": broken}
    with AssetServer(files) as running:
        yield running


def ask(server: AssetServer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def test_files_are_made_when_they_are_asked_for_with_their_own_address(server):
    status, headers, text = ask(server, "/guide.html?x=1")
    assert (status, text) == (200, f"<p>http://localhost:{server.port} é</p>")
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["cache-control"] == "no-store"
    assert ask(server, "/proas.grass")[2] == "node {}"
    status, headers, text = ask(server, "/proas.grass", "HEAD")
    assert (status, headers["content-length"], text) == (200, "7", "")
    assert server.address("guide.html") == f"http://localhost:{server.port}/guide.html"


@pytest.mark.parametrize("path", ["/", "/../proas.grass", "/etc/passwd", "/guide.html/", "/%67uide.html"])
def test_there_is_nothing_else(server, path):
    assert ask(server, path)[0] == 404


def test_what_cannot_be_made_is_said_and_the_server_goes_on(server):
    status, _, text = ask(server, "/away")
    assert status == 503
    assert "the database is away" in text
    assert ask(server, "/proas.grass")[0] == 200
    assert ask(server, "/proas.grass", "POST")[0] == 501


def test_only_pages_of_this_machine_may_read_it(server):
    allowed = "access-control-allow-origin"
    for origin in ("http://127.0.0.1:7474", "http://localhost:7474", "https://browser.neo4j.io"):
        assert ask(server, "/guide.html", Origin=origin)[1][allowed] == origin
    for origin in ("https://evil.example", "http://127.0.0.1.evil.example", "null", "https://notneo4j.io"):
        assert allowed not in ask(server, "/guide.html", Origin=origin)[1]
    assert ask(server, "/guide.html", Host="evil.example")[0] == 403
    assert ask(server, "/guide.html", "OPTIONS", Host=f"evil.example:{server.port}")[0] == 403


def test_a_browser_s_question_before_it_fetches_is_answered(server):
    asked = "cache-control,pragma,sentry-trace"
    origin = "http://127.0.0.1:7474"
    headers = {"Origin": origin, "Access_Control_Request_Headers": asked, "Access_Control_Request_Method": "GET"}
    status, said, _ = ask(server, "/guide.html", "OPTIONS", **headers)
    assert status == 204
    assert said["access-control-allow-origin"] == origin
    assert said["access-control-allow-headers"] == asked
    status, said, _ = ask(server, "/guide.html", "OPTIONS", Access_Control_Request_Headers="a: b")
    assert "access-control-allow-headers" not in said


def test_it_listens_on_loopback_alone_and_lets_go_of_its_port(server):
    assert server._server.server_address[0] == "127.0.0.1"
    with pytest.raises(LocalServerError, match=str(server.port)):
        AssetServer({}, port=server.port)
    with AssetServer({}) as other:
        port = other.port
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))


def test_browser_s_address_names_server_user_database_and_guide():
    said = {"connect_to": "bolt://127.0.0.1:7687", "username": "a b", "database": "neo4j"}
    url = browser_address("http://127.0.0.1:7474/browser/", guide="http://localhost:9/guide.html", **said)
    assert url == (
        "http://127.0.0.1:7474/browser/?connectURL=bolt%3A%2F%2Fa%2520b%40127.0.0.1%3A7687&db=neo4j"
        "&cmd=guide&arg=http://localhost:9/guide.html"
    )
    aura = browser_address("https://browser.neo4j.io/?connectURL=x", **said)
    assert aura == "https://browser.neo4j.io/?connectURL=x&db=neo4j"
