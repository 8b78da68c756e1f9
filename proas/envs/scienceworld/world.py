"""ScienceWorld's tasks as a world: opened by name, played in environments, with policies."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from proas.envs.base import Policy, RewardSettings
from proas.envs.registry import EnvKind, EnvOption
from proas.envs.scienceworld.env import DEFAULT_STEP_LIMIT, ScienceWorldEnv
from proas.envs.scienceworld.goal import ENV, ScienceWorldGoal, parse_simplifications
from proas.envs.scienceworld.policies import ExpertPolicy, NoisyPolicy, VerbPolicy
from proas.envs.scienceworld.simulator import Session, Simulator, missing_packages
from proas.errors import DataError, UsageError

__all__ = ["SCIENCEWORLD", "SPLITS", "ScienceWorldWorld", "Split", "split_of"]

Split = Literal["train", "dev", "test", "all"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test", "all")


class ScienceWorldWorld:
    """Variations of ScienceWorld's tasks; implements ``proas.envs.base.World``.

    One Java process serves all environments of a world; it starts with the first question and ends with
    :meth:`close` or with this process.

    Args:
        name: Name of a task; ``None`` for all of them.
        split: Which variations: the benchmark's own division into two quarters, a quarter and a quarter.
        variations: At most this many variations of each task, the first ones of the split.
        simplifications: What is made easier.
        listing: Whether environments list admissible actions.

    Raises:
        UsageError: The number of variations is not positive.
    """

    name = ENV
    policies = ("expert", "noisy", "random")

    def __init__(
        self,
        name: str | None = None,
        *,
        split: Split = "train",
        variations: int | None = None,
        simplifications: tuple[str, ...] = (),
        listing: bool = True,
    ) -> None:
        if variations is not None and variations < 1:
            raise UsageError(f"the number of variations must be at least 1, not {variations}")
        self._name = name
        self._split: Split = split
        self._variations = variations
        self._simplifications = simplifications
        self._listing = listing
        self._simulator = Simulator()
        self._planner: Session | None = None
        self._counts: dict[str, int] | None = None
        self._plans: dict[str, tuple[str, ...]] = {}

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of variations of every task that the simulator knows, by name."""
        if self._counts is None:
            self._counts = self._simulator.session().tasks()
        return self._counts

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the tasks, the first variation of each before the second of any.

        Raises:
            UsageError: There is no task of the name that was given.
            EnvironmentFailure: The simulator cannot be started.
        """
        names = sorted(self.counts) if self._name is None else [self._known(self._name)]
        chosen = {name: split_of(self.counts[name], self._split)[: self._variations] for name in names}
        rounds = max((len(numbers) for numbers in chosen.values()), default=0)
        return tuple(
            ScienceWorldGoal(name, numbers[nth], self._simplifications).key
            for nth in range(rounds)
            for name, numbers in chosen.items()
            if nth < len(numbers)
        )

    @property
    def pid(self) -> int | None:
        """Process id of the simulator, ``None`` while none runs."""
        return self._simulator.pid

    def goal(self, key: str) -> ScienceWorldGoal:
        """The task of a key; any variation of any task, of this world's selection or not.

        Raises:
            UsageError: There is no such task.
        """
        try:
            goal = ScienceWorldGoal.from_key(key)
        except DataError as error:
            raise UsageError(error.message, hint=error.hint) from error
        count = self.counts[self._known(goal.name)]
        if goal.variation >= count:
            raise UsageError(f"{goal.name} has no variation {goal.variation}", hint=f"0 to {count - 1}")
        return goal

    def plan(self, key: str) -> tuple[str, ...]:
        """The simulator's planned solution of a task, made once: some take many seconds.

        Raises:
            UsageError: There is no such task.
            EnvironmentFailure: The simulator failed.
        """
        if key not in self._plans:
            if self._planner is None:
                self._planner = self._simulator.session()
            self._planner.load(self.goal(key), gold=True)
            self._plans[key] = tuple(self._planner.gold())
        return self._plans[key]

    def environment(
        self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()
    ) -> ScienceWorldEnv:
        """A new environment over these tasks; see :class:`proas.envs.base.World`."""
        limit = DEFAULT_STEP_LIMIT if step_limit is None else step_limit
        session = self._simulator.session()
        return ScienceWorldEnv(session, self.goal, step_limit=limit, rewards=rewards, listing=self._listing)

    def policy(self, name: str, rng: random.Random) -> Policy:
        """A policy by name. Raises ``UsageError`` where there is none of that name."""
        if name == "expert":
            return ExpertPolicy(self.plan)
        if name == "noisy":
            return NoisyPolicy(self.plan, rng)
        if name == "random":
            return VerbPolicy(rng)
        raise UsageError(f"{self.name} has no policy {name!r}", hint=f"known: {', '.join(self.policies)}")

    def close(self) -> None:
        """End the Java process."""
        self._simulator.close()

    def _known(self, name: str) -> str:
        if name not in self.counts:
            raise UsageError(f"ScienceWorld has no task {name!r}", hint="known: " + ", ".join(sorted(self.counts)))
        return name


def split_of(count: int, split: Split) -> tuple[int, ...]:
    """Numbers of the variations in a split of the benchmark.

    Half of them train, a quarter develops and the rest tests; up to four variations are shared out one by one, as the
    simulator does it.

    Args:
        count: Number of variations of the task.
        split: Which part.
    """
    if split == "all":
        return tuple(range(count))
    if count <= 4:
        train, dev = {0: (0, 0), 1: (1, 1), 2: (1, 1), 3: (1, 2), 4: (2, 3)}[count]
        if count == 1 and split == "test":
            return (0,)
    else:
        train, dev = 2 * (count // 4), 3 * (count // 4)
    parts = {"train": range(train), "dev": range(train, dev), "test": range(dev, count)}
    return tuple(parts[split])


def _open(data: Path | None, options: Mapping[str, str]) -> ScienceWorldWorld:
    if data is not None:
        raise UsageError(f"{ENV} takes no data: the package carries it", hint="leave --data out")
    wanted = options["variations"]
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise UsageError(f"{ENV}: option variations must be a positive number, not {wanted!r}")
    split = next(known for known in SPLITS if known == options["split"])
    return ScienceWorldWorld(
        options["task"] or None,
        split=split,
        variations=int(wanted) if wanted else None,
        simplifications=parse_simplifications(options["simplifications"]),
        listing=options["admissible"] == "listed",
    )


def _missing() -> str:
    lacking = missing_packages()
    return f"{' and '.join(lacking)}: pip install 'proas[scienceworld]'" if lacking else ""


SCIENCEWORLD = EnvKind(
    name=ENV,
    summary="experiments of elementary science in a house with a workshop and a greenhouse",
    data="none: the package scienceworld carries its 30 tasks",
    step_limit=DEFAULT_STEP_LIMIT,
    open=_open,
    options=(
        EnvOption("task", "one task, by name; all of them if not given"),
        EnvOption("split", "which variations", "train", SPLITS),
        EnvOption("variations", "at most this many variations of each task; all of them if not given"),
        EnvOption("simplifications", "what is made easier, separated by +, for example easy", chooses=False),
        EnvOption("admissible", "whether admissible actions are listed", "listed", ("listed", "none"), chooses=False),
    ),
    missing=_missing,
)
