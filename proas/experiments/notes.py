"""What a reader has to know of results that count: other settings than the plan has now, commands that changed meaning.

Digests of settings leave out what is at its default, so that a setting that is added later changes none. A default that
is changed later changes none either; but results hold all their settings, which tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proas.errors import UsageError
from proas.experiments.commands import as_text, settings_of, unlike
from proas.experiments.plan import Plan
from proas.experiments.records import Record
from proas.training.config import TrainConfig
from proas.training.setting_paths import flat

__all__ = ["notes_on"]

_NAMED = 6
"""Most results that a note names."""


def notes_on(plan: Plan, found: Mapping[str, Mapping[int, Record]]) -> list[str]:
    """What a reader has to know of results that count.

    Args:
        plan: The plan.
        found: Its results by arm and seed.
    """
    return [*_other_defaults(plan, found), *_changed_commands(found)]


def _other_defaults(plan: Plan, found: Mapping[str, Mapping[int, Record]]) -> list[str]:
    alike: dict[str, list[str]] = {}
    for arm, records in found.items():
        for seed, record in records.items():
            config = plan.arm_config(arm, seed)
            if told := _told(unlike(config, record.settings), config):
                alike.setdefault(told, []).append(f"{arm}-s{seed}")
    return [f"ran with {told}: {_listed(runs)}" for told, runs in alike.items()]


def _told(before: Mapping[str, object], config: TrainConfig) -> str:
    now = flat(config.to_dict())
    return ", ".join(f"{name}={as_text(value)} (now {as_text(now[name])})" for name, value in before.items())


def _changed_commands(found: Mapping[str, Mapping[int, Record]]) -> list[str]:
    changed = [f"{arm}-s{seed}" for arm, records in found.items() for seed, r in records.items() if not _means_it(r)]
    if not changed:
        return []
    what = "the command in one result" if len(changed) == 1 else f"the commands in {len(changed)} results"
    return [f"{what} would by now run other settings; those of the table of arms do not: {_listed(changed)}"]


def _means_it(record: Record) -> bool:
    try:
        return not unlike(settings_of(record.command), record.settings)
    except UsageError:  # a setting or a preset of that name is gone
        return False


def _listed(runs: Iterable[str]) -> str:
    named = list(runs)
    return ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
