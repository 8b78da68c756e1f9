"""What the suite says of an environment: named checks, each with what it compared and what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Check", "Counterexample", "Ledger", "NonConformant", "Outcome", "Report", "Where"]

Outcome = Literal["passed", "failed", "warned", "not exercised"]
"""``warned`` does not make the suite fail; ``not exercised``: there was nothing to compare, and the check says why."""

_KEPT = 3
"""Counterexamples of one check that are kept; the others are counted."""


@dataclass(frozen=True, slots=True)
class Where:
    """An episode, told so that it can be played again.

    Attributes:
        task: Key of the task; empty where no task is meant.
        seed: Seed of the reset.
        actions: The actions up to the place in question.
        policy: Who chose them; empty where the suite itself did.
    """

    task: str = ""
    seed: int = 0
    actions: tuple[str, ...] = ()
    policy: str = ""

    def __str__(self) -> str:
        if not self.task:
            return ""
        played = f", after {' | '.join(repr(action) for action in self.actions[-6:])}" if self.actions else ""
        left_out = f" (the last of {len(self.actions)} actions)" if len(self.actions) > 6 else ""
        return f"task {self.task}, reset with seed {self.seed}{played}{left_out}"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """What contradicts a check.

    Attributes:
        message: What was expected and what was found.
        where: The episode.
    """

    message: str
    where: Where = Where()

    def __str__(self) -> str:
        place = str(self.where)
        return f"{self.message}\n  {place}" if place else self.message


@dataclass(frozen=True, slots=True)
class Check:
    """One property and how it fared.

    Attributes:
        name: Its name.
        promise: What it holds the environment to.
        outcome: How it fared.
        compared: Number of comparisons made.
        wrong: Number of those that failed.
        counterexamples: The first few of them.
        note: Why nothing was compared, where nothing was.
    """

    name: str
    promise: str
    outcome: Outcome
    compared: int
    wrong: int
    counterexamples: tuple[Counterexample, ...]
    note: str = ""

    def __str__(self) -> str:
        told = "".join(f"\n- {example}" for example in self.counterexamples)
        more = (
            f"\n- and {self.wrong - len(self.counterexamples)} more" if self.wrong > len(self.counterexamples) else ""
        )
        return f"{self.name}: {self.promise}: {self.outcome}{'; ' + self.note if self.note else ''}{told}{more}"


@dataclass(frozen=True, slots=True)
class Report:
    """What the suite says of one environment.

    Attributes:
        env: Name of the environment.
        tasks: Keys of the tasks that were played.
        episodes: Number of episodes played by policies.
        steps: Number of their steps.
        checks: The checks in order.
    """

    env: str
    tasks: tuple[str, ...]
    episodes: int
    steps: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not any(check.outcome == "failed" for check in self.checks)

    def of(self, name: str) -> Check:
        """The check of that name. Raises ``KeyError`` where there is none."""
        return self.by_name[name]

    @property
    def by_name(self) -> Mapping[str, Check]:
        """The checks by their names."""
        return {check.name: check for check in self.checks}

    def as_json(self) -> dict[str, object]:
        """The report as values that JSON can hold."""
        return asdict(self) | {"ok": self.ok}


class NonConformant(AssertionError):  # a test that fails, so that test runners show it as one
    """A check failed; the message holds its counterexamples.

    Args:
        check: The check.
    """

    def __init__(self, check: Check) -> None:
        super().__init__(str(check))
        self.check = check


class Ledger:
    """Where a check writes down what it compares.

    Args:
        name: Name of the check.
        promise: What it holds the environment to.
        advisory: Whether what it finds is a warning, not a failure.
    """

    def __init__(self, name: str, promise: str, *, advisory: bool = False) -> None:
        self._name = name
        self._promise = promise
        self._advisory = advisory
        self._compared = 0
        self._wrong: list[Counterexample] = []
        self._notes: list[str] = []

    def holds(self, found: bool, message: str, where: Where = Where()) -> bool:
        """One comparison, and what to say if it failed."""
        self._compared += 1
        if not found:
            self._wrong.append(Counterexample(message, where))
        return found

    def note(self, why: str) -> None:
        """Why something could not be compared."""
        if why not in self._notes:
            self._notes.append(why)

    def closed(self) -> Check:
        """The check, all comparisons made."""
        outcome: Outcome = "passed"
        if self._wrong:
            outcome = "warned" if self._advisory else "failed"
        elif not self._compared:
            outcome = "not exercised"
        return Check(
            name=self._name,
            promise=self._promise,
            outcome=outcome,
            compared=self._compared,
            wrong=len(self._wrong),
            counterexamples=tuple(self._wrong[:_KEPT]),
            note="; ".join(self._notes),
        )
