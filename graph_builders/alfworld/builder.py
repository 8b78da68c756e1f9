"""From trials to reference graphs.

Each trial's annotated plan is carried out in the engine. Where it does not win, a shortest plan is searched for, and
the transitions say so by their source. A trial that cannot be played, or for which no solution is found within the
bound, is rejected with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from proas.envs.alfworld.data import Trial, TrialError, iter_trials, read_traj_data
from proas.envs.alfworld.game import NOWHERE, Game
from proas.envs.alfworld.goal import AlfWorldGoal
from proas.envs.alfworld.load import load_game
from proas.envs.alfworld.planner import all_shortest, find_plan
from proas.envs.alfworld.plans import HighStep, high_steps
from proas.envs.alfworld.plans import carry_out as carry_out_plan
from proas.graph.records import Task
from proas.graph_builders.alfworld.around import looks, surroundings
from proas.graph_builders.alfworld.assembly import assemble
from proas.graph_builders.alfworld.rungs import ladder_of
from proas.graph_builders.alfworld.solutions import Move, Place, Walk, carry_out, moves_of, simple_path
from proas.graph_builders.base import AROUND_SOURCE, BuildOptions, Built, Expand, Rejected
from proas.graph_builders.pool import in_order
from proas.states.alfworld import FACTS, EngineObserver, Noting

__all__ = ["MOST_AROUND", "SEARCH_LIMIT", "AlfWorldBuilder", "Wanted", "build_trial", "goal_phrase"]

SEARCH_LIMIT = 20_000
"""Situations looked at for one trial before its search gives up: a few seconds at most."""

MOST_AROUND = 2_000
"""States of a task at most where its surroundings are asked for."""

_TASK_PREFIX = "Your task is to:"


class AlfWorldBuilder:
    """Builds from a release, a split, a task, a trial, or an archive of them; ``$ALFWORLD_DATA`` by default.

    Args:
        noting: Which kind of states.
        most: States of a task at most where its surroundings are asked for.
    """

    def __init__(self, noting: Noting = FACTS, *, most: int = MOST_AROUND) -> None:
        self._noting = noting
        self._most = most

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of trials that will be answered for. Raises ``DataError`` where there is none."""
        return sum(1 for _ in islice(iter_trials(data), options.limit))

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """Build trial by trial in the order of their keys; see :class:`proas.graph_builders.base.Builder`."""
        wanted = Wanted(options.expand, options.radius, self._most, self._noting)
        jobs = (_Job(trial, wanted) for trial in islice(iter_trials(data), options.limit))
        yield from in_order(_work, jobs, workers=options.workers, lost=_lost)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a trial.

    Attributes:
        expand: What enters beside the solution that was carried out.
        radius: Steps that ``around`` reaches.
        most: States at most that ``around`` leaves.
        noting: Which kind of states.
    """

    expand: Expand = "plan"
    radius: int = 1
    most: int = MOST_AROUND
    noting: Noting = FACTS


def build_trial(trial: Trial, *, expand: Expand = "plan", wanted: Wanted | None = None) -> Built:
    """The reference graph of one trial.

    Args:
        trial: Where its files are.
        expand: ``optimal`` adds every shortest solution.
        wanted: All that is wanted, in place of ``expand``.

    Raises:
        TrialError: It cannot be played, or no solution was found.
    """
    asked = wanted or Wanted(expand)
    game = load_game(trial)
    observer = EngineObserver(game.key, game.goal, asked.noting)
    steps, tallies = _annotated(trial)
    walk, source = _solution(game, steps, observer)
    path = simple_path(walk.moves)
    expansion: tuple[Move, ...] = ()
    met: dict[str, Place] = {}
    # Such a ladder must suit every shortest solution, whether or not they are stored, so that all expansions give a
    # task the same subgoals.
    branches = _branches(game)
    if (asked.expand != "plan" or branches) and (shortest := all_shortest(game, limit=SEARCH_LIMIT)) is not None:
        expansion = tuple(moves_of(game, shortest, observer, met=met))
        if asked.expand != "plan":
            tallies |= {"shortest_solutions": shortest.count, "expansions_cut_short": int(not shortest.complete)}
    # What the agent knows has nothing to do with the steps of a plan that knew more.
    followed = steps if asked.noting == FACTS else ()
    ladder = ladder_of(game, followed, path, expansion if branches else ())
    others: list[tuple[str, Iterable[Move]]] = []
    if asked.noting != FACTS:
        others.append(("look", looks(game, observer, walk.places, walk.commands)))
    if asked.expand != "plan":
        others.append(("expand", expansion))
    if asked.expand == "around":
        near = surroundings(game, observer, (*walk.places, *met.values()), asked.radius, asked.most)
        others.append((AROUND_SOURCE, near.moves))
        tallies |= {"states_left_out": near.cut, "surroundings_cut_short": int(near.cut > 0)}
    text = game.task.removeprefix(_TASK_PREFIX).strip()
    task = Task(game.key, asked.noting.env, goal_phrase(game.goal), text)
    return Built(assemble(task, ladder, walk.start, path, source, others), source, tallies)


def _branches(game: Game) -> bool:
    """Whether other shortest solutions may fall back on the subgoals of one.

    Who slices may choose between knives and orders. Where a receptacle that opens shares its spot with another, it may
    be opened while the agent is there for the other, who then attends to it instead.
    """
    if game.goal.sliced:
        return True
    holders = (r for r, inside in enumerate(game.initial.contents) if inside & game.goal_objects)
    return any(
        game.openable >> r & 1
        and game.receptacle_places[r] != NOWHERE
        and len(game.at_place[game.receptacle_places[r]]) > 1
        for r in (*game.goal_receptacles, *holders)
    )


def goal_phrase(goal: AlfWorldGoal) -> str:
    """A goal in a few words, for example ``heat apple, place in fridge``."""
    thing = f"{'two ' if goal.kind == 'two' else ''}{'sliced ' if goal.sliced else ''}{goal.object}"
    if goal.kind == "look":
        return f"look at {thing} under {goal.lamp}"
    if goal.kind in ("clean", "heat", "cool"):
        return f"{goal.kind} {thing}, place in {goal.receptacle}"
    return f"place {thing} in {goal.receptacle}"


def _solution(game: Game, steps: Sequence[HighStep], observer: EngineObserver) -> tuple[Walk, str]:
    """A solution carried out in the engine, and where it comes from.

    Raises:
        TrialError: None was found.
    """
    if steps:
        walk = carry_out(game, carry_out_plan(game, steps).actions, observer)
        if walk.won:
            return walk, "plan"
    found = find_plan(game, limit=SEARCH_LIMIT)
    walk = carry_out(game, found or (), observer)
    if not walk.won:
        raise TrialError(
            game.key,
            "unsolvable",
            f"the annotated plan does not win and a search of {SEARCH_LIMIT:,} situations finds no other",
        )
    return walk, "search"


def _annotated(trial: Trial) -> tuple[tuple[HighStep, ...], dict[str, int]]:
    """The annotated plan of a trial, empty where it has none, and the counts that the report sums up.

    An annotation aligns when it describes each step of the plan but the closing no-op; others are left out.

    Raises:
        TrialError: ``traj_data.json`` is malformed.
    """
    if trial.traj_data is None:
        return (), {"plans": 0, "annotations": 0, "annotations_aligned": 0}
    document = read_traj_data(trial)
    crowd = document.get("turk_annotations")
    given = crowd.get("anns") if isinstance(crowd, dict) else None
    steps = high_steps(trial) if "plan" in document else ()
    return steps, {
        "plans": int(bool(steps)),
        "annotations": len(given) if isinstance(given, list) else 0,
        "annotations_aligned": len(steps[0].phrases) if steps else 0,
    }


@dataclass(frozen=True, slots=True)
class _Job:
    trial: Trial
    wanted: Wanted


def _work(job: _Job) -> Built | Rejected:
    trial = job.trial
    try:
        return build_trial(trial, wanted=job.wanted)
    except TrialError as error:
        return Rejected(trial.key, error.problem, error.reason, str(trial.path))
    except Exception as error:  # noqa: BLE001  # one odd trial must not cost the others; the report names it
        return Rejected(trial.key, "fault", f"{type(error).__name__}: {error}", str(trial.path))


def _lost(job: _Job) -> Rejected:
    return Rejected(job.trial.key, "worker_died", "the worker process died, perhaps out of memory", str(job.trial.path))
