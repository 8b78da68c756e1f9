"""Schema as numbered files, applied once each and recorded in the graph itself.

A migration is ``cypher/migrations/V0001__some_name.cypher``. The database keeps a chain

    (:__ProASMigration {version, description, checksum, ...})-[:MIGRATED_TO]->(:__ProASMigration ...)

of those applied. Neo4j keeps schema and data in transactions of their own kinds, so a schema migration and the record
of it are two transactions, schema first. Every schema statement says ``IF NOT EXISTS``: when the second transaction
is lost, the next run repeats the first without effect and writes the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from proas.cypher import migration_files, statement
from proas.errors import GraphConflict, GraphVersionError
from proas.graph.client import Client, Transaction
from proas.graph.connect import Connection

__all__ = [
    "REQUIRED_CONSTRAINTS",
    "Migration",
    "MigrationInfo",
    "migrate",
    "migration_info",
    "require_schema",
    "shipped_migrations",
    "split_statements",
    "validate",
]

REQUIRED_CONSTRAINTS = frozenset(
    {
        "arg_name_unique",
        "arg_task_key_unique",
        "arg_subgoal_key_unique",
        "arg_state_key_unique",
        "arg_transition_key_unique",
        "arg_success_key_unique",
        "arg_version_k_unique",
    }
)
"""Constraints without which nothing is written: MERGE without them makes duplicates."""

_FILE_NAME = re.compile(r"V(\d{4})__(\w+)\.cypher")
_PIECE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`)"""
    r"""|(?P<end>;)|(?P<text>[^;'"`/]+|.)""",
    re.DOTALL,
)

