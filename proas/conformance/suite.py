"""The suite: all checks over one environment, one by one or at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import Self
from unittest import SkipTest

from proas.conformance import elsewhere, environments, states
from proas.conformance.episodes import Crash, Subject, told
from proas.conformance.report import Check, Ledger, NonConformant, Report
from proas.envs.registry import EnvSpec

__all__ = ["CHECKS", "Conformance", "check"]

_RUNS: Mapping[str, Callable[[Subject, Ledger], None]] = {
    "tasks": environments.tasks,
    "episodes": environments.episodes,
    "reset": environments.reset,
    "replay": environments.replay,
    "isolated": environments.isolated,
    "limits": environments.limits,
    "rewards": environments.rewards,
    "admissible": environments.admissible,
    "outside": environments.outside,
    "invalid": environments.invalid,
    "keys": states.keys,
    "order": states.order,
    "fresh": states.fresh,
    "process": elsewhere.process,
    "agreement": states.agreement,
    "text_alone": states.text_alone,
    "subgoals": states.subgoals,
    "record": states.record,
}

CHECKS: tuple[str, ...] = tuple(_RUNS)
"""Names of the checks, in the order in which they are run."""

_ADVISORY = frozenset({"text_alone"})
"""Checks that warn and do not fail: what they ask for is not needed everywhere."""


class Conformance:
    """Checks one environment. Episodes are played once, when the first check asks for them.

    Args:
        env: The environment, by name or with data and options.
        tasks: Number of tasks to play, spread over all that there are.
        policies: Names of the policies that play; all that the environment has if not given.
        group_size: Episodes of each task by each policy.
        samples: Episodes of each task that are played again with other actions.
        seed: Source of all randomness.

    Raises:
        UsageError: The environment or a policy is not known.
        ProASError: The environment cannot be opened.
    """

    def __init__(
        self,
        env: str | EnvSpec,
        *,
        tasks: int = 4,
        policies: Sequence[str] = (),
        group_size: int = 3,
        samples: int = 30,
        seed: int = 0,
    ) -> None:
        spec = EnvSpec(env) if isinstance(env, str) else env
        self._subject = Subject(spec, tasks=tasks, policies=policies, group_size=group_size, samples=samples, seed=seed)
        self._done: dict[str, Check] = {}

    def run(self, name: str) -> Check:
        """One check; it is made once.

        Raises:
            KeyError: There is no check of that name.
        """
        if name not in self._done:
            run = _RUNS[name]
            ledger = Ledger(name, _promise(run), advisory=name in _ADVISORY)
            try:
                run(self._subject, ledger)
            except Crash as crash:
                ledger.holds(False, f"it breaks down: {crash}", crash.where)
            except Exception as error:  # noqa: BLE001  # the environment's fault, to be told as one
                ledger.holds(False, f"it breaks down: {told(error)}")
            self._done[name] = ledger.closed()
        return self._done[name]

    def require(self, name: str) -> None:
        """One check, for a test.

        Raises:
            NonConformant: It failed; the message holds the counterexamples.
            unittest.SkipTest: There was nothing to compare. Test runners count the test as skipped.
        """
        made = self.run(name)
        if made.outcome == "failed":
            raise NonConformant(made)
        if made.outcome == "not exercised":
            raise SkipTest(f"{name}: {made.note or 'nothing was compared'}")

    def report(self, progress: Callable[[int, int | None], None] | None = None) -> Report:
        """All checks.

        Args:
            progress: Told how many of how many are done.
        """
        checks = []
        for number, name in enumerate(CHECKS, start=1):
            checks.append(self.run(name))
            if progress is not None:
                progress(number, len(CHECKS))
        traces = self._subject.traces
        return Report(
            env=self._subject.spec.name,
            tasks=self._subject.tasks,
            episodes=len(traces),
            steps=sum(len(trace.actions) for trace in traces),
            checks=tuple(checks),
        )

    def close(self) -> None:
        """Let go of the environment."""
        self._subject.world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _promise(run: Callable[[Subject, Ledger], None]) -> str:
    return (run.__doc__ or "").strip().rstrip(".")


def check(
    env: str | EnvSpec,
    *,
    tasks: int = 4,
    policies: Sequence[str] = (),
    group_size: int = 3,
    samples: int = 30,
    seed: int = 0,
    progress: Callable[[int, int | None], None] | None = None,
) -> Report:
    """Run the whole suite over an environment; see :class:`Conformance` for the arguments.

    Raises:
        UsageError: The environment or a policy is not known.
        ProASError: The environment cannot be opened.
    """
    suite = Conformance(env, tasks=tasks, policies=policies, group_size=group_size, samples=samples, seed=seed)
    with closing(suite):
        return suite.report(progress)
