"""Wait for a server's first answer, and say why it did not come."""

from __future__ import annotations

import re
import time

import psutil
from neo4j import GraphDatabase, NotificationMinimumSeverity
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from proas.errors import LocalServerError
from proas.localdb.home import Home
from proas.localdb.info import ServerInfo
from proas.localdb.ports import is_free
from proas.localdb.process import alive

__all__ = ["PortTaken", "answers", "await_answer", "explain", "listens", "log_mark"]

_PORT_TAKEN = re.compile(r"PortBindException|BindException|Address already in use|Failed to bind")
_PAUSE = 0.1
_LINES = 20


class PortTaken(LocalServerError):
    """Somebody took a port between its choice and the server's start."""


def listens(process: psutil.Process, port: int) -> bool:
    """Whether it is this process that listens on a port.

    Asked before the password is sent: another program may have taken the port meanwhile.
    """
    try:
        connections = process.net_connections(kind="tcp")
    except psutil.AccessDenied:
        # Some systems show this to nobody but the administrator; that somebody listens is all there is to know then.
        return not is_free(port)
    except psutil.Error:
        return False
    return any(entry.status == psutil.CONN_LISTEN and entry.laddr.port == port for entry in connections)


def answers(info: ServerInfo) -> bool:
    """Whether the server answers a query now.

    Raises:
        LocalServerError: It refuses the password.
    """
    auth = (info.username, info.password.get_secret_value())
    try:
        with GraphDatabase.driver(
            info.uri,
            auth=auth,
            connection_timeout=5.0,
            connection_acquisition_timeout=10.0,
            max_transaction_retry_time=0.0,
            notifications_min_severity=NotificationMinimumSeverity.OFF,
            user_agent="proas/localdb",
        ) as driver:
            driver.execute_query("RETURN 1", database_=info.database)
    except AuthError as error:
        # Once only: repeated failures lock the account.
        raise LocalServerError(
            f"the server at {info.uri} refuses the password in {info.home / 'password'}: {error.message}",
            hint="if it was changed by other means, write the present one into that file",
        ) from None
    except (DriverError, Neo4jError, OSError):
        return False
    return True


def log_mark(home: Home) -> int:
    """Present length of the server's log, so that ``explain`` reads only what comes after."""
    log = home.logs / "neo4j.log"
    return log.stat().st_size if log.exists() else 0


def await_answer(
    process: psutil.Process, home: Home, info: ServerInfo, ports: tuple[int, int], deadline: float
) -> None:
    """Wait until a started server answers.

    Args:
        process: Its process.
        home: Its instance.
        info: How to reach it.
        ports: Its Bolt and HTTP ports; both have to be open.
        deadline: When to give up, on the monotonic clock.

    Raises:
        LocalServerError: The process ended, or it did not answer in time.
    """
    while time.monotonic() < deadline:
        if not alive(process):
            raise LocalServerError("the server ended while it started")
        if all(listens(process, port) for port in ports) and answers(info):
            return
        time.sleep(_PAUSE)
    raise LocalServerError(f"the server (process {process.pid}) did not answer in time", hint=f"see {home.logs}")


def explain(home: Home, mark: int, failure: LocalServerError) -> LocalServerError:
    """Add to a failed start what the server's logs say about it.

    Args:
        home: The instance.
        mark: Length of the log before the start.
        failure: What is known without the logs.

    Returns:
        The error to raise; a ``PortTaken`` when that was the reason.
    """
    text = ""
    for name, start in (("console.log", 0), ("neo4j.log", mark)):
        log = home.logs / name
        if log.exists():
            with log.open("rb") as file:
                # A log that was rotated meanwhile is shorter than the mark: read it whole.
                file.seek(start if log.stat().st_size >= start else 0)
                text += file.read().decode("utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return failure
    told = [line for line in lines if not line.startswith(("\tat ", "\t..."))]
    causes = [line.removeprefix("Caused by: ") for line in told if line.startswith("Caused by: ")]
    errors = [line for line in told if " ERROR " in line or "Exception" in line or line.startswith("Error")]
    reason = (causes or errors or told)[-1].strip()
    kind = PortTaken if _PORT_TAKEN.search(text) else LocalServerError
    tail = "\n".join(f"    {line}" for line in told[-_LINES:])
    return kind(f"{failure.message}: {reason}\n  last lines of its log:\n{tail}\n", hint=f"see {home.logs}")