Outcome = Literal["applied", "pending", "changed", "unknown"]


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file.

    Attributes:
        version: Its number.
        description: Its name in words.
        source: Its file name.
        checksum: SHA-256 of its text with normalised line ends, in hex.
        statements: Its statements without comments.
    """

    version: int
    description: str
    source: str
    checksum: str
    statements: tuple[str, ...]

    @classmethod
    def parse(cls, source: str, text: str) -> Migration:
        """Migration of a file name and its text.

        Raises:
            GraphVersionError: The name does not follow ``V0001__some_name.cypher``.
        """
        found = _FILE_NAME.fullmatch(source)
        if found is None:
            raise GraphVersionError(f"{source} is not named like V0001__some_name.cypher")
        # Git on Windows and editors change line ends and the last newline; neither changes what the file does.
        plain = text.replace("\r\n", "\n").replace("\r", "\n").strip() + "\n"
        return cls(
            version=int(found.group(1)),
            description=found.group(2).replace("_", " "),
            source=source,
            checksum=sha256(plain.encode()).hexdigest(),
            statements=split_statements(plain),
        )


@dataclass(frozen=True, slots=True)
class MigrationInfo:
    """State of one migration in a database.

    Attributes:
        version: Its number.
        description: Its name in words.
        source: Its file name.
        state: ``applied``; ``pending``; ``changed`` after it was applied; ``unknown`` to this release.
        at: When it was applied, ISO 8601 with offset; empty while it is pending.
        by: Release of ProAS that applied it; empty while it is pending.
    """

    version: int
    description: str
    source: str
    state: Outcome
    at: str = ""
    by: str = ""


def split_statements(text: str) -> tuple[str, ...]:
    """Statements of a Cypher text, without comments; a semicolon inside quotes or comments ends nothing."""
    return tuple(s for s in (part.strip() for part in _split(text)) if s)


def _split(text: str) -> Iterator[str]:
    current: list[str] = []
    for piece in _PIECE.finditer(text):
        if piece.lastgroup == "end":
            yield "".join(current)
            current = []
        elif piece.lastgroup == "comment":
            current.append(" ")
        else:
            current.append(piece.group())
    yield "".join(current)


def shipped_migrations() -> tuple[Migration, ...]:
    """The migrations of this release in order of their numbers.

    Raises:
        GraphVersionError: A file name is malformed, or the numbers have gaps or repeats.
    """
    found = tuple(Migration.parse(name, text) for name, text in migration_files().items())
    if [m.version for m in found] != list(range(1, len(found) + 1)):
        raise GraphVersionError(f"migrations must be numbered 1..{len(found)}: {[m.source for m in found]}")
    return found


def migration_info(connection: Connection) -> tuple[MigrationInfo, ...]:
    """Every migration that this release ships or the database has, in order.

    Raises:
        GraphError: The database could not be asked.
    """
    shipped = {m.version: m for m in shipped_migrations()}
    recorded = {row["version"]: row for row in Client(connection).rows("migration_list")}
    infos: list[MigrationInfo] = []
    for version in sorted(shipped.keys() | recorded.keys()):
        row, mine = recorded.get(version), shipped.get(version)
        if row is None and mine is not None:
            infos.append(MigrationInfo(version, mine.description, mine.source, "pending"))
        elif row is not None:
            state: Outcome = "applied" if mine and mine.checksum == row["checksum"] else "changed"
            state = state if mine else "unknown"
            infos.append(MigrationInfo(version, row["description"], row["source"], state, row["at"], row["by"]))
    return tuple(infos)


def migrate(connection: Connection) -> tuple[MigrationInfo, ...]:
    """Apply what is pending; safe to call from many processes at once, and again.

    A constraint that somebody dropped after it was applied is made anew.

    Returns:
        All migrations, now applied.

    Raises:
        GraphConflict: An applied migration is not the file of this release.
        GraphVersionError: The database was migrated by a later release.
    """
    client = Client(connection)
    client.schema((statement("migration_constraint"),))  # before the first record of a migration
    pending = {info.version for info in _sound(migration_info(connection)) if info.state == "pending"}
    lost = bool(_missing_constraints(client))
    for migration in shipped_migrations():
        if migration.version in pending or lost:
            client.schema(migration.statements)  # each says IF NOT EXISTS
        if migration.version in pending:
            client.write(lambda tx, m=migration: _record(tx, m))  # type: ignore[misc]
    client.rows("await_indexes", seconds=300)
    return migration_info(connection)


def validate(connection: Connection) -> tuple[MigrationInfo, ...]:
    """Check that the database has exactly the migrations of this release and every constraint.

    Returns:
        All migrations.

    Raises:
        GraphConflict: An applied migration is not the file of this release.
        GraphVersionError: Something is pending, missing, or from a later release.
    """
    infos = _sound(migration_info(connection))
    pending = [info.source for info in infos if info.state == "pending"]
    if pending:
        raise GraphVersionError(
            f"database {connection.database!r} lacks the migrations {', '.join(pending)}",
            hint="run `proas db migrate`",
        )
    require_schema(Client(connection))
    return infos


def require_schema(client: Client) -> None:
    """Refuse to write where a uniqueness constraint is missing.

    Raises:
        GraphVersionError: A constraint is missing.
    """
    missing = _missing_constraints(client)
    if missing:
        raise GraphVersionError(
            f"database {client.connection.database!r} at {client.connection.uri} lacks the constraints "
            f"{', '.join(missing)}; without them concurrent writers make duplicates",
            hint="run `proas db migrate`",
        )


def _missing_constraints(client: Client) -> list[str]:
    present = {row["name"] for row in client.rows("constraint_names")}
    return sorted(REQUIRED_CONSTRAINTS - present)


def _sound(infos: tuple[MigrationInfo, ...]) -> tuple[MigrationInfo, ...]:
    for info in infos:
        if info.state == "changed":
            raise GraphConflict(
                f"migration {info.source} was changed after it was applied on {info.at}",
                hint="restore the file of the release that applied it; changes belong into a new migration",
            )
        if info.state == "unknown":
            raise GraphVersionError(
                f"the database has migration {info.source}, which this release does not know",
                hint=f"use ProAS {info.by} or later",
            )
    return infos


def _record(tx: Transaction, migration: Migration) -> None:
    from proas import __version__

    tx.rows(
        "migration_record",
        version=migration.version,
        description=migration.description,
        source=migration.source,
        checksum=migration.checksum,
        by=__version__,
    )
