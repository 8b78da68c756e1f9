"""Neo4j's own admin tool, run on the files of a server that is stopped."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import BinaryIO

from proas.errors import LocalServerError
from proas.localdb.home import Home
from proas.localdb.java import Java
from proas.localdb.process import java_environment

__all__ = ["DATABASE", "AdminTool"]

# The one user database that Neo4j Community has.
DATABASE = "neo4j"
# The tool runs for seconds: what costs at its start and pays later is left out.
_QUICK = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class AdminTool:
    """``neo4j-admin`` for one instance.

    Args:
        home: The instance, with its configuration written.
        java: What runs it.
        class_path: Every jar of the release.
    """

    def __init__(self, home: Home, java: Java, class_path: list[Path]) -> None:
        self._home = home
        self._java = java
        self._class_path = os.pathsep.join(str(jar) for jar in class_path)

    def set_initial_password(self) -> None:
        """Make the password file's content the first password, before the server's first start.

        The tool reads the password from the file as an argument file, so that it is on no command line, and the server
        never runs with the well-known default.
        """
        self._run(["dbms", "set-initial-password", f"@{self._home.password_file}"], "set the first password")

    def dump(self, out: BinaryIO) -> None:
        """Write the database to an open file, in Neo4j's dump format."""
        self._run(["database", "dump", DATABASE, "--to-stdout"], "dump the database", stdout=out)

    def load(self, source: BinaryIO) -> None:
        """Replace the database by a dump."""
        command = ["database", "load", DATABASE, "--from-stdin", "--overwrite-destination=true"]
        self._run(command, "load the dump", stdin=source)

    def _run(
        self, command: list[str], purpose: str, *, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None
    ) -> None:
        environment = java_environment() | {
            "CLASSPATH": self._class_path,  # as a variable, since it is too long for some systems' command lines
            "NEO4J_HOME": str(self._home.path),
            "NEO4J_CONF": str(self._home.conf),
        }
        result = subprocess.run(  # noqa: S603
            [str(self._java.executable), *_QUICK, "org.neo4j.cli.AdminTool", *command],
            env=environment,
            cwd=self._home.path,
            stdin=stdin or subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        if result.returncode:
            text = (result.stderr + (result.stdout or b"")).decode("utf-8", errors="replace")
            said = [line.strip() for line in text.splitlines() if line.strip()]
            # The tool counts its progress in lines of their own and ends with a hint at an option that we do not offer.
            said = [line for line in said if not line.startswith(("Files:", "Run with"))]
            raise LocalServerError(f"cannot {purpose}: {'; '.join(dict.fromkeys(said[-3:])) or 'no reason given'}")
