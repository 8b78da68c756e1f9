"""Environments behind one interface (``proas.envs.base``)."""

from proas.envs.base import Environment, Facts, Info, RewardSettings, StepResult

__all__ = ["Environment", "Facts", "Info", "RewardSettings", "StepResult"]
