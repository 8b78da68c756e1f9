"""Where a run is kept: settings, metrics, checkpoints, result.

::

    RUN/
      config.json          everything that decides the result: settings, versions of software, the graph's name
      metrics.jsonl        one flat JSON object for each iteration, in order
      outcomes.jsonl       for each evaluation, which tasks were solved, so that runs can be paired task by task
      tensorboard/         the same for TensorBoard, where it is installed
      checkpoints/         iteration-000000.pt (after the warm start), ..., the last ones
      final.json           the result, written at the end

Needs no torch, so that runs can be compared where it is not installed.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from proas.errors import DataError, RecordError, UsageError
from proas.rollout_files import write_rollouts
from proas.rollouts import Rollout
from proas.training.config import TrainConfig

__all__ = ["RunDirectory", "processor", "software"]

FORM = 1
"""Version of the layout."""

_METRICS = "metrics.jsonl"
_OUTCOMES = "outcomes.jsonl"

_PACKAGES = ("proas", "torch", "numpy", "transformers", "neo4j")


class RunDirectory:
    """A run's folder.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def exists(self) -> bool:
        """Whether there is a run."""
        return (self.path / "config.json").is_file()

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to go on from."""
        return any(self.checkpoints.glob("*.pt"))

    def begin(self, config: TrainConfig, *, graph: str, init: str) -> None:
        """Make the folder and write what decides the result.

        A run that ended before its first checkpoint left nothing to go on with; it is begun anew.

        Raises:
            UsageError: There is a run already, another process trains there, or the folder cannot be made.
        """
        if self.exists:
            if self.has_checkpoint:
                hint = "add --resume to go on with it, or name another"
                raise UsageError(f"{self.path} holds a run already", hint=hint)
            with self.held():
                for name in (_METRICS, _OUTCOMES):
                    (self.path / name).unlink(missing_ok=True)
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be made: {error.strerror}", hint="name another folder") from error
        document = {
            "form": FORM,
            "arm": config.arm,
            "settings": config.to_dict(),
            "graph": graph,
            "init": init,
            "software": software(),
            "machine": {"cpus": os.cpu_count(), "platform": platform.platform(), "python": platform.python_version()},
            "command": sys.argv[1:],
        }
        write_json(self.path / "config.json", document)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no two processes train in it at once.

        Raises:
            UsageError: Another process holds it.
        """
        lock = FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise UsageError(f"another process trains in {self.path}", hint="wait for it, or end it") from None
        try:
            yield
        finally:
            lock.release()

    def document(self) -> dict[str, Any]:
        """What ``config.json`` holds.

        Raises:
            UsageError: There is no run.
            DataError: It cannot be read.
        """
        if not self.exists:
            raise UsageError(f"{self.path} holds no run: there is no config.json", hint="give the --out of proas train")
        return _read_json(self.path / "config.json")

    def config(self) -> TrainConfig:
        """The run's settings. Raises as :meth:`document` does."""
        settings = self.document().get("settings")
        if not isinstance(settings, dict):
            raise DataError(f"{self.path / 'config.json'} holds no settings", hint="it is not one of ours")
        return TrainConfig.from_dict(settings)

    def append(self, metrics: Mapping[str, float]) -> None:
        """Write an iteration's metrics and have them on disk."""
        _append(self.path / _METRICS, metrics)

    def metrics(self) -> Iterator[dict[str, float]]:
        """The metrics of each iteration, in order; a last line that was cut off is left out.

        Raises:
            DataError: A line is damaged; says which.
        """
        file = self.path / _METRICS
        for number, row in _read_lines(file):
            for name in ("iteration", *row):
                if not _is_number(row.get(name)):
                    raise _damaged(file, number, "holds no number", field=name)
            yield row

    def append_outcomes(self, iteration: int, temperature: float, by_task: Mapping[str, float]) -> None:
        """Write what an evaluation came to, task by task."""
        _append(self.path / _OUTCOMES, {"iteration": iteration, "temperature": temperature, "success": dict(by_task)})

    def outcomes(self) -> Iterator[dict[str, Any]]:
        """``{"iteration", "temperature", "success": {task: share}}`` of each evaluation, in order.

        Raises:
            DataError: A line is damaged; says which. A last line that was cut off is left out.
        """
        file = self.path / _OUTCOMES
        for number, row in _read_lines(file):
            for name in ("iteration", "temperature"):
                if not _is_number(row.get(name)):
                    raise _damaged(file, number, "holds no number", field=name)
            if not isinstance(row.get("success"), dict):
                raise _damaged(file, number, "holds no tasks", field="success")
            yield row

    def keep_rollouts(self, iteration: int, rollouts: Iterable[Rollout]) -> None:
        """Write an iteration's rollouts to ``rollouts/ITERATION.jsonl``."""
        folder = self.path / "rollouts"
        folder.mkdir(exist_ok=True)
        write_rollouts(folder / f"{iteration:05}.jsonl", rollouts)

    def forget_after(self, iteration: int) -> None:
        """Leave out metrics and rollouts of later iterations, which a run that resumes does again.

        Raises:
            DataError: A line is damaged; says which.
        """
        for file in (self.path / "rollouts").glob("*.jsonl"):
            if file.stem.isdecimal() and int(file.stem) > iteration:
                file.unlink()
        for name, rows in ((_METRICS, self.metrics()), (_OUTCOMES, self.outcomes())):
            kept = [row for row in rows if row["iteration"] <= iteration]
            _write(self.path / name, "".join(_line(row) for row in kept))
        with suppress(FileNotFoundError):
            (self.path / "final.json").unlink()

    def finish(self, document: Mapping[str, Any]) -> None:
        """Write the result."""
        write_json(self.path / "final.json", {"form": FORM, **document})

    def final(self) -> dict[str, Any] | None:
        """The result; ``None`` while there is none."""
        file = self.path / "final.json"
        return _read_json(file) if file.is_file() else None


