"""The policy settings of a run that starts from another's policy: what is recorded is what plays. Needs no torch."""

from __future__ import annotations

from collections.abc import Collection

from proas.errors import UsageError
from proas.training.config import TrainConfig
from proas.training.policy_settings import PolicySettings
from proas.training.run_directory import RunDirectory

__all__ = ["with_policy_of"]

_ALL = frozenset(f"policy.{name}" for name in PolicySettings.model_fields)


def with_policy_of(config: TrainConfig, init: RunDirectory, named: Collection[str] = _ALL) -> TrainConfig:
    """A run's settings with the policy of the run that it starts from.

    Args:
        config: The settings.
        init: The run to start from.
        named: Settings that somebody asked for, by path; only these can contradict.

    Raises:
        UsageError: There is no such run, or a setting of the policy that was asked for is not that run's.
        DataError: Its settings cannot be read.
    """
    stored = init.config().policy
    for name in PolicySettings.model_fields:
        ours, theirs = getattr(config.policy, name), getattr(stored, name)
        if ours != theirs and f"policy.{name}" in named:
            raise UsageError(
                f"policy.{name}={ours} contradicts the run to start from: {init.path} has {theirs or 'none'}",
                hint="leave it out, as the policy is taken as it is, or train without --init",
            )
    return config.model_copy(update={"policy": stored})
