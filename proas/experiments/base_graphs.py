"""Reference graphs that an experiment's arms start over: made once, under names of their own."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from proas.envs import EnvSpec, open_world
from proas.errors import DataError, GraphConflict
from proas.experiments.schedule import BaseGraph
from proas.graph import Connection, ReferenceGraph
from proas.graph_builders import BuildOptions, build_graph, builder
from proas.rollouts import RolloutBatch
from proas.states import ladder_of_rollout
from proas.training.run_directory import RunDirectory, write_json
from proas.training.tasks import Splits

__all__ = ["ensure_base_graph"]

_AT_ONCE = 32
"""Tasks that a policy plays side by side."""


def ensure_base_graph(base: BaseGraph, connection: Connection) -> dict[str, int]:
    """Make a reference graph unless it is there whole, which the graph itself says, whoever made it.

    One that was begun and not ended is gone on with: what it holds is found and left alone, so that two processes may
    make it at once. Nothing is ever removed.

    Args:
        base: What it is.
        connection: The database; its schema is migrated.

    Returns:
        How many tasks, states and transitions it holds.

    Raises:
        DataError: Nothing came of it: no task has a solution.
        GraphConflict: It is not known to be whole, and layers lie over it; or it is being dropped.
        GraphError: The database could not be asked.
    """
    graph = ReferenceGraph.create(connection, base.name)
    whole, counts = graph.info().whole, _counts(graph)
    if not whole and _noted(base.marker) != counts:
        _make(base, graph)
        counts = _counts(graph)
    if not counts["transitions"]:
        raise DataError(f"the graph {base.name} came out empty", hint="its source solves no task; see the plan")
    if not whole:
        graph.mark_whole()
    base.marker.parent.mkdir(parents=True, exist_ok=True)
    write_json(base.marker, {"graph": base.name, **base.plan.model_dump(mode="json"), **counts})
    return counts


def _counts(graph: ReferenceGraph) -> dict[str, int]:
    stats = graph.stats()
    return {"tasks": stats.tasks, "states": stats.states, "transitions": stats.transitions}


def _noted(marker: Path) -> dict[str, int] | None:
    """What a whole graph held by the note beside the runs, which was all that earlier releases left of it."""
    try:
        document = json.loads(marker.read_text(encoding="utf-8"))
        return {name: int(document[name]) for name in ("tasks", "states", "transitions")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(base: BaseGraph, graph: ReferenceGraph) -> None:
    if layers := graph.info().layers:
        more = f" and {len(layers) - 3} more" if len(layers) > 3 else ""
        raise GraphConflict(
            f"the graph {base.name} is not known to be whole, and over it lie the layers {', '.join(layers[:3])}{more}",
            hint="name the --out of the runs that they belong to; those of runs that are over go by `proas graph drop`",
        )
    if base.plan.source == "plans":
        _from_plans(base, graph)
    else:
        _from_policy(base, graph)


def _from_plans(base: BaseGraph, graph: ReferenceGraph) -> None:
    options = BuildOptions(expand=base.plan.expand, limit=base.plan.limit or None)
    build_graph(base.config.env, builder(base.config.env), graph, data=_training_data(base), options=options)


def _from_policy(base: BaseGraph, graph: ReferenceGraph) -> None:
    """What the policy of a warm start solves of the training tasks, purified as an iteration's successes are."""
    from proas.training.checkpoint import Checkpoint, latest_checkpoint
    from proas.training.crew import Crew
    from proas.training.play import PlaySettings
    from proas.training.shard import ShardSpec

    assert base.warm is not None
    config, data = base.config, _training_data(base)
    stored = Checkpoint.read(latest_checkpoint(RunDirectory(base.warm.folder).checkpoints))
    spec = ShardSpec.of(config, stored.policy, data, data)
    how = PlaySettings(
        group_size=base.plan.episodes,
        temperature=base.plan.temperature,
        label="base graph",
        step_limit=config.step_limit,
        limits=spec.limits,
    )
    with closing(open_world(EnvSpec(config.env, data, config.options))) as world:
        tasks = sorted(world.tasks)
    with Crew(spec, stored.weights, 1) as crew:
        for place in range(0, len(tasks), _AT_ONCE):
            played = crew.play("train", tasks[place : place + _AT_ONCE], how, keep=True)  # which attaches states
            graph.evolve(
                RolloutBatch(tuple(played.rollouts)),
                purification=base.plan.purification,
                ladder_of=ladder_of_rollout,
                run="base graph",
            )


def _training_data(base: BaseGraph) -> Path | None:
    return Splits.of(base.config.data, base.config.train_split, base.config.valid_split).train
