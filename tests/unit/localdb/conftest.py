"""A small Maven repository on the loopback interface, which can be told to misbehave."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from proas.localdb.release import Artifact, Release
from proas.localdb.repository import Repository


@dataclass
class Request:
    path: str
    range: str
    authorization: str


@dataclass
class JarServer:
    """Serves files and remembers what it was asked.

    ``faults`` holds, by path, what happens to its next requests, in order: an int is answered as that status; ``cut``
    sends half of the body and hangs up; ``ignore-range`` sends everything although a part was asked for;
    ``other-range`` claims another range than the one asked for.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def artifact(self, name: str, content: bytes) -> Artifact:
        """Put a jar into the repository."""
        made = Artifact(
            group="org.example",
            artifact=name,
            version="1.0",
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        self.files[f"/{made.path}"] = content
        return made

    def release(self, *artifacts: Artifact) -> Release:
        return Release(
            format=1,
            release="1.0",
            version="1.0.0",
            main_class="org.example.Main",
            java=(21,),
            roots=(),
            artifacts=artifacts,
        )

    @property
    def repository(self) -> Repository:
        return Repository(self.url, "this test")

    def asked_for(self, artifact: Artifact) -> list[Request]:
        return [request for request in self.requests if request.path == f"/{artifact.path}"]


class _Handler(BaseHTTPRequestHandler):
    jars: JarServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.jars.requests.append(Request(self.path, wanted, self.headers.get("Authorization", "")))
        faults = self.jars.faults.get(self.path, [])
        fault = faults.pop(0) if faults else ""
        body = self.jars.files.get(self.path)
        if isinstance(fault, int) or body is None:
            self._answer(fault if isinstance(fault, int) else 404, b"no")
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and fault != "ignore-range" else 0
        if start >= len(body) > 0 and start:
            self._answer(416, b"")
            return
        rest, status = body[start:], 206 if start else 200
        claimed = start + 1 if fault == "other-range" else start
        span = {"Content-Range": f"bytes {claimed}-{len(body) - 1}/{len(body)}"} if status == 206 else {}
        self._answer(status, rest[: len(rest) // 2] if fault == "cut" else rest, span, len(rest))
        if fault == "cut":
            self.close_connection = True

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def jars(monkeypatch: pytest.MonkeyPatch) -> Iterator[JarServer]:
    """A running repository; nothing but it is reachable through the environment's proxies."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    state = JarServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"jars": state}))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()
