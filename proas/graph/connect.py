"""Where the database is and how to log in: settings without a connection, so they pickle and travel to workers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import SecretStr

from proas.errors import UsageError

__all__ = ["SCHEMES", "Connection"]

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
"""URI schemes of the driver. ``bolt`` talks to one server; ``neo4j`` asks it for the members of a cluster."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Settings of one database.

    Attributes:
        uri: For example ``bolt://127.0.0.1:7687`` or ``neo4j+s://<id>.databases.neo4j.io``.
        password: Kept masked in every representation.
        username: Login name.
        database: Name of the database; always sent, so that no query lands in a default by accident.
        pool_size: Most connections that this process opens.
        connect_deadline: Seconds to keep trying a server that has not answered this process yet.
        retry_deadline: Seconds to keep trying after a server that had answered fails.
        notifications: ``off`` in production; ``warn`` turns the server's notes (deprecated syntax, missing index)
            into Python warnings, which the tests turn into errors.

    Raises:
        UsageError: The URI has no scheme that the driver knows, or no host.
    """

    uri: str
    password: SecretStr
    username: str = "neo4j"
    database: str = "neo4j"
    pool_size: int = 16
    connect_deadline: float = 5.0
    retry_deadline: float = 30.0
    notifications: Literal["off", "warn"] = "off"

    def __post_init__(self) -> None:
        """Refuse a URI that the driver could only fail on, and a password that would show in a repr."""
        _check_address(self.uri)
        if not isinstance(self.password, SecretStr):
            raise UsageError(
                f"the password must be a SecretStr, not a {type(self.password).__name__}",
                hint="use Connection.resolve(password=...), which takes either",
            )

    @property
    def routed(self) -> bool:
        """Whether the driver asks the server for the members of a cluster first."""
        return self.uri.startswith("neo4j")

    @classmethod
    def resolve(
        cls,
        *,
        uri: str | None = None,
        username: str | None = None,
        password: SecretStr | str | None = None,
        database: str | None = None,
        environ: Mapping[str, str] | None = None,
        start_local: bool = True,
    ) -> Self:
        """Find the database that the user means.

        Order: explicit arguments; the environment (``NEO4J_URI``, ``NEO4J_USERNAME``, ``NEO4J_PASSWORD`` or
        ``NEO4J_PASSWORD_FILE``, ``NEO4J_DATABASE``); the local server of ``proas.localdb`` if it runs; else that
        server is started.

        Args:
            uri: Address; with it, nothing local is looked for.
            username: Login name.
            password: Password.
            database: Name of the database.
            environ: The environment; ``os.environ`` by default.
            start_local: Whether the local server may be started when nothing else is named.

        Raises:
            UsageError: An address without a password, or a password file that cannot be read.
            GraphUnavailable: No server is named and none runs, and starting one is not allowed.
            LocalServerError: The local server could not be started.
        """
        env = os.environ if environ is None else environ
        address = uri or env.get("NEO4J_URI", "")
        if not address:
            found = cls._local(start=start_local)
            return replace(found, database=database or env.get("NEO4J_DATABASE") or found.database)
        _check_address(address)
        secret = _secret(password, env)
        if secret is None:
            raise UsageError(
                f"no password for the Neo4j server at {_without_password(address)}",
                hint="set NEO4J_PASSWORD, or NEO4J_PASSWORD_FILE to a file that holds it",
            )
        return cls(
            uri=address,
            password=secret,
            username=username or env.get("NEO4J_USERNAME") or "neo4j",
            database=database or env.get("NEO4J_DATABASE") or "neo4j",
        )

    @classmethod
    def _local(cls, *, start: bool) -> Self:
        # Imported here: most processes of a cluster never need the local server, nor its dependencies.
        from proas.graph.local import local_settings

        uri, username, password, database = local_settings(start=start)
        return cls(uri=uri, username=username, password=password, database=database)


def _check_address(uri: str) -> None:
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
        parts = urlsplit("")
    if parts.scheme not in SCHEMES or not host:
        raise UsageError(
            f"{_without_password(uri)!r} is not the address of a Neo4j server",
            hint="write for example bolt://127.0.0.1:7687, or neo4j+s://... for a cluster or Aura",
        )
    if parts.username or parts.password:
        raise UsageError(
            f"the address {_without_password(uri)!r} carries a login",
            hint="set NEO4J_USERNAME and NEO4J_PASSWORD, or NEO4J_PASSWORD_FILE",
        )


def _secret(password: SecretStr | str | None, env: Mapping[str, str]) -> SecretStr | None:
    if isinstance(password, SecretStr):
        return password
    if password is not None:
        return SecretStr(password)
    if env.get("NEO4J_PASSWORD"):
        return SecretStr(env["NEO4J_PASSWORD"])
    file = env.get("NEO4J_PASSWORD_FILE")
    if not file:
        return None
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UsageError(f"cannot read the password file {file}: {reason}", hint="check NEO4J_PASSWORD_FILE") from error
    if not text:
        raise UsageError(f"the password file {file} is empty", hint="check NEO4J_PASSWORD_FILE")
    return SecretStr(text)


def _without_password(uri: str) -> str:
    """The address as it may be shown: whatever stands before an ``@`` could be a login."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else uri.rpartition("@")[2]
