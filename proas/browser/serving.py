"""A small server on loopback from which Neo4j Browser fetches the guide and the style sheet.

Browser loads remote content from hosts that its server allows; ``localhost`` is allowed by default, and a page from
there may be read because this server says so in the headers that browsers ask for. It hands out a fixed set of files,
reads nothing from the disk, takes no other request, and answers only to the names of this machine, so that no page
elsewhere can reach it by another name.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

from proas.errors import LocalServerError

__all__ = ["AssetServer", "browser_address"]

HOST = "127.0.0.1"
_NAME = "localhost"
_TYPES = {"html": "text/html", "grass": "text/plain", "cypher": "text/plain"}
_PATIENCE = 10.0
_HEADER_NAMES = re.compile(r"[A-Za-z0-9-]+(?:, ?[A-Za-z0-9-]+)*")


class AssetServer:
    """Serves files made when they are asked for; a context manager.

    Args:
        files: What makes the text of each file, by its name; it is given the address that all of them are below.
        port: Port on loopback; 0 takes a free one.

    Raises:
        LocalServerError: The port is taken.
    """

    def __init__(self, files: Mapping[str, Callable[[str], str]], *, port: int = 0) -> None:
        self._files = dict(files)
        try:
            self._server = _Server((HOST, port), _Handler, files=self._files)
        except OSError as error:
            raise LocalServerError(
                f"cannot listen at {HOST}:{port}: {error.strerror or error}", hint="choose another port, or none"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return int(self._server.server_address[1])

    def address(self, name: str) -> str:
        """Address of a file, by the name of this machine that Browser allows."""
        return f"http://{_NAME}:{self.port}/{name}"

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_PATIENCE)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        *,
        files: Mapping[str, Callable[[str], str]],
    ) -> None:
        self.files = files
        super().__init__(address, handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ProAS"
    sys_version = ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Hand out a file."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """Say what a file is like."""
        self._answer(body=False)

    def do_OPTIONS(self) -> None:
        """Allow what browsers ask about before they fetch."""
        if self._stranger():
            return
        self.send_response(204)
        self._allow()
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        # Browser adds headers of its own (pragma, cache-control, sentry-trace, ...), and more with each release.
        asked = self.headers.get("Access-Control-Request-Headers", "")
        if _HEADER_NAMES.fullmatch(asked):
            self.send_header("Access-Control-Allow-Headers", asked)
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Say nothing: the terminal shows what the user needs."""

    def _answer(self, *, body: bool) -> None:
        if self._stranger():
            return
        name = urlsplit(self.path).path.lstrip("/")
        make = self.server.files.get(name)
        if make is None:
            self._send(404, "text/plain", "there is no such file\n", body=body)
            return
        try:
            text = make(f"http://{_NAME}:{self.server.server_address[1]}")
        except Exception as error:  # noqa: BLE001 - told to whoever asked; the server goes on
            self._send(503, "text/plain", f"the file cannot be made now: {error}\n", body=body)
            return
        self._send(200, _TYPES.get(name.rpartition(".")[2], "text/plain"), text, body=body)

    def _stranger(self) -> bool:
        """Whether the request came by a name that is not this machine's; it is answered then."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host in {_NAME, HOST}:
            return False
        self._send(403, "text/plain", "not by this name\n", body=self.command != "HEAD")
        return True

    def _send(self, status: int, kind: str, text: str, *, body: bool) -> None:
        data = text.encode()
        self.send_response(status)
        self._allow()
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _allow(self) -> None:
        # Browser's own page is on another port, which is another origin. Nothing here is secret to a page that a user
        # of this machine opened, but only pages of this machine and Neo4j's own Browser have a use for it.
        origin = self.headers.get("Origin", "")
        host = urlsplit(origin).hostname or ""
        if host in {_NAME, HOST, "::1"} or host == "browser.neo4j.io" or host.endswith(".neo4j.io"):
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Vary", "Origin")


def browser_address(page: str, *, connect_to: str, username: str, database: str, guide: str = "") -> str:
    """Address of Browser's page that knows what to connect to, and opens a guide.

    Args:
        page: Address of Browser itself.
        connect_to: Address of the database's server.
        username: Name to log in with.
        database: Name of the database.
        guide: Address of the guide; none if empty.
    """
    mark = "&" if urlsplit(page).query else "?"
    scheme, _, rest = connect_to.partition("://")
    named = f"{scheme}://{quote(username, safe='')}@{rest}"
    words = [] if "connectURL=" in page else [f"connectURL={quote(named, safe='')}"]
    words.append(f"db={quote(database, safe='')}")
    if guide:
        # Browser reads these two by itself and does not decode the first.
        words += ["cmd=guide", f"arg={quote(guide, safe=':/')}"]
    return page + mark + "&".join(words)
