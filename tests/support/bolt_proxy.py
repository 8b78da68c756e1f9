"""A small TCP proxy that understands as much of Bolt as it takes to break a conversation at a chosen message.

It stands between the driver and a real server on the loopback interface and passes everything on as it comes. It counts
the logins that reach the server, breaks the connection when a transaction that writes is about to be committed or has
just been, cuts long answers in half, and can announce another address than the server does.

Bolt frames its messages in chunks: two bytes of length, the bytes, and a length of zero at the end of a message; a
message begins with a structure marker and its tag (Bolt specification, "Message transfer encoding").
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, Self
from urllib.parse import urlsplit

_LOGON = 0x6A
_BEGIN = 0x11
_COMMIT = 0x12
_SUCCESS = 0x70
_MANIFEST = b"\x00\x00\x01\xff"
"""The server's answer to the handshake that says that a list of versions follows, and another answer to it."""

Where = Literal["before", "after"]
"""``before``: the server never gets the message. ``after``: it has answered, and the driver never gets the answer."""


class _Messages:
    """The messages that a client sends, out of the bytes as they come."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._message = bytearray()
        self._greeted = False

    def take(self, data: bytes, hello_of_server: bytes) -> list[bytes]:
        """Messages that these bytes complete."""
        self._bytes += data
        if not self._greeted and not self._greet(hello_of_server):
            return []
        whole: list[bytes] = []
        while len(self._bytes) >= 2:
            length = int.from_bytes(self._bytes[:2], "big")
            if len(self._bytes) < 2 + length:
                break
            self._message += self._bytes[2 : 2 + length]
            del self._bytes[: 2 + length]
            if length == 0 and self._message:
                whole.append(bytes(self._message))
                self._message.clear()
        return whole

    def _greet(self, hello_of_server: bytes) -> bool:
        """Step over the handshake; whether it is complete."""
        # Four bytes of magic and four proposals; after a manifest also the choice and a bit mask of one byte or more.
        length = 20
        if hello_of_server[:4] == _MANIFEST:
            length = 25
            while len(self._bytes) >= length and self._bytes[length - 1] & 0x80:
                length += 1
        if len(hello_of_server) < 4 or len(self._bytes) < length:
            return False
        del self._bytes[:length]
        self._greeted = True
        return True


class BoltProxy:
    """Forwards a port of its own to a server until it is told to break something.

    Args:
        uri: Address of the server.

    Attributes:
        logins: Logins that the server was asked for.
        commits: Commits of writing transactions that the driver sent.
        lost: Of these, how many met the fault.
        cut_answers: Answers of which the driver got a part.
    """

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        assert parts.hostname
        assert parts.port
        self._target = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._accept, name="bolt-proxy")]
        self._where: Where = "before"
        self._numbers: frozenset[int] = frozenset()
        self._then: Callable[[], None] = lambda: None
        self._longest_answer: int | None = None
        self._announced: tuple[bytes, bytes] | None = None
        self._guard = threading.Lock()
        self.cut_answers = 0
        self.logins = 0
        self.commits = 0
        self.lost = 0

    def uri(self, scheme: str = "bolt") -> str:
        """Address of the proxy."""
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def lose(
        self, where: Where, numbers: frozenset[int] = frozenset({1}), then: Callable[[], None] = lambda: None
    ) -> None:
        """Break connections at the commits of writing transactions.

        Args:
            where: Before the commit reaches the server, or after the server's answer has left it.
            numbers: Which of the commits from now on, the first of which is 1.
            then: Called just before the connections are cut.
        """
        with self._guard:
            self._where, self._numbers, self._then = where, numbers, then
            self.commits = self.lost = 0

    def shorten_answers(self, longest: int | None) -> None:
        """From now on break the connection after this many bytes of an answer that is longer; ``None`` ends it."""
        self._longest_answer = longest

    def announce(self, port: int) -> None:
        """Replace the proxy's address in what the server says of itself by another port, as a mapped port does."""
        ours, theirs = (f"127.0.0.1:{number}".encode() for number in (self._listener.getsockname()[1], port))
        assert len(ours) == len(theirs)
        self._announced = ours, theirs

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in list(self._threads):
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._ending.is_set():
            if not select.select([self._listener], [], [], 0.05)[0]:
                continue
            client, _ = self._listener.accept()
            thread = threading.Thread(target=self._serve, args=(client,), name="bolt-proxy-connection")
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._target, timeout=10) as server:
            _Conversation(self, client, server).run(self._ending)

    def _meets_fault(self) -> bool:
        """Whether the commit that the driver has just sent is one of those to be lost."""
        with self._guard:
            self.commits += 1
            met = self.commits in self._numbers
            self.lost += met
            return met

    def _count_login(self) -> None:
        with self._guard:
            self.logins += 1


class _Conversation:
    """One connection."""

    def __init__(self, proxy: BoltProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._messages = _Messages()
        self._hello_of_server = b""
        self._writes = False

    def run(self, ending: threading.Event) -> None:
        """Forward until one side ends or the fault happens."""
        while not ending.is_set():
            for ready in select.select([self._client, self._server], [], [], 0.05)[0]:
                data = ready.recv(65536)
                if not data or not (self._from_client(data) if ready is self._client else self._from_server(data)):
                    return

    def _from_server(self, data: bytes) -> bool:
        if len(self._hello_of_server) < 4:
            self._hello_of_server += data[:4]
        if self._proxy._announced is not None:
            data = data.replace(*self._proxy._announced)
        longest = self._proxy._longest_answer
        if longest is not None and len(data) > longest:
            self._proxy.cut_answers += 1
            self._client.sendall(data[:longest])
            return False
        self._client.sendall(data)
        return True

    def _from_client(self, data: bytes) -> bool:
        for message in self._messages.take(data, self._hello_of_server):
            tag = message[1]
            if tag == _LOGON:
                self._proxy._count_login()
            if tag == _BEGIN:
                self._writes = b"\x84mode\x81r" not in message
            if tag == _COMMIT and self._writes and self._proxy._meets_fault():
                self._fail(data)
                return False
        self._server.sendall(data)
        return True

    def _fail(self, data: bytes) -> None:
        """The driver waits for each answer before it commits, so that these bytes are the commit and nothing else."""
        if self._proxy._where == "after":
            self._server.sendall(data)
            answer = self._server.recv(65536)
            assert answer[3] == _SUCCESS, answer
        self._proxy._then()
