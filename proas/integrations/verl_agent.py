"""Step batches as verl-agent and its descendants keep them: one row a step, duplicated and in any order.

There, a row has ``uid`` (its group), ``traj_uid`` (its trajectory), ``anchor_obs`` (what the agent saw before it
acted), ``is_action_valid`` (the reply had the form that was asked for) and ``active_masks``; rows carry no step index.
Some are duplicated to fill the batch, and balancing shuffles them. So each trajectory is stamped once, where it is
still whole and in order (:func:`stamp`), and shaped later, after the trainer's own estimator and its invalid-action
penalty:

::

    for rows, record in zip(total_batch_list, records):     # in the rollout loop, before the rows are gathered
        stamp(rows, task=record.task, actions=record.actions, next_obs=record.next_obs, won=record.won)
    ...
    shaped = shape_rows(batch.non_tensor_batch, row_advantages, env="alfworld", graph=graph, config=preset("paper"))
    batch.batch["advantages"] *= torch.as_tensor(shaped.weights)[:, None]

The weights are right whatever was done to the rows in between: labels and future drift are taken over the trajectory,
each step once; every row receives the weight of its step. An invalid-action penalty may make the sign of the advantage
differ within a trajectory: each step is judged by its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proas.errors import DataError
from proas.graph import ReferenceGraph
from proas.graph.labelling import OnFailure
from proas.integrations.base_advantages import settled
from proas.rollouts import Reject, Rollout, RolloutBatch, Step
from proas.shaping import Shaped, ShapingConfig, shape
from proas.states import attach_all

__all__ = ["ShapedRows", "rollouts_of_rows", "shape_rows", "stamp"]

Floats = npt.NDArray[np.float64]

STEP, TASK, ACTION, NEXT_OBS, WON, GOAL = (
    "proas_step",
    "proas_task",
    "proas_action",
    "proas_next_obs",
    "proas_won",
    "proas_goal",
)
_NEEDED = ("uid", "traj_uid", "anchor_obs", STEP, TASK, ACTION, NEXT_OBS, WON)


def stamp(
    rows: Sequence[MutableMapping[str, Any]],
    *,
    task: str,
    actions: Sequence[str],
    next_obs: Sequence[str],
    won: bool,
    goal: str = "",
) -> None:
    """Write into the rows of one trajectory what cannot be told once they are duplicated and shuffled.

    Args:
        rows: The trajectory's rows in the order in which the steps were taken. Rows at the end that are not active
            (``active_masks`` false: the episode was over) are stamped too and count for nothing.
        task: Key of the task, as the graph knows it.
        actions: What was sent to the environment at each step.
        next_obs: What the environment answered at each step.
        won: Whether the trajectory solved its task.
        goal: The task in words; needed where neither the key nor the first observation says it.

    Raises:
        DataError: The rows, actions and answers are not equally many.
    """
    if not len(rows) == len(actions) == len(next_obs):
        raise DataError(f"{len(rows)} rows, {len(actions)} actions and {len(next_obs)} answers of one trajectory")
    for t, (row, action, answer) in enumerate(zip(rows, actions, next_obs, strict=True)):
        row.update({STEP: t, TASK: task, ACTION: action, NEXT_OBS: answer, WON: won, GOAL: goal})


@dataclass(frozen=True, slots=True)
class ShapedRows:
    """What became of the rows.

    Attributes:
        advantages: Shaped advantage of each row, ``(R,)``.
        weights: What each row's advantage was multiplied with, ``(R,)``; 1 for rows that pass unchanged.
        shaped: The trajectories behind them, labelled and shaped; ``shaped.batch`` is what the graph evolves with.
        rejects: Trajectories that could not be read, with the reason; their rows pass unchanged.
    """

    advantages: Floats
    weights: Floats
    shaped: Shaped
    rejects: tuple[Reject, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """Flat dict, ``proas/<name>``."""
        return {**self.shaped.metrics, "proas/unreadable_trajectories": float(len(self.rejects))}


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of the batch: where it stands, and the step that it holds."""

    place: int
    step: int


