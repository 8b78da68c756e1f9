from __future__ import annotations

import io

from rich.console import Console

from proas.localdb import Progress, console_progress


def draw(*stages: Progress, terminal: bool) -> str:
    out = io.StringIO()
    with console_progress(Console(file=out, force_terminal=terminal, width=100, color_system=None)) as report:
        for stage in stages:
            report(stage)
    return out.getvalue()


def test_terminal_shows_what_was_done():
    drawn = draw(Progress("Fetching", 0, 100_000_000), Progress("Fetching", 25_000_000, 100_000_000), terminal=True)
    assert "Fetching" in drawn
    assert "25/100 MB" in drawn


def test_terminal_shows_the_present_stage():
    assert "Starting" in draw(Progress("Fetching", 5, 5), Progress("Starting"), terminal=True)


def test_silence_elsewhere():
    assert draw(Progress("Fetching", 1, 5), Progress("Starting"), terminal=False) == ""
