"""Does it hurt to remember one's own unreasonable steps? The policy goes on from one situation with several pasts.

For each of many situations on the policy's own way, k unreasonable steps are put into what it sees of the past:
commands that do not apply and ways there and back, its own wherever possible. They leave the environment exactly as it
was, and as many steps are left to it as without them, so that what differs between k = 0 and k > 0 is the visible
history alone. The control puts as many harmless steps there, about as long: what it loses, length alone loses.

All differences are paired by state, and all intervals come from the bootstrap over states.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from proas.envs.collect import play
from proas.errors import DataError, TaskError, UsageError
from proas.states import follower_for
from proas.training.episodes import Episode, episode_of
from proas.training.interventions.bench import Bench, Source, drawing_temperature, in_order_of
from proas.training.interventions.continuations import Point
from proas.training.interventions.histories import (
    Composer,
    Habits,
    Inserted,
    Junction,
    Unit,
    as_long,
    chosen,
    harmless_units,
    junction_of,
    wasteful_units,
)
from proas.training.interventions.statistics import Estimate, mean_of, regress, within
from proas.training.interventions.work import Errand, outcomes_of

__all__ = ["NoiseReport", "NoiseRow", "NoiseSettings", "StateRecord", "measure_noise"]

Arm = Literal["unreasonable", "harmless"]
ARMS: tuple[Arm, ...] = ("unreasonable", "harmless")


@dataclass(frozen=True, slots=True)
class NoiseSettings:
    """What is done.

    Attributes:
        states: Situations.
        continuations: Of each situation and history.
        steps: Numbers of steps that are put in; 0 is always among them.
        temperature: Of drawing; the run's own in training if ``None``.
        place: Put in right before the situation (``state``) or before everything else (``start``).
        player: Whose way the situations lie on: the ``policy``'s own, or the environment's ``expert``'s.
        horizon: Steps left to every continuation; ``None`` for as many as the episode had left there.
        seed: Of everything.
        workers: Processes.

    Raises:
        UsageError: A value makes no sense.
    """

    states: int = 64
    continuations: int = 50
    steps: tuple[int, ...] = (0, 1, 2, 4, 8)
    temperature: float | None = None
    place: Literal["state", "start"] = "state"
    player: Literal["policy", "expert"] = "policy"
    horizon: int | None = None
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        if any(k < 0 for k in self.steps) or not any(self.steps):
            raise UsageError(
                f"--steps {','.join(map(str, self.steps))}: give numbers of steps, one of them above 0",
                hint="for example 0,1,2,4,8",
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of steps, ascending, 0 first."""
        return tuple(sorted({0, *self.steps}))


