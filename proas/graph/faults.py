"""What a fault of the driver or server means: whether to try again, and the error that the user sees.

The one place that knows the driver's exceptions and the server's codes.
"""

from __future__ import annotations

import ssl
from enum import Enum

from neo4j.exceptions import (
    AuthConfigurationError,
    AuthError,
    ClientError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    ConstraintError,
    CypherSyntaxError,
    DriverError,
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
    UnsupportedServerProduct,
)

from proas.errors import (
    DataError,
    GraphAuthError,
    GraphCapacityError,
    GraphConflict,
    GraphError,
    GraphNotFound,
    GraphUnavailable,
    GraphVersionError,
    UsageError,
)
from proas.graph.connect import Connection

__all__ = ["DRIVER_FAULTS", "Again", "again", "is_capacity", "translated"]

DRIVER_FAULTS = (Neo4jError, DriverError, OSError, UnicodeEncodeError)
"""All that a call of the driver may raise for reasons outside our code."""

_MEMORY_CODES = ("MemoryPoolOutOfMemoryError", "TransactionMemoryLimit", "OutOfMemoryError", "StackOverFlowError")
_RACE_CODES = (
    "Neo.ClientError.Statement.EntityNotFound",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
    "Neo.ClientError.Schema.IndexWithNameAlreadyExists",
    "Neo.ClientError.Schema.ConstraintWithNameAlreadyExists",
)


# Causes of causes that are looked through.
_DEPTH = 8


class Again(Enum):
    """How long a failed attempt is worth repeating."""

    NEVER = "never"
    FEW = "few"
    """A handful of times: it is a race if it goes away, and a lasting fault if it does not."""
    UNTIL_DEADLINE = "until the deadline"


def is_capacity(error: BaseException) -> bool:
    """Whether the server ran out of memory for the transaction."""
    code = getattr(error, "code", None) or ""
    return any(part in code for part in _MEMORY_CODES)


def again(error: BaseException) -> Again:
    """Whether to repeat the transaction that failed with this error.

    Every write of the store can be repeated, so a commit whose answer was lost is tried again like any other loss of
    the connection. Beyond what the driver itself calls retryable:

    - ``EntityNotFound``: the server reports an element that a concurrent transaction removed as a client's error.
    - Constraint violations: two writers created the same key at once; the next attempt finds it there.
    - Schema commands that ran into each other, although each says ``IF NOT EXISTS``.
    """
    if isinstance(error, AuthError):
        return Again.NEVER  # repeated logins lock the account
    if isinstance(_refused_encryption(error), ssl.SSLCertVerificationError):
        return Again.NEVER  # it will be the same certificate
    if is_capacity(error):
        return Again.NEVER  # the same transaction needs the same memory; the caller halves it
    if isinstance(error, ServiceUnavailable | SessionExpired | ConnectionAcquisitionTimeoutError | TransientError):
        return Again.UNTIL_DEADLINE
    if isinstance(error, ConstraintError):
        return Again.FEW
    if isinstance(error, Neo4jError) and error.code in _RACE_CODES:
        return Again.FEW
    if isinstance(error, Neo4jError | DriverError) and error.is_retryable():
        return Again.UNTIL_DEADLINE
    return Again.UNTIL_DEADLINE if isinstance(error, OSError) else Again.NEVER


def translated(error: BaseException, connection: Connection) -> Exception:
    """The error of :mod:`proas.errors` that says what happened, where, and what to do."""
    where = f"the Neo4j server at {connection.uri}"
    if isinstance(error, DriverError | OSError):
        return _of_driver(error, connection, where)
    if isinstance(error, UnicodeEncodeError):
        return DataError(
            f"a text cannot be stored, it holds half a character: {error.object[:60]!r}",
            hint="remove lone surrogates from facts and actions",
        )
    if isinstance(error, Neo4jError):
        return _of_server(error, connection, where)
    return GraphError(f"{where} failed: {error}")


