"""Fetch the jars of a release into the user's cache, each verified before it gets its name.

A file is written as ``<name>.part``, checked against the lock file's size and SHA-256, and only then renamed, so that a
jar under its own name is always whole. What an interrupted download left behind is continued by a range request. Once
all jars are there, no network is touched. One process at a time works on the cache; another one waits and then finds
the work done.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import httpx
import platformdirs
from filelock import FileLock, Timeout

from proas.errors import DownloadError
from proas.localdb.progress import Progress, Report, silent
from proas.localdb.release import Artifact, Release
from proas.localdb.repository import MIRROR_VARIABLE, Repository, find_repository

__all__ = ["CACHE_VARIABLE", "JarCache", "cache_dir", "fetch"]

CACHE_VARIABLE = "PROAS_CACHE_DIR"

_log = logging.getLogger(__name__)

_WORKERS = 6
_ATTEMPTS = 4
_TIMEOUT = httpx.Timeout(30.0, connect=15.0)
# Answers that may be different in a moment; every other 4xx is final.
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Folder of the downloads: ``PROAS_CACHE_DIR``, or the user's cache folder on this system."""
    environ = os.environ if environ is None else environ
    named = environ.get(CACHE_VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("proas")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class JarCache:
    """The jars of one release in the user's cache.

    Args:
        release: What has to be there.
        root: Cache folder; ``cache_dir()`` when absent.
    """

    def __init__(self, release: Release, root: Path | None = None) -> None:
        self.release = release
        self.folder = (cache_dir() if root is None else root) / "neo4j" / release.version

    def path(self, artifact: Artifact) -> Path:
        """Place of a jar."""
        return self.folder / artifact.file

    @property
    def class_path(self) -> list[Path]:
        """Every jar, in the order of the lock file."""
        return [self.path(artifact) for artifact in self.release.artifacts]

    def missing(self) -> list[Artifact]:
        """Jars that are absent or have the wrong size."""
        return [artifact for artifact in self.release.artifacts if not self._has_size(artifact)]

    def corrupt(self, report: Report = silent) -> list[Artifact]:
        """Jars whose content is not the pinned one; reads every file."""
        bad, done = [], 0
        for artifact in self.release.artifacts:
            if not self._has_size(artifact) or _sha256(self.path(artifact)) != artifact.sha256:
                bad.append(artifact)
            done += artifact.size
            report(Progress(f"Checking Neo4j {self.release.version}", done, self.release.size))
        return bad

    def verify(self, report: Report = silent) -> list[Artifact]:
        """Have every jar there: check each against its SHA-256 and fetch those that are absent or differ.

        Returns:
            The jars that had to be fetched.

        Raises:
            DownloadError: A jar cannot be had.
        """
        if not self.corrupt(report):
            return []  # the usual case needs neither the lock nor a writable cache
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._alone(report):
                # Asked again under the lock: another process may just have done the work.
                wanted = self.corrupt(report)
                if wanted:
                    stage = f"Fetching Neo4j {self.release.version}"
                    _log.info("fetching %d jars of Neo4j %s to %s", len(wanted), self.release.version, self.folder)
                    fetch(wanted, self.folder, find_repository(), report=report, stage=stage)
        except OSError as error:
            raise DownloadError(
                f"cannot write the cache in {self.folder}: {error}",
                hint=f"free some space, mend its permissions, or set {CACHE_VARIABLE} to another folder",
            ) from error
        return wanted

    @contextmanager
    def _alone(self, report: Report) -> Iterator[None]:
        """Hold the cache against other processes that fetch."""
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            report(Progress(f"Waiting for another process that fetches Neo4j {self.release.version}"))
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _has_size(self, artifact: Artifact) -> bool:
        try:
            return self.path(artifact).stat().st_size == artifact.size
        except (FileNotFoundError, NotADirectoryError):
            return False


def fetch(
    artifacts: Iterable[Artifact],
    folder: Path,
    repository: Repository,
    *,
    report: Report = silent,
    stage: str = "Fetching",
    workers: int = _WORKERS,
    pause: float = 0.5,
) -> None:
    """Fetch jars in parallel into a folder.

    Proxies and certificates are those of the usual environment variables.

    Args:
        artifacts: What to fetch; whatever stands under their names is replaced.
        folder: Where to, an existing folder that no other process works on.
        repository: Where from.
        report: Gets the bytes done so far, what earlier runs left behind included.
        stage: Name of the work in those reports.
        workers: Parallel downloads.
        pause: Seconds before the first new attempt at a file; doubles with each.

    Raises:
        DownloadError: A file could not be had; the others are whole or not there.
        OSError: The folder cannot be written.
    """
    wanted = list(artifacts)
    total = sum(artifact.size for artifact in wanted)
    stop = threading.Event()
    counter = _Counter(lambda done: report(Progress(stage, done, total)))
    headers = {"Accept-Encoding": "identity", "User-Agent": "proas"}
    try:
        client = httpx.Client(auth=repository.auth, headers=headers, timeout=_TIMEOUT, follow_redirects=True)
    except (OSError, ValueError) as error:
        raise DownloadError(
            f"the proxy or certificate settings of the environment are unusable: {error}",
            hint="look at HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        ) from error
    with (
        client,
        ThreadPoolExecutor(workers, thread_name_prefix="proas-fetch") as pool,
    ):
        tasks = [_Fetch(artifact, folder, repository, client, counter, stop, pause) for artifact in wanted]
        futures = [pool.submit(task.run) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            # Also on Ctrl-C: the threads see the event at their next chunk, and their parts stay to be continued.
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


class _Counter:
    """Bytes done by all threads together."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._done = 0

    def add(self, amount: int) -> None:
        with self._lock:
            self._done += amount
            self._report(self._done)


class _Retry(Exception):
    """This attempt failed in a way that another one may not."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class _Fetch:
    """The download of one jar."""

    def __init__(
        self,
        artifact: Artifact,
        folder: Path,
        repository: Repository,
        client: httpx.Client,
        counter: _Counter,
        stop: threading.Event,
        pause: float,
    ) -> None:
        self._artifact = artifact
        self._target = folder / artifact.file
        self._part = folder / f"{artifact.file}.part"
        self._repository = repository
        self._client = client
        self._counter = counter
        self._stop = stop
        self._pause = pause
        self._counted = 0

    def run(self) -> None:
        reason = ""
        for attempt in range(_ATTEMPTS):
            if self._stop.is_set():
                return
            try:
                self._attempt()
            except (_Retry, httpx.HTTPError) as error:
                reason = str(error) or type(error).__name__
                _log.info("attempt %d at %s failed: %s", attempt + 1, self._artifact.file, reason)
                wait = error.wait if isinstance(error, _Retry) else 0.0
                # Some jitter, so that parallel downloads do not come back all at once.
                backoff = self._pause * 2**attempt * random.uniform(0.8, 1.2)  # noqa: S311
                if attempt + 1 < _ATTEMPTS:
                    self._stop.wait(max(wait, backoff))
            else:
                return
        raise self._error(
            reason,
            "check the network, proxy (HTTPS_PROXY) and certificates (SSL_CERT_FILE) and try again, "
            f"what has arrived is kept; or set {MIRROR_VARIABLE} to a repository within reach",
        )

    def _attempt(self) -> None:
        have = self._part.stat().st_size if self._part.exists() else 0
        if have < self._artifact.size:
            self._download(have)
        if self._stop.is_set():
            return
        self._settle()

    def _download(self, have: int) -> None:
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._client.stream("GET", f"{self._repository.url}/{self._artifact.path}", headers=headers) as answer:
            self._check(answer)
            resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
            if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                self._part.unlink()
                raise _Retry("the server answered with another range than the one asked for")
            self._count(have if resumed else 0)
            written = self._counted
            with self._part.open("ab" if resumed else "wb") as file:
                for chunk in answer.iter_raw():
                    file.write(chunk)
                    written += len(chunk)
                    self._count(written)
                    # More than the pinned size can never become right, so it need not fill the disk first.
                    if self._stop.is_set() or written > self._artifact.size:
                        return

    def _check(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status in {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT}:
            return
        text = f"the server answered {status} {answer.reason_phrase}".rstrip()
        if status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            self._part.unlink(missing_ok=True)
            raise _Retry(text)
        if status in _TRANSIENT:
            wait = answer.headers.get("Retry-After", "")
            raise _Retry(text, wait=min(float(wait), 60.0) if wait.isdecimal() else 0.0)
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN, httpx.codes.PROXY_AUTHENTICATION_REQUIRED}:
            raise self._error(text, "give the credentials in the address, or as a server in Maven's settings")
        raise self._error(
            text, f"check that this repository serves Maven's central artifacts, or set {MIRROR_VARIABLE}"
        )

    def _settle(self) -> None:
        """Give a complete part its name, or throw it away."""
        size = self._part.stat().st_size
        if size < self._artifact.size:
            raise _Retry(f"the connection ended after {size} of {self._artifact.size} bytes")
        digest = _sha256(self._part)
        if size > self._artifact.size or digest != self._artifact.sha256:
            self._part.unlink()
            raise _Retry(f"its checksum is not the pinned one (SHA-256 {digest}, pinned {self._artifact.sha256})")
        self._part.replace(self._target)
        self._count(self._artifact.size)

    def _count(self, written: int) -> None:
        self._counter.add(written - self._counted)
        self._counted = written

    def _error(self, reason: str, hint: str) -> DownloadError:
        source = f"{self._repository.url} ({self._repository.origin})"
        return DownloadError(f"cannot fetch {self._artifact.path} from {source}: {reason}", hint=hint)
