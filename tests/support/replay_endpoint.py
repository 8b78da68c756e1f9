"""An OpenAI-compatible endpoint on the loopback interface that replays recorded answers, and fails on demand.

It speaks HTTP/1.1 over plain sockets, because most of what it is for no web framework would send: bodies that end too
early, drip or never come, connections that are reset, headers that lie. Which call fails, and how, the test chooses.

Recorded answers are those of a policy of the environment, in the form that prompts ask for; :func:`record` plays it and
writes down what it says to each prompt.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, BinaryIO, Self

from proas.agents import Completion, EpisodeSettings, Job, Message, Prompter, PromptSettings, Sampling, play_episode
from proas.agents.model import Usage
from proas.envs import Environment, Policy, World
from proas.keys import digest

Book = dict[str, str]
"""Answers by :func:`entry`."""

MODEL = "recorded"


def entry(messages: Sequence[Mapping[str, str]], seed: int | None) -> str:
    """Where the answer to a request is written."""
    return digest([[m["role"], m["content"]] for m in messages], seed)


class _Recorder:
    """A model that says what a policy does, and writes it down."""

    name = MODEL

    def __init__(self, env: Environment, policy: Policy, book: Book) -> None:
        self._env, self._policy, self._book = env, policy, book

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        text = f"<think>This leads on.</think>\n<action>{self._policy.act(self._env)}</action>"
        self._book[entry([{"role": m.role, "content": m.content} for m in messages], sampling.seed)] = text
        return Completion(text, Usage())

    async def check(self) -> None:
        return None

    async def aclose(self) -> None:
        return None


def record(
    world: World,
    jobs: Iterable[Job],
    policy: Callable[[Job], str],
    *,
    prompts: PromptSettings | None = None,
    seed: int | None = 7,
    step_limit: int | None = None,
) -> Book:
    """Play attempts by policies of the world and write down what they answer to each prompt."""
    book: Book = {}
    env = world.environment(step_limit=step_limit)
    prompter = Prompter(world.name, prompts or PromptSettings())
    settings = EpisodeSettings(sampling=Sampling(seed=seed))
    for job in jobs:
        player = world.policy(policy(job), random.Random(f"{job.task}{job.number}"))
        asyncio.run(play_episode(env, _Recorder(env, player, book), prompter, job, settings))
    return book


class ReplayEndpoint:
    """The endpoint; ``with ReplayEndpoint(book) as endpoint: endpoint.url``.

    Args:
        book: Recorded answers; a function answers requests by itself.
        fault: Names the fault of the n-th completion request (from 0), empty for none; see ``_FAULTS``.
        delay: Seconds before each answer.
        key: The key that is wanted, empty for none.

    Attributes:
        requests: Bodies of the completion requests, in the order in which they came.
        headers: Their headers.
        most_at_once: Most requests that were under way at once.
        billed: Tokens of the usage sent with whole answers, and of those that were broken on their way.
    """

    def __init__(
        self,
        book: Book | Callable[[dict[str, Any]], str],
        *,
        fault: Callable[[int, dict[str, Any]], str] = lambda _n, _request: "",
        delay: float = 0.0,
        key: str = "",
    ) -> None:
        self._answer = book if callable(book) else lambda request: book[entry(request["messages"], request.get("seed"))]
        self._fault = fault
        self.delay = delay
        self._key = key
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = 0
        self.billed = 0
        self._at_once = 0
        self._counting = threading.Lock()
        self._ended = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._port = self._socket.getsockname()[1]
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, cut every connection and wait for the threads."""
        self.vanish()
        self._listener.join(5)
        for thread in self._threads:
            thread.join(5)

    def vanish(self) -> None:
        """Be gone, as a server whose process was killed: new connections are refused, old ones cut."""
        self._ended.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._counting:
            held = list(self._connections)
        for connection in held:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._counting:
                self._connections.add(connection)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        # Closed by hand in the end: a file over a socket keeps it open, whatever else was closed.
        stream = connection.makefile("rb")
        try:
            if connection.recv(1, socket.MSG_PEEK) == b"\x16":  # a greeting in TLS, answered as plain servers do
                connection.sendall(reply_bytes(400, b"plain HTTP request expected"))
                return
            while not self._ended.is_set() and self._request(connection, stream):
                pass
        except OSError:
            return
        finally:
            with suppress(OSError):
                stream.close()
            connection.close()
            with self._counting:
                self._connections.discard(connection)

    def _request(self, connection: socket.socket, stream: BinaryIO) -> bool:
        """Read and answer one request; false ends the connection."""
        first = stream.readline().decode("latin-1").split()
        if len(first) < 2:
            return False
        headers: dict[str, str] = {}
        while (line := stream.readline().decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        body = stream.read(length)
        if len(body) < length:  # the caller went away in the middle
            return False
        return self._handle(connection, first[1], headers, body)

    def _handle(self, connection: socket.socket, path: str, headers: dict[str, str], body: bytes) -> bool:
        """Answer one request; false ends the connection."""
        if self._key and headers.get("authorization") != f"Bearer {self._key}":
            said = headers.get("authorization", "nothing")
            connection.sendall(reply_bytes(401, {"error": {"message": f"Incorrect API key provided: {said}"}}))
            return True
        if path.endswith("/models"):
            connection.sendall(reply_bytes(200, {"object": "list", "data": [{"id": MODEL}, {"id": "other"}]}))
            return True
        request = json.loads(body)
        with self._counting:
            number = len(self.requests)
            self.requests.append(request)
            self.headers.append(headers)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self._complete(connection, number, request)
        finally:
            with self._counting:
                self._at_once -= 1

    def _complete(self, connection: socket.socket, number: int, request: dict[str, Any]) -> bool:
        if self.delay:
            self._ended.wait(self.delay)
        fault = self._fault(number, request)
        if fault in _REFUSALS:
            status, document, extra = _REFUSALS[fault]()
            connection.sendall(reply_bytes(status, document, extra))
            return True
        text = self._answer(request)
        document = completion(request, text)
        with self._counting:
            self.billed += document["usage"]["total_tokens"]
        return _FAULTS[fault](connection, document, self._ended)


def completion(request: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A whole answer. Tokens are words."""
    prompt = sum(len(message["content"].split()) for message in request["messages"])
    written = len(text.split())
    usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}


def reply_bytes(status: int, document: object, headers: Mapping[str, str] | None = None) -> bytes:
    """An HTTP answer."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + body


_Refusal = tuple[int, object, Mapping[str, str]]


def _date() -> str:
    return format_datetime(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1), usegmt=True)


_REFUSALS: dict[str, Callable[[], _Refusal]] = {
    "429": lambda: (429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "0.2"}),
    "429 date": lambda: (429, {"error": {"message": "Rate limit reached"}}, {"retry-after": _date()}),
    "429 long": lambda: (429, {"error": {"message": "Quota exceeded"}}, {"retry-after": "86400"}),
    "500": lambda: (500, b"<html><title>Internal Server Error</title></html>", {"content-type": "text/html"}),
    "503": lambda: (503, {"error": "overloaded"}, {}),
    "401": lambda: (401, {"error": {"message": "Incorrect API key provided"}}, {}),
    "404": lambda: (404, {"error": {"message": "The model does not exist", "code": "model_not_found"}}, {}),
    "400": lambda: (400, {"error": {"message": "This model's maximum context length is 4096 tokens"}}, {}),
    "302": lambda: (302, b"", {"location": "http://198.51.100.7/v1"}),
}


