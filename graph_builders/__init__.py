"""Pipelines that seed a reference graph: one module a source, found by name."""

from __future__ import annotations

from collections.abc import Callable

from proas.errors import UsageError
from proas.graph_builders.base import (
    EXPANSIONS,
    Builder,
    BuildOptions,
    BuildProgress,
    BuildReport,
    Built,
    Expand,
    Rejected,
    check_source,
    expansion,
    expansion_and_radius,
)
from proas.graph_builders.run import build_graph
from proas.plugins import load_plugins

__all__ = [
    "EXPANSIONS",
    "BuildOptions",
    "BuildProgress",
    "BuildReport",
    "Builder",
    "Built",
    "Expand",
    "Rejected",
    "build_graph",
    "builder",
    "builder_names",
    "check_source",
    "expansion",
    "expansion_and_radius",
    "register",
    "register_expert",
]


def _alfworld() -> Builder:
    from proas.graph_builders.alfworld import AlfWorldBuilder

    return AlfWorldBuilder()


def _scienceworld() -> Builder:
    from proas.graph_builders.scienceworld import ScienceWorldBuilder

    return ScienceWorldBuilder()


def _trajectories() -> Builder:
    from proas.graph_builders.trajectories import TrajectoriesBuilder

    return TrajectoriesBuilder()


def _webshop() -> Builder:
    from proas.graph_builders.webshop import WebShopBuilder

    return WebShopBuilder()


def _distill() -> Builder:
    raise UsageError("a teacher needs a model and settings", hint="make a proas.graph_builders.distill.DistillBuilder")


_BUILDERS: dict[str, Callable[[], Builder]] = {
    "alfworld": _alfworld,
    "webshop": _webshop,
    "scienceworld": _scienceworld,
    "trajectories": _trajectories,
    "distill": _distill,
}
# Each entry imports its module only when it is asked for: a source may need an extra that others do without.


def register(name: str, make: Callable[[], Builder]) -> None:
    """Make a builder known by its name; see ``proas.envs.register`` for how a plug-in does so.

    Raises:
        UsageError: The name is taken by another.
    """
    if _BUILDERS.setdefault(name, make) != make:
        raise UsageError(f"a builder {name!r} is registered already", hint="choose another name")


def register_expert(env: str) -> None:
    """Let an environment's own expert seed its graphs: ``proas graph build --source ENV`` plays it.

    Raises:
        UsageError: A builder of that name is registered already.
    """

    def make() -> Builder:
        from proas.envs.registry import EnvSpec
        from proas.graph_builders.expert import ExpertBuilder

        return ExpertBuilder(EnvSpec(env))

    register(env, make)


def builder_names() -> tuple[str, ...]:
    """Names of the sources that a graph can be built from."""
    load_plugins()
    return tuple(sorted(_BUILDERS))


def builder(name: str) -> Builder:
    """The builder of that name.

    Raises:
        UsageError: There is none.
    """
    load_plugins()
    make = _BUILDERS.get(name)
    if make is None:
        raise UsageError(f"no builder is called {name!r}", hint="known: " + ", ".join(builder_names()))
    return make()
