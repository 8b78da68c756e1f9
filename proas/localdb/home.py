"""The folder of one server instance: what lies where, its identity, its password and its configuration.

::

    <home>/                 mode 0700
      instance.json         the instance's id and the release that made it; marks the folder as ours
      lifecycle.lock        held while the server is started or stopped
      password              mode 0600; the only place where the password is
      conf/neo4j.conf       written at every start
      run/server.json       the process that serves it
      run/java.args         the arguments for Java
      data/, logs/          Neo4j's own
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import string
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from pydantic import SecretStr

from proas.errors import LocalServerError, UsageError
from proas.localdb.release import Release

__all__ = ["HOME_VARIABLE", "Home", "Memory", "Ports", "data_root"]

HOME_VARIABLE = "PROAS_HOME"

# Letters and digits only: the admin tool reads the file as an argument file, where other characters have a meaning.
_ALPHABET = string.ascii_letters + string.digits
_PASSWORD_LENGTH = 32

# Two connectors would each wait five seconds for late connections before a server ends.
_SETTINGS_5 = {"internal.dbms.bolt.netty_server_shutdown_quiet_period": "0"}
# Releases named after a month; they can also look for others of their kind on the network, which ours must not.
_SETTINGS_CALENDAR = {
    "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration": "0s",
    "dbms.fleet_manager.enabled": "false",
    "server.fleet_discovery.enabled": "false",
}


def data_root(environ: Mapping[str, str] | None = None) -> Path:
    """Folder of the instances: ``PROAS_HOME``, or the user's data folder on this system."""
    environ = os.environ if environ is None else environ
    named = environ.get(HOME_VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else platformdirs.user_data_path("proas")


@dataclass(frozen=True)
class Ports:
    """Loopback ports of a server."""

    bolt: int
    http: int


@dataclass(frozen=True)
class Memory:
    """Memory of a server, as Java and Neo4j write sizes (``512m``, ``2g``).

    Attributes:
        heap: Largest Java heap.
        page_cache: Cache of store pages, beside the heap.
    """

    heap: str = "1g"
    page_cache: str = "512m"


class Home:
    """Paths and small files of an instance.

    Args:
        path: The folder; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        # One spelling for one folder: the process is recognised by it.
        self.path = path.expanduser().resolve()
        self.instance_file = self.path / "instance.json"
        self.lock_file = self.path / "lifecycle.lock"
        self.password_file = self.path / "password"
        self.conf = self.path / "conf"
        self.record_file = self.path / "run" / "server.json"
        self.arguments_file = self.path / "run" / "java.args"
        self.logs = self.path / "logs"
        self.data = self.path / "data"

    @property
    def exists(self) -> bool:
        """Whether an instance was made here."""
        return self.instance_file.is_file()

    @property
    def has_users(self) -> bool:
        """Whether the server was started, or its first password set."""
        return (self.data / "databases" / "system").exists() or (self.data / "dbms" / "auth.ini").exists()

    def create(self, release: Release) -> str:
        """Make the folder, or take the one that is there.

        Returns:
            The instance's id.

        Raises:
            LocalServerError: The folder belongs to something else or to another release, or cannot be made.
        """
        try:
            self.claim()
            if self.exists:
                return self._identity(release)
            self.path.chmod(0o700)
            for folder in (self.conf, self.record_file.parent, self.logs):
                folder.mkdir(exist_ok=True)
            identity = uuid.uuid4().hex
            write_private(self.instance_file, json.dumps({"id": identity, "release": release.release}) + "\n")
        except OSError as error:
            raise LocalServerError(
                f"cannot make a server's folder at {self.path}: {error}",
                hint=f"mend its permissions, or set {HOME_VARIABLE} to another folder",
            ) from error
        return identity

    def claim(self) -> None:
        """Have the folder, so that its lock file can be made.

        Raises:
            LocalServerError: It holds something that is not ours.
            OSError: It cannot be made.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        strangers = sorted(entry.name for entry in self.path.iterdir() if entry != self.lock_file)
        if strangers and not self.exists:
            raise LocalServerError(
                f"{self.path} is not empty and holds no server of ours: {', '.join(strangers[:5])}",
                hint="choose an empty or new folder",
            )

    def identity(self) -> str:
        """Id of the instance; empty when there is none or its file is damaged."""
        try:
            return str(json.loads(self.instance_file.read_text(encoding="utf-8"))["id"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _identity(self, release: Release) -> str:
        try:
            notes = json.loads(self.instance_file.read_text(encoding="utf-8"))
            identity, made_by = str(notes["id"]), str(notes["release"])
        except (ValueError, KeyError, TypeError) as error:
            raise LocalServerError(
                f"{self.instance_file} is damaged", hint="restore it, or move the folder away to begin anew"
            ) from error
        if made_by != release.release:
            raise LocalServerError(
                f"the server in {self.path} was made by Neo4j {made_by}, not {release.release}",
                hint=f"use release {made_by}, or another folder and `dump` and `load`",
            )
        for folder in (self.conf, self.record_file.parent, self.logs):
            folder.mkdir(exist_ok=True)
        return identity

    def password(self) -> SecretStr:
        """Read the password, making one for a server that was never started.

        Raises:
            LocalServerError: The file is absent although the server has users, or it is unreadable.
        """
        try:
            if not self.password_file.exists():
                if self.has_users:
                    raise LocalServerError(
                        f"the password file {self.password_file} is gone, and the server's data needs it",
                        hint="restore the file, or remove the server with its data and begin anew",
                    )
                fresh = "".join(secrets.choice(_ALPHABET) for _ in range(_PASSWORD_LENGTH))
                write_private(self.password_file, fresh + "\n")
            if os.name == "posix" and self.password_file.stat().st_mode & 0o077:
                self.password_file.chmod(0o600)
            return SecretStr(self.password_file.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise LocalServerError(f"cannot read the password file {self.password_file}: {error}") from error

    def write_configuration(self, release: Release, ports: Ports, memory: Memory, extra: Mapping[str, str]) -> None:
        """Write ``neo4j.conf``: loopback only, no reports to anyone.

        Args:
            release: The Neo4j release that will read it.
            ports: Where to listen.
            memory: Sizes.
            extra: Further settings by name; they win over ours.

        Raises:
            UsageError: A setting would open the server to others.
        """
        settings = {
            "server.default_listen_address": "127.0.0.1",
            "server.default_advertised_address": "127.0.0.1",
            "server.bolt.listen_address": f"127.0.0.1:{ports.bolt}",
            "server.bolt.advertised_address": f"127.0.0.1:{ports.bolt}",
            "server.http.listen_address": f"127.0.0.1:{ports.http}",
            "server.http.advertised_address": f"127.0.0.1:{ports.http}",
            "server.https.enabled": "false",
            "server.memory.heap.max_size": memory.heap,
            "server.memory.pagecache.size": memory.page_cache,
            # Nothing about this server or its users goes anywhere.
            "dbms.usage_report.enabled": "false",
            "client.allow_telemetry": "false",
            # A quarter of a gigabyte of empty log for each small instance is too much.
            "db.tx_log.preallocate": "false",
            # Two days of them is the default, however large; nobody replays the log of a server for one user.
            "db.tx_log.rotation.retention_policy": "1G size",
            # Query texts and parameters stay out of the logs.
            "db.logs.query.enabled": "OFF",
        }
        settings |= _SETTINGS_5 if release.release.startswith("5.") else _SETTINGS_CALENDAR
        for name in extra:
            if "address" in name or name in {"server.https.enabled", "dbms.security.auth_enabled"}:
                raise UsageError(
                    f"the setting {name!r} cannot be changed: this server answers this machine alone, with a password",
                    hint="for anything else run a server of your own and set NEO4J_URI",
                )
        settings |= extra
        lines = ["# Written by ProAS at every start; changes are lost."]
        for name, value in settings.items():
            if "\n" in f"{name}{value}":
                raise UsageError(f"the setting {name!r} contains a line break")
            # The file has the syntax of Java properties, where a backslash escapes.
            lines.append(f"{name}={value}".replace("\\", "\\\\"))
        write_private(self.conf / "neo4j.conf", "\n".join(lines) + "\n")

    def configured_ports(self) -> Ports | None:
        """Ports that the configuration names; ``None`` when there is none or it names none."""
        try:
            text = (self.conf / "neo4j.conf").read_text(encoding="utf-8")
        except OSError:
            return None
        found = dict(re.findall(r"^server\.(bolt|http)\.listen_address=[^:\n]*:([0-9]+)$", text, re.MULTILINE))
        return Ports(int(found["bolt"]), int(found["http"])) if len(found) == 2 else None

    def clear_data(self) -> None:
        """Remove everything but the lock file, which the caller holds."""
        for entry in self.path.iterdir():
            if entry == self.lock_file:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
