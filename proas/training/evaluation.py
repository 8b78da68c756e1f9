"""Evaluation on fixed tasks, with the same draws for every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from proas.rollouts import Rollout
from proas.training.crew import Crew
from proas.training.play import PlaySettings

__all__ = ["Evaluation", "Evaluator", "kind_of"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a policy does.

    Attributes:
        temperature: At which it drew.
        episodes: Number of episodes.
        success: Share of them that solved the task.
        reward: Mean return.
        score: Mean of how well the tasks were met, in [0, 1]; the success where the environment pays for nothing less.
        steps: Mean number of steps.
        invalid: Share of steps that did not apply.
        by_kind: Share of success by kind of task.
        by_task: Share of success of each task, in the order in which they were played.
    """

    temperature: float
    episodes: int
    success: float
    reward: float
    score: float
    steps: float
    invalid: float
    by_kind: dict[str, float] = field(default_factory=dict)
    by_task: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rollouts: Sequence[Rollout], temperature: float) -> Evaluation:
        """Means over rollouts."""
        count = max(1, len(rollouts))
        steps = sum(len(rollout.steps) for rollout in rollouts)
        kinds: dict[str, list[bool]] = {}
        tasks: dict[str, list[bool]] = {}
        for rollout in rollouts:
            kinds.setdefault(kind_of(rollout.task), []).append(rollout.success)
            tasks.setdefault(rollout.task, []).append(rollout.success)
        return cls(
            temperature=temperature,
            episodes=len(rollouts),
            success=sum(rollout.success for rollout in rollouts) / count,
            reward=sum(rollout.reward for rollout in rollouts) / count,
            score=sum(map(_score, rollouts)) / count,
            steps=steps / count,
            invalid=sum(step.valid is False for rollout in rollouts for step in rollout.steps) / max(1, steps),
            by_kind={kind: sum(won) / len(won) for kind, won in sorted(kinds.items()) if kind},
            by_task={task: sum(won) / len(won) for task, won in tasks.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class Evaluator:
    """Measures a crew's policy on fixed validation tasks.

    Args:
        crew: Who plays.
        tasks: Keys of the tasks.
        how: Settings; the temperature is given anew each time.
    """

    def __init__(self, crew: Crew, tasks: Sequence[str], how: PlaySettings) -> None:
        self._crew = crew
        self._tasks = tuple(tasks)
        self._how = how

    def measure(self, temperature: float) -> Evaluation:
        """Play all tasks at a temperature."""
        how = self._how
        settings = PlaySettings(
            group_size=how.group_size if temperature > 0 else 1,
            temperature=temperature,
            seed=how.seed,
            label="evaluation",
            step_limit=how.step_limit,
            limits=how.limits,
        )
        return Evaluation.of(self._crew.play("valid", self._tasks, settings, keep=False).rollouts, temperature)


def _score(rollout: Rollout) -> float:
    return float(rollout.success) if rollout.score is None else rollout.score


def kind_of(task: str) -> str:
    """Kind of a task by its key, ALFWorld's ``pick_heat_then_place_in_recep-Egg-...``; empty where it tells none."""
    head, dash, _ = task.partition("-")
    return head if dash and head.replace("_", "").isalpha() else ""
