"""Where an endpoint is and how to log in there: addresses in the forms that people write, and keys that never show."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from proas.errors import UsageError

__all__ = ["KEY_VARIABLES", "Address", "api_key"]

KEY_VARIABLES = ("PROAS_API_KEY", "OPENAI_API_KEY")
"""Variables that hold a key, in the order in which they are looked at; each has a ``_FILE`` form."""

_PATHS = ("/chat/completions", "/completions", "/models")
"""Ends of addresses that people copy from a provider's examples."""


@dataclass(frozen=True, slots=True)
class Address:
    """The base of an OpenAI-compatible endpoint.

    Attributes:
        base: For example ``http://127.0.0.1:8000/v1``; without a slash at the end.
    """

    base: str

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address.

        Args:
            text: With or without ``http://`` and ``/v1``; the full address of ``/chat/completions`` will do too. A host
                without a path gets ``/v1``; any other path stays as it is.

        Raises:
            UsageError: It is no address of the web, or carries a login or a query.
        """
        written = text.strip()
        full = written if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", written) else f"http://{written}"
        try:
            parts = urlsplit(full)
            host, _port = parts.hostname, parts.port
        except ValueError:
            parts, host = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not host or re.search(r"\s", full):
            shown = re.sub(r"//[^/@]*@", "//", written)
            raise UsageError(f"{shown!r} is not the address of an endpoint", hint="write http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                f"the address of the endpoint at {host} carries a login, a query or a fragment",
                hint=f"give the key in {KEY_VARIABLES[0]}, and the plain address",
            )
        path = parts.path.rstrip("/")
        for end in _PATHS:
            path = path.removesuffix(end)
        return cls(f"{parts.scheme}://{parts.netloc}{path.rstrip('/') or '/v1'}")

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine, where no proxy is to be asked."""
        host = urlsplit(self.base).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def names_a_version(self) -> bool:
        """Whether its path ends like that of an API, ``/v1`` or so."""
        return re.search(r"/v\d\w*(/openai)?$", self.base) is not None


def api_key(environ: Mapping[str, str] | None = None) -> SecretStr | None:
    """The key that the environment holds, directly or in a file; ``None`` where it holds none.

    Raises:
        UsageError: The file cannot be read or is empty, or the key holds characters that no header can carry.
    """
    env = os.environ if environ is None else environ
    for name in KEY_VARIABLES:
        if value := env.get(name, "").strip():
            return SecretStr(_checked(value, name))
        if file := env.get(f"{name}_FILE", "").strip():
            return SecretStr(_checked(_first_line(Path(file), f"{name}_FILE"), f"the file of {name}_FILE"))
    return None


def _first_line(file: Path, variable: str) -> str:
    try:
        lines = file.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise UsageError(f"{variable} names {file}, which cannot be read: {reason}") from None
    if not lines or not lines[0].strip():
        raise UsageError(f"{variable} names {file}, which holds no key in its first line")
    return lines[0].strip()


def _checked(key: str, where: str) -> str:
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the key in {where} holds characters that no key has", hint="look for a stray line or quote")
    return key
