"""Which rollouts make an iteration: those of some tasks, and with DAPO so many that enough of them teach something.

DAPO (Yu et al., 2025, arXiv:2503.14476, section 3.2 and Eq. 11) keeps only groups in which some rollouts succeeded and
some failed, as the advantages of the others are all zero, and goes on sampling until the batch is full. The paper sets
no bound; here so many further draws are made at most, each of as many tasks as groups are missing, so that the batch is
never overfull. Rollouts of the groups that are left out were played all the same: they count as episodes, and the graph
learns of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proas.rollouts import RolloutBatch
from proas.shaping.estimators import group_outcomes
from proas.shaping.frame import Frame
from proas.training.crew import Crew
from proas.training.play import PlaySettings
from proas.training.shard import PlayReport
from proas.training.tasks import TaskStream

__all__ = ["Sampled", "sample"]


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was played.

    Attributes:
        played: All rollouts, in the order of the tasks.
        places: Place of each task in the draw that it came with, which says whose it is among the workers.
        metrics: ``rollout/refills``, ``rollout/groups`` and ``rollout/groups_mixed``.
    """

    played: PlayReport
    places: dict[str, int]
    metrics: dict[str, float]


def sample(
    crew: Crew, stream: TaskStream, count: int, settings: Callable[[Sequence[str]], PlaySettings], refills: int
) -> Sampled:
    """Play an iteration's tasks, and further ones in place of those that teach nothing.

    Args:
        crew: Who plays, and keeps the tokens.
        stream: Where the tasks come from.
        count: Groups that are wanted.
        settings: How some tasks are played.
        refills: Further draws at most; 0 takes the first tasks as they are.

    Raises:
        DataError: The first tasks cannot be played.
    """
    tasks = stream.take(count)
    played = crew.play("train", tasks, settings(tasks), keep=True)
    places = {task: place for place, task in enumerate(tasks)}
    mixed = _mixed(played)
    draws = 0
    while draws < refills and mixed < count:
        tasks = stream.more(count - mixed, places)
        if not tasks:
            break
        draws += 1
        further = crew.play("train", tasks, settings(tasks), keep=True, beside=True)
        places |= {task: place for place, task in enumerate(tasks)}
        mixed += _mixed(further)
        played = _together(played, further)
    metrics = {"rollout/groups": float(len(places)), "rollout/groups_mixed": float(mixed)}
    return Sampled(played, places, {**metrics, "rollout/refills": float(draws)})


def _mixed(played: PlayReport) -> int:
    """Groups in which some succeeded and some failed."""
    frame = Frame.of(RolloutBatch(tuple(played.rollouts)))
    return int(group_outcomes(frame.success, frame.groups).mixed.sum())


def _together(first: PlayReport, then: PlayReport) -> PlayReport:
    """Two draws, one after the other."""
    return PlayReport(
        rollouts=[*first.rollouts, *then.rollouts],
        values=[*first.values, *then.values],
        rejects=[*first.rejects, *then.rejects],
        tokens=first.tokens + then.tokens,
        entropy=[*first.entropy, *then.entropy],
        environment_seconds=first.environment_seconds + then.environment_seconds,
        policy_seconds=first.policy_seconds + then.policy_seconds,
        given=[*first.given, *then.given],
    )
