"""Optimal play as the judge of labels: how far a situation is from the goal, by the engine's own planner.

A step is *optimal* when it lies on some shortest way from where it was taken: the shortest plan from where it led is
one command shorter. The planner knows where everything is; an agent does not, so a step that looks for something
(``seeks``) can be sensible without being optimal, and is counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.base import World
from proas.rollouts import Rollout

__all__ = ["Judged", "OptimalPlay"]

_NO_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Judged:
    """A step under optimal play.

    Attributes:
        before: Commands of the shortest plan before the step.
        after: The same after it.
    """

    before: int
    after: int

    @property
    def optimal(self) -> bool:
        """Whether it lies on a shortest way."""
        return self.after < self.before

    @property
    def loses(self) -> bool:
        """Whether it leads away from the goal."""
        return self.after > self.before


class OptimalPlay:
    """Judges steps of one world's tasks. Plans are kept by situation: rollouts of a task meet the same ones.

    Args:
        world: Its environments.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[tuple[str, Any], int | None] = {}

    @property
    def available(self) -> bool:
        """Whether the environment has a planner."""
        return isinstance(self._world, AlfWorldWorld)

    def judge(self, rollout: Rollout) -> list[Judged | None]:
        """Each step; ``None`` where no plan is found.

        The rollout is carried out again.

        Raises:
            ValueError: The environment has no planner, or does not answer as the rollout says.
        """
        if not self.available:
            msg = f"{self._world.name} has no planner"
            raise ValueError(msg)
        env: Any = self._world.environment(step_limit=_NO_LIMIT)
        env.reset(rollout.task)
        lengths = [self._length(env)]
        for step in rollout.steps:
            result = env.step(step.action)
            if result.observation != step.observation:
                msg = f"rollout {rollout.id!r} cannot be carried out again: {step.action!r} is answered otherwise"
                raise ValueError(msg)
            lengths.append(0 if result.info.won else self._length(env))
        return [
            None if before is None or after is None else Judged(before, after) for before, after in pairwise(lengths)
        ]

    def _length(self, env: Any) -> int | None:
        from proas.envs.alfworld.game import NOWHERE
        from proas.envs.alfworld.planner import find_plan

        # What only `look` reads is no part of how far it is.
        situation = env.engine.snapshot()._replace(removed=(), attended=NOWHERE)
        key = (env.task, situation)
        if key not in self._known:
            plan = find_plan(env.game, start=env.engine.snapshot())
            self._known[key] = None if plan is None else len(plan)
        return self._known[key]
