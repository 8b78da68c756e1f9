"""Rewinding: a training run's layer goes back to the version of the checkpoint that the run resumes from."""

from __future__ import annotations

import time
from dataclasses import replace

from proas.errors import GraphConflict, GraphNotFound
from proas.graph.client import Client, Transaction
from proas.graph.distances import measure_tasks
from proas.graph.layers import graph_info
from proas.graph.reports import RewindReport
from proas.graph.writing import lock_graph

__all__ = ["rewind_graph"]


def rewind_graph(client: Client, name: str, version: int) -> RewindReport:
    """See :meth:`proas.graph.store.ReferenceGraph.rewind`."""
    began = time.monotonic()
    if layers := graph_info(client, name).layers:
        raise GraphConflict(
            f"graph {name!r} has the layers {', '.join(layers)}, which see what would be forgotten",
            hint="drop them first, or resume in a layer of its own",
        )

    def work(tx: Transaction) -> RewindReport:
        scope = lock_graph(tx, name)
        if not 0 <= version <= scope.version:
            raise GraphNotFound(
                f"graph {name!r} has no version {version}", hint=f"its versions are 0 to {scope.version}"
            )
        tx.rows("rewind_support", graph=name, version=version)
        gone = tx.rows("rewind_elements", graph=name, version=version)[0]
        tx.rows("set_version", graph=name, version=version)
        if version < scope.version:
            tx.rows("mark_whole", graph=name, whole=None)
        shorter = tx.rows("forget_distances", graph=name, version=version)[0]["tasks"]
        measure_tasks(tx, replace(scope, version=version), shorter)
        return RewindReport(name, scope.version, version, gone["successes"], gone["states"], gone["transitions"], 0.0)

    report = client.write(work)
    return RewindReport(
        report.graph,
        report.version_before,
        report.version,
        report.successes,
        report.states,
        report.transitions,
        time.monotonic() - began,
    )
