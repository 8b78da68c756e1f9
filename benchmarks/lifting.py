"""How far a lifted graph agrees with the ground graphs of games that it was not made from.

    python benchmarks/lifting.py --data GAMES [--lifted 12] [--held-out 5] [--out benchmarks/results/lifting.json]

Of each family, so many games are built (``expand = optimal``) and lifted into one graph; as many others are held out.
In each of those a group of 8 rollouts is played by the noisy expert, and labelled twice: by the game's own graph, and
by the lifted graph, which knows of the game only what its rollouts were shown. Precision is the share of steps that
roles call reasonable (or progress) that the game's own graph calls so too; recall the share of those of its own graph
that roles find. ``seeking`` counts information-seeking steps as reasonable on both sides, as the preset
``membership`` does. The database is the one that ``NEO4J_URI`` names, else the local server.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import machine

from proas.envs.alfworld.data import Trial, TrialError, iter_trials
from proas.envs.alfworld.env import AlfWorldEnv
from proas.envs.alfworld.goal import AlfWorldGoal
from proas.envs.alfworld.policies import NoisyPolicy
from proas.envs.collect import play, rollout_seed
from proas.errors import DataError
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.records import TaskGraph
from proas.graph.store import ReferenceGraph
from proas.graph_builders.alfworld.builder import build_trial
from proas.graph_builders.lifting import lift_graph
from proas.keys import digest
from proas.rollouts import Rollout, RolloutBatch
from proas.states import follower_for
from proas.states.alfworld.lifting import family_of
from proas.states.lifting import lift_rollouts

GROUP, STEPS = 8, 50
LEAST = (1, 2, 4)


@dataclass
class Agreement:
    """Steps by what the game's own graph says (first) and what roles say (second)."""

    counts: Counter[tuple[str, bool, bool]] = field(default_factory=Counter)

    def add(self, what: str, own: bool, roles: bool) -> None:
        """Count one step."""
        self.counts[what, own, roles] += 1

    def shares(self) -> dict[str, dict[str, float | int | None]]:
        """Precision and recall of each verdict."""
        found: dict[str, dict[str, float | int | None]] = {}
        for what in ("reasonable", "progress", "seeking"):
            both = self.counts[what, True, True]
            own, roles = both + self.counts[what, True, False], both + self.counts[what, False, True]
            found[what] = {
                "own": own,
                "roles": roles,
                "precision": round(both / roles, 3) if roles else None,
                "recall": round(both / own, 3) if own else None,
            }
        return found


def families(data: Path | None) -> dict[str, list[Trial]]:
    """Trials of each family, in an order that depends on their keys alone."""
    found: dict[str, list[Trial]] = {}
    for trial in sorted(iter_trials(data), key=lambda trial: digest("lifting", trial.key)):
        try:
            goal = AlfWorldGoal.from_task_key(trial.key)
        except DataError:  # not of the benchmark
            continue
        found.setdefault(family_of(goal.kind, sliced=goal.sliced).key, []).append(trial)
    return found


def built(trials: Iterable[Trial]) -> Iterator[tuple[Trial, TaskGraph]]:
    """Trials that can be solved, with their graphs."""
    for trial in trials:
        try:
            yield trial, build_trial(trial, expand="optimal").graph
        except TrialError:
            continue


def played(trials: Sequence[Trial], skill: float) -> list[Rollout]:
    """A group of rollouts of each trial."""
    env = AlfWorldEnv({trial.key: trial for trial in trials}, step_limit=STEPS)
    rollouts = []
    for trial in trials:
        for number in range(GROUP):
            rng = random.Random(rollout_seed(0, trial.key, number))  # a simulation
            rollouts.append(play(env, NoisyPolicy(rng, skill=skill), trial.key, number, follower_for(env)))
    return rollouts


