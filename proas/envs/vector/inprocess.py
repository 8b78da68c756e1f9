"""Many episodes in the calling process: quick, and without any protection from a hang or a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proas.envs.base import RewardSettings, World, check_step_limit
from proas.envs.vector.base import SlottedVector
from proas.envs.vector.episodes import Episodes, FollowerMaker
from proas.envs.vector.records import Act, Begin, Turn

__all__ = ["InProcessVector"]


class InProcessVector(SlottedVector):
    """Slots over one world, in this process; implements :class:`~proas.envs.vector.VectorEnv`.

    An environment that raises ends its own episode only. One that hangs or crashes takes everything with it: for those
    there is :class:`~proas.envs.vector.IsolatedVector`.

    Args:
        world: The tasks. It stays open when the vector is closed.
        size: Number of slots.
        step_limit: Steps after which an unsolved episode is cut; ``None`` for the environment's usual number.
        rewards: What steps pay.
        follower: Makes what attaches states to the answers (``proas.states.follower_for``); ``None`` for none.

    Raises:
        UsageError: The size or the step limit is not positive.
    """

    def __init__(
        self,
        world: World,
        size: int,
        *,
        step_limit: int | None = None,
        rewards: RewardSettings = RewardSettings(),
        follower: FollowerMaker | None = None,
    ) -> None:
        super().__init__(size)
        if step_limit is not None:
            check_step_limit(step_limit)
        self._world = world
        self._episodes = Episodes(world, step_limit=step_limit, rewards=rewards, follower=follower)

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self._world.name

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the world's tasks."""
        return self._world.tasks

    def _carried_out(self, requests: Sequence[Begin | Act]) -> Mapping[int, Turn]:
        answers: dict[int, Turn] = {}
        for request in requests:
            turn = self._episodes.begin(request) if isinstance(request, Begin) else self._episodes.act(request)
            answers[request.slot] = turn
            if turn.fault is not None:
                self._faults.append(turn.fault)
        return answers
