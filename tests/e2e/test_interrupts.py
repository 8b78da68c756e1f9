"""Ctrl-C ends the program quietly, and leaves whole files or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
def test_an_interrupt_leaves_no_half_file_and_no_traceback(no_server: Path, games: Path) -> None:
    words = ["rollout", "--data", games, "--group-size", "5000", "--policy", "random", "--out", "played.jsonl"]
    program = subprocess.Popen(
        [sys.executable, "-m", "proas.cli", *(str(word) for word in words)],
        cwd=no_server,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run that was started in the background ignores SIGINT, and so would what it starts.
        preexec_fn=_heed_interrupts,  # noqa: PLW1509  (no threads here)
    )
    try:
        _interrupt_once_it_writes(program, no_server)
        out, err = program.communicate(timeout=60)
    finally:
        program.kill()
        program.wait()
    assert program.returncode == 130
    assert out == ""
    assert err.strip() == "error interrupted"
    assert list(no_server.iterdir()) == []


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt_once_it_writes(program: subprocess.Popen[str], folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not list(folder.glob(".played.jsonl.*")):  # it has begun to write
        assert time.monotonic() < deadline
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
