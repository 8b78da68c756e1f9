"""What is played and how: the section ``data.proas`` of verl's configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proas.envs import EnvSpec, RewardSettings
from proas.integrations.settings import setting_fault

__all__ = ["PlaySettings"]


class PlaySettings(BaseModel):
    """Settings of the agent loops and of the data set of tasks.

    Attributes:
        env: Name of the environment.
        options: Values of its options.
        step_limit: Steps of an episode; ``None`` for the environment's usual number.
        history: Past steps in a prompt of the step loop; the trajectory loop shows all, in one conversation.
        admissible: Whether the actions that apply are listed in the prompt.
        admissible_limit: At most so many.
        thoughts: Whether replies are asked to think first, between think tags.
        observation_limit: Longest observation in characters.
        turn_tokens: Tokens that one reply may have.
        success_reward: Paid for the step that solves the task.
        invalid_reward: Paid for an action that does not apply, and for a reply that has not the form asked for.
        step_reward: Paid for every step.
        timeout: Seconds that the environment may take for one reset or step.
        check: Whether tasks that cannot be played are found and left out when the data is opened.

    Raises:
        UsageError: An unknown setting or a bad value (:meth:`of`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str = "alfworld"
    options: dict[str, str] = Field(default_factory=dict)
    step_limit: int | None = Field(default=None, ge=1)
    history: int = Field(default=2, ge=0)
    admissible: bool = True
    admissible_limit: int = Field(default=120, ge=1)
    thoughts: bool = True
    observation_limit: int = Field(default=6000, ge=100)
    turn_tokens: int = Field(default=512, ge=1)
    success_reward: float = 10.0
    invalid_reward: float = -0.1
    step_reward: float = 0.0
    timeout: float = Field(default=60.0, gt=0)
    check: bool = True

    @classmethod
    def of(cls, values: dict[str, Any]) -> PlaySettings:
        """Settings from plain values.

        Raises:
            UsageError: An unknown setting or a bad value.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise setting_fault(error, cls, "setting data.proas.") from None

    @property
    def rewards(self) -> RewardSettings:
        """What steps pay."""
        return RewardSettings(success=self.success_reward, invalid=self.invalid_reward, step=self.step_reward)

    def spec(self, data: str | None) -> EnvSpec:
        """The environment over some data; ``None`` and empty for its default."""
        return EnvSpec(self.env, Path(data) if data else None, dict(self.options))