def shape_rows(
    columns: Mapping[str, Sequence[Any]],
    advantages: npt.ArrayLike,
    *,
    env: str,
    graph: ReferenceGraph | None,
    config: ShapingConfig,
    version: int | None = None,
    on_failure: OnFailure = "raise",
) -> ShapedRows:
    """Shape the advantages of step rows.

    Args:
        columns: verl-agent's ``non_tensor_batch`` with the stamps: each column has one entry a row.
        advantages: The estimator's advantage of each row, ``(R,)``, penalties included. Where it keeps one for each
            token, any of the row's tokens in the loss.
        env: Name of the environment.
        graph: The reference graph; ``None`` where the settings need no labels (a loop mask).
        config: Settings of shaping; the base advantage is the given one, whatever ``algorithm`` says.
        version: Version of the graph to read; ``None`` for the newest.
        on_failure: What to do when no server answers.

    Raises:
        DataError: A column is missing or too short, an advantage is not finite, or the rows of a step disagree.
        GraphUnavailable: No server answers.
        UsageError: The settings change rewards, which the advantages have used already.
    """
    settings = config.over_given_advantages()
    given = np.asarray(advantages, dtype=np.float64)
    batch, places = rollouts_of_rows(columns, env=env)
    if given.shape != (len(columns["uid"]),):
        raise DataError(f"advantages of shape {given.shape} for {len(columns['uid'])} rows", hint="one number a row")
    if not np.isfinite(given).all():
        raise DataError(f"row {int(np.argmin(np.isfinite(given)))}: its advantage is not finite")
    based = tuple(_with_base(rollout, given, places[rollout.id]) for rollout in batch)
    labelled = RolloutBatch(based)
    if graph is not None:
        labelled = graph.label(labelled, version=version, on_failure=on_failure, min_support=config.min_support)
    shaped = shape(labelled, settings)
    weights = np.ones(given.size)
    for rollout in shaped.batch:
        for step, rows in zip(rollout.steps, _rows_by_step(places[rollout.id]), strict=True):
            if step.base_advantage and step.advantage is not None:
                weights[rows] = step.advantage / step.base_advantage
    return ShapedRows(given * weights + 0.0, weights, shaped, batch.rejects)


def rollouts_of_rows(
    columns: Mapping[str, Sequence[Any]], *, env: str
) -> tuple[RolloutBatch, dict[str, tuple[tuple[int, int], ...]]]:
    """The trajectories behind stamped rows, with states.

    Args:
        columns: As in :func:`shape_rows`.
        env: Name of the environment.

    Returns:
        The rollouts, in order of their first rows, ids being ``traj_uid``; among ``rejects`` those with a step missing
        or without readable states. And for each id, ``(row, step)`` of all its rows.

    Raises:
        DataError: A column is missing or too short, or two rows of the same step differ.
    """
    count = _check(columns)
    active = columns.get("active_masks")
    rows: defaultdict[str, list[_Row]] = defaultdict(list)
    for place in range(count):
        if active is None or bool(active[place]):
            rows[str(columns["traj_uid"][place])].append(_Row(place, int(columns[STEP][place])))
    whole: list[Rollout] = []
    rejects: list[Reject] = []
    for trajectory, members in rows.items():
        first: dict[int, int] = {}
        for row in members:
            seen = first.setdefault(row.step, row.place)
            _agree(columns, trajectory, row.step, seen, row.place)
        missing = next((t for t in range(max(first) + 1) if t not in first), None)
        if missing is not None:
            rejects.append(Reject(f"step {missing} of {max(first) + 1} is not in the batch", id=trajectory))
            continue
        whole.append(_rollout(columns, env, trajectory, [first[t] for t in range(len(first))]))
    attached = attach_all(RolloutBatch(tuple(whole)))
    ruled = tuple(_without_bad_form(r, columns, rows[r.id]) for r in attached)
    places = {name: tuple((row.place, row.step) for row in members) for name, members in rows.items()}
    return RolloutBatch(ruled, (*rejects, *attached.rejects)), places