@dataclass(frozen=True, slots=True)
class StateRecord:
    """One situation.

    Attributes:
        task: Key of the task.
        rollout: Id of the rollout that it lies on.
        step: Steps before it.
        horizon: Steps left to each continuation.
        situation: Fingerprint of the environment, the same for every history.
        own: Share of the unreasonable steps that the policy itself took in its rollouts.
        success: Share of the continuations that solved the task, by arm and number of steps.
        tokens: Tokens that the steps added, by arm and number of steps.
    """

    task: str
    rollout: str
    step: int
    horizon: int
    situation: str
    own: float
    success: Mapping[str, Mapping[int, float]]
    tokens: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """What a number of steps did.

    Attributes:
        steps: k.
        success: By arm, mean over states.
        change: By arm, difference to k = 0.
        beyond_length: Change by unreasonable steps less that by harmless ones.
        tokens: By arm, tokens added on average.
    """

    steps: int
    success: Mapping[str, Estimate]
    change: Mapping[str, Estimate]
    beyond_length: Estimate
    tokens: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """What came of it.

    Attributes:
        run: Folder of the run.
        iteration: Of the checkpoint.
        data: Where the tasks are from.
        settings: What was done.
        temperature: Of drawing.
        rows: One for each number of steps.
        slopes: Change of success with each step put in, states held apart: by arm, and ``beyond_length``.
        own: Share of the unreasonable steps that were the policy's own.
        without_control: States without a harmless step; they count for the unreasonable arm alone.
        aside: Situations that could not be used, by reason.
        states: Each situation.
    """

    run: str
    iteration: int
    data: str
    settings: NoiseSettings
    temperature: float
    rows: tuple[NoiseRow, ...]
    slopes: Mapping[str, Estimate]
    own: float
    without_control: int
    aside: Mapping[str, int]
    states: tuple[StateRecord, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A situation with its histories."""

    junction: Junction
    horizon: int
    own: float
    histories: Mapping[tuple[str, int], Inserted]

    def points(self) -> tuple[Point, ...]:
        name = f"{self.junction.episode.rollout.id}@{self.junction.step}"
        return tuple(
            Point(
                name=name,
                task=self.junction.episode.rollout.task,
                number=self.junction.number,
                actions=history.actions,
                tokens=history.tokens,
                horizon=self.horizon,
            )
            for history in self.histories.values()
        )


def measure_noise(
    source: Source,
    tasks: Sequence[str],
    settings: NoiseSettings,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> NoiseReport:
    """Put unreasonable steps into the past and see what comes of it.

    Args:
        source: The policy, and the data of the tasks.
        tasks: Keys of the tasks, those to be taken first coming first.
        settings: What is done.
        progress: Told of the number of situations done, and of all.

    Raises:
        DataError: No situation can be used.
        UsageError: Nothing can be drawn at the temperature.
    """
    bench = Bench.shared(source)
    temperature = drawing_temperature(bench.config, settings.temperature)
    aside: Counter[str] = Counter()
    prepared = list(_prepare(bench, tasks, settings, temperature, aside))
    if not prepared:
        why = "; ".join(f"{reason} ({count})" for reason, count in aside.items()) or "there are no steps"
        raise DataError(f"no situation can be used: {why}", hint="take more --states, or another checkpoint")
    errands = (
        Errand(source, one.points(), settings.continuations, temperature, settings.seed, "noise") for one in prepared
    )
    states = [
        _record(one, outcomes)
        for one, outcomes in zip(
            prepared,
            outcomes_of(errands, settings.workers, lambda done: progress(done, len(prepared))),
            strict=True,
        )
    ]
    return _report(source, settings, temperature, states, aside)


def _prepare(
    bench: Bench, tasks: Sequence[str], settings: NoiseSettings, temperature: float, aside: Counter[str]
) -> Iterator[_Prepared]:
    """Situations with all their histories; those that lack one are counted aside."""
    taken = list(tasks)[: settings.states]
    group = max(2, -(-settings.states // max(1, len(taken))))
    drawn = bench.draw(taken, group, temperature=temperature, seed=settings.seed, label="noise")
    aside.update(reject.reason for reject in drawn.rejects)
    habits = Habits(drawn.episodes)
    walked = drawn.episodes if settings.player == "policy" else _expert_episodes(bench, taken, group, settings.seed)
    for episode, step in _positions(walked, settings):
        junction = junction_of(bench.world, episode, step)
        horizon = settings.horizon or bench.config.step_limit - step
        found = _histories(bench, junction, habits, settings)
        if isinstance(found, str):
            aside[found] += 1
            continue
        histories, own = found
        yield _Prepared(junction, horizon, own, histories)


def _expert_episodes(bench: Bench, tasks: Sequence[str], group: int, seed: int) -> tuple[Episode, ...]:
    """Episodes of the environment's best policy, as the run's policy would have read them."""
    found: list[Episode] = []
    env = bench.world.environment(step_limit=bench.config.step_limit)
    for task in tasks:
        for number in range(group):
            expert = bench.world.policy(bench.world.policies[0], random.Random(f"{seed}/{task}/{number}"))  # noqa: S311
            try:
                rollout = play(env, expert, task, number, follower_for(env))
            except TaskError:
                break
            found.append(episode_of(rollout, bench.policy, bench.limits))
    return tuple(found)


def _positions(episodes: Sequence[Episode], settings: NoiseSettings) -> list[tuple[Episode, int]]:
    """One situation of an episode each: tasks in turn, depths spread evenly over the episodes' lengths."""
    by_task: dict[str, list[Episode]] = {}
    for episode in episodes:
        if len(episode.starts):
            by_task.setdefault(episode.rollout.task, []).append(episode)
    most = max(map(len, by_task.values()), default=0)
    ordered = [group[i] for i in range(most) for group in by_task.values() if i < len(group)][: settings.states]
    names = in_order_of(settings.seed, "depth", [episode.rollout.id for episode in ordered])
    depth = {name: (place + 0.5) / len(names) for place, name in enumerate(names)}
    return [(episode, int(depth[episode.rollout.id] * len(episode.starts))) for episode in ordered]


def _histories(
    bench: Bench, junction: Junction, habits: Habits, settings: NoiseSettings
) -> tuple[dict[tuple[str, int], Inserted], float] | str:
    """Histories of a situation by arm and number of steps, and the share of steps of the policy's own; or why not."""
    first = junction.step if settings.place == "state" else 0
    composer = Composer(bench.world, bench.policy, bench.limits, junction, first)
    units = wasteful_units(bench.world, junction, composer.before, habits)
    counts = [k for k in settings.counts if k]
    seed = f"{settings.seed}/{junction.episode.rollout.id}/{junction.step}"
    wasteful = chosen(units, counts, seed) if units else None
    if wasteful is None:
        return "no unreasonable step leaves the situation as it is"
    plain = composer.with_steps(())
    if plain is None:
        return "the environment does not repeat itself"
    histories: dict[tuple[str, int], Inserted] = {("unreasonable", 0): plain}
    harmless = harmless_units(bench.world, junction, composer.before)
    control = _control(composer, wasteful, harmless) if harmless else None
    for arm, sequence in (("unreasonable", wasteful), ("harmless", control)):
        actions = [action for unit in sequence or () for action in unit.actions]
        for k in counts if sequence is not None else ():
            history = composer.with_steps(actions[:k])
            if history is None:
                return f"{arm} steps do not lead to the same situation"
            histories[arm, k] = history
    own = [unit.own for unit in wasteful for _ in unit.actions]
    return histories, float(np.mean(own))


def _control(composer: Composer, wasteful: Sequence[Unit], harmless: Sequence[Unit]) -> list[Unit]:
    """As many harmless steps, about as long in tokens."""
    wanted: list[int] = []
    for unit, tokens in zip(wasteful, composer.lengths(wasteful), strict=True):
        share, more = divmod(tokens, len(unit.actions))
        wanted += [share + (place < more) for place in range(len(unit.actions))]
    return as_long(wanted, harmless, composer.lengths(harmless))


def _record(one: _Prepared, outcomes: Sequence[Sequence[bool | None]]) -> StateRecord:
    success: dict[str, dict[int, float]] = {}
    tokens: dict[str, dict[int, int]] = {}
    for ((arm, k), history), won in zip(one.histories.items(), outcomes, strict=True):
        success.setdefault(arm, {})[k] = float(np.mean([bool(each) for each in won]))
        tokens.setdefault(arm, {})[k] = history.added
    if "harmless" in success:
        success["harmless"] = {0: success["unreasonable"][0], **success["harmless"]}
        tokens["harmless"] = {0: 0, **tokens["harmless"]}
    rollout = one.junction.episode.rollout
    return StateRecord(
        rollout.task, rollout.id, one.junction.step, one.horizon, one.junction.situation, one.own, success, tokens
    )


def _report(
    source: Source,
    settings: NoiseSettings,
    temperature: float,
    states: Sequence[StateRecord],
    aside: Mapping[str, int],
) -> NoiseReport:
    controlled = [state for state in states if "harmless" in state.success]
    members: dict[str, Sequence[StateRecord]] = {"unreasonable": states, "harmless": controlled}
    rows = tuple(_row(k, members, controlled) for k in settings.counts)
    slopes = {arm: _slope([state.success[arm] for state in found]) for arm, found in members.items()}
    slopes["beyond_length"] = _slope([_beyond(state) for state in controlled])
    return NoiseReport(
        run=str(source.run),
        iteration=source.iteration,
        data="the default data" if source.data is None else str(source.data),
        settings=settings,
        temperature=temperature,
        rows=rows,
        slopes=slopes,
        own=float(np.mean([state.own for state in states])),
        without_control=len(states) - len(controlled),
        aside=dict(aside),
        states=tuple(states),
    )


def _beyond(state: StateRecord) -> dict[int, float]:
    """By number of steps, what unreasonable steps changed beyond what harmless ones did."""
    unreasonable, harmless = state.success["unreasonable"], state.success["harmless"]
    return {k: unreasonable[k] - harmless[k] for k in unreasonable}


def _row(k: int, members: Mapping[str, Sequence[StateRecord]], controlled: Sequence[StateRecord]) -> NoiseRow:
    def over(values: Sequence[float]) -> Estimate:
        return mean_of(values, range(len(values)))

    return NoiseRow(
        steps=k,
        success={arm: over([state.success[arm][k] for state in found]) for arm, found in members.items()},
        change={
            arm: over([state.success[arm][k] - state.success[arm][0] for state in found])
            for arm, found in members.items()
        },
        beyond_length=over([_beyond(state)[k] for state in controlled]),
        tokens={
            arm: float(np.mean([state.tokens[arm][k] for state in found])) if found else 0.0
            for arm, found in members.items()
        },
    )


def _slope(curves: Sequence[Mapping[int, float]]) -> Estimate:
    """Slope of values over k, with an intercept for each state."""
    rows = [(place, k, value) for place, curve in enumerate(curves) for k, value in curve.items()]
    if not rows:
        return Estimate(None, None, None, 0)
    places = [place for place, _, _ in rows]
    counts = within(np.array([float(k) for _, k, _ in rows]), places)
    values = within(np.array([value for _, _, value in rows]), places)
    return regress(counts[:, None], values, places)[0]
