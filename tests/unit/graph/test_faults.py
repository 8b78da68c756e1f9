"""What a fault means: repeat or not, and what the user is told."""

from __future__ import annotations

import ssl

import pytest
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    ConstraintError,
    CypherSyntaxError,
    Forbidden,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)
from pydantic import SecretStr

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
from proas.graph.faults import Again, again, translated

HERE = Connection("bolt://127.0.0.1:7687", SecretStr("secret-1"))


def server_error(code: str, message: str = "said the server") -> Neo4jError:
    return Neo4jError._hydrate_neo4j(code=code, message=message)


CASES = [
    (ServiceUnavailable("down"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (SessionExpired("gone"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (IncompleteCommit("cut at COMMIT"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (ConnectionResetError(104, "reset"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (ConnectionAcquisitionTimeoutError("pool"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (server_error("Neo.TransientError.Transaction.DeadlockDetected"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (server_error("Neo.ClientError.Cluster.NotALeader"), Again.UNTIL_DEADLINE, GraphUnavailable),
    (server_error("Neo.ClientError.Statement.EntityNotFound"), Again.FEW, GraphError),
    (server_error("Neo.ClientError.Schema.ConstraintValidationFailed"), Again.FEW, GraphConflict),
    (server_error("Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"), Again.FEW, GraphError),
    (server_error("Neo.ClientError.Security.Unauthorized"), Again.NEVER, GraphAuthError),
    (server_error("Neo.ClientError.Security.AuthenticationRateLimit"), Again.NEVER, GraphAuthError),
    (server_error("Neo.ClientError.Security.Forbidden"), Again.NEVER, GraphAuthError),
    (server_error("Neo.TransientError.General.MemoryPoolOutOfMemoryError"), Again.NEVER, GraphCapacityError),
    (server_error("Neo.ClientError.General.TransactionMemoryLimit"), Again.NEVER, GraphCapacityError),
    (server_error("Neo.ClientError.Database.DatabaseNotFound"), Again.NEVER, GraphNotFound),
    (server_error("Neo.ClientError.Statement.SyntaxError"), Again.NEVER, GraphVersionError),
    (server_error("Neo.ClientError.Statement.ArgumentError"), Again.NEVER, GraphError),
    (server_error("Neo.DatabaseError.General.UnknownError"), Again.NEVER, GraphError),
    (ConfigurationError("no such option"), Again.NEVER, UsageError),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), Again.NEVER, DataError),
]


@pytest.mark.parametrize(("error", "repeat", "told"), CASES, ids=lambda case: getattr(case, "code", None))
def test_each_fault_has_one_meaning(error, repeat, told):
    assert again(error) is repeat
    meant = translated(error, HERE)
    assert type(meant) is told
    assert "secret-1" not in str(meant)


def test_the_driver_classifies_as_assumed():
    """If a release of the driver changes these classes, the rules above must be looked at again."""
    kinds = {
        "Neo.ClientError.Statement.SyntaxError": CypherSyntaxError,
        "Neo.ClientError.Schema.ConstraintValidationFailed": ConstraintError,
        "Neo.ClientError.Security.Unauthorized": AuthError,
        "Neo.ClientError.Security.Forbidden": Forbidden,
        "Neo.ClientError.Statement.EntityNotFound": ClientError,
        "Neo.TransientError.Transaction.DeadlockDetected": TransientError,
    }
    assert {code: type(server_error(code)) for code in kinds} == kinds
    assert not server_error("Neo.ClientError.Statement.EntityNotFound").is_retryable()


def test_a_routed_address_is_told_of_bolt():
    routed = Connection("neo4j://127.0.0.1:7999", SecretStr("x"))
    assert "bolt://127.0.0.1:7999" in str(translated(ServiceUnavailable("no routing"), routed))
    assert "clusters" not in str(translated(ServiceUnavailable("down"), HERE))


def test_a_certificate_that_is_not_trusted_is_named_and_not_tried_again():
    refused = ssl.SSLCertVerificationError("certificate verify failed")
    refused.verify_message = "self-signed certificate"
    error = ServiceUnavailable("Couldn't connect to db.example:7687")
    error.__cause__ = RuntimeError("what the driver puts between")
    error.__cause__.__cause__ = refused
    said = str(translated(error, Connection("bolt+s://db.example:7687", SecretStr("x"))))
    assert "is not trusted: self-signed certificate" in said
    assert "SSL_CERT_FILE" in said
    assert "bolt+ssc://db.example:7687" in said
    assert again(error) is Again.NEVER


def test_a_wrong_password_says_what_to_do():
    said = str(translated(server_error("Neo.ClientError.Security.Unauthorized"), HERE))
    assert "will not be tried again" in said
    assert "volume keeps the password" in said


def test_out_of_memory_names_the_setting():
    said = str(translated(server_error("Neo.TransientError.General.MemoryPoolOutOfMemoryError"), HERE))
    assert "dbms.memory.transaction.total.max" in said
