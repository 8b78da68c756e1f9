"""Hooks of the site: files outside ``docs`` become pages of it, and no page is left out of the navigation.

The pages are written to be read in the repository too, where ``[vault.py](../examples/vault.py)`` leads to a file. On
the site, which stands alone, such a link leads to a page that shows the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
OWN_PAGES = {"ARCHITECTURE.md": "architecture.md"}
LEAST_SHOWN = 200_000  # characters of a file that a page still shows

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every page that the navigation does not name into its last group."""
    docs = Path(config.docs_dir)
    named = set(_named(config.nav))
    left = sorted(path for page in docs.rglob("*.md") if (path := page.relative_to(docs).as_posix()) not in named)
    decisions = [path for path in left if path.startswith("adr/")]
    others = [path for path in left if not path.startswith("adr/")]
    groups = [{"More": others}, {"Decisions": decisions}]
    config.nav = [*(config.nav or []), *(group for group in groups if all(group.values()))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file of the repository that a page leads to."""
    for source, target in OWN_PAGES.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text(encoding="utf-8")))
    pending = [file for file in files if file.is_documentation_page()]
    while pending:
        file = pending.pop()
        for outside in _outside(file.src_uri, file.content_string, config):
            target = _page_of(outside)
            if files.get_file_from_path(target) is None:
                added = File.generated(config, target, content=_shown(outside))
                files.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of the documentation to the pages made for them."""
    source = page.file.src_uri

    def led(link: re.Match[str]) -> str:
        place = _place(source, link[1], config)
        if place is None:
            return link[0]
        here = PurePosixPath(source).parent
        return os.path.relpath(place, here).replace(os.sep, "/") + (link[2] or "")

    return _LINK.sub(led, markdown)


def _named(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for below in nav.values():
            yield from _named(below)
    elif isinstance(nav, list):
        for below in nav:
            yield from _named(below)


def _folder_of(source: str, config: MkDocsConfig) -> Path:
    """The folder that a page's links start from: in ``docs``, or where the file that it shows lies."""
    for original, target in OWN_PAGES.items():
        if source == target:
            return (ROOT / original).parent
    return (Path(config.docs_dir) / source).parent


def _resolved(source: str, link: str, config: MkDocsConfig) -> Path:
    return Path(os.path.normpath(_folder_of(source, config) / link))


def _outside(source: str, text: str, config: MkDocsConfig) -> Iterator[Path]:
    """Files and folders of the repository, outside ``docs``, that a page leads to."""
    if source.startswith("files/"):
        return
    for link in _LINK.finditer(text):
        path = _resolved(source, link[1], config)
        if path.is_relative_to(config.docs_dir) or not path.is_relative_to(ROOT) or not path.exists():
            continue
        if path.relative_to(ROOT).as_posix() not in OWN_PAGES:
            yield path.relative_to(ROOT)


def _place(source: str, link: str, config: MkDocsConfig) -> str | None:
    """Where on the site a link that leaves the documentation leads; ``None`` where it need not be changed."""
    path = _resolved(source, link, config)
    if path.is_relative_to(config.docs_dir):
        return path.relative_to(config.docs_dir).as_posix() if source in OWN_PAGES.values() else None
    if not path.is_relative_to(ROOT) or not path.exists():
        return None  # a broken link: left to the strict build, which fails
    found = path.relative_to(ROOT)
    return OWN_PAGES.get(found.as_posix()) or _page_of(found)


def _page_of(path: Path) -> str:
    return f"files/{path.as_posix()}.md"


def _shown(path: Path) -> str:
    """A page that shows a file, or what a folder holds."""
    full = ROOT / path
    head = f"# `{path.as_posix()}`\n\n"
    if full.is_dir():
        return head + "".join(f"- `{below.name}`\n" for below in sorted(full.iterdir()) if below.name[0] not in "._")
    text = full.read_text(encoding="utf-8")
    if len(text) > LEAST_SHOWN:
        msg = f"{path} is too long to be shown on a page"
        raise PluginError(msg)
    if path.suffix == ".ipynb":
        return head + "A notebook: open it with Jupyter.\n"
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in re.findall(r"`+", text)), default=0))
    language = {".py": "python", ".json": "json", ".toml": "toml", ".cypher": "cypher"}.get(path.suffix, "text")
    return f"{head}{fence}{language}\n{text}\n{fence}\n"
