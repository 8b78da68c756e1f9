"""Who plays without a model: the planned solution, the same with an agent's usual errors, and chance."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from proas.envs.scienceworld.env import ScienceWorldEnv
from proas.errors import EnvironmentFailure

__all__ = ["ExpertPolicy", "NoisyPolicy", "VerbPolicy"]

_DOOR = re.compile(r"^\s*A door to the (.+?) \(that is", re.MULTILINE)
_ROOM = re.compile(r"(?:room|location) is called the (.+?)\.")

Plan = Callable[[str], Sequence[str]]
"""The planned solution of a task, by its key."""


class ExpertPolicy:
    """Carries out the simulator's planned solution, step by step.

    It has one plan and no other: diverted by a caller who steps in between, it goes on where it was.

    Args:
        plan: Where solutions are to be had.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._task = ""
        self._ahead: list[str] = []

    def act(self, env: ScienceWorldEnv) -> str:
        """The next action of the plan. Raises ``EnvironmentFailure`` at its end."""
        if env.info.steps == 0 or env.task != self._task:
            self._task, self._ahead = env.task, list(self._plan(env.task))
        if not self._ahead:
            raise EnvironmentFailure(f"{env.task}: the planned solution is at its end")
        return self._ahead.pop(0)


class NoisyPolicy:
    """Follows the planned solution and errs on the way as agents do.

    Before a step it may look around again, take stock, refer to things that are not there, wait, or walk out and back;
    now and then it leaves a step of the plan out or focuses on the wrong thing, which can lose the episode.

    Args:
        plan: Where solutions are to be had.
        rng: Source of randomness.
        slip: Chance of an error before a step of the plan.
        fatal: Chance, among errors, of one that may lose the episode.
    """

    def __init__(self, plan: Plan, rng: random.Random, *, slip: float = 0.2, fatal: float = 0.1) -> None:
        self._expert = ExpertPolicy(plan)
        self._rng = rng
        self._slip = slip
        self._fatal = fatal
        self._detour: list[str] = []

    def act(self, env: ScienceWorldEnv) -> str:
        """The next action. Raises ``EnvironmentFailure`` at the end of the plan."""
        if env.info.steps == 0:
            self._detour = []
        if self._detour:
            return self._detour.pop(0)
        planned = self._expert.act(env)
        if planned.isdecimal() or self._rng.random() >= self._slip:  # a number answers a question: it comes at once
            return planned
        if self._rng.random() < self._fatal:
            return self._rng.choice(["focus on agent", self._expert_or(env, planned)])
        self._detour = [planned]
        return self._harmless(env, planned)

    def _harmless(self, env: ScienceWorldEnv, planned: str) -> str:
        seen = env.look()
        rooms, here = _DOOR.findall(seen), _ROOM.search(seen)
        kind = self._rng.randrange(6)
        if kind == 0:
            return "look around"
        if kind == 1:
            return "inventory"
        if kind == 2:
            return f"{planned.split(maxsplit=1)[0]} the thing over there"
        if kind == 3:
            return "wait1"
        if kind == 4 and rooms and here is not None:
            there = self._rng.choice(rooms)
            self._detour = [f"go to {there}", f"open door to {here[1]}", f"go to {here[1]}", *self._detour]
            return f"open door to {there}"
        return self._rng.choice(["open cupboard", "examine chair", "look around"])

    def _expert_or(self, env: ScienceWorldEnv, planned: str) -> str:
        """The step after the planned one, which is left out; the planned one where it is the last."""
        try:
            return self._expert.act(env)
        except EnvironmentFailure:
            return planned


class VerbPolicy:
    """Chance: a verb at random, and an admissible action with it.

    Among thousands of admissible actions nearly all connect something to something; by verbs, each has its share.

    Args:
        rng: Source of randomness.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def act(self, env: ScienceWorldEnv) -> str:
        """A random admissible action, but not ``reset task``. Raises ``EnvironmentFailure`` where there is none."""
        by_verb: dict[str, list[str]] = {}
        for action in env.info.admissible:
            if action != "reset task":
                by_verb.setdefault(action.split()[0], []).append(action)
        if not by_verb:
            raise EnvironmentFailure(f"{env.name}: no action is admissible here")
        return self._rng.choice(by_verb[self._rng.choice(sorted(by_verb))])
