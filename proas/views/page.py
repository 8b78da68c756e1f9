"""One HTML file that needs nothing else: text escaped, scripts and styles inside it, and a policy that allows no more.

The content security policy names each script and style by its SHA-256 and forbids all else, the network first. Words
that came from data can therefore neither run nor load anything, even if one slipped through the escaping.
Source: https://www.w3.org/TR/CSP3/.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from proas.errors import DataError

__all__ = ["Cell", "asset", "document", "embedded", "table", "words", "write_page"]

_STYLE = '<style id="__________cytoscape_stylesheet">'
"""The library adds a style element of this name where there is none; the policy lets no script add one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell whose content is HTML of ours already, with the value by which it sorts."""

    markup: str
    number: bool = False


def words(text: object) -> str:
    """Text from data as HTML: escaped, and control characters made visible."""
    return html.escape(_shown(str(text)), quote=True)


def _shown(text: str) -> str:
    """Text in which nothing steers: neither control characters nor marks that turn the direction of writing."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _all_shown(value: Any) -> Any:
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, Mapping):
        return {key: _all_shown(inner) for key, inner in value.items()}
    return [_all_shown(inner) for inner in value] if isinstance(value, list | tuple) else value


def embedded(data: Mapping[str, Any]) -> str:
    """JSON for the inside of a script element that is not run: no character in it can end the element."""
    text = json.dumps(_all_shown(data), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def asset(name: str) -> str:
    """Text of a script or style of ours."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, identity: str = "") -> str:
    """A table for eyes and screen readers.

    Args:
        caption: What it shows.
        columns: Heads; one that begins with ``#`` heads numbers.
        rows: Cells; text is escaped, a :class:`Cell` is not.
        identity: ``id`` of the element.
    """
    name = f' id="{html.escape(identity)}"' if identity else ""
    head = "".join(f'<th scope="col"{_numeric(c)}>{words(c.removeprefix("#"))}</th>' for c in columns)
    body = "".join(f"<tr>{''.join(map(_cell, columns, row))}</tr>" for row in rows)
    # A region that scrolls must be reachable by keyboard (WCAG 2.1.1).
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{words(caption)}"><table{name}>'
        f"<caption>{words(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _numeric(column: str) -> str:
    return ' class="number"' if column.startswith("#") else ""


def _cell(column: str, value: object) -> str:
    inner = value.markup if isinstance(value, Cell) else words(value)
    return f"<td{_numeric(column)}>{inner}</td>"


def document(title: str, body: str, *, scripts: Sequence[str] = (), data: Mapping[str, Any] | None = None) -> str:
    """A whole page.

    Args:
        title: Its title, from data perhaps.
        body: HTML of ours.
        scripts: Sources that run in order.
        data: What they read, as JSON in the element ``data``.
    """
    style = asset("page.css")
    hashes = " ".join(_source(script) for script in scripts) or "'none'"
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    embed = "" if data is None else f'<script type="application/json" id="data">{embedded(data)}</script>\n'
    code = "".join(f"<script>{_whole(script)}</script>\n" for script in scripts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{words(title)}</title>\n{_STYLE}{style}</style>\n</head>\n<body>\n{body}\n{embed}{code}"
        "</body>\n</html>\n"
    )


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _whole(script: str) -> str:
    assert "</script" not in script.lower(), "a script that ends its own element"
    return script


def write_page(path: Path, text: str) -> None:
    """Write a page, whole or not at all.

    Raises:
        DataError: It cannot be written.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_text(text, encoding="utf-8")
            return
        handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(path.resolve())
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"cannot write {path}: {reason}", hint="check that the folder exists and is writable"
        ) from error
