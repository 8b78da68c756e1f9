"""Finds and reads plans: those that come with the package by name, others by path."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from proas.errors import DataError, UsageError
from proas.experiments.plan import ArmPlan, Plan

__all__ = ["SMOKE", "TABLES", "load_plan", "plan_names"]

TABLES = ("main", "controls", "shaping", "graph", "webshop", "recurrence", "group_size")
"""Plans of the report, in its order; others that lie beside them follow by name."""

SMOKE = "smoke"
"""The plan that checks the mechanics; no part of the report."""


def plan_names() -> tuple[str, ...]:
    """Plans that come with the package: those of the report in its order, the others, and the smoke test's."""
    there = {Path(file.name).stem for file in files(__package__).joinpath("plans").iterdir() if _is_plan(file.name)}
    rest = sorted(there - {*TABLES, SMOKE})
    return (*(name for name in TABLES if name in there), *rest, *({SMOKE} & there))


def load_plan(which: str) -> Plan:
    """A plan by name, or from a file of one's own.

    Args:
        which: Name of a plan that comes with the package, or path of a ``.toml`` file.

    Raises:
        UsageError: There is no such plan, or what it says makes no sense.
        DataError: The file cannot be read.
    """
    plan = _read(which)
    arms = dict(plan.arms)
    for source, names in plan.borrowed.items():
        arms.update(_borrowed(plan, _read(source), names, arms))
    whole = plan.model_copy(update={"arms": arms})
    whole.check()
    for source in plan.together:
        _read(source)
    return whole


def _borrowed(plan: Plan, other: Plan, names: tuple[str, ...], there: Mapping[str, ArmPlan]) -> dict[str, ArmPlan]:
    found: dict[str, ArmPlan] = {}
    for name in names:
        if name not in other.arms:
            raise UsageError(
                f"plan {plan.name} borrows {name!r}, which plan {other.name} has not",
                hint=f"its arms: {', '.join(other.arms)}",
            )
        if name in there:
            raise UsageError(f"plan {plan.name} has an arm {name!r} and borrows one", hint="drop one of them")
        found[name] = other.arms[name]
    return found


def _is_plan(name: str) -> bool:
    return name.endswith(".toml")


def _read(which: str) -> Plan:
    own = which.endswith(".toml")
    place = Path(which) if own else files(__package__).joinpath("plans", f"{which}.toml")
    if not place.is_file():
        raise UsageError(
            f"there is no plan {which!r}", hint=f"name a file that ends in .toml, or one of {', '.join(plan_names())}"
        )
    try:
        document = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"plan {which} cannot be read: {error}", hint="it has to be TOML in UTF-8") from error
    name = Path(which).stem
    try:
        plan = Plan.model_validate({"name": name, "title": name, **_flattened(document)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        at = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"plan {which}: {at}: {first['msg']}", hint="docs/experiments.md says its form") from None
    return plan.model_copy(update={"called": ("--table", which)})


def _flattened(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document whose ``settings`` are named by their paths, however they were nested."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if name == "settings" and isinstance(value, dict):
            found[name] = dict(_paths(value))
        else:
            found[name] = _flattened(value) if isinstance(value, dict) else value
    return found


def _paths(settings: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in settings.items():
        found += _paths(value, f"{before}{name}.") if isinstance(value, dict) else [(f"{before}{name}", value)]
    return found
