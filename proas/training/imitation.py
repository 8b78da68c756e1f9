"""Warm start: imitation of noisy demonstrations, up to a policy that solves some tasks but far from all."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from proas.envs.base import Environment, Policy, World
from proas.envs.collect import play
from proas.errors import DataError, EnvironmentFailure, TaskError, UsageError
from proas.keys import digest
from proas.rollouts import Rollout
from proas.training.config import TrainConfig, WarmStartSettings
from proas.training.crew import Crew
from proas.training.evaluation import Evaluation, Evaluator
from proas.training.optimiser import FlatAdam
from proas.training.shard import UpdateOrder

__all__ = [
    "Demonstrator",
    "ImitationStep",
    "collect_demonstrations",
    "expert_verbs",
    "imitate",
    "outside_window",
    "verbs_of",
]


class Demonstrator:
    """Acts by the environment's expert with some probability, else errs.

    Args:
        world: Whose policies act.
        rng: Source of randomness.
        skill: Probability of the expert.
        slips: Share of the errors that its noisy policy makes; the others are those of its random one.

    Raises:
        UsageError: The world has no expert.
    """

    def __init__(self, world: World, rng: random.Random, skill: float, slips: float = 1.0) -> None:
        if "expert" not in world.policies:
            raise UsageError(f"{world.name} has no expert to imitate", hint="start from another run: --init RUN")
        self._rng = rng
        self._skill = skill
        self._slips = slips
        self._expert: Policy = world.policy("expert", rng)
        self._noisy: Policy = world.policy("noisy" if "noisy" in world.policies else "random", rng)
        self._random: Policy = world.policy("random", rng)

    def act(self, env: Environment) -> str:
        """The next action."""
        if self._rng.random() < self._skill:
            try:
                return self._expert.act(env)
            except EnvironmentFailure:
                pass  # errors led into a dead end; it stumbles on
        errs = self._noisy if self._slips >= 1 or self._rng.random() < self._slips else self._random
        return errs.act(env)


def collect_demonstrations(
    world: World,
    tasks: Sequence[str],
    settings: WarmStartSettings,
    *,
    seed: int,
    step_limit: int,
    progress: Callable[[int, int], object] = lambda _found, _tried: None,
) -> Iterator[Rollout]:
    """Demonstrations of the tasks, over and over, until there are enough of them.

    Args:
        world: Where they are played.
        tasks: Keys of the tasks.
        settings: How many, and how skilful.
        seed: Of the order of the tasks and of the errors.
        step_limit: Steps of each.
        progress: Told after each try how many were found, and how many were tried.

    Yields:
        Rollouts without states; failed ones are left out where the settings say so.

    Raises:
        DataError: There are no tasks, or hardly any try succeeds.
    """
    if not tasks:
        raise DataError(f"no {world.name} tasks are left to demonstrate", hint="give more data, or evaluate on fewer")
    env = world.environment(step_limit=step_limit)
    order = sorted(tasks, key=lambda key: digest("demonstrations", seed, key))
    found, unplayable = 0, 0
    for tried in itertools.count(1):
        number, place = divmod(tried - 1, len(order))
        rng = random.Random(digest("demonstration", seed, order[place], number))  # noqa: S311 - no secret
        try:
            rollout = play(env, Demonstrator(world, rng, settings.skill, settings.slips), order[place], number)
        except TaskError:
            unplayable += 1
        else:
            if rollout.success or not settings.successes_only:
                found += 1
                yield rollout
        progress(found, tried)
        if found == settings.demonstrations:
            return
        if _hopeless(found, tried):
            beside = f", and {unplayable:,} could not be played" if unplayable else ""
            raise DataError(
                f"only {found:,} of {tried:,} demonstrations succeeded within {step_limit} steps{beside}",
                hint="raise warm_start.skill or step_limit, or give other tasks",
            )


def _hopeless(found: int, tried: int) -> bool:
    """Whether none of 150 tries succeeded, or they show that fewer than one in a hundred does (ten of 1,933)."""
    return tried >= (100 * (found + 2 * math.sqrt(found) + 3) if found else 150)


def verbs_of(rollouts: Iterable[Rollout]) -> set[str]:
    """First words of the actions that were carried out."""
    return {step.action.split(" ", 1)[0] for r in rollouts for step in r.steps if step.valid is not False}


def expert_verbs(world: World, tasks: Sequence[str]) -> set[str]:
    """First words of what the expert does in some tasks: data of another wording shows in them."""
    if "expert" not in world.policies:
        return set()
    env = world.environment()
    return verbs_of(play(env, world.policy("expert", random.Random(0)), task) for task in tasks)  # noqa: S311


@dataclass(frozen=True, slots=True)
class ImitationStep:
    """Where imitation stands.

    Attributes:
        epoch: Passes over the demonstrations done.
        loss: Mean negative log-likelihood of a token in the pass.
        evaluation: What the policy does now.
        leapt_to: Success of the pass that was taken back, which had leapt over the window; ``None`` if none was.
    """

    epoch: float
    loss: float
    evaluation: Evaluation
    leapt_to: float | None = None


def outside_window(last: ImitationStep, settings: WarmStartSettings) -> str:
    """What to know and do where imitation ended outside its window; empty where it ended within.

    Args:
        last: Where it ended.
        settings: Its window, and the settings that it ran under.
    """
    success = last.evaluation.success
    window = f"its window of {settings.low:.0%} to {settings.high:.0%} (warm_start.low, warm_start.high)"
    finer = f"raise warm_start.checks (now {settings.checks}), or lower warm_start.learning_rate"
    if last.leapt_to is not None:
        leap = f"from {success:.0%} to {last.leapt_to:.0%} between two checks"
        return f"the warm start leapt over {window}, {leap}; the weights before the leap are taken: {finer}"
    if success < settings.low:
        return f"the warm start ended at {success:.0%}, below {window}: raise warm_start.epochs"
    if success > settings.high:
        little = "which leaves less to learn than was wanted"
        return f"the warm start ended at {success:.0%}, above {window}, {little}: {finer}"
    return ""


def imitate(
    crew: Crew, demonstrations: Sequence[Rollout], config: TrainConfig, evaluator: Evaluator
) -> Iterator[ImitationStep]:
    """Fit the policy to demonstrations until its success is in the window; the weights change in place.

    A pass that leaps over the window is taken back where the weights before it were closer to it.

    Yields:
        Where it stands, after each check.
    """
    settings = config.warm_start
    crew.take(demonstrations)
    adam = FlatAdam(crew.weights, settings.learning_rate)
    names = [rollout.id for rollout in demonstrations]
    batches = -(-len(names) // settings.batch)
    check_at = {round((i + 1) * batches / settings.checks) for i in range(settings.checks)}
    order = UpdateOrder(imitate=True, text_weight=settings.text_weight)
    middle = (settings.low + settings.high) / 2
    before: tuple[Evaluation, torch.Tensor] | None = None
    for epoch in range(settings.epochs):
        shuffled = sorted(names, key=lambda name: digest("imitation", config.seed, epoch, name))
        loss, weight = 0.0, 0.0
        for number in range(batches):
            gradient, stats = crew.gradient(shuffled[number::batches], order)
            adam.step(gradient / max(stats.weight, 1.0), config.update.gradient_clip)
            loss, weight = loss + stats.loss, weight + stats.weight
            if number + 1 not in check_at:
                continue
            measured, leapt_to = evaluator.measure(config.evaluation.temperatures[0]), None
            if measured.success > settings.high and before is not None:
                earlier, weights = before
                if abs(earlier.success - middle) < abs(measured.success - middle):
                    crew.weights.copy_(weights)
                    measured, leapt_to = earlier, measured.success
            yield ImitationStep(epoch + (number + 1) / batches, loss / max(weight, 1.0), measured, leapt_to)
            if measured.success >= settings.low or leapt_to is not None:
                return
            before = (measured, crew.weights.clone())
