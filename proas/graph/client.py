"""Transactions on one database: read, write, and the one rule by which they are repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from neo4j import READ_ACCESS, WRITE_ACCESS, Driver, ManagedTransaction, Record, Session

from proas.cypher import saved_query, statement
from proas.errors import GraphVersionError
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.faults import DRIVER_FAULTS, Again, again, translated

__all__ = ["OLDEST_SERVER", "Client", "Transaction", "release_numbers"]

OLDEST_SERVER = (5, 23)
"""The first release with the subquery form that the statements use."""

FEW_ATTEMPTS = 8
"""Attempts at what is a race if it goes away."""

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0

T = TypeVar("T")

_answered: dict[Connection, str] = {}


class Transaction:
    """A transaction in which statements run by name."""

    def __init__(self, tx: ManagedTransaction) -> None:
        self._tx = tx

    def rows(self, name: str, **parameters: Any) -> list[Record]:
        """All records that a statement of ``cypher/queries`` gives."""
        return list(self._tx.run(statement(name), parameters))

    def saved(self, name: str, **parameters: Any) -> list[Record]:
        """All records that a saved query of ``cypher/browser`` gives."""
        return list(self._tx.run(saved_query(name), parameters))

    def row(self, name: str, **parameters: Any) -> Record | None:
        """The first record, or ``None``."""
        found = self.rows(name, **parameters)
        return found[0] if found else None


class Client:
    """Runs transactions on one database.

    A transaction is repeated after faults that another attempt can mend, with growing random pauses, until a
    deadline; work that is repeated must be safe to repeat, and all work of the store is.

    Args:
        connection: The database.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run a read transaction.

        Raises:
            GraphError: The database could not be asked.
        """
        return self._repeat(lambda driver: self._attempt(driver, READ_ACCESS, work))

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run a write transaction; all of it is stored, or nothing.

        Raises:
            GraphError: Nothing was stored, or the answer to the commit was lost until the deadline.
        """
        return self._repeat(lambda driver: self._attempt(driver, WRITE_ACCESS, work))

    def rows(self, name: str, **parameters: Any) -> list[Record]:
        """Records of one reading statement in a transaction of its own."""
        return self.read(lambda tx: tx.rows(name, **parameters))

    def schema(self, statements: tuple[str, ...]) -> None:
        """Run schema statements in one transaction of their own, where data cannot be written."""

        def work(tx: ManagedTransaction) -> None:
            for text in statements:
                tx.run(text).consume()  # packaged files, nothing pasted

        self._repeat(lambda driver: self._in_session(driver, WRITE_ACCESS, lambda s: s.execute_write(work)))

    def server_version(self) -> str:
        """Release of the server, for example ``5.26.30``; asked once a process.

        Raises:
            GraphVersionError: It is older than :data:`OLDEST_SERVER`.
        """
        self.read(lambda _: None)
        return _answered[self.connection]

    def _attempt(self, driver: Driver, access: str, work: Callable[[Transaction], T]) -> T:
        def managed(tx: ManagedTransaction) -> T:
            return work(Transaction(tx))

        def run(session: Session) -> T:
            return session.execute_write(managed) if access == WRITE_ACCESS else session.execute_read(managed)

        return self._in_session(driver, access, run)

    def _in_session(self, driver: Driver, access: str, run: Callable[[Session], T]) -> T:
        # Pages are fetched whole: the store bounds each by the statement, so that no cursor stays open.
        with driver.session(database=self.connection.database, default_access_mode=access, fetch_size=-1) as session:
            return run(session)

    def _repeat(self, attempt: Callable[[Driver], T]) -> T:
        began = time.monotonic()
        attempts = 0
        while True:
            attempts += 1
            try:
                driver = driver_of(self.connection)
                self._greet(driver)
                return attempt(driver)
            except DRIVER_FAULTS as error:
                known = self.connection in _answered
                deadline = self.connection.retry_deadline if known else self.connection.connect_deadline
                pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (attempts - 1)) * random.uniform(0.5, 1.0)  # noqa: S311
                how_long = again(error)
                too_late = time.monotonic() - began + pause > deadline
                few_used = how_long is Again.FEW and attempts >= FEW_ATTEMPTS
                if how_long is Again.NEVER or too_late or few_used:
                    raise translated(error, self.connection) from error
                time.sleep(pause)

    def _greet(self, driver: Driver) -> None:
        """Check the server's release at the first contact of this process."""
        if self.connection in _answered:
            return
        text = statement("server_version")
        found = self._in_session(driver, READ_ACCESS, lambda s: s.execute_read(lambda tx: tx.run(text).single()))
        release = str(found["version"]) if found else ""
        if release_numbers(release) < OLDEST_SERVER:
            oldest = ".".join(map(str, OLDEST_SERVER))
            raise GraphVersionError(
                f"the server at {self.connection.uri} is Neo4j {release or 'of an unknown release'}; "
                f"ProAS needs {oldest} or later",
                hint="upgrade it, or unset NEO4J_URI to use the local server",
            )
        _answered[self.connection] = release


def release_numbers(release: str) -> tuple[int, int]:
    """Major and minor number of a release such as ``5.26.30``, ``5.27-aura`` or ``2026.08.1``."""
    parts = [part for part in release.replace("-", ".").split(".")[:2] if part.isdigit()]
    return (int(parts[0]), int(parts[1]) if len(parts) > 1 else 0) if parts else (0, 0)
