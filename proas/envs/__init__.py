"""Environments behind one interface (``proas.envs.base``), opened by name (``proas.envs.registry``)."""

from proas.envs.base import Environment, Facts, Info, Policy, RewardSettings, StepResult, World
from proas.envs.registry import EnvKind, EnvOption, EnvSpec, env_kind, env_names, open_world, register

__all__ = [
    "EnvKind",
    "EnvOption",
    "EnvSpec",
    "Environment",
    "Facts",
    "Info",
    "Policy",
    "RewardSettings",
    "StepResult",
    "World",
    "env_kind",
    "env_names",
    "open_world",
    "register",
]
