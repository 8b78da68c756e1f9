"""Free ports on the loopback interface."""

from __future__ import annotations

import os
import socket
from contextlib import closing

from proas.errors import LocalServerError
from proas.localdb.home import Ports

__all__ = ["USUAL", "choose_ports", "is_free"]

HOST = "127.0.0.1"
USUAL = Ports(bolt=7687, http=7474)


def is_free(port: int) -> bool:
    """Whether nobody listens on a loopback port and a server could."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        if os.name == "posix":
            # As the server does: what is left of closed connections does not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    # Some systems let a second socket bind beside one that listens on all addresses.
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((HOST, port)) != 0


def _any_free(taken: set[int]) -> int:
    for _ in range(50):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
        if port not in taken and is_free(port):
            return port
    raise LocalServerError("no free loopback port was found", hint="end some programs that listen, and try again")


def _choose(name: str, wanted: int | None, usual: int, taken: set[int]) -> int:
    if wanted is None:
        return usual if usual not in taken and is_free(usual) else _any_free(taken)
    if wanted in taken or not is_free(wanted):
        raise LocalServerError(
            f"the {name} port {wanted} is taken", hint="choose another one, or none to have a free one found"
        )
    return wanted


def choose_ports(bolt: int | None = None, http: int | None = None, *, usual: bool = True) -> Ports:
    """Choose ports: those asked for, else the usual ones where free, else any free ones.

    Somebody else can take a port before the server does, so the caller has to be ready for that.

    Args:
        bolt: Bolt port that was asked for.
        http: HTTP port that was asked for.
        usual: Whether to try 7687 and 7474 first.

    Raises:
        LocalServerError: A port that was asked for is taken.
    """
    first = _choose("Bolt", bolt, USUAL.bolt if usual else 0, set() if usual else {0})
    return Ports(first, _choose("HTTP", http, USUAL.http if usual else 0, {first} if usual else {first, 0}))
