from __future__ import annotations

import socket

import pytest

from proas.errors import LocalServerError
from proas.localdb import ports as module
from proas.localdb.home import Ports
from proas.localdb.ports import choose_ports, is_free


@pytest.fixture
def listener():
    """Listen on a port of one's own."""
    opened = []

    def listen(host: str = "127.0.0.1") -> int:
        made = socket.socket()
        made.bind((host, 0))
        made.listen()
        opened.append(made)
        return made.getsockname()[1]

    yield listen
    for made in opened:
        made.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_with_a_listener_is_taken(listener, host):
    port = listener(host)
    assert not is_free(port)


def test_a_port_is_free_again_after_its_connections_closed(listener):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert not is_free(port)
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = server.accept()
            accepted.close()  # the server's side closes first, so its end stays in TIME_WAIT
    assert is_free(port)


def test_the_usual_ports_come_first(listener, monkeypatch):
    free = choose_ports(usual=False)
    monkeypatch.setattr(module, "USUAL", free)
    assert choose_ports() == free


def test_taken_usual_ports_are_left_alone(listener, monkeypatch):
    usual = Ports(listener(), listener())
    monkeypatch.setattr(module, "USUAL", usual)
    chosen = choose_ports()
    assert len({chosen.bolt, chosen.http, usual.bolt, usual.http}) == 4
    assert is_free(chosen.bolt)
    assert is_free(chosen.http)


def test_one_usual_port_taken(listener, monkeypatch):
    free = choose_ports(usual=False)
    usual = Ports(listener(), free.http)
    monkeypatch.setattr(module, "USUAL", usual)
    chosen = choose_ports()
    assert chosen.bolt != usual.bolt
    assert chosen.http == usual.http


def test_unusual_ports_differ_from_the_usual_ones():
    chosen = choose_ports(usual=False)
    assert chosen.bolt not in (0, 7687)
    assert chosen.http not in (0, 7474, chosen.bolt)


def test_ports_that_were_asked_for(listener):
    free = choose_ports(usual=False)
    assert choose_ports(free.bolt, free.http) == free
    with pytest.raises(LocalServerError, match=f"the Bolt port {(taken := listener())} is taken"):
        choose_ports(bolt=taken)
    with pytest.raises(LocalServerError, match=f"the HTTP port {taken} is taken"):
        choose_ports(http=taken)
    with pytest.raises(LocalServerError, match="HTTP port"):
        choose_ports(free.bolt, free.bolt)
