"""A hang, a crash, a flood of memory: one episode ends, is reported and replaced, and the others go on unharmed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.vector import InProcessVector, IsolatedVector, Turn
from proas.errors import EnvironmentFailure, UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="isolation needs a POSIX system")

CAP = 600 * 2**20
KINDS = {
    "hang": "timeout",
    "freeze": "timeout",
    "stop": "timeout",
    "doze": "timeout",
    "raise": "error",
    "leave": "error",
    "mumble": "error",
    "close": "error",
    "exit": "crash",
    "kill": "crash",
    "segfault": "crash",
    "close all": "crash",
    "grow": "memory",
    "allocate": "memory",
    "swallow": "memory",
}
SLOTS = 4


def told(turn: Turn) -> tuple[object, ...]:
    """What must not depend on how an episode is played."""
    return turn.action, turn.observation, turn.reward, turn.done, turn.info.admissible, turn.info.facts


def wait_until_gone(pids: list[int]) -> None:
    """Processes that were ended take a moment; those that nobody waits for stay as zombies."""
    deadline = time.monotonic() + 20
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alone(spec: EnvSpec, seed: int, actions: list[str]) -> list[tuple[object, ...]]:
    """An episode played in this process with nothing beside it."""
    vector = InProcessVector(open_world(spec), 1)
    turns = [vector.reset(["short"], seeds=[seed])[0]]
    turns += [vector.step([action])[0] for action in actions]
    return [told(turn) for turn in turns]


@pytest.mark.parametrize("slow", [True, False], ids=["hangs", "others"])
def test_each_mishap_ends_its_own_episode_only(rough: EnvSpec, slow: bool) -> None:
    seeds = list(range(SLOTS))
    mishaps = {mishap: kind for mishap, kind in KINDS.items() if (kind == "timeout") is slow}
    with IsolatedVector(rough, SLOTS, workers=1, step_timeout=1 if slow else 30, memory_limit=CAP) as vector:
        begun = vector.reset(["long"] * SLOTS, seeds=seeds)
        turns = {slot: [turn] for slot, turn in begun.items()}
        actions: dict[int, list[str]] = {slot: [] for slot in seeds}
        for number, (mishap, kind) in enumerate(mishaps.items()):
            victim = number % SLOTS
            step = len(actions[victim]) + 1
            chosen = {slot: mishap if slot == victim else ("walk" if number % 5 == 0 else "wait") for slot in seeds}
            answers = vector.step(chosen)
            assert list(answers) == seeds
            fault = answers[victim].fault
            assert fault is not None, mishap
            assert (fault.kind, fault.slot, fault.task, fault.step) == (kind, victim, "long", step), fault
            assert answers[victim].done
            assert answers[victim].truncated
            assert answers[victim].ended == "error"
            assert victim not in vector.running
            for slot in seeds:
                if slot != victim:
                    assert answers[slot].fault is None, mishap
                    turns[slot].append(answers[slot])
                    actions[slot].append(chosen[slot])
            # The slot works again at once, while the others are in the middle of their episodes.
            turns[victim] = [vector.reset({victim: "long"}, seeds={victim: victim})[victim]]
            actions[victim] = []
            assert turns[victim][0].fault is None
        assert [fault.kind for fault in vector.faults] == list(mishaps.values())
        for slot, turn in vector.step(["walk"] * SLOTS).items():
            turns[slot].append(turn)
            actions[slot].append("walk")
        for slot in seeds:
            assert [told(turn) for turn in turns[slot]] == alone(rough, slot, actions[slot])


def test_several_at_once_on_several_workers(rough: EnvSpec) -> None:
    with IsolatedVector(rough, 8, workers=2, step_timeout=0.5) as vector:
        vector.reset(["long"] * 8, seeds=range(8))
        vector.step(["walk"] * 8)
        answers = vector.step(["hang", "kill", "walk", "walk", "exit", "raise", "walk", "hang"])
        kinds = [turn.fault.kind if turn.fault else None for turn in answers.values()]
        assert kinds == ["timeout", "crash", None, None, "crash", "error", None, "timeout"]
        assert vector.running == (2, 3, 6)
        assert [told(answers[slot]) for slot in (2, 3, 6)] == [
            alone(rough, slot, ["walk"] * 2)[-1] for slot in (2, 3, 6)
        ]


@pytest.mark.parametrize("mishap", ["hang", "exit", "allocate", "raise"])
def test_a_reset_that_fails_is_its_own_fault_only(rough: EnvSpec, mishap: str) -> None:
    with IsolatedVector(rough, 3, workers=1, reset_timeout=1) as vector:
        vector.reset(["long"] * 3)
        vector.step(["walk"] * 3)
        answers = vector.reset({1: f"reset: {mishap}"})
        fault = answers[1].fault
        assert fault is not None
        assert (fault.kind, fault.step, fault.task) == (KINDS[mishap], 0, f"reset: {mishap}")
        assert vector.running == (0, 2)
        assert vector.step({0: "walk", 2: "walk"})[2].info.steps == 2


def test_a_task_that_cannot_be_played_is_told_apart(rough: EnvSpec) -> None:
    with IsolatedVector(rough, 2, workers=1) as vector:
        answers = vector.reset(["broken", "nowhere"])
        assert [(turn.fault.kind, turn.fault.problem) for turn in answers.values() if turn.fault] == [
            ("task", "no_corridor"),
            ("task", "unknown"),
        ]
        assert vector.replaced == 0


def test_an_episode_that_comes_out_differently_is_reported(rough: EnvSpec) -> None:
    with IsolatedVector(rough, 3, workers=1) as vector:
        vector.reset(["long", "puzzled", "puzzled"])
        vector.step(["walk"] * 3)
        answers = vector.step({0: "kill", 2: "walk"})
        assert {slot: turn.fault.kind for slot, turn in answers.items() if turn.fault} == {
            0: "crash",
            1: "diverged",  # it was to wait in this step, and is over all the same
            2: "diverged",
        }
        assert vector.running == ()


def test_what_an_environment_started_is_ended_with_it(
    rough: EnvSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUGH_CHILD", str(tmp_path / "child"))
    with IsolatedVector(rough, 1, workers=1, step_timeout=3) as vector:
        vector.reset(["long"])
        assert vector.step(["start a child and hang"])[0].fault is not None
        wait_until_gone([int((tmp_path / "child").read_text())])


def test_a_worker_that_somebody_ends_costs_no_episode(rough: EnvSpec) -> None:
    with IsolatedVector(rough, 4, workers=2) as vector:
        vector.reset(["long"] * 4, seeds=range(4))
        vector.step(["walk"] * 4)
        for pid in vector.worker_pids:
            os.kill(pid, signal.SIGKILL)
        answers = vector.step(["walk"] * 4)
        assert vector.faults == ()
        assert vector.replaced == 2
        assert [told(turn) for turn in answers.values()] == [alone(rough, slot, ["walk"] * 2)[-1] for slot in range(4)]


def test_an_interrupt_leaves_a_vector_that_works(rough: EnvSpec) -> None:
    with IsolatedVector(rough, 2, workers=1, step_timeout=30) as vector:
        vector.reset(["long"] * 2, seeds=range(2))
        vector.step(["walk"] * 2)
        previous = signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(KeyboardInterrupt):
                vector.step(["hang", "walk"])
        finally:
            signal.signal(signal.SIGALRM, previous)
        answers = vector.step(["walk"] * 2)
        assert [told(turn) for turn in answers.values()] == [alone(rough, slot, ["walk"] * 2)[-1] for slot in range(2)]


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def test_noise_of_an_environment_stays_off_standard_output(rough: EnvSpec, capfd: pytest.CaptureFixture[str]) -> None:
    with IsolatedVector(rough, 1, workers=1) as vector:
        vector.reset(["long"])
        vector.step(["print"])
    out, err = capfd.readouterr()
    assert out == ""
    assert "noise of the environment" in err


def test_workers_close_their_world_and_end(rough: EnvSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUGH_CLOSED", str(tmp_path / "closed"))
    vector = IsolatedVector(rough, 2, workers=2)
    pids = vector.worker_pids
    assert len(pids) == 2
    vector.close()
    vector.close()
    assert (tmp_path / "closed").read_text() == "closed"
    assert not any(psutil.pid_exists(pid) for pid in pids)
    with pytest.raises(UsageError, match="closed"):
        vector.reset(["long"])


@pytest.mark.parametrize(("name", "words"), [("exit", "left with code 7"), ("raise", "own"), ("hang", "not ready")])
def test_data_that_cannot_be_opened_is_an_error(rough: EnvSpec, name: str, words: str) -> None:
    with pytest.raises(EnvironmentFailure, match=words):
        IsolatedVector(EnvSpec("rough", Path(name)), 2, workers=2, start_timeout=20 if name != "hang" else 1)


def test_workers_end_with_their_parent(rough: EnvSpec, tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "from proas.envs import EnvSpec\n"
        "from proas.envs.vector import IsolatedVector\n"
        "vector = IsolatedVector(EnvSpec('rough'), 2, workers=2)\n"  # not under a guard: a plain script
        "vector.reset(['long', 'long'])\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(' '.join(map(str, vector.worker_pids)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = os.pathsep.join([str(Path(__file__).resolve().parents[2] / "support"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-"], input=program, text=True, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    wait_until_gone(pids)
