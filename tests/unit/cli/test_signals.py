"""A request to end reaches what a command runs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from proas.cli.train.ending import ending_in_order
from proas.cli.train.verl import run_to_its_end

PROGRAM = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
pathlib.Path(sys.argv[1]).touch()
time.sleep(60)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")


def test_it_is_passed_on_to_another_program(tmp_path: Path) -> None:
    ready = tmp_path / "ready"

    def ask() -> None:
        while not ready.exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    asking = threading.Thread(target=ask)
    asking.start()
    assert run_to_its_end([sys.executable, "-c", PROGRAM, str(ready)], os.environ) == 7
    asking.join()
    assert signal.getsignal(signal.SIGTERM) is before


def test_it_is_taken_as_an_interrupt() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        _asked_to_end()
    assert signal.getsignal(signal.SIGTERM) is before


def _asked_to_end() -> None:
    with ending_in_order():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
