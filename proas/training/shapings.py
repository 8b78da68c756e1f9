"""The shapings that go by a name: none, the two presets, and the control without a graph."""

from __future__ import annotations

from typing import Literal, get_args

from proas.errors import UsageError
from proas.shaping import preset
from proas.training.config import TrainConfig

__all__ = ["SHAPINGS", "ShapingName", "shaped_by"]

ShapingName = Literal["none", "recommended", "membership", "paper", "loop-mask"]
"""What is done to the base advantage."""

SHAPINGS: tuple[ShapingName, ...] = get_args(ShapingName)


def shaped_by(config: TrainConfig, name: str) -> TrainConfig:
    """Settings under the shaping of that name; ``none`` leaves them as they are.

    Raises:
        UsageError: No shaping has that name.
    """
    if name == "none":
        return config
    if name == "loop-mask":
        return config.with_shaping(preset("membership").updated({"verdicts": "loop_mask", "info_seeking": False}))
    if name not in SHAPINGS:
        raise UsageError(f"no shaping is called {name!r}", hint=f"choose one of {', '.join(SHAPINGS)}")
    return config.with_shaping(preset(name))
