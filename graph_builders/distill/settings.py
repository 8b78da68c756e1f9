"""What a distillation is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from proas.agents import EpisodeSettings, PromptSettings
from proas.envs.base import check_step_limit
from proas.errors import UsageError
from proas.graph_builders.distill.filters import QualityFilter

__all__ = ["Budget", "DistillSettings"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent, attempts of earlier runs in the same journal included.

    Attributes:
        tokens: Tokens read and written; never exceeded. ``None`` for no limit.
        attempts: Attempts played to their end; ``None`` for no limit, 0 plays none and builds from the journal.
    """

    tokens: int | None = None
    attempts: int | None = None

    def __post_init__(self) -> None:
        """Refuse negative budgets."""
        if (self.tokens is not None and self.tokens < 1) or (self.attempts is not None and self.attempts < 0):
            raise UsageError("a budget must be positive", hint="leave it out for none")


@dataclass(frozen=True, slots=True)
class DistillSettings:
    """How a teacher is distilled.

    Attributes:
        env: Name of the environment.
        options: Its options.
        attempts: Attempts at each task.
        enough: Successes after which a task is left; ``None`` makes every attempt.
        step_limit: Steps of an attempt; ``None`` for the environment's usual number.
        prompts: What the teacher reads.
        episode: How it plays.
        concurrency: Attempts under way at once.
        budget: What may be spent.
        quality: What of the successes enters the graph.

    Raises:
        UsageError: A number makes no sense.
    """

    env: str
    options: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 8
    enough: int | None = None
    step_limit: int | None = None
    prompts: PromptSettings = field(default_factory=PromptSettings)
    episode: EpisodeSettings = field(default_factory=EpisodeSettings)
    concurrency: int = 16
    budget: Budget = field(default_factory=Budget)
    quality: QualityFilter = field(default_factory=QualityFilter)

    def __post_init__(self) -> None:
        """Refuse numbers that no distillation can follow."""
        if self.attempts < 1 or self.concurrency < 1:
            raise UsageError("at least one attempt must be made, and one at a time")
        if self.enough is not None and self.enough < 1:
            raise UsageError(f"{self.enough} successes cannot be enough")
        if self.step_limit is not None:
            check_step_limit(self.step_limit)

    def manner(self, model: str) -> dict[str, object]:
        """All that decides what an attempt is like: the settings that attempts of one journal share."""
        return {
            "env": self.env,
            "options": dict(sorted(self.options.items())),
            "model": model,
            "step_limit": self.step_limit,
            **{f"prompts.{name}": value for name, value in asdict(self.prompts).items()},
            **{name: value for name, value in asdict(self.episode).items() if name != "sampling"},
            **{f"sampling.{name}": value for name, value in asdict(self.episode.sampling).items()},
        }
