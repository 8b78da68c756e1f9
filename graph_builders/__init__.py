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
    expansion,
)
from proas.graph_builders.run import build_graph

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
    "expansion",
]


def _alfworld() -> Builder:
    from proas.graph_builders.alfworld import AlfWorldBuilder

    return AlfWorldBuilder()


def _webshop() -> Builder:
    from proas.graph_builders.webshop import WebShopBuilder

    return WebShopBuilder()


_BUILDERS: dict[str, Callable[[], Builder]] = {"alfworld": _alfworld, "webshop": _webshop}
# Each entry imports its module only when it is asked for: a source may need an extra that others do without.


def builder_names() -> tuple[str, ...]:
    """Names of the sources that a graph can be built from."""
    return tuple(sorted(_BUILDERS))


def builder(name: str) -> Builder:
    """The builder of that name.

    Raises:
        UsageError: There is none.
    """
    make = _BUILDERS.get(name)
    if make is None:
        raise UsageError(f"no builder is called {name!r}", hint="known: " + ", ".join(builder_names()))
    return make()
