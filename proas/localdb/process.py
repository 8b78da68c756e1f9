"""The process of a server: recognise it, start it, end it.

A process id alone says nothing: the process may have ended and its number may have gone to another one. A process is
ours only if it was created when we recorded it and its command line carries the instance's id and folder. Nothing else
is ever signalled.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from proas.errors import LocalServerError
from proas.localdb.home import Home, Ports, write_private
from proas.localdb.java import Java
from proas.localdb.release import Release

__all__ = ["Keeper", "Record", "alive", "find_process", "java_environment", "read_record", "running", "spawn", "stop"]

_log = logging.getLogger(__name__)

# Two readings of one creation time may differ by a clock tick.
_SAME_TIME = 0.05
_KILL_TIMEOUT = 30.0
_LAUNCH = Path(__file__).with_name("launch.py")
# What a Java process needs from its surroundings. Everything else stays out, above all passwords and NEO4J_* variables,
# which Neo4j would read as settings.
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ", "USER")


@dataclass(frozen=True)
class Record:
    """What is written down about a started server.

    Attributes:
        pid: Process id.
        created: When the process was created, seconds since the epoch.
        bolt: Bolt port.
        http: HTTP port.
        release: Name of the Neo4j release.
    """

    pid: int
    created: float
    bolt: int
    http: int
    release: str

    @property
    def ports(self) -> Ports:
        """Both ports."""
        return Ports(self.bolt, self.http)

    def write(self, home: Home) -> None:
        """Write it into the home."""
        write_private(home.record_file, json.dumps(asdict(self)) + "\n")


def read_record(home: Home) -> Record | None:
    """Read the record; ``None`` when there is none or it is damaged."""
    try:
        notes = json.loads(home.record_file.read_text(encoding="utf-8"))
        record = Record(**notes)
        numbers = (record.pid, record.created, record.bolt, record.http)
        return record if all(isinstance(number, int | float) and number > 0 for number in numbers) else None
    except (OSError, ValueError, TypeError):
        return None


def _marker(identity: str) -> str:
    return f"-Dproas.instance={identity}"


def alive(process: psutil.Process) -> bool:
    """Whether a process still runs; one that ended and was not collected by its parent does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _serves(process: psutil.Process, home: Home) -> bool:
    """Whether a process is a living server of this instance."""
    identity = home.identity()
    try:
        if not identity or not alive(process):
            return False
        command = process.cmdline()
    except psutil.Error:
        return False
    return _marker(identity) in command and f"--home-dir={home.path}" in command


def running(home: Home, record: Record | None) -> psutil.Process | None:
    """The recorded process, if it still is the one that was recorded.

    Args:
        home: The instance.
        record: What was written down about it.
    """
    if record is None:
        return None
    try:
        process = psutil.Process(int(record.pid))
        same = abs(process.create_time() - record.created) < _SAME_TIME
    except (psutil.Error, ValueError, OverflowError):
        return None
    return process if same and _serves(process, home) else None


def find_process(home: Home) -> psutil.Process | None:
    """Look through all processes for a server of this instance.

    For the case that the record is lost: its writer was killed before it could write, or the file was deleted.
    """
    if not home.identity():
        return None
    return next((process for process in _own_processes() if _serves(process, home)), None)


def _own_processes() -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if "java" in process.name().lower():
                yield process
        except psutil.Error:
            continue


def java_environment() -> dict[str, str]:
    """The environment of a server or admin tool: the little that Java needs."""
    return {name: value for name in _ENVIRONMENT if (value := os.environ.get(name)) is not None}


class Keeper:
    """Holds a server that ends with this process.

    Args:
        process: The launcher that stays with the server; the end of its standard input is the sign to end it.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def close(self, timeout: float = 30.0) -> None:
        """End the server, if it still runs, and wait for it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            # The launcher kills the server after its own, shorter, patience; only itself can hang here.
            self._process.kill()
            self._process.wait()


def _quote(argument: str) -> str:
    """Quote for a Java argument file, where a backslash escapes inside double quotes."""
    return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'


def spawn(
    home: Home, release: Release, java: Java, class_path: list[Path], *, heap: str, tied: bool
) -> tuple[psutil.Process, Keeper | None]:
    """Start a server; it is not waited for.

    Args:
        home: The instance, with its configuration written.
        release: What to run.
        java: What runs it.
        class_path: Every jar.
        heap: Largest Java heap, as Java writes it.
        tied: Whether the server ends with this process.

    Returns:
        The process, and its keeper when tied.

    Raises:
        LocalServerError: The process could not be created, or it ended at once.
    """
    opens = ("java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch")
    arguments = [
        f"-Xmx{heap}",
        "-XX:+UseG1GC",
        "-XX:-OmitStackTraceInFastThrow",
        "-XX:+ExitOnOutOfMemoryError",
        "-Dfile.encoding=UTF-8",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        *(f"--add-opens={module}=ALL-UNNAMED" for module in opens),
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        os.pathsep.join(str(jar) for jar in class_path),
    ]
    # The class path is too long for some systems' command lines, so Java reads it from a file.
    write_private(home.arguments_file, "\n".join(_quote(argument) for argument in arguments) + "\n")
    command = [str(java.executable), f"@{home.arguments_file}", _marker(home.identity()), release.main_class]
    command += [f"--home-dir={home.path}", f"--config-dir={home.conf}"]
    console = home.logs / "console.log"
    console.unlink(missing_ok=True)
    mode = "tied" if tied else "detached"
    try:
        launcher = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", str(_LAUNCH), mode, str(console), *command],
            stdin=subprocess.PIPE if tied else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=home.path,
            env=java_environment(),
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        raise LocalServerError(f"cannot start {java.executable}: {error}") from error
    assert launcher.stdout is not None
    with launcher.stdout:
        answer = launcher.stdout.readline()
    keeper = Keeper(launcher) if tied else None
    if keeper is None:
        launcher.wait()
    try:
        return psutil.Process(int(answer)), keeper
    except (ValueError, psutil.NoSuchProcess) as error:
        if keeper is not None:
            keeper.close()
        raise LocalServerError(
            f"{java.executable} did not start: {_tail(console) or 'no output'}", hint=f"see {console}"
        ) from error


def _tail(path: Path, lines: int = 15) -> str:
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def stop(process: psutil.Process, timeout: float) -> None:
    """End a process that was found to be ours: ask, wait, then kill.

    Args:
        process: What ``running`` or ``find_process`` returned. psutil checks its creation time again before it signals.
        timeout: Seconds to wait for an orderly end.

    Raises:
        LocalServerError: It cannot be ended.
    """
    try:
        process.terminate()
        if _ends(process, timeout):
            return
        _log.warning("the server (process %d) did not end within %.0f s; killing it", process.pid, timeout)
        process.kill()
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied as error:
        raise LocalServerError(f"the server (process {process.pid}) belongs to another user") from error
    if not _ends(process, _KILL_TIMEOUT):
        raise LocalServerError(f"the server (process {process.pid}) does not end, even when killed")


def _ends(process: psutil.Process, timeout: float) -> bool:
    """Wait for the end of a process that need not be our child."""
    deadline = time.monotonic() + timeout
    while alive(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