def processor() -> str:
    """Name of the machine's processor, as far as the system tells."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def software() -> dict[str, str]:
    """Versions that decide the result, and the commit of the source where it is a checkout."""
    found: dict[str, str] = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    root = Path(__file__).resolve().parents[2]
    if (root / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(  # noqa: S603 - fixed words
                ["git", "-C", str(root), "rev-parse", "HEAD"],  # noqa: S607 - whichever git the user has
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            )
            found["commit"] = done.stdout.strip()
    return found


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document, whole or not at all."""
    _write(file, json.dumps(document, indent=2, allow_nan=False, sort_keys=True) + "\n")


def _line(document: Mapping[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, sort_keys=True) + "\n"


def _append(file: Path, document: Mapping[str, Any]) -> None:
    """Add a line and have it on disk."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(_line(document))
        lines.flush()
        os.fsync(lines.fileno())


def _read_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, a line each, with the lines' numbers.

    A last line that was cut off, as a process ended or is still writing it, is left out.
    """
    if not file.is_file():
        return
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                found = _object(line)
                if found is not None:
                    yield number, found
                elif line.endswith(b"\n"):
                    raise _damaged(file, number, "holds no JSON object")
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}", hint="see who may read it") from error


def _object(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):  # JSON that is none, and bytes that are no UTF-8
        found = json.loads(line.decode("utf-8"))
        return found if isinstance(found, dict) else None
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _damaged(file: Path, number: int, reason: str, *, field: str = "") -> RecordError:
    hint = "the run's folder is damaged: take the line out, and it counts as not measured"
    return RecordError(reason, source=str(file), line=number, field=field, hint=hint)


def _write(file: Path, text: str) -> None:
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read: {error}", hint="the run's folder is damaged") from error
    if not isinstance(document, dict):
        raise DataError(f"{file} holds no JSON object", hint="the run's folder is damaged")
    return document
