"""What is known about a local server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

__all__ = ["ServerInfo", "ServerStatus"]


@dataclass(frozen=True)
class ServerInfo:
    """How to reach a running server.

    Attributes:
        uri: Bolt address, such as ``bolt://127.0.0.1:7687``.
        http_url: Address of the HTTP API and of Neo4j Browser.
        username: User to log in as.
        password: Its password; masked when printed, ``get_secret_value()`` tells it.
        database: Name of the database.
        pid: Id of the server's process.
        home: Folder of the instance.
        release: Name of the Neo4j release, such as ``5.26``.
    """

    uri: str
    http_url: str
    username: str
    password: SecretStr
    database: str
    pid: int
    home: Path
    release: str


@dataclass(frozen=True)
class ServerStatus:
    """What a look at an instance shows.

    Attributes:
        state: ``stopped``: no process; ``starting``: a process that does not listen yet; ``running``: it answered a
            query; ``unresponsive``: it listens and did not answer.
        home: Folder of the instance; it may not exist yet.
        release: Name of the Neo4j release.
        info: How to reach it; ``None`` when there is no process.
        since: When its process was created; ``None`` when there is none.
        installed: Whether all jars of the release are in the cache.
        detail: One more sentence where something is unusual; else empty.
    """

    state: Literal["stopped", "starting", "running", "unresponsive"]
    home: Path
    release: str
    info: ServerInfo | None
    since: datetime | None
    installed: bool
    detail: str = ""

    @property
    def running(self) -> bool:
        """Whether the server answers."""
        return self.state == "running"