def _check(columns: Mapping[str, Sequence[Any]]) -> int:
    lacking = [name for name in _NEEDED if name not in columns]
    if lacking:
        raise DataError(
            f"the batch has no column {', '.join(lacking)}",
            hint="call proas.integrations.verl_agent.stamp on each trajectory before its rows are gathered",
        )
    count = len(columns["uid"])
    for name in (*_NEEDED, "is_action_valid", "active_masks", GOAL):
        if name in columns and len(columns[name]) != count:
            raise DataError(f"column {name} has {len(columns[name])} entries for {count} rows")
    return count


def _agree(columns: Mapping[str, Sequence[Any]], trajectory: str, step: int, one: int, other: int) -> None:
    """Two rows of one step must be the same step, or somebody stamped two trajectories with one name."""
    for name in ("uid", "anchor_obs", TASK, ACTION, NEXT_OBS, WON):
        if columns[name][one] != columns[name][other]:
            raise DataError(
                f"rows {one} and {other} are both step {step} of trajectory {trajectory!r}, but differ in {name}",
                hint="traj_uid must name one trajectory, and stamp must see each of them once",
            )


def _rollout(columns: Mapping[str, Sequence[Any]], env: str, trajectory: str, places: Sequence[int]) -> Rollout:
    head = places[0]
    won = bool(columns[WON][head])
    return Rollout(
        id=trajectory,
        env=env,
        task=str(columns[TASK][head]),
        goal=str(columns[GOAL][head]) if GOAL in columns else "",
        group=str(columns["uid"][head]),
        observation=str(columns["anchor_obs"][head]),
        steps=tuple(Step(action=str(columns[ACTION][p]), observation=str(columns[NEXT_OBS][p])) for p in places),
        success=won,
        ended="success" if won else "stopped",
    )


def _without_bad_form(rollout: Rollout, columns: Mapping[str, Sequence[Any]], rows: Sequence[_Row]) -> Rollout:
    """Steps whose reply had not the form asked for are invalid, even where the environment made sense of the words."""
    formed = columns.get("is_action_valid")
    if formed is None:
        return rollout
    bad = {row.step for row in rows if not bool(formed[row.place])}
    if not bad:
        return rollout
    steps = (step.model_copy(update={"valid": False}) if t in bad else step for t, step in enumerate(rollout.steps))
    return rollout.model_copy(update={"steps": tuple(steps)})


def _with_base(rollout: Rollout, given: Floats, places: Sequence[tuple[int, int]]) -> Rollout:
    """The rollout with the estimator's advantage on each step: that of the first of its rows."""
    base: dict[int, float] = {}
    for place, step in places:
        value = float(given[place])
        known = base.setdefault(step, value)
        if abs(known - value) > _SAME * max(abs(known), abs(value)):
            raise DataError(
                f"trajectory {rollout.id!r}, step {step}: its rows carry the advantages {known:g} and {value:g}",
                hint="rows that were duplicated must be given the same advantage",
            )
    values = settled(np.array([base[t] for t in range(len(rollout.steps))]))
    steps = (s.model_copy(update={"base_advantage": v}) for s, v in zip(rollout.steps, values.tolist(), strict=True))
    return rollout.model_copy(update={"steps": tuple(steps)})


_SAME = 1e-5
"""Estimators work in float32; copies of one row may differ by its rounding."""


def _rows_by_step(places: Sequence[tuple[int, int]]) -> list[list[int]]:
    steps: list[list[int]] = [[] for _ in range(max(step for _, step in places) + 1)]
    for place, step in places:
        steps[step].append(place)
    return steps
