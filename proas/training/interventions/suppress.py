"""Is a step to blame for a failure in proportion to the drift that follows it? It is taken away, to see.

Penalty redistribution believes that a step of a failed rollout is the more responsible the more steps without progress
follow it (its future drift D). Here the exact action at a position is forbidden, once: the policy draws another one in
its place and is free afterwards. How often it then solves the task is the *recovery*; what it solves from the same
position with nothing forbidden is the *baseline*; their difference, the *gain*, is what the step was to blame for.

D is large early in a rollout, where little has been said and much time is left, so a raw correlation proves nothing.
Therefore every continuation has the same number of steps left wherever it begins (unless the rollout's own are asked
for), the baseline shares position and luck with the recovery, and the slope on D is given three times: raw, with prefix
length and remaining steps as covariates, and among positions of about the same prefix length alone. Intervals come
from the bootstrap over rollouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from proas.errors import DataError
from proas.keys import digest
from proas.rollouts import RolloutBatch
from proas.training.episodes import Episode
from proas.training.interventions.bench import Bench, Source, drawing_temperature
from proas.training.interventions.continuations import Point, Spoken
from proas.training.interventions.statistics import Estimate, between, mean_of, regress, split_evenly, within
from proas.training.interventions.verdicts import Labeller
from proas.training.interventions.work import Errand, outcomes_of

__all__ = ["Position", "Quarter", "SuppressReport", "SuppressSettings", "measure_suppression"]

Floats = npt.NDArray[np.float64]

STRATA = 8
"""Prefix lengths are matched in so many parts of about equal size."""
PER = 10
"""Slopes are given for so many steps of drift."""
_GROUP = 4
"""Rollouts drawn of a task at a time."""
_TASKS = 16
"""Tasks drawn at a time."""


@dataclass(frozen=True, slots=True)
class SuppressSettings:
    """What is done.

    Attributes:
        rollouts: Failed rollouts.
        positions: Positions in each.
        continuations: Of each position, with and without the action forbidden.
        temperature: Of drawing; the run's own in training if ``None``.
        horizon: Steps left to every continuation; ``None`` for half the step limit, 0 for as many as the rollout had.
        seed: Of everything.
        workers: Processes.
    """

    rollouts: int = 48
    positions: int = 4
    continuations: int = 20
    temperature: float | None = None
    horizon: int | None = None
    seed: int = 0
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Position:
    """A position at which an action was forbidden.

    Attributes:
        task: Key of the task.
        rollout: Id of the failed rollout.
        step: Steps before it: the length of the prefix.
        left: Steps that the rollout itself took from there on.
        horizon: Steps left to each continuation.
        action: What was forbidden.
        valid: Whether it applied.
        reasonable: Its label Re.
        progress: Its label PA.
        drift: Its label D.
        baseline: Share of continuations with nothing forbidden that solved the task.
        recovery: Share with the action forbidden.
    """

    task: str
    rollout: str
    step: int
    left: int
    horizon: int
    action: str
    valid: bool
    reasonable: bool
    progress: bool
    drift: int
    baseline: float
    recovery: float

    @property
    def gain(self) -> float:
        """What the step was to blame for."""
        return self.recovery - self.baseline


@dataclass(frozen=True, slots=True)
class Quarter:
    """Positions of about the same drift.

    Attributes:
        low: Least drift.
        high: Greatest.
        positions: Number of positions.
        drift: Mean drift.
        step: Mean length of the prefix.
        baseline: Mean baseline.
        recovery: Mean recovery.
        gain: Mean gain.
    """

    low: int
    high: int
    positions: int
    drift: float
    step: float
    baseline: Estimate
    recovery: Estimate
    gain: Estimate


@dataclass(frozen=True, slots=True)
class SuppressReport:
    """What came of it.

    Attributes:
        run: Folder of the run.
        iteration: Of the checkpoint.
        data: Where the tasks are from.
        settings: What was done.
        temperature: Of drawing.
        labels: Who labelled: a graph and its version, or the loop mask.
        baseline: Mean over positions.
        recovery: Mean over positions.
        gain: Mean over positions.
        slopes: Change with ten steps of drift, by outcome (``recovery``, ``gain``) and model (``raw``, ``adjusted``,
            ``matched``); ``labels`` is ``adjusted`` with the step's own labels as covariates too.
        drift_and_step: Correlation of drift with the length of the prefix; near -1, drift says no more than the clock.
        quarters: By drift, from the smallest.
        aside: Rollouts and positions that could not be used, by reason.
        positions: Each position.
    """

    run: str
    iteration: int
    data: str
    settings: SuppressSettings
    temperature: float
    labels: str
    baseline: Estimate
    recovery: Estimate
    gain: Estimate
    slopes: Mapping[str, Mapping[str, Estimate]]
    drift_and_step: float | None
    quarters: tuple[Quarter, ...]
    aside: Mapping[str, int]
    positions: tuple[Position, ...] = field(repr=False)

    @property
    def predicts(self) -> bool | None:
        """Whether drift predicts responsibility: the gain's slope among matched positions lies above zero.

        Its whole interval must; ``None`` where the positions do not suffice for one.
        """
        slope = self.slopes["gain"]["matched"]
        return None if slope.low is None else slope.low > 0


@dataclass(frozen=True, slots=True)
class _Chosen:
    episode: Episode
    step: int
    horizon: int

    def points(self) -> tuple[Point, Point]:
        """Without and with the action forbidden."""
        episode, t = self.episode, self.step
        rollout = episode.rollout
        start, count = int(episode.starts[t]), int(episode.counts[t])
        free = Point(
            name=f"{rollout.id}@{t}",
            task=rollout.task,
            number=int(rollout.id.rsplit("#", 1)[1]),
            actions=tuple(step.action for step in rollout.steps[:t]),
            tokens=tuple(episode.tokens[:start].tolist()),
            horizon=self.horizon,
        )
        forbidden = Spoken(rollout.steps[t].action, tuple(episode.tokens[start : start + count].tolist()))
        return free, Point(free.name, free.task, free.number, free.actions, free.tokens, free.horizon, forbidden)


def measure_suppression(
    source: Source,
    tasks: Sequence[str],
    labeller: Labeller,
    labels: str,
    settings: SuppressSettings,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> SuppressReport:
    """Forbid actions of failed rollouts and see what comes of it.

    Args:
        source: The policy, and the data of the tasks.
        tasks: Keys of the tasks, those to be taken first coming first.
        labeller: Labels the rollouts.
        labels: Who that is, for the record.
        settings: What is done.
        progress: Told of the number of positions done, and of all.

    Raises:
        DataError: No position can be used.
        UsageError: Nothing can be drawn at the temperature.
    """
    bench = Bench.shared(source)
    temperature = drawing_temperature(bench.config, settings.temperature)
    aside: Counter[str] = Counter()
    failed = _failed(bench, tasks, labeller, settings, temperature, aside)
    chosen = [
        _Chosen(episode, step, _horizon(bench, settings, episode, step))
        for episode in failed
        for step in _steps_of(episode, settings)
    ]
    errands = (
        Errand(source, one.points(), settings.continuations, temperature, settings.seed, "suppress") for one in chosen
    )
    found: list[Position] = []
    outcomes = outcomes_of(errands, settings.workers, lambda done: progress(done, len(chosen)))
    for one, (free, bound) in zip(chosen, outcomes, strict=True):
        recovered = [won for won in bound if won is not None]
        if not recovered:
            aside["the policy has nothing else to say"] += 1
            continue
        found.append(_position(one, _share(free), _share(recovered)))
    if not found:
        why = "; ".join(f"{reason} ({count})" for reason, count in aside.items()) or "no rollout failed"
        raise DataError(f"no position can be used: {why}", hint="take other data, a warmer temperature, or more tasks")
    return _report(source, settings, temperature, labels, found, aside)


def _failed(
    bench: Bench,
    tasks: Sequence[str],
    labeller: Labeller,
    settings: SuppressSettings,
    temperature: float,
    aside: Counter[str],
) -> list[Episode]:
    """Failed rollouts with labels, so many as are asked for, from as few tasks as that takes."""
    found: list[Episode] = []
    for first in range(0, len(tasks), _TASKS):
        if len(found) >= settings.rollouts:
            break
        drawn = bench.draw(
            tasks[first : first + _TASKS], _GROUP, temperature=temperature, seed=settings.seed, label="suppress"
        )
        aside.update(reject.reason for reject in drawn.rejects)
        labelled = labeller(RolloutBatch(tuple(episode.rollout for episode in drawn.episodes)))
        for episode, rollout in zip(drawn.episodes, labelled, strict=True):
            if rollout.success or not rollout.steps:
                aside["solved"] += bool(rollout.success)
            elif not rollout.covered:
                aside["the graph does not know the task"] += 1
            else:
                found.append(episode.with_rollout(rollout))
    return found[: settings.rollouts]


def _steps_of(episode: Episode, settings: SuppressSettings) -> Iterator[int]:
    """Positions spread over a rollout: one drawn from each of as many equal parts of it."""
    length = len(episode.rollout.steps)
    count = min(settings.positions, length)
    for part in range(count):
        first, last = part * length // count, (part + 1) * length // count
        luck = int(digest("position", settings.seed, episode.rollout.id, part), 16)
        yield first + luck % (last - first)


def _horizon(bench: Bench, settings: SuppressSettings, episode: Episode, step: int) -> int:
    if settings.horizon is None:
        return max(1, bench.config.step_limit // 2)
    return settings.horizon or len(episode.rollout.steps) - step


def _position(one: _Chosen, baseline: float, recovery: float) -> Position:
    rollout = one.episode.rollout
    step = rollout.steps[one.step]
    assert step.label is not None
    return Position(
        task=rollout.task,
        rollout=rollout.id,
        step=one.step,
        left=len(rollout.steps) - one.step,
        horizon=one.horizon,
        action=step.action,
        valid=step.valid is not False,
        reasonable=step.label.reasonable,
        progress=step.label.progress,
        drift=step.label.drift,
        baseline=baseline,
        recovery=recovery,
    )


def _share(won: Sequence[bool | None]) -> float:
    return float(np.mean([bool(each) for each in won]))


def _report(
    source: Source,
    settings: SuppressSettings,
    temperature: float,
    labels: str,
    found: Sequence[Position],
    aside: Mapping[str, int],
) -> SuppressReport:
    rollouts = [position.rollout for position in found]
    drift, step = (np.array([getattr(p, name) for p in found], dtype=np.float64) for name in ("drift", "step"))
    varied = len(found) > 1 and drift.std() > 0 and step.std() > 0
    return SuppressReport(
        run=str(source.run),
        iteration=source.iteration,
        data="the default data" if source.data is None else str(source.data),
        settings=settings,
        temperature=temperature,
        labels=labels,
        baseline=mean_of([p.baseline for p in found], rollouts),
        recovery=mean_of([p.recovery for p in found], rollouts),
        gain=mean_of([p.gain for p in found], rollouts),
        slopes={
            "recovery": slopes_on_drift(found, np.array([p.recovery for p in found])),
            "gain": slopes_on_drift(found, np.array([p.gain for p in found])),
        },
        drift_and_step=float(np.corrcoef(drift, step)[0, 1]) if varied else None,
        quarters=tuple(_quarters(found)),
        aside=dict(aside),
        positions=tuple(found),
    )


def slopes_on_drift(found: Sequence[Position], outcome: Floats) -> dict[str, Estimate]:
    """Change of an outcome with :data:`PER` steps of drift, by model; see :class:`SuppressReport`.

    ``adjusted`` has the length of the prefix, the steps that the rollout had left and the continuations' steps as
    covariates; those that the others make up, or that never vary, fall away. ``matched`` has an intercept for each of
    :data:`STRATA` parts of the prefix lengths, and the steps left within them.
    """
    rollouts = [position.rollout for position in found]

    def column(name: str) -> Floats:
        return np.array([float(getattr(position, name)) for position in found])

    drift, one = column("drift") / PER, np.ones(len(found))
    controls = [column(name) for name in ("step", "left", "horizon")]
    strata = between(column("step"), split_evenly(column("step"), STRATA)).tolist()
    inner = within(np.stack([*controls, drift], axis=1), strata)
    designs = {
        "raw": np.stack([one, drift], axis=1),
        "adjusted": np.stack([one, *controls, drift], axis=1),
        "labels": np.stack([one, *controls, column("valid"), column("reasonable"), column("progress"), drift], axis=1),
    }
    slopes = {name: regress(design, outcome, rollouts)[-1] for name, design in designs.items()}
    slopes["matched"] = regress(inner, within(outcome, strata), rollouts)[-1]
    return slopes


def _quarters(found: Sequence[Position]) -> Iterator[Quarter]:
    drift = np.array([float(position.drift) for position in found])
    part = between(drift, split_evenly(drift, 4))
    for number in sorted(set(part.tolist())):
        members = [position for position, own in zip(found, part, strict=True) if own == number]
        rollouts = [position.rollout for position in members]
        yield Quarter(
            low=min(position.drift for position in members),
            high=max(position.drift for position in members),
            positions=len(members),
            drift=float(np.mean([position.drift for position in members])),
            step=float(np.mean([position.step for position in members])),
            baseline=mean_of([position.baseline for position in members], rollouts),
            recovery=mean_of([position.recovery for position in members], rollouts),
            gain=mean_of([position.gain for position in members], rollouts),
        )
