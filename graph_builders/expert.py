"""Seeds a graph with an environment's own expert: for environments that have no builder of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

from proas.envs.collect import CollectSettings, collect
from proas.envs.registry import EnvSpec, open_world
from proas.graph.evolution import Evidence, evidence_of
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph_builders.base import BuildOptions, Built, Rejected
from proas.rollouts import Reject, Rollout
from proas.states import follower_for, ladder_for

__all__ = ["ExpertBuilder", "merged"]

_SOURCE = "plan"


class ExpertBuilder:
    """Plays each task of an environment with its policy ``expert`` and keeps what wins.

    After ``proas.graph_builders.register_expert("mine")``, ``proas graph build --source mine`` does so.

    Args:
        spec: The environment; data that the build is given takes the place of its own.
        attempts: Rollouts of each task where every solution is asked for (``expand`` of ``optimal``): as many of the
            shortest ways as the expert finds in so many. Otherwise it plays once.
    """

    def __init__(self, spec: EnvSpec, *, attempts: int = 8) -> None:
        self._spec = spec
        self._attempts = attempts

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of tasks that will be answered for. Raises ``DataError`` where the data cannot be read."""
        with closing(open_world(self._with(data))) as world:
            return len(world.tasks[: options.limit])

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """Build task by task in the environment's order; see :class:`proas.graph_builders.base.Builder`."""
        settings = CollectSettings(
            policy="expert", group_size=1 if options.expand == "plan" else self._attempts, step_limit=None
        )
        origin = str(data) if data is not None else self._spec.name
        with closing(open_world(self._with(data))) as world:
            for task in islice(world.tasks, options.limit):
                try:
                    played = list(collect(world, [task], settings, follower_for))
                    yield _answer(task, played, origin)
                except Exception as error:  # noqa: BLE001  # one odd task must not cost the others; the report names it
                    yield Rejected(task, "fault", f"{type(error).__name__}: {error}", origin)

    def _with(self, data: Path | None) -> EnvSpec:
        return self._spec if data is None else replace(self._spec, data=data)


def _answer(task: str, played: Sequence[Rollout | Reject], origin: str) -> Built | Rejected:
    for reject in played:
        if isinstance(reject, Reject):
            problem, _, reason = reject.reason.partition(": ")
            return Rejected(task, problem, reason, origin)
    rollouts = [rollout for rollout in played if isinstance(rollout, Rollout)]
    wins = [rollout for rollout in rollouts if rollout.success]
    if not wins:
        ways = ", ".join(sorted({rollout.ended for rollout in rollouts}))
        return Rejected(task, "not_won", f"the expert does not win ({ways})", origin)
    return Built(merged(wins), _SOURCE, {"attempts": len(rollouts), "wins": len(wins)})


def merged(wins: Sequence[Rollout]) -> TaskGraph:
    """The graph that some won rollouts of one task make together, each without its loops.

    Args:
        wins: Successes with states, all of one task and from one start.

    Raises:
        ValueError: They carry no states, or start in different ones.
    """
    first = wins[0]
    starts = {rollout.state_keys[0] for rollout in wins}
    if len(starts) > 1 or first.start is None:
        msg = f"the rollouts of task {first.task!r} start in {len(starts)} different states"
        raise ValueError(msg)
    ladder = ladder_for(first.env, first.task, first.goal)
    evidence: list[Evidence] = [evidence_of(rollout, ladder, "loop_erased") for rollout in wins]
    support = Counter(key for one in evidence for key in one.transitions)
    states = {key: state for one in evidence for key, state in one.states.items()}
    edges: dict[str, Transition] = {key: edge for one in evidence for key, edge in one.transitions.items()}
    transitions = tuple(replace(edge, source=_SOURCE, support=support[key]) for key, edge in edges.items())
    return TaskGraph(Task(first.task, first.env, first.goal, first.goal), ladder, first.start, states, transitions)