def _of_driver(error: DriverError | OSError, connection: Connection, where: str) -> GraphError | UsageError:
    # A server too old for what the driver asks of it is reported as a fault of the configuration.
    if isinstance(error, UnsupportedServerProduct) or "Bolt Protocol" in str(error):
        return GraphVersionError(
            f"what answers at {connection.uri} is not a Neo4j server that this driver can talk to: {error}",
            hint="ProAS needs Neo4j 5.23 or later; 5.26 is the reference",
        )
    if isinstance(error, AuthConfigurationError | ConfigurationError):
        return UsageError(f"cannot use {connection.uri}: {error}", hint="check NEO4J_URI")
    if isinstance(error, ConnectionAcquisitionTimeoutError):
        return GraphUnavailable(
            f"all {connection.pool_size} connections to {where} are busy",
            hint="raise pool_size, or make fewer calls at once",
        )
    if refused := _refused_encryption(error):
        return _of_encryption(refused, connection, where)
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        hint = "is it running? `proas db status` tells; check NEO4J_URI"
        if connection.routed:
            # A single server announces its own address, which a container or a tunnel has mapped to another one.
            bolt = connection.uri.replace("neo4j", "bolt", 1)
            hint = f"for a single server, or one behind a mapped port, write {bolt}; `neo4j://` is for clusters"
        return GraphUnavailable(f"{where} does not answer: {_first_line(error)}", hint=hint)
    return GraphError(f"talking to {where} failed: {_first_line(error)}")


def _refused_encryption(error: BaseException | None) -> ssl.SSLError | None:
    """The fault of TLS behind a driver's error, if that is what it is."""
    seen = 0
    while error is not None and not isinstance(error, ssl.SSLError) and seen < _DEPTH:
        error, seen = error.__cause__ or error.__context__, seen + 1
    return error if isinstance(error, ssl.SSLError) else None


def _of_encryption(refused: ssl.SSLError, connection: Connection, where: str) -> GraphUnavailable:
    if isinstance(refused, ssl.SSLCertVerificationError):
        own = connection.uri.replace("+s:", "+ssc:", 1)
        return GraphUnavailable(
            f"the certificate of {where} is not trusted: {refused.verify_message}",
            hint=f"name an authority of your own by SSL_CERT_FILE, or write {own} for a self-signed certificate",
        )
    plain = connection.uri.replace("+ssc:", ":", 1).replace("+s:", ":", 1)
    return GraphUnavailable(
        f"{where} makes no encrypted connection: {_first_line(refused)}", hint=f"without encryption it is {plain}"
    )


def _of_server(error: Neo4jError, connection: Connection, where: str) -> GraphError:
    code = error.code or ""
    said = _first_line(error.message or str(error))
    if isinstance(error, Forbidden):
        return GraphAuthError(
            f"user {connection.username!r} may not do this at {connection.uri}: {said}",
            hint="the user needs to read and write data, and to create constraints for `proas db migrate`",
        )
    if isinstance(error, AuthError) or ".Security." in code:
        return _auth_error(connection, code)
    if is_capacity(error):
        return GraphCapacityError(
            f"{where} ran out of memory for one transaction: {said}",
            hint="raise dbms.memory.transaction.total.max, db.memory.transaction.max or the heap, or send less at once",
        )
    if code.endswith(("DatabaseNotFound", "DatabaseNotFoundError")):
        return GraphNotFound(f"{where} has no database {connection.database!r}", hint="check NEO4J_DATABASE")
    if isinstance(error, ConstraintError):
        return GraphConflict(f"the change contradicts a constraint: {said}")
    if isinstance(error, TransientError):
        return GraphUnavailable(f"{where} could not finish in time: {said}", hint="try again")
    if isinstance(error, CypherSyntaxError):
        return GraphVersionError(f"{where} does not understand a statement: {said}", hint="is it Neo4j 5.23 or later?")
    kind = "refused a statement" if isinstance(error, ClientError) else "failed"
    return GraphError(f"{where} {kind}: {said} [{code}]")


def _auth_error(connection: Connection, code: str) -> GraphAuthError:
    if code.endswith("AuthenticationRateLimit"):
        return GraphAuthError(
            f"the Neo4j server at {connection.uri} has locked user {connection.username!r} after failed logins",
            hint="wait some seconds, then log in with the right password",
        )
    if code.endswith("CredentialsExpired"):
        return GraphAuthError(
            f"the password of {connection.username!r} at {connection.uri} must be changed before its first use",
            hint="run ALTER CURRENT USER SET PASSWORD in cypher-shell or Browser",
        )
    return GraphAuthError(
        f"the Neo4j server at {connection.uri} refused the password of user {connection.username!r}; "
        "it was tried once and will not be tried again",
        hint="check NEO4J_USERNAME and NEO4J_PASSWORD; a data volume keeps the password of its first start, whatever "
        "NEO4J_AUTH says later",
    )


def _first_line(error: object) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300].rstrip(" :") if text else type(error).__name__
