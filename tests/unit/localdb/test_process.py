from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from proas.localdb import process as module
from proas.localdb.home import Home, Ports
from proas.localdb.process import Record, alive, find_process, java_environment, read_record, running, stop
from proas.localdb.release import load_release

LAUNCH = Path(module.__file__).with_name("launch.py")
# Sleeps, and ends in an orderly way when asked to.
SLEEP = "import time; time.sleep(120)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(120)"
)


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "server")
    made.create(load_release("5.26"))
    return made


@pytest.fixture
def spawned():
    """Start processes that are gone after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, code: str = SLEEP) -> subprocess.Popen[str]:
        command = [sys.executable, "-I", "-c", code, *arguments]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        # A process that begins has no command line for a moment.
        wait_until(lambda: psutil.Process(started[-1].pid).cmdline()[1:] == command[1:])
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()


def marks(home: Home) -> tuple[str, str]:
    return f"-Dproas.instance={home.identity()}", f"--home-dir={home.path}"


def record_of(child: subprocess.Popen[str]) -> Record:
    return Record(child.pid, psutil.Process(child.pid).create_time(), 1234, 5678, "5.26")


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def test_record_round_trip(home):
    assert read_record(home) is None
    record = Record(1, 2.5, 3, 4, "5.26")
    record.write(home)
    assert read_record(home) == record
    assert record.ports == Ports(3, 4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"pid": 1}',
        '{"pid": "x", "created": 1, "bolt": 1, "http": 1, "release": ""}',
        '{"pid": -1, "created": 1, "bolt": 1, "http": 1, "release": ""}',
        "\x00\x00\x00",
    ],
)
def test_damaged_record(home, text):
    home.record_file.write_text(text)
    assert read_record(home) is None


def test_the_recorded_server_is_recognised(home, spawned):
    child = spawned(*marks(home))
    found = running(home, record_of(child))
    assert found is not None
    assert found.pid == child.pid


def test_a_process_that_ended_is_not_running(home, spawned):
    child = spawned(*marks(home))
    record = record_of(child)
    child.kill()
    # Not waited for yet, so it is a zombie; it counts as ended all the same.
    wait_until(lambda: not alive(psutil.Process(child.pid)))
    assert running(home, record) is None
    child.wait()
    assert running(home, record) is None


def test_a_reused_process_id_is_not_ours(home, spawned):
    child = spawned(*marks(home))
    record = record_of(child)
    before = Record(record.pid, record.created - 100, record.bolt, record.http, record.release)
    assert running(home, before) is None


def test_another_program_is_not_ours(home, spawned):
    assert running(home, record_of(spawned())) is None
    assert running(home, record_of(spawned(marks(home)[0]))) is None
    assert running(home, record_of(spawned(marks(home)[1]))) is None


def test_the_server_of_another_home_is_not_ours(home, tmp_path, spawned):
    other = Home(tmp_path / "other")
    other.create(load_release("5.26"))
    child = spawned(*marks(other))
    assert running(home, record_of(child)) is None
    assert running(other, record_of(child)) is not None


def test_nothing_is_ours_without_an_identity(tmp_path, spawned):
    home = Home(tmp_path)
    child = spawned("-Dproas.instance=", f"--home-dir={home.path}")
    assert running(home, record_of(child)) is None
    assert find_process(home) is None


def test_impossible_records(home):
    assert running(home, None) is None
    assert running(home, Record(2**40, 1.0, 1, 1, "5.26")) is None


def test_stop_asks_first(spawned):
    child = spawned()
    stop(psutil.Process(child.pid), timeout=10)
    assert child.wait() == -15


def test_stop_kills_what_does_not_listen(spawned):
    child = spawned(code=STUBBORN)
    assert child.stdout.readline() == "ready\n"
    stop(psutil.Process(child.pid), timeout=0.3)
    assert child.wait() == -9


def test_stop_of_what_is_gone(spawned):
    child = spawned()
    process = psutil.Process(child.pid)
    child.kill()
    child.wait()
    stop(process, timeout=1)


def test_java_sees_no_secrets(monkeypatch):
    for name in ("NEO4J_PASSWORD", "NEO4J_AUTH", "PROAS_TEST_NEO4J_PASSWORD", "JAVA_TOOL_OPTIONS", "CLASSPATH"):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in java_environment().values()
    assert "PATH" in java_environment()


def launch(mode: str, log: Path, code: str, **options) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-I", str(LAUNCH), mode, str(log), sys.executable, "-I", "-c", code]
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    with launcher.stdout:
        return launcher, int(launcher.stdout.readline())


def test_detached_process_outlives_its_launcher(tmp_path):
    launcher, pid = launch("detached", tmp_path / "log", f"print('hello', flush=True); {SLEEP}")
    assert launcher.wait(10) == 0
    process = psutil.Process(pid)
    wait_until(lambda: (tmp_path / "log").read_text() == "hello\n")
    assert alive(process)
    assert os.getsid(pid) != os.getsid(0)
    stop(process, timeout=10)


def test_tied_process_ends_with_the_pipe(tmp_path):
    launcher, pid = launch("tied", tmp_path / "log", SLEEP, stdin=subprocess.PIPE)
    process = psutil.Process(pid)
    assert alive(process)
    launcher.stdin.close()
    assert launcher.wait(10) == 0
    wait_until(lambda: not alive(process))


def test_tied_process_ends_when_its_parent_is_killed(tmp_path):
    parent_code = f"""
import subprocess, sys, time
command = [sys.executable, "-I", {str(LAUNCH)!r}, "tied", {str(tmp_path / "log")!r}, sys.executable, "-c", {SLEEP!r}]
launcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
print(launcher.stdout.readline(), flush=True)
time.sleep(120)
"""
    with subprocess.Popen([sys.executable, "-I", "-c", parent_code], stdout=subprocess.PIPE, text=True) as parent:
        process = psutil.Process(int(parent.stdout.readline()))
        assert alive(process)
        parent.kill()
    wait_until(lambda: not alive(process))