def measure(
    truth: ReferenceGraph, lifted: ReferenceGraph, rollouts: Sequence[Rollout], astray: Counter[str]
) -> dict[str, Agreement]:
    """Agreement of each family, of two-object and other families, and of all.

    Steps that only roles call reasonable are counted in ``astray``, by whether the states that they lead from and to
    are in the game's own graph.
    """
    known = {graph.task.key: set(graph.states) for graph in truth.iter_task_graphs()}
    roles = lift_rollouts(rollouts)
    own = {rollout.id: rollout for rollout in truth.label(RolloutBatch(tuple(rollouts)))}
    agreements: dict[str, Agreement] = {}
    for said in lifted.label(roles.batch):
        rollout = own[roles.origin[said.id]]
        assert rollout.covered, "a held-out game is measured by its own graph"
        objects = "two objects" if said.task.startswith("lifted/two") else "one object"
        for t, (step, role) in enumerate(zip(rollout.steps, said.steps, strict=True)):
            label = step.label
            assert label is not None
            other = role.label  # a family that was never lifted says nothing
            by_role = (other.reasonable, other.progress) if other is not None else (False, False)
            if by_role[0] and not label.reasonable:
                ends = ("in" if key in known[rollout.task] else "out" for key in rollout.state_keys[t : t + 2])
                astray["from {} to {}".format(*ends)] += 1
            for name in (said.task, objects, "all"):
                agreement = agreements.setdefault(name, Agreement())
                agreement.add("reasonable", label.reasonable, by_role[0])
                agreement.add("progress", label.progress, by_role[1])
                agreement.add("seeking", label.reasonable or step.seeks, by_role[0] or step.seeks)
    return agreements


def run(connection: Connection, data: Path | None, count: int, held: int, skill: float) -> dict[str, Any]:
    """Build, lift, play and compare."""
    described = machine()
    name = f"benchmark-lifting-{uuid.uuid4().hex[:8]}"
    source, truth, *made = (
        ReferenceGraph.create(connection, f"{name}-{part}")
        for part in ("source", "truth", *(f"lifted-{least}" for least in LEAST))
    )
    try:
        games: dict[str, dict[str, int]] = {}
        measured: list[Trial] = []
        for family, trials in sorted(families(data).items()):
            pairs = built(trials)
            held_out = [pair for _, pair in zip(range(held), pairs, strict=False)]
            others = [pair for _, pair in zip(range(count), pairs, strict=False)]
            truth.add(graph for _, graph in held_out)
            source.add(graph for _, graph in others)
            measured += [trial for trial, _ in held_out]
            games[family] = {"lifted": len(others), "held_out": len(held_out)}
            print(f"{family}: {games[family]}", file=sys.stderr)
        rollouts = played(measured, skill)
        results: dict[str, Any] = {}
        for least, lifted in zip(LEAST, made, strict=True):
            report = lift_graph(source, lifted, least=least)
            astray: Counter[str] = Counter()
            agreements = measure(truth, lifted, rollouts, astray)
            results[f"least {least}"] = {
                "transitions": {family.task: family.transitions for family in report.families},
                "reasonable_by_roles_alone": dict(sorted(astray.items())),
                "agreement": {name: agreements[name].shares() for name in sorted(agreements)},
            }
        return {
            "benchmark": "lifting",
            "games": games,
            "rollouts": len(rollouts),
            "steps": sum(len(rollout.steps) for rollout in rollouts),
            "success": round(sum(rollout.success for rollout in rollouts) / len(rollouts), 3),
            "skill": skill,
            "neo4j": Client(connection).server_version(),
            "machine": described,
            "results": results,
        }
    finally:
        for graph in (source, truth, *made):
            graph.drop(force=True)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="release, split or archive of games; ALFWORLD_DATA if not given")
    parser.add_argument("--lifted", type=int, default=12, help="games of each family that are lifted")
    parser.add_argument("--held-out", type=int, default=5, help="games of each family that are measured")
    parser.add_argument("--skill", type=float, default=0.5, help="share of the noisy expert's steps that are right")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "lifting.json")
    given = parser.parse_args()
    connection = Connection.resolve()
    migrate(connection)
    result = run(connection, given.data, given.lifted, given.held_out, given.skill)
    print(json.dumps(result["results"]["least 1"]["agreement"], indent=2))
    given.out.parent.mkdir(exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