def _whole(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    del ended
    connection.sendall(reply_bytes(200, document))
    return True


def _as(change: Callable[[dict[str, Any]], object], **headers: str) -> Callable[..., bool]:
    """A whole answer with another body."""

    def send(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
        del ended
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.sendall(reply_bytes(200, change(document), fields))
        return True

    return send


def _hang(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    del connection, document
    ended.wait(60)
    return False


def _drip(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    for byte in reply_bytes(200, document):
        connection.sendall(bytes([byte]))
        if ended.wait(0.05):
            break
    return False


def _reset(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    del ended
    whole = reply_bytes(200, document)
    connection.sendall(whole[: len(whole) // 2])
    time.sleep(0.02)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def _cut(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    del ended
    whole = reply_bytes(200, document)
    connection.sendall(whole[: len(whole) // 2])
    return False


def _huge(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    del document
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{")
    while not ended.is_set():
        connection.sendall(b" " * 65536)
    return False


def _no_answer(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    del connection, document, ended
    return False


def _goodbye(connection: socket.socket, document: dict[str, Any], ended: threading.Event) -> bool:
    """A whole answer over a connection that is then closed, without saying so beforehand."""
    _whole(connection, document, ended)
    return False


def _with_content(content: object) -> Callable[[dict[str, Any]], object]:
    def change(document: dict[str, Any]) -> object:
        document["choices"][0]["message"]["content"] = content
        return document

    return change


def _in_parts(document: dict[str, Any]) -> object:
    text = document["choices"][0]["message"]["content"]
    middle = len(text) // 2
    parts = [
        {"type": "text", "text": text[:middle]},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": text[middle:]},
    ]
    return _with_content(parts)(document)


def _thoughts_apart(document: dict[str, Any]) -> object:
    message = document["choices"][0]["message"]
    thoughts, _, rest = message["content"].partition("</think>")
    message |= {"content": rest, "reasoning_content": thoughts.removeprefix("<think>")}
    return document


def _twice(document: dict[str, Any]) -> bytes:
    return json.dumps(document).replace('{"id"', '{"choices": [], "usage": null, "id"', 1).encode()


_FAULTS: dict[str, Callable[[socket.socket, dict[str, Any], threading.Event], bool]] = {
    "": _whole,
    "hang": _hang,
    "drip": _drip,
    "reset": _reset,
    "cut": _cut,
    "huge": _huge,
    "no answer": _no_answer,
    "goodbye": _goodbye,
    "invalid json": _as(lambda document: json.dumps(document).encode()[:-9]),
    "html": _as(lambda _document: b"<!doctype html><title>Sign in</title>", content_type="text/html"),
    "stream": _as(lambda _document: b'data: {"choices": []}\n\ndata: [DONE]\n\n', content_type="text/event-stream"),
    "deep": _as(lambda _document: b'{"choices":' + b"[" * 200_000),
    "a list": _as(lambda _document: []),
    "empty": _as(lambda _document: b""),
    "empty choices": _as(lambda document: document | {"choices": []}),
    "error inside": _as(lambda _document: {"error": {"message": "upstream failed"}}),
    "null content": _as(_with_content(None)),
    "parts": _as(_in_parts),
    "thoughts apart": _as(_thoughts_apart),
    "no usage": _as(lambda document: {name: value for name, value in document.items() if name != "usage"}),
    "odd usage": _as(lambda document: document | {"usage": {"prompt_tokens": "many", "completion_tokens": -1}}),
    "charset": _as(
        lambda document: json.dumps(document).encode("utf-16"), content_type="application/json; charset=x-none"
    ),
    "latin": _as(
        lambda document: json.dumps(document | {"note": "caf\u00e9"}, ensure_ascii=False).encode("latin-1"),
        content_type="application/json; charset=iso-8859-1",
    ),
    "half a character": _as(
        lambda document: json.dumps(_with_content("<think>\ud83d</think><action>look</action>")(document)).encode()
    ),
    "duplicate keys": _as(_twice),
}
