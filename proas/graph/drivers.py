"""One driver a process and database: opened at first use, never carried over a fork, closed at exit."""

from __future__ import annotations

import atexit
import os
import threading
from importlib.metadata import PackageNotFoundError, version

from neo4j import Driver, GraphDatabase, NotificationDisabledClassification, NotificationMinimumSeverity

from proas.graph.connect import Connection

__all__ = ["driver_of", "forget_driver"]

_drivers: dict[Connection, Driver] = {}
_orphans: list[Driver] = []
_lock = threading.Lock()


def driver_of(connection: Connection) -> Driver:
    """The driver of this process for a database; made without contact to the server.

    Raises:
        neo4j.exceptions.ConfigurationError: The settings do not fit together.
    """
    with _lock:
        driver = _drivers.get(connection)
        if driver is None:
            driver = _drivers[connection] = _open(connection)
        return driver


def forget_driver(connection: Connection) -> None:
    """Close the driver of a database if this process has one; the next call opens another."""
    with _lock:
        driver = _drivers.pop(connection, None)
    if driver is not None:
        driver.close()


def _open(connection: Connection) -> Driver:
    warn = NotificationMinimumSeverity.INFORMATION if connection.notifications == "warn" else None
    shown = NotificationMinimumSeverity.INFORMATION if warn else NotificationMinimumSeverity.OFF
    return GraphDatabase.driver(
        connection.uri,
        auth=(connection.username, connection.password.get_secret_value()),
        user_agent=f"proas/{_version()}",
        max_connection_pool_size=connection.pool_size,
        connection_timeout=10.0,
        connection_acquisition_timeout=30.0,
        # Repeating is decided in one place, proas.graph.client.
        max_transaction_retry_time=0.0,
        # A connection that idled through a trainer's long update may have been cut by a firewall.
        liveness_check_timeout=60.0,
        notifications_min_severity=shown,
        # A database before its first migration or first graph has not seen our names yet, and `IF NOT EXISTS` that
        # finds something is no fault.
        notifications_disabled_classifications=[
            NotificationDisabledClassification.UNRECOGNIZED,
            NotificationDisabledClassification.SCHEMA,
        ],
        warn_notification_severity=warn,
        telemetry_disabled=True,
    )


def _version() -> str:
    try:
        return version("proas")
    except PackageNotFoundError:  # a checkout on the path, not installed
        return "0"


def _close_all() -> None:
    for connection in list(_drivers):
        forget_driver(connection)


def _after_fork_in_child() -> None:
    # The sockets belong to the parent: using or closing them would break its conversations. They are kept, so that no
    # finaliser touches them, and the lock is replaced, as another thread of the parent may have held it.
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    _orphans.extend(_drivers.values())
    _drivers.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork_in_child)
