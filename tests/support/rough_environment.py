"""An environment that hangs, crashes and devours memory on request: a plug-in, named by PROAS_PLUGINS.

A corridor of numbered doors; a seed says how far a stride goes. ``walk`` steps on, any other action of ``MISHAPS`` does
what it says. The task ``puzzled`` has another observation in every process.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from proas.envs import EnvKind, Info, Policy, RewardSettings, StepResult, register
from proas.envs.base import RandomPolicy
from proas.errors import EnvironmentFailure, TaskError, UsageError

LENGTH = 20
HELD: list[bytes] = []


@dataclass(frozen=True)
class Door:
    number: int

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        return frozenset({("door", str(self.number))})


class Closed:
    """Facts that cannot cross to another process."""

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        return frozenset()

    def __reduce__(self) -> str:
        raise TypeError("not for others")


def _grow() -> None:
    while True:
        HELD.append(b"x" * 2**22)


def _allocate() -> None:
    HELD.append(b"x" * 2**46)


def _swallow() -> None:
    HELD.append(b"x" * 700 * 2**20)


def _freeze() -> None:
    ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock: no thread of this process runs


def _with_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    Path(os.environ["ROUGH_CHILD"]).write_text(str(child.pid))
    time.sleep(1000)


def _raise() -> None:
    raise ValueError("a fault of the environment's own")


MISHAPS: Mapping[str, Callable[[], object]] = {
    "hang": lambda: time.sleep(1000),
    "freeze": _freeze,
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "start a child and hang": _with_child,
    "doze": lambda: time.sleep(1.2),
    "raise": _raise,
    "leave": lambda: sys.exit(3),
    "exit": lambda: os._exit(7),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "close all": lambda: os.closerange(3, 200),
    "segfault": lambda: ctypes.string_at(0),
    "grow": _grow,
    "allocate": _allocate,
    "swallow": _swallow,
    "print": lambda: print("noise of the environment"),
}


class Corridor:
    name = "rough"

    def __init__(self, step_limit: int, rewards: RewardSettings) -> None:
        self.step_limit = step_limit
        self.rewards = rewards

    @property
    def task(self) -> str:
        return self._task

    @property
    def goal_text(self) -> str:
        return f"reach door {LENGTH}"

    @property
    def info(self) -> Info:
        return self._info

    def reset(self, task: str, seed: int | None = None) -> tuple[str, Info]:
        if task == "broken":
            raise TaskError(task, "no_corridor", "there is no corridor")
        if task not in TASKS:
            raise UsageError(f"no task {task!r}")
        if task.startswith("reset: "):
            MISHAPS[task.removeprefix("reset: ")]()
        self._task = task
        self._rng = random.Random(seed)
        self._door = 0
        self._steps = 0
        self._info = self._look(valid=True)
        return self._words(), self._info

    def step(self, action: str) -> StepResult:
        if action in MISHAPS:
            MISHAPS[action]()
        if action == "mumble":
            return StepResult(None, 0.0, False, self._info)  # type: ignore[arg-type]  # the mishap
        valid = action == "walk"
        self._door += self._rng.choice((1, 2)) if valid else 0
        self._steps += 1
        info = self._info = self._look(valid=valid, closed=action == "close")
        paid = self.rewards.success * info.won + (0 if valid else self.rewards.invalid)
        return StepResult(self._words(), paid, info.won or info.truncated, info)

    def _words(self) -> str:
        return f"door {self._door}" + (f" of process {os.getpid()}" if self._task == "puzzled" else "")

    def _look(self, *, valid: bool, closed: bool = False) -> Info:
        won = self._door >= LENGTH
        return Info(
            admissible=("walk", "wait"),
            valid=valid,
            won=won,
            truncated=self._steps >= self.step_limit and not won,
            steps=self._steps,
            facts=Closed() if closed else Door(self._door),
        )


TASKS = ("short", "long", "broken", "puzzled", *(f"reset: {name}" for name in MISHAPS))


class Accident:
    """Walks at random; the task's first policy step of rollout ``short`` has a mishap now and then."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def act(self, env: Corridor) -> str:
        if self._rng.random() < 0.02:
            raise EnvironmentFailure("sees no way on")
        return self._rng.choices(["walk", "wait", "exit", "raise"], [20, 4, 1, 1])[0]


class RoughWorld:
    name = "rough"
    tasks = TASKS
    policies = ("accident", "random")

    def environment(self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()) -> Corridor:
        return Corridor(step_limit or 40, rewards)

    def policy(self, name: str, rng: random.Random) -> Policy:
        if name not in self.policies:
            raise UsageError(f"no policy {name!r}")
        return Accident(rng) if name == "accident" else RandomPolicy(rng)

    def close(self) -> None:
        if note := os.environ.get("ROUGH_CLOSED"):
            Path(note).write_text("closed")


def _open(data: Path | None, options: Mapping[str, str]) -> RoughWorld:
    del options
    if data is not None and data.name in MISHAPS:
        MISHAPS[data.name]()
    return RoughWorld()


register(EnvKind(name="rough", summary="a corridor with mishaps", data="none", step_limit=40, open=_open))
