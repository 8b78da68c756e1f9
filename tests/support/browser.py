"""A headless Chromium for tests: what a page says on its console, what it asks the network for, and its picture.

Playwright drives the Chromium of the machine; it brings none of its own. ``PROAS_TEST_CHROMIUM`` names another program.
Pictures are kept in ``build/screenshots``, or in the folder that ``PROAS_TEST_SCREENSHOTS`` names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 120_000
"""Milliseconds to wait for a page: as long as a loaded machine may need."""

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass
class Watched:
    """One page under watch.

    Attributes:
        page: The page.
        errors: What its console reported as an error or a warning, and exceptions that nothing caught.
        requests: Addresses that it asked for, its own document and inlined data aside.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def picture(self, name: str) -> Path:
        """Keep what can be seen as ``<name>.png``."""
        folder = Path(os.environ.get("PROAS_TEST_SCREENSHOTS") or ROOT / "build" / "screenshots")
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}.png"
        self.page.screenshot(path=file)
        return file


def chromium_program() -> str | None:
    """The Chromium to use, if there is one."""
    named = os.environ.get("PROAS_TEST_CHROMIUM")
    return named or next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A running headless Chromium; the test is skipped, with the reason, where there is none."""
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed; pip install playwright")
    program = chromium_program()
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is on the path; install one, or set PROAS_TEST_CHROMIUM")
    from playwright.sync_api import sync_playwright

    # Without a sandbox of its own, as in most containers and for root; the pages are ours.
    arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-color-profile=srgb",
        "--hide-scrollbars",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched(browser: Browser, *, width: int = 1280, height: int = 800, dark: bool = False) -> Iterator[Watched]:
    """A new page in a profile of its own.

    Args:
        browser: From :func:`launched`.
        width: Of the window, in CSS pixels.
        height: Of the window, in CSS pixels.
        dark: Whether the person prefers dark pages.
    """
    scheme: Any = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    seen = Watched(page)

    def said(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            seen.errors.append(f"{message.type}: {message.text}")

    page.on("console", said)
    page.on("pageerror", lambda error: seen.errors.append(f"uncaught: {error}"))
    page.on("request", lambda request: _asked(seen, request.url, navigation=request.is_navigation_request()))
    try:
        yield seen
    finally:
        context.close()


def _asked(seen: Watched, url: str, *, navigation: bool) -> None:
    if not navigation and not url.startswith(("data:", "blob:")):
        seen.requests.append(url)
