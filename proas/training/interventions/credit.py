"""What the advantages of kept rollouts speak for and against, by the form of the action.

An update moves tokens, and a word that only one form of action has is moved by the actions of that form alone, most of
which may fail. A policy can lose such a word, and the command with it, where it should have learnt when to use it.
Success then falls to nothing, and no mean over all steps says why. Over forms it can be seen.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proas.errors import DataError, UsageError
from proas.rollout_files import read_rollouts
from proas.rollouts import Reject, Rollout

__all__ = ["OTHERS", "CreditReport", "CreditSample", "FormRow", "action_form", "measure_credit"]

OTHERS = "(others)"
"""Name of the forms beyond the most frequent ones."""

_BETWEEN = frozenset({"about", "at", "from", "in", "in/on", "into", "off", "on", "onto", "out", "to", "under", "with"})
_CALL = re.compile(r"(\w+)\s*([\[(])")
_CLOSING = {"[": "]", "(": ")"}


def action_form(action: str) -> str:
    """An action without what it is done to: ``take mug 1 from desk 2`` has the form ``take … from …``.

    The first word and the prepositions stay, in lower case; ``search[red shoes]`` has the form ``search[…]``.
    """
    action = action.strip().lower()
    if call := _CALL.match(action):
        return f"{call[1]}{call[2]}…{_CLOSING[call[2]]}"
    form: list[str] = []
    for word in action.split():
        kept = word if not form or word in _BETWEEN else "…"
        if kept != "…" or form[-1] != "…":
            form.append(kept)
    return " ".join(form) or "(empty)"


@dataclass(frozen=True, slots=True)
class FormRow:
    """Steps of one form in one sample.

    Attributes:
        form: The form.
        steps: Number of steps.
        share: Of all steps of the sample.
        applied: Share that was valid, of those where the environment says so; ``None`` where it says so of none.
        before: Sum of their advantages before shaping.
        after: Sum of their advantages after shaping.
        gained: Sum of those that are positive, after shaping.
        lost: Sum of those that are negative, after shaping.
    """

    form: str
    steps: int
    share: float
    applied: float | None
    before: float
    after: float
    gained: float
    lost: float


@dataclass(frozen=True, slots=True)
class CreditSample:
    """The rollouts of one iteration, or of one file.

    Attributes:
        name: Stem of the file, which is the iteration's number where a run wrote it.
        rollouts: Number of rollouts.
        success: Share of them that solved their task.
        rows: Forms, the most frequent of the whole report first.
    """

    name: str
    rollouts: int
    success: float
    rows: tuple[FormRow, ...]


@dataclass(frozen=True, slots=True)
class CreditReport:
    """What was found.

    Attributes:
        run: The folder or file.
        samples: In the order of their names.
        aside: Reasons for which lines and rollouts were left out, each with how often.
    """

    run: str
    samples: tuple[CreditSample, ...]
    aside: dict[str, int] = field(default_factory=dict)

    @property
    def forms(self) -> list[str]:
        """Forms of all samples, in the order of their rows."""
        return list(dict.fromkeys(row.form for sample in self.samples for row in sample.rows))


@dataclass(slots=True)
class _Sums:
    steps: int = 0
    told: int = 0
    valid: int = 0
    before: float = 0.0
    after: float = 0.0
    gained: float = 0.0
    lost: float = 0.0

    def add(self, other: _Sums) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self, form: str, steps: int) -> FormRow:
        applied = self.valid / self.told if self.told else None
        return FormRow(form, self.steps, self.steps / steps, applied, self.before, self.after, self.gained, self.lost)


def measure_credit(path: Path, *, iterations: Sequence[int] | None = None, most: int = 12) -> CreditReport:
    """Sum the advantages of shaped rollouts up by the form of the action.

    Args:
        path: A run that kept rollouts, a folder of shaped rollouts (``*.jsonl``), or one file of them.
        iterations: Those wanted, by the number in the file's name; all if ``None``.
        most: Forms with a row of their own; the rest is one row.

    Raises:
        UsageError: There are no such rollouts.
        DataError: A file cannot be read, or none of the rollouts carries an advantage at every step.
    """
    aside: Counter[str] = Counter()
    counted: list[tuple[str, list[bool], Mapping[str, _Sums]]] = []
    for file in _files(path, iterations):
        ends: list[bool] = []
        sums: defaultdict[str, _Sums] = defaultdict(_Sums)
        for rollout in _shaped(read_rollouts(file), aside):
            ends.append(rollout.success)
            _count(rollout, sums)
        if sums:
            counted.append((file.stem, ends, sums))
    if not counted:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in aside.most_common(3)) or "no rollouts"
        raise DataError(f"{path} holds no step with an advantage ({reasons})", hint="shape rollouts by `proas shape`")
    steps: Counter[str] = Counter()
    for _, _, found in counted:
        steps.update({form: each.steps for form, each in found.items()})
    order = [form for form, _ in sorted(steps.items(), key=lambda item: (-item[1], item[0]))]
    own = order if len(order) <= most + 1 else order[:most]
    samples = tuple(
        CreditSample(name, len(ends), sum(ends) / len(ends), _rows(found, own)) for name, ends, found in counted
    )
    return CreditReport(str(path), samples, dict(aside))


def _files(path: Path, iterations: Sequence[int] | None) -> list[Path]:
    """Files of rollouts, in the order of their iterations."""
    if not path.exists():
        raise UsageError(f"there is no {path}", hint="name a run, a folder of shaped rollouts, or a file of them")
    if path.is_file():
        found = [path]
    else:
        folder = path / "rollouts" if (path / "rollouts").is_dir() else path
        found = sorted(folder.glob("*.jsonl"), key=lambda file: (_number(file) or 0, file.name))
        if folder == path and (path / "config.json").is_file():
            found = []  # a run's metrics are lines too, and no rollouts
    if iterations is not None:
        found = [file for file in found if _number(file) in iterations]
    if not found:
        raise UsageError(
            f"{path} holds no rollouts" + ("" if iterations is None else f" of iteration {_listed(iterations)}"),
            hint="a run keeps those of every tenth iteration; `--set rollouts_every=1` keeps all",
        )
    return found


def _number(file: Path) -> int | None:
    digits = re.search(r"(\d+)$", file.stem)
    return int(digits[1]) if digits else None


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _shaped(records: Iterable[Rollout | Reject], aside: Counter[str]) -> Iterable[Rollout]:
    for record in records:
        if isinstance(record, Reject):
            aside[record.reason] += 1
        elif not record.steps:
            aside["no steps"] += 1
        elif any(step.advantage is None for step in record.steps):
            aside["steps without an advantage"] += 1
        else:
            yield record


def _count(rollout: Rollout, sums: defaultdict[str, _Sums]) -> None:
    for step in rollout.steps:
        after = step.advantage or 0.0
        before = after if step.base_advantage is None else step.base_advantage
        told, valid = int(step.valid is not None), int(bool(step.valid))
        sums[action_form(step.action)].add(_Sums(1, told, valid, before, after, max(after, 0.0), min(after, 0.0)))


def _rows(sums: Mapping[str, _Sums], own: Sequence[str]) -> tuple[FormRow, ...]:
    steps = sum(each.steps for each in sums.values())
    rest = _Sums()
    for form, each in sums.items():
        if form not in own:
            rest.add(each)
    rows = [sums[form].row(form, steps) for form in own if form in sums]
    return (*rows, *([rest.row(OTHERS, steps)] if rest.steps else []))
