"""Whether verl sees the plug-in, asked in a process of its own: verl hides why a plug-in could not be loaded.

Run as ``python -m proas.integrations.verl.probe``; the last line it prints is one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec

__all__ = ["ENTRY", "LOOPS", "TRAINERS", "Seen", "look"]

GROUP = "verl.plugins"
ENTRY = "proas"
TRAINERS = ("proas_sync", "proas_colocate_async", "proas_separate_async")
LOOPS = ("proas", "proas_steps")


@dataclass(frozen=True, slots=True)
class Seen:
    """What verl sees.

    Attributes:
        verl: Its version; empty where it cannot be imported.
        entries: Where the entry points named ``proas`` lead.
        trainers: Our trainers in verl's registry after ``import verl``.
        loops: Our agent loops in verl's registry after ``import verl``.
        error: Why something could not be loaded; empty where all could.
    """

    verl: str = ""
    entries: tuple[str, ...] = ()
    trainers: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    error: str = ""
    command: tuple[str, ...] = field(default=(), compare=False)

    @property
    def whole(self) -> bool:
        """Whether everything of ours is there."""
        return not self.error and self.trainers == TRAINERS and self.loops == LOOPS


def look(*, timeout: float = 180.0) -> Seen:
    """Ask a new process of this Python.

    Args:
        timeout: Seconds; importing verl imports torch and Ray.
    """
    command = (sys.executable, "-W", "ignore", "-m", "proas.integrations.verl.probe")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return Seen(error=f"importing verl took more than {timeout:g} s", command=command)
    lines = done.stdout.strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Seen(error=f"a process that imports verl ended with {done.returncode}: {last}", command=command)
    lists = {name: tuple(answer[name]) for name in ("entries", "trainers", "loops")}
    return Seen(answer["verl"], error=answer["error"], command=command, **lists)


def _seen() -> Seen:
    """In the process that is asked: import verl as a training run does, then load again what it may have hidden."""
    entries = [entry for entry in entry_points(group=GROUP) if entry.name == ENTRY]
    named = tuple(entry.value for entry in entries)
    try:
        import verl
        from verl.experimental.agent_loop import agent_loop
        from verl.trainer.ppo.v1 import trainer_base
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return Seen(entries=named, error=f"verl cannot be imported: {type(error).__name__}: {error}")
    trainers = tuple(name for name in TRAINERS if name in trainer_base.TRAINER_REGISTRY)
    loops = tuple(name for name in LOOPS if name in agent_loop._agent_loop_registry)  # noqa: SLF001 - it has no other
    error_text = ""
    for entry in entries:
        try:
            entry.load()
        except Exception as error:  # noqa: BLE001 - verl logs it at DEBUG and goes on
            error_text = f"{entry.value} cannot be loaded: {type(error).__name__}: {error}"
    return Seen(verl.__version__, named, trainers, loops, error_text or _beside())


def _beside() -> str:
    """What is installed beside verl and breaks it: with TRL there, its workers look for a class of older releases."""
    if find_spec("trl") is None:
        return ""
    for module in ("trl.experimental.ppo", "trl"):
        try:
            if hasattr(import_module(module), "AutoModelForCausalLMWithValueHead"):
                return ""
        except Exception:  # noqa: BLE001, S112 - not there, whatever the reason
            continue
    return "verl's workers cannot start beside this release of TRL: pip uninstall trl, or give it another environment"


if __name__ == "__main__":
    print(json.dumps(asdict(_seen())))  # noqa: T201 - the answer
