"""Where the jars come from: the Maven repository that the user's environment names.

Order of choice:

1. ``PROAS_MAVEN_MIRROR``, a base URL;
2. a mirror of ``central``, or a repository of that name in an active profile, in Maven's own settings: the user's
   ``~/.m2/settings.xml``, then that of the installation (``$MAVEN_HOME/conf``, ``/etc/maven``);
3. the public central repository, whose address the Maven client library ``jgo`` knows.

Format of the settings: https://maven.apache.org/settings.html. Encrypted passwords and ``<proxies>`` are not read from
there; proxies and certificates follow the usual variables (``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import httpx
from pydantic import SecretStr

from proas.errors import DownloadError, UsageError

__all__ = ["MIRROR_VARIABLE", "Repository", "find_repository"]

MIRROR_VARIABLE = "PROAS_MAVEN_MIRROR"
_CENTRAL = "central"
_REFERENCE = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True)
class Repository:
    """A Maven repository in the default layout.

    Attributes:
        url: Base URL, without user name and password and without a trailing slash.
        origin: What named it, for messages.
        username: User name for HTTP basic authentication; empty for none.
        password: Password for it.
    """

    url: str
    origin: str
    username: str = ""
    password: SecretStr = field(default_factory=lambda: SecretStr(""))

    @property
    def auth(self) -> httpx.BasicAuth | None:
        """Credentials for ``httpx``."""
        return httpx.BasicAuth(self.username, self.password.get_secret_value()) if self.username else None


def _repository(url: str, origin: str, username: str = "", password: str = "") -> Repository:
    """Check a base URL and move credentials out of it, so that no message shows them."""
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise UsageError(f"{origin} names no usable address: {error}", hint="give an http(s) base URL") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise UsageError(
            f"{origin} names no usable address", hint="give a base URL that starts with https:// or http://"
        )
    if parsed.username:
        username, password = parsed.username, parsed.password
    bare = str(parsed.copy_with(username=None, password=None)).rstrip("/")
    return Repository(bare, origin, username, SecretStr(password))


class _Settings:
    """One ``settings.xml``."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = environ
        try:
            # The file is the user's own configuration, and the parser expands no external entities.
            self._root = ET.parse(path).getroot()  # noqa: S314
        except (ET.ParseError, OSError) as error:
            raise DownloadError(
                f"cannot read Maven's settings in {path}: {error}", hint=f"mend the file, or set {MIRROR_VARIABLE}"
            ) from None
        for element in self._root.iter():
            element.tag = element.tag.rpartition("}")[2]  # with or without the schema's namespace

    def _text(self, element: ET.Element, name: str) -> str:
        """Text of a child, with ``${env.NAME}`` and ``${user.home}`` filled in."""

        def fill(match: re.Match[str]) -> str:
            name = match[1]
            if name == "user.home":
                return str(Path.home())
            return self._environ.get(name.removeprefix("env."), "") if name.startswith("env.") else match[0]

        return _REFERENCE.sub(fill, (element.findtext(name) or "").strip())

    def _credentials(self, identifier: str) -> tuple[str, str]:
        for server in self._root.findall("./servers/server"):
            if self._text(server, "id") == identifier:
                username, password = self._text(server, "username"), self._text(server, "password")
                if password.startswith("{"):
                    raise DownloadError(
                        f"the password of server {identifier!r} in {self._path} is encrypted; only Maven reads that",
                        hint=f"set {MIRROR_VARIABLE} to an address that needs no password, or that carries it",
                    )
                return username, password
        return "", ""

    def _active_profiles(self) -> list[ET.Element]:
        active = {(element.text or "").strip() for element in self._root.findall("./activeProfiles/activeProfile")}
        return [
            profile
            for profile in self._root.findall("./profiles/profile")
            if self._text(profile, "id") in active or (profile.findtext("activation/activeByDefault") or "") == "true"
        ]

    def repository(self) -> Repository | None:
        """The mirror of central that these settings name, or the repository that stands in for it."""
        candidates = [
            element
            for element in self._root.findall("./mirrors/mirror")
            if mirrors_central(self._text(element, "mirrorOf")) and self._text(element, "blocked") != "true"
        ]
        for profile in self._active_profiles():
            candidates += [
                element
                for element in profile.findall("./repositories/repository")
                if self._text(element, "id") == _CENTRAL
            ]
        if not candidates:
            return None
        chosen = candidates[0]
        return _repository(self._text(chosen, "url"), str(self._path), *self._credentials(self._text(chosen, "id")))


def mirrors_central(pattern: str) -> bool:
    """Say whether a ``mirrorOf`` pattern covers the central repository.

    Source: https://maven.apache.org/guides/mini/guide-mirror-settings.html. Central is external and served by HTTPS, so
    ``*``, ``external:*`` and ``central`` cover it, ``external:http:*`` does not, and ``!central`` excludes it.
    """
    parts = {part.strip() for part in pattern.split(",")}
    return f"!{_CENTRAL}" not in parts and not parts.isdisjoint({"*", "external:*", _CENTRAL})


def _settings_files(environ: Mapping[str, str]) -> list[Path]:
    files = [Path.home() / ".m2" / "settings.xml"]
    files += [Path(environ[name]) / "conf" / "settings.xml" for name in ("MAVEN_HOME", "M2_HOME") if environ.get(name)]
    files.append(Path("/etc/maven/settings.xml"))
    return [file for file in files if file.is_file()]


def find_repository(environ: Mapping[str, str] | None = None) -> Repository:
    """Find the repository to fetch from; nothing is sent.

    Args:
        environ: Environment variables; those of the process when absent.

    Raises:
        UsageError: The environment names something that is no address.
        DownloadError: Maven's settings are unreadable, or no repository is known.
    """
    environ = os.environ if environ is None else environ
    if url := environ.get(MIRROR_VARIABLE, "").strip():
        return _repository(url, MIRROR_VARIABLE)
    for file in _settings_files(environ):
        if found := _Settings(file, environ).repository():
            return found
    try:
        from jgo.maven import MavenContext  # imported here: needed once, for the first download
    except ImportError:
        raise DownloadError(
            "no Maven repository is known", hint=f"set {MIRROR_VARIABLE} to the base URL of one, or install jgo"
        ) from None
    return _repository(MavenContext().remote_repos[_CENTRAL], "the public central repository")
