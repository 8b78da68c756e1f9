"""Settings of starting points. Needs neither torch nor a database."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from proas.errors import UsageError

__all__ = ["StartSettings"]

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class StartSettings(BaseModel):
    """Starting points: some rollouts of a failing task begin on a verified way to its goal; see docs/carry_over.md.

    Attributes:
        share: Share of a failing task's rollouts that begin part of the way; 0 for none.
        distance: Actions of the way that are left at first.
        step: By how many actions the start moves.
        advance: Success of such rollouts from which on their start moves back, towards the task's own.
        retreat: Success up to which it moves nearer to the goal again.
        failing: A task fails whose rollouts from its own start succeed no more often than this.
        by: Every `task` has a start of its own, or all tasks of the `run` are as far from their goals.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    share: Fraction = 0.0
    distance: Count = 1
    step: Count = 1
    advance: Fraction = 0.5
    retreat: Fraction = 0.0
    failing: Fraction = 0.0
    by: Literal["task", "run"] = "task"

    def count(self, group_size: int) -> int:
        """Rollouts of a group that begin part of the way."""
        return round(self.share * group_size)

    def check(self, group_size: int) -> None:
        """Refuse a share that leaves a baseline without a second rollout.

        Raises:
            UsageError: It does.
        """
        begun = self.count(group_size)
        if self.share and (begun < 2 or group_size - begun == 1):
            raise UsageError(
                f"starts.share={self.share:g} of {group_size} rollouts puts {begun} on the way and leaves "
                f"{group_size - begun}: a baseline takes two of a kind",
                hint="choose another share, such as 0.5, or a larger group_size",
            )
