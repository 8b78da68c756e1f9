"""A Neo4j server of this user on this machine."""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import psutil
from filelock import FileLock, Timeout

from proas.errors import LocalServerError, UsageError
from proas.localdb import archive
from proas.localdb.admin import DATABASE, AdminTool
from proas.localdb.download import JarCache
from proas.localdb.home import Home, Memory, Ports, data_root
from proas.localdb.info import ServerInfo, ServerStatus
from proas.localdb.java import Java, find_java
from proas.localdb.ports import HOST, USUAL, choose_ports
from proas.localdb.process import Keeper, Record, find_process, read_record, running, spawn, stop
from proas.localdb.progress import Progress, Report, silent
from proas.localdb.release import DEFAULT_RELEASE, load_release
from proas.localdb.startup import PortTaken, answers, await_answer, explain, listens, log_mark

__all__ = ["LocalServer"]

_log = logging.getLogger(__name__)

_USERNAME = "neo4j"
_START_ATTEMPTS = 4
_TIMEOUT = 180.0


class LocalServer:
    """A Neo4j Community server that belongs to this user, runs on this machine and answers nobody else.

    An object is a handle on a folder: two objects with one home, in one process or in two, are one server. All methods
    are safe to call at the same time from several processes.

    Args:
        home: Folder of the instance; ``neo4j-<release>`` in the user's data folder (or in ``PROAS_HOME``) when absent.
        release: Name of the Neo4j release, a member of ``proas.localdb.releases()``.
        bolt_port: Bolt port; 7687, or a free one where that is taken, when absent.
        http_port: HTTP port; 7474, or a free one where that is taken, when absent.
        heap: Largest Java heap, such as ``512m`` or ``2g``.
        page_cache: Cache of store pages, beside the heap.
        settings: Further Neo4j settings by name.
        java: ``bundled``, ``system`` or a path; that of ``PROAS_JAVA`` when absent.
        tied: End the server when this process ends, in whatever way. Otherwise it stays until ``down``.

    Raises:
        UsageError: There is no such release.
    """

    def __init__(
        self,
        home: Path | None = None,
        *,
        release: str = DEFAULT_RELEASE,
        bolt_port: int | None = None,
        http_port: int | None = None,
        heap: str = "1g",
        page_cache: str = "512m",
        settings: Mapping[str, str] | None = None,
        java: str | None = None,
        tied: bool = False,
    ) -> None:
        self._release = load_release(release)
        self._home = Home(data_root() / f"neo4j-{release}" if home is None else home)
        self._ports = (bolt_port, http_port)
        self._memory = Memory(heap, page_cache)
        self._settings = dict(settings or {})
        self._java = java
        self._tied = tied
        self._jars = JarCache(self._release)
        self._keeper: Keeper | None = None

    def __repr__(self) -> str:
        return f"LocalServer({str(self._home.path)!r}, release={self._release.release!r})"

    @property
    def home(self) -> Path:
        """Folder of the instance."""
        return self._home.path

    @property
    def info(self) -> ServerInfo:
        """How to reach the running server.

        Raises:
            LocalServerError: None is running.
        """
        found = self._find()
        if found is None:
            raise LocalServerError(f"no server is running in {self.home}", hint="start it with `proas db up`")
        return self._info(*found)

    def up(self, progress: Report = silent, *, timeout: float = _TIMEOUT) -> ServerInfo:
        """Have the server running; one that runs already is left as it is.

        Fetches what is not in the cache, makes the instance and its password at the first call, and returns when the
        server has answered a query.

        Args:
            progress: Gets reports of the way.
            timeout: Seconds to wait for the first answer.

        Raises:
            DownloadError: The jars cannot be had.
            JavaNotFound: No usable Java.
            LocalServerError: The server does not start; the message says why.
        """
        with self._lifecycle(timeout):
            return self._up(progress, timeout)

    def down(self, *, timeout: float = 60.0) -> bool:
        """End the server; a process that is not this instance's server is never touched.

        Args:
            timeout: Seconds to wait for an orderly end; then it is killed, which the database survives.

        Returns:
            Whether there was one to end.

        Raises:
            LocalServerError: It cannot be ended.
        """
        if not self._home.exists:
            return False
        with self._lifecycle(timeout):
            return self._stop(timeout)

    def status(self) -> ServerStatus:
        """Look at the instance; nothing is changed."""
        installed = not self._jars.missing()
        found = self._find()
        if found is None:
            record = read_record(self._home)
            detail = f"the last server, process {record.pid}, ended without `down`" if record else ""
            return ServerStatus("stopped", self.home, self._release.release, None, None, installed, detail)
        process, ports = found
        since = datetime.fromtimestamp(process.create_time(), UTC)
        info = self._info(process, ports)
        state, detail = self._probe(process, ports, info)
        return ServerStatus(state, self.home, self._release.release, info, since, installed, detail)

    def verify(self, progress: Report = silent) -> list[str]:
        """Check every jar in the cache against its pinned SHA-256 and fetch again those that fail.

        Returns:
            Names of the files that had to be fetched.

        Raises:
            DownloadError: A jar cannot be had.
        """
        return [artifact.file for artifact in self._jars.verify(progress)]

    def dump(self, path: Path, *, overwrite: bool = False, restart: bool = False, progress: Report = silent) -> Path:
        """Write the database to a file in Neo4j's own dump format, which ``neo4j-admin database load`` reads too.

        Args:
            path: File to write, or a folder, which gets ``neo4j.dump``.
            overwrite: Replace a file that is there.
            restart: Stop a running server for the time of the dump.
            progress: Gets reports of the way.

        Returns:
            The file.

        Raises:
            UsageError: The server runs and ``restart`` is off, or the file must not be written.
            LocalServerError: The dump failed.
        """
        target = archive.dump_target(path, overwrite=overwrite)
        if not self._home.exists or not archive.has_database(self._home):
            raise UsageError(f"there is no database in {self.home}", hint="start the server once with `proas db up`")
        with self._stopped(restart, "dumped", progress) as clean:
            if not clean:
                # After a kill the store wants to be recovered, which a start and an orderly end do.
                self._up(progress, _TIMEOUT)
                self._stop()
            tool = self._tool(self._prepare(progress))
            progress(Progress("Dumping the database"))
            archive.dump_file(tool, target)
        return target

    def load(self, path: Path, *, overwrite: bool = False, restart: bool = False, progress: Report = silent) -> None:
        """Replace the database by a dump; if that fails, the present one is kept.

        Args:
            path: File in Neo4j's dump format.
            overwrite: Replace a database that is there.
            restart: Stop a running server for the time of the load.
            progress: Gets reports of the way.

        Raises:
            UsageError: The server runs and ``restart`` is off, or there is a database and ``overwrite`` is off.
            DataError: The file is no dump.
            LocalServerError: The load failed.
        """
        source = path.expanduser().absolute()
        if archive.has_database(self._home) and not overwrite:
            raise UsageError(f"there is a database in {self.home} already", hint="ask for it to be overwritten")
        with self._stopped(restart, "loaded", progress):
            tool = self._tool(self._prepare(progress))
            progress(Progress("Loading the database"))
            archive.load_file(tool, self._home, source)

    def remove(self) -> bool:
        """End the server and delete the instance with all its data, password and logs. The jars in the cache stay.

        Returns:
            Whether there was an instance.

        Raises:
            LocalServerError: The server cannot be ended or a file cannot be deleted.
        """
        if not self._home.exists:
            return False
        with self._lifecycle(60.0):
            self._stop()
            try:
                self._home.clear_data()
            except OSError as error:
                raise LocalServerError(f"cannot remove {self.home}: {error}") from error
        with suppress(OSError):
            self._home.lock_file.unlink(missing_ok=True)
            self.home.rmdir()
        return True

    @contextmanager
    def _lifecycle(self, timeout: float) -> Iterator[None]:
        """Hold the instance against other starts and stops."""
        try:
            self._home.claim()
            with FileLock(self._home.lock_file, timeout=timeout, mode=0o600):
                yield
        except Timeout:
            raise LocalServerError(
                f"another process has been starting or stopping the server in {self.home} for {timeout:.0f} s",
                hint="wait for it, or end it",
            ) from None
        except OSError as error:
            raise LocalServerError(f"cannot use the server's folder {self.home}: {error}") from error

    @contextmanager
    def _stopped(self, restart: bool, purpose: str, progress: Report) -> Iterator[bool]:
        """Work on a stopped server, and start it again if it ran; yields whether it had come to an orderly end."""
        ran = self._find() is not None
        if ran and not restart:
            raise UsageError(
                f"the server in {self.home} runs, and its database can be {purpose} only while it does not",
                hint="end it first with `proas db down`",
            )
        with self._lifecycle(60.0):
            clean = ran or read_record(self._home) is None
            self._stop()
            try:
                yield clean
            finally:
                if ran:
                    self._up(progress, _TIMEOUT)

    def _prepare(self, progress: Report) -> Java:
        """Have everything that a start needs: the folder, Java, sound jars and a password that the server will know."""
        self._home.create(self._release)
        archive.recover(self._home)
        java = find_java(self._release, self._java)
        self._jars.verify(progress)
        self._home.password()
        if not self._home.has_users:
            progress(Progress("Making the server"))
            self._tool(java).set_initial_password()
        return java

    def _tool(self, java: Java) -> AdminTool:
        self._home.write_configuration(self._release, USUAL, self._memory, self._settings)
        return AdminTool(self._home, java, self._jars.class_path)

    def _up(self, progress: Report, timeout: float) -> ServerInfo:
        found = self._find()
        if found is not None:
            return self._wait_for(*found, timeout=timeout)
        return self._start(self._prepare(progress), progress, timeout)

    def _probe(
        self, process: psutil.Process, ports: Ports, info: ServerInfo
    ) -> tuple[Literal["starting", "running", "unresponsive"], str]:
        if not listens(process, ports.bolt):
            return "starting", ""
        try:
            return ("running", "") if answers(info) else ("unresponsive", "")
        except LocalServerError as error:
            return "unresponsive", str(error)

    def _find(self) -> tuple[psutil.Process, Ports] | None:
        """The server's process and its ports, whoever started it."""
        record = read_record(self._home)
        process = running(self._home, record)
        if process is not None and record is not None:
            return process, record.ports
        process, ports = find_process(self._home), self._home.configured_ports()
        return (process, ports) if process is not None and ports is not None else None

    def _info(self, process: psutil.Process, ports: Ports) -> ServerInfo:
        return ServerInfo(
            uri=f"bolt://{HOST}:{ports.bolt}",
            http_url=f"http://{HOST}:{ports.http}",
            username=_USERNAME,
            password=self._home.password(),
            database=DATABASE,
            pid=process.pid,
            home=self.home,
            release=self._release.release,
        )

    def _wait_for(self, process: psutil.Process, ports: Ports, timeout: float) -> ServerInfo:
        """Wait for a server that is there already: it may have been started a moment ago."""
        info = self._info(process, ports)
        await_answer(process, self._home, info, (ports.bolt, ports.http), time.monotonic() + timeout)
        self._write_record(process, ports)
        return info

    def _write_record(self, process: psutil.Process, ports: Ports) -> None:
        Record(process.pid, process.create_time(), ports.bolt, ports.http, self._release.release).write(self._home)

    def _start(self, java: Java, progress: Report, timeout: float) -> ServerInfo:
        taken: PortTaken | None = None
        for attempt in range(_START_ATTEMPTS):
            ports = choose_ports(*self._ports, usual=attempt == 0)
            try:
                return self._attempt(java, ports, progress, timeout)
            except PortTaken as error:
                _log.info("port %d or %d was taken meanwhile; trying others", ports.bolt, ports.http)
                taken = error
        assert taken is not None
        raise taken

    def _attempt(self, java: Java, ports: Ports, progress: Report, timeout: float) -> ServerInfo:
        progress(Progress(f"Starting Neo4j {self._release.version}"))
        self._home.write_configuration(self._release, ports, self._memory, self._settings)
        mark = log_mark(self._home)
        process, keeper = spawn(
            self._home, self._release, java, self._jars.class_path, heap=self._memory.heap, tied=self._tied
        )
        info = self._info(process, ports)
        try:
            self._write_record(process, ports)
            await_answer(process, self._home, info, (ports.bolt, ports.http), time.monotonic() + timeout)
        except BaseException as error:
            # Also on Ctrl-C: what does not become a server must not stay as a process.
            stop(process, timeout=10.0)
            self._home.record_file.unlink(missing_ok=True)
            if keeper is not None:
                keeper.close()
            if isinstance(error, LocalServerError):
                raise explain(self._home, mark, error) from None
            raise
        if keeper is not None:
            self._keeper = keeper
            atexit.register(keeper.close)
        _log.info("Neo4j %s answers at %s (process %d)", self._release.version, info.uri, info.pid)
        return info

    def _stop(self, timeout: float = 60.0) -> bool:
        found = self._find()
        if found is not None:
            stop(found[0], timeout)
        self._home.record_file.unlink(missing_ok=True)
        if self._keeper is not None:
            atexit.unregister(self._keeper.close)
            self._keeper.close()
            self._keeper = None
        return found is not None
