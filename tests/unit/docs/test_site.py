"""The documentation as a site: it builds with no warning and without a network, and holds every page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("material", "mkdocstrings")), reason="the extra docs is not installed"
)


def build(docs: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build strictly, from a copy of the configuration where the pages are not the project's own."""
    # A proxy that nobody answers: whoever asked the network would fail.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"} | dict.fromkeys(
        ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"
    )
    config = ROOT / "mkdocs.yml"
    if docs != DOCS:
        text = config.read_text(encoding="utf-8")
        config = out.parent / "mkdocs.yml"
        config.write_text(
            text.replace("docs_dir: docs", f"docs_dir: {docs}").replace("- docs/site_", f"- {DOCS}/site_"),
            encoding="utf-8",
        )
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(out)]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "built"
    done = build(DOCS, out)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


def test_every_page_is_there_and_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = [page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")]
    assert len(pages) > 25
    for page in pages:
        assert (site / page).is_file()
        assert f'href="{page}"' in home, f"{page} is not in the navigation"


def test_every_local_link_leads_somewhere(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue  # it is served at any address, so its links are from the root
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path:
                continue
            if not (page.parent / unquote(parts.path)).exists():
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    tag = r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//"
    loaded = re.compile(tag + r"|@import\s+[\"'(]*(?:https?:)?//", re.IGNORECASE)
    foreign = [
        f"{file.relative_to(site)}: {found[0]}"
        for file in [*site.rglob("*.html"), *site.rglob("*.css")]
        for found in loaded.finditer(file.read_text(encoding="utf-8"))
    ]
    assert not foreign


def test_the_python_reference_is_filled_in(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in ("proas.graph.store.ReferenceGraph.label", "proas.shaping.shaper.shape", "proas.rollouts.Rollout"):
        assert f'id="{name}"' in text
    assert "Label every step of a batch with Re, PA and D" in text
    body = re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r":(class|func|meth|mod|data):", body), "markup of reStructuredText is left"


def test_a_file_outside_the_pages_is_shown_on_the_site(site: Path) -> None:
    assert 'href="files/examples/vault.py.html"' in (site / "own_environment.html").read_text(encoding="utf-8")
    assert "class" in (site / "files" / "examples" / "vault.py.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[nowhere](missing.md)", "missing.md"),
        ("[no file](../examples/missing.py)", "examples/missing.py"),
        ("[no part](concepts.md#no-such-part)", "no-such-part"),
    ],
)
def test_a_broken_link_fails_the_build(tmp_path: Path, line: str, told: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for page in DOCS.rglob("*"):
        copy = docs / page.relative_to(DOCS)
        if page.is_dir():
            copy.mkdir(exist_ok=True)
        else:
            copy.symlink_to(page)
    (docs / "api.md").unlink()  # not what is tried here, and slow
    (docs / "api.md").write_text("# Reference\n", encoding="utf-8")
    (docs / "index.md").unlink()
    (docs / "index.md").write_text((DOCS / "index.md").read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    done = build(docs, tmp_path / "built")
    assert done.returncode != 0
    assert told in done.stderr
