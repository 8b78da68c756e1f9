"""A client of OpenAI-compatible chat endpoints: one try a call, every fault named.

Trying again is the business of :mod:`proas.agents.patience`.

It is built on httpx and not on the ``openai`` package: three fields of one request are needed, ProAS depends on httpx
anyway, and what that package would decide for us is what has to be ours: which faults are retried and which end the
run, how large a body may be, that a slow drip ends too, and that no token is spent that the budget does not hold.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from pydantic import SecretStr

from proas.agents.address import KEY_VARIABLES, Address
from proas.agents.answers import complaint_of, completion_of, model_names, words_of
from proas.agents.model import Completion, Message, Sampling, estimated_tokens, whole_text
from proas.errors import ModelError, ModelRefused, ModelUnavailable, UsageError

__all__ = ["ChatEndpoint", "EndpointSettings", "PromptRefused", "TryFailed"]

_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_TOO_LONG = ("context length", "context window", "maximum context", "too long", "max_model_len", "max_tokens")

_CHECK = 30.0
"""Seconds until a list of models is there; it takes no thinking."""


class TryFailed(ModelUnavailable):
    """One try failed and another may not.

    Args:
        message: What happened.
        wait: Seconds that the server asks to wait; ``None`` where it does not say.
        tokens: What the try is believed to have cost.
        reached: Whether a server answered at all.
    """

    def __init__(
        self, message: str, *, hint: str = "", wait: float | None = None, tokens: int = 0, reached: bool = True
    ) -> None:
        super().__init__(message, hint=hint, tokens=tokens)
        self.wait = wait
        self.reached = reached


class PromptRefused(ModelRefused):
    """This conversation is refused (too long, filtered); others may not be."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """How an endpoint is asked.

    Attributes:
        model: Name of the model, as the endpoint knows it.
        address: Where it is.
        key: The key, masked in every representation; ``None`` sends none.
        connect_timeout: Seconds until a connection stands.
        timeout: Seconds until a reply is there as a whole.
        body_limit: Longest body in bytes.
        extra: Further fields of the request, for settings that only this server knows; ``None`` leaves a field out.
    """

    model: str
    address: Address
    key: SecretStr | None = None
    connect_timeout: float = 10.0
    timeout: float = 180.0
    body_limit: int = 8 * 1024 * 1024
    extra: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be asked."""
        if not self.model.strip():
            raise UsageError("the model has no name")
        if not min(self.connect_timeout, self.timeout) > 0:
            raise UsageError("time-outs must be positive")


