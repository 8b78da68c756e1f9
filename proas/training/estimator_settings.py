"""Settings of the estimators that are no part of the shaping. Needs no torch."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["EstimatorSettings"]

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Natural = Annotated[int, Field(ge=0)]


class EstimatorSettings(BaseModel):
    """What the estimators beyond GRPO, DAPO and GiGPO take (those take ``shaping.*``).

    Attributes:
        refills: How often an iteration of DAPO draws further tasks in place of those whose rollouts all succeeded or
            all failed; 0 for never.
        gamma: Discount of PPO's returns and of HGPO's step returns.
        gae_lambda: PPO's lambda.
        step_weight: Weight of the step-level advantage of MiGPO, GraphGPO and TIGPO.
        milestone_gamma: MiGPO's decay towards the next milestone.
        context: HGPO's longest history, in states before the present one.
        context_power: HGPO weights a group of history length k by ``(k + 1)`` to this power.
        distance_gamma: GraphGPO's and TIGPO's decay with the distance to the goal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    refills: Natural = 10
    gamma: Fraction = 0.95
    gae_lambda: Fraction = 0.95
    step_weight: Annotated[float, Field(ge=0.0)] = 1.0
    milestone_gamma: Fraction = 0.95
    context: Natural = 2
    context_power: Annotated[float, Field(ge=0.0)] = 1.0
    distance_gamma: Fraction = 0.95
