"""Records made by hand, so that what tables say can be worked out on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from proas.experiments.plan import Plan
from proas.experiments.records import Record
from proas.experiments.schedule import arm_digest

PLAN = {
    "name": "kitchen",
    "title": "Kitchen",
    "question": "Which is better?",
    "preset": "smoke",
    "seeds": [0, 1],
    "targets": [50, 90],
    "references": ["loop-mask"],
    "warm": {"base": {}},
    "graphs": {"plans": {}},
    "arms": {
        "grpo": {"note": "plain"},
        "loop-mask": {"shaping": "loop-mask"},
        "proas": {"shaping": "membership", "graph": "plans", "settings": {"shaping.apr": "ramp"}},
    },
}

MakeRecord = Callable[..., Record]


@pytest.fixture
def plan() -> Plan:
    made = Plan.model_validate(PLAN)
    made.check()
    return made


@pytest.fixture
def record(plan: Plan) -> MakeRecord:
    """A record of one of the plan's arms: success at T=0.4 as given, at T=1 half of it."""

    def make(arm: str, seed: int, success: Sequence[float], *, outcomes: str = "", **more: Any) -> Record:
        half = [value / 2 for value in success]
        document: dict[str, Any] = {
            "experiment": plan.name,
            "arm": arm,
            "seed": seed,
            "digest": arm_digest(plan, arm),
            "games": {"identity": "g1", "label": "games of the test"},
            "rerun": "",
            "command": "",
            "settings": plan.arm_config(arm, seed).to_dict(),
            "software": {"commit": "0123456789abcdef"},
            "host": {"processor": "abacus", "cores": 2, "runs side by side": 1},
            "iterations": 5 * (len(success) - 1),
            "episodes": 100,
            "seconds": {"total": 2.0, "environment": 0.5, "update": 1.5},
            "at": [1, 2, 3, 4],
            "series": {"rollout/success": [0.1, 0.2, 0.3, success[-1]], "proas/mask_rate": [0.5, None, 0.4, 0.3]},
            "evaluated": [5 * i for i in range(len(success))],
            "evaluations": {
                t: {
                    "success": list(values),
                    "reward": [10 * value - 1 for value in values],
                    "steps": [20.0] * len(values),
                    "invalid": [0.5] * len(values),
                }
                for t, values in (("0.4", success), ("1", half))
            },
            "kinds": {"0.4": {"pick": success[-1]}, "1": {}},
            "tasks": len(outcomes),
            "outcomes": {"0.4": outcomes} if outcomes else {},
            "outcome_episodes": 3 if outcomes else 0,
        }
        return Record.model_validate({**document, **more})

    return make