class ChatEndpoint:
    """One model of one endpoint; implements :class:`proas.agents.model.LanguageModel`.

    Args:
        settings: Where and how.
        connections: Most connections that are open at once.
    """

    def __init__(self, settings: EndpointSettings, *, connections: int = 64) -> None:
        self.settings = settings
        headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "proas"}
        if settings.key is not None:
            headers["authorization"] = f"Bearer {settings.key.get_secret_value()}"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(settings.timeout, connect=settings.connect_timeout, pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            follow_redirects=False,  # a key goes to the address that was given, and to no other
            verify=settings.address.base.startswith(
                "https:"
            ),  # reading certificates takes a while, and plain HTTP has none
            trust_env=not settings.address.is_local,
        )

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.settings.model

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One try; see :class:`proas.agents.model.LanguageModel`.

        Raises:
            TryFailed: Another try may help.
            PromptRefused: This conversation is refused.
            ModelRefused: The endpoint refuses the key or does not know the model.
        """
        fields: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [{"role": m.role, "content": whole_text(m.content)} for m in messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "stream": False,
            "stop": list(sampling.stop) or None,
            "seed": sampling.seed,
            **(self.settings.extra or {}),
        }
        request = {name: value for name, value in fields.items() if value is not None}
        asked = sum(estimated_tokens(message.content) + 4 for message in messages)
        status, headers, body = await self._send("POST", "/chat/completions", request, cost=asked)
        kind = headers.get("content-type", "")
        if status != httpx.codes.OK:
            raise self._refusal(status, headers, body)
        try:
            return completion_of(body, kind, messages)
        except ModelUnavailable as error:
            cost = asked + min(-(-len(body) // 4), sampling.max_tokens)
            raise TryFailed(self._masked(error.message), hint=error.hint, tokens=cost) from None

    async def check(self) -> tuple[str, ...] | None:
        """Look whether the endpoint is there, takes the key and knows the model.

        Returns:
            The names of its models; ``None`` where it does not list them.

        Raises:
            ModelUnavailable: Nobody answers.
            ModelRefused: The key is refused, or the model is not among those that are listed.
        """
        status, headers, body = await self._send("GET", "/models", None, cost=0, within=_CHECK)
        if status in (401, 403):
            raise self._refusal(status, headers, body)
        names = model_names(body, headers.get("content-type", "")) if status == httpx.codes.OK else None
        if names is not None and not any(_meant(self.settings.model, name) for name in names):
            shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
            raise ModelRefused(
                f"{self.settings.address.base} has no model {self.settings.model!r}", hint=f"it offers {shown}"
            )
        return names

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(
        self, method: str, path: str, document: dict[str, Any] | None, *, cost: int, within: float = float("inf")
    ) -> tuple[int, httpx.Headers, bytes]:
        """Status, headers and body of one exchange."""
        url = self.settings.address.base + path
        seconds = min(within, self.settings.timeout)
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream(method, url, json=document) as response,
            ):
                return response.status_code, response.headers, await self._body(response, cost)
        except TimeoutError:
            raise TryFailed(f"no whole reply within {seconds:g} s", tokens=cost) from None
        except httpx.ConnectTimeout:
            message = f"no connection to {self.settings.address.base} within {self.settings.connect_timeout:g} s"
            raise TryFailed(message, reached=False) from None
        except httpx.ConnectError as error:
            raise self._unreachable(error) from None
        except httpx.HTTPError as error:
            what = self._masked(words_of(str(error)) or type(error).__name__)
            raise TryFailed(f"the connection broke: {what}", tokens=cost) from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise ModelRefused(f"{self.settings.address.base} cannot be asked: {error}") from None

    async def _body(self, response: httpx.Response, cost: int) -> bytes:
        held = bytearray()
        async for chunk in response.aiter_bytes():
            held += chunk
            if len(held) > self.settings.body_limit:
                raise TryFailed(f"the reply is longer than {self.settings.body_limit:,} bytes", tokens=cost)
        return bytes(held)

    def _unreachable(self, error: httpx.ConnectError) -> ModelError:
        """Why no connection could be made. A certificate that is not trusted stays so; all else may pass."""
        base = self.settings.address.base
        what = words_of(str(error)) or "connection refused"
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return ModelRefused(
                    f"the certificate of {base} is not trusted", hint="set SSL_CERT_FILE to its authority's certificate"
                )
            if isinstance(cause, ssl.SSLError):
                return ModelRefused(f"{base} does not speak TLS: {what}", hint="try http:// in place of https://")
            cause = cause.__cause__ or cause.__context__
        return TryFailed(f"nobody answers at {base}: {what}", hint="is the server running?", reached=False)

    def _refusal(self, status: int, headers: httpx.Headers, body: bytes) -> ModelError:
        """What an answer with another status than 200 means."""
        base = self.settings.address.base
        said = self._masked(complaint_of(body, headers.get("content-type", "")))
        answer = f"{base} answers {status}" + (f": {said}" if said else "")
        if status in _TRY_AGAIN:
            return TryFailed(answer, wait=_asked_wait(headers))
        if status in (401, 403):
            hint = "check" if self.settings.key is not None else "it wants a key: set"
            return ModelRefused(answer, hint=f"{hint} {' or '.join(KEY_VARIABLES)}, or its _FILE form")
        if status == httpx.codes.NOT_FOUND:
            hint = f"check the name of the model, {self.settings.model!r}"
            if not self.settings.address.names_a_version:
                hint += f", and the address: perhaps {base}/v1"
            return ModelRefused(answer, hint=hint)
        if 300 <= status < 400:
            target = words_of(headers.get("location", "elsewhere"))
            return ModelRefused(f"{answer}: it sends us to {target}", hint="give that address if you trust it")
        if status in (400, 413, 422):
            too_long = status == 413 or any(words in said.lower() for words in _TOO_LONG)
            hint = "show less: --history, or a model with a longer context" if too_long else ""
            return PromptRefused(answer, hint=hint)
        if status >= 500:
            return TryFailed(answer, wait=_asked_wait(headers))
        return ModelRefused(answer)

    def _masked(self, text: str) -> str:
        """A server's words without the key, which some repeat in their complaints."""
        key = self.settings.key.get_secret_value() if self.settings.key is not None else ""
        return text.replace(key, "***") if key else text


def _meant(model: str, listed: str) -> bool:
    """Whether a listed name is the model's. Some servers list a tag that may be left out: ``llama3:latest``."""
    return listed == model or listed.startswith(f"{model}:")


def _asked_wait(headers: httpx.Headers) -> float | None:
    """Seconds of ``Retry-After`` (RFC 9110: a number of seconds, or a date); ``None`` where it says nothing usable."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except (TypeError, ValueError):
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
