"""All settings of a training run as one typed record, and the named presets. Needs no torch.

A setting is named by its path, for example ``update.learning_rate``; ``--set`` on the command line takes such names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from proas.errors import UsageError
from proas.shaping.config import ShapingConfig
from proas.training.estimator_settings import EstimatorSettings
from proas.training.policy_settings import PolicySettings
from proas.training.setting_paths import plain, put
from proas.training.start_settings import StartSettings
from proas.training.temperatures import DrawingTemperature, Temperature

__all__ = [
    "ALGORITHMS",
    "PRESETS",
    "AlgorithmName",
    "EstimatorSettings",
    "EvaluationSettings",
    "PolicySettings",
    "StartSettings",
    "TextSettings",
    "TrainConfig",
    "UpdateSettings",
    "WarmStartSettings",
    "preset",
]

AlgorithmName = Literal["grpo", "dapo", "gigpo", "migpo", "hgpo", "graphgpo", "tigpo", "ppo", "sft"]
"""What makes the base advantage; ``sft`` imitates demonstrations and has none."""

ALGORITHMS: tuple[str, ...] = get_args(AlgorithmName)

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Natural = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]

# What an arm's name leaves out: what all arms share or what names it; what a control without a graph has no use for.
_ALIKE = frozenset({"rows", "penalty_only_groups", "invalid_penalty", "verdicts"})
_OF_THE_GRAPH = frozenset({"purification", "order", "evolve", "prune_edges", "min_support", "info_seeking"})


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TextSettings(_Settings):
    """How much text an episode may hold, in tokens; see ``proas.training.episodes.TextLimits``.

    Attributes:
        prompt: Of the first observation.
        observation: Of each later observation.
        action: Of each action.
        episode: Of the whole; no more than the positions of a ``policy.model``.
    """

    prompt: Count = 256
    observation: Count = 96
    action: Count = 12
    episode: Count = 4096

    @model_validator(mode="after")
    def _holds_an_action(self) -> TextSettings:
        if (least := self.prompt + self.action) > self.episode:
            raise UsageError(
                f"text.episode={self.episode} does not hold one action: text.prompt and text.action take {least}",
                hint="raise text.episode, or lower text.prompt",
            )
        return self


class WarmStartSettings(_Settings):
    """Imitation of noisy demonstrations, until the policy solves some tasks but far from all.

    Attributes:
        demonstrations: Demonstrations to imitate, one of each task; tasks are taken again where there are fewer.
        skill: Probability that a demonstration's step is the expert's; the other steps are errors.
        slips: Share of the errors that the environment's noisy policy makes, invalid commands among them; the other
            errors are admissible commands drawn at random.
        successes_only: Leave failed demonstrations out.
        low: Validation success, at the first of the evaluation's temperatures, from which on it is enough.
        high: Success beyond which the last weights below it are taken instead.
        epochs: Most passes over the demonstrations.
        checks: Evaluations a pass.
        batch: Demonstrations a step of the optimiser.
        learning_rate: Of Adam.
        text_weight: Weight of predicting the environment's words as well, beside the actions.
    """

    demonstrations: Count = 2000
    skill: Fraction = 0.5
    slips: Fraction = 1.0
    successes_only: bool = True
    low: Fraction = 0.20
    high: Fraction = 0.45
    epochs: Count = 12
    checks: Count = 2
    batch: Count = 4
    learning_rate: Positive = 2e-3
    text_weight: Annotated[float, Field(ge=0.0)] = 0.3

    @model_validator(mode="after")
    def _window(self) -> WarmStartSettings:
        if self.low >= self.high:
            raise UsageError(f"warm_start.low={self.low:g} is not below warm_start.high={self.high:g}")
        return self


class UpdateSettings(_Settings):
    """The policy's update.

    Attributes:
        learning_rate: Of Adam.
        clip_low: The ratio is clipped below 1 minus this.
        clip_high: The ratio is clipped above 1 plus this; ``None``: as ``clip_low``, and 0.28 for DAPO (clip-higher).
        kl: Weight of the divergence from the policy after the warm start (the estimator k3).
        entropy: Weight of the entropy bonus.
        gradient_clip: Largest norm of the gradient.
        epochs: Passes over an iteration's rollouts.
        minibatches: Steps of the optimiser a pass.
        micro_batch_tokens: Tokens that one backward pass holds at most: it bounds memory, not the result.
        unit: What the loss is a mean over; ``auto`` is the algorithm's own.
        value: Weight of the critic's loss (PPO), in squared rewards; at 0.5 its gradient is 14 times the policy's.
    """

    learning_rate: Positive = 3e-4
    clip_low: Positive = 0.2
    clip_high: Positive | None = None
    kl: Annotated[float, Field(ge=0.0)] = 0.0
    entropy: Annotated[float, Field(ge=0.0)] = 0.0
    gradient_clip: Positive = 1.0
    epochs: Count = 1
    minibatches: Count = 2
    micro_batch_tokens: Count = 8192
    unit: Literal["auto", "sequence", "token", "step"] = "auto"
    value: Annotated[float, Field(ge=0.0)] = 0.02


class EvaluationSettings(_Settings):
    """Evaluation on fixed tasks.

    Attributes:
        every: Iterations between evaluations; 0 for none but the last.
        tasks: Tasks evaluated on.
        choice: Which tasks: another number chooses others.
        repeats: Episodes of each.
        temperatures: Of drawing: 0 is greedy, else from 0.01 to 100. The first one decides on the warm start.
        seed: Of the draws, apart from the run's, so that all runs are measured alike.
    """

    every: Natural = 5
    tasks: Count = 64
    choice: Natural = 0
    repeats: Count = 1
    temperatures: Annotated[tuple[Temperature, ...], Field(min_length=1)] = (0.4, 1.0)
    seed: Natural = 7


class TrainConfig(_Settings):
    """Settings of a run.

    Attributes:
        preset: The preset that the settings started from; kept for the record.
        env: Name of the environment.
        data: Its data; empty for the environment's default.
        options: Its options.
        train_split: Folder of the training tasks where the data has splits.
        valid_split: Folder of the validation tasks where the data has splits; else training tasks are held out.
        algorithm: What makes the base advantage.
        shaping: Settings of the shaping. Without ``--proas`` neither MUI nor APR is in force.
        seed: Source of all randomness.
        iterations: Iterations to run.
        tasks: Tasks an iteration.
        group_size: Rollouts of each task (G).
        step_limit: Steps of a rollout.
        temperature: Of drawing while training, from 0.01 to 100.
        recur: Train on so many tasks only, again and again; 0 for all.
        graph_base: Name of the reference graph that the run's layer lies over; empty for a graph that starts empty.
        lifted: Let lifted tasks of the graph label as well: `off`, rollouts of `uncovered` tasks, or `always` where a
            step's own transition is not there; successes then join them too.
        distance_fades: Iterations over which the weight of distance (``shaping.distance_weight``) falls to 0, linearly;
            0 for a weight that stays.
        graph_emptied: Forget what the run's own graph has learnt before each iteration's successes join it: a control.
        workers: Processes that play and compute gradients.
        checkpoint_every: Iterations between checkpoints.
        rollouts_every: Iterations between those whose rollouts are kept, labelled and shaped; 0 for none.
        keep_checkpoints: Checkpoints kept; the first and the last always are.
        policy: The language model.
        text: Limits of text.
        warm_start: Imitation before the first iteration.
        update: The update.
        estimator: Settings of the estimators.
        starts: Starting points.
        evaluation: Evaluation.
    """

    preset: str = "full"
    env: str = "alfworld"
    data: str = ""
    options: dict[str, str] = Field(default_factory=dict)
    train_split: str = "train"
    valid_split: str = "valid_seen"
    algorithm: AlgorithmName = "grpo"
    shaping: ShapingConfig = ShapingConfig(mui=False, apr="none", rows="step", penalty_only_groups="drop")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    iterations: Natural = 150
    tasks: Count = 16
    group_size: Annotated[int, Field(ge=2)] = 8
    step_limit: Count = 50
    temperature: DrawingTemperature = 1.0
    recur: Natural = 0
    graph_base: str = ""
    lifted: Literal["off", "uncovered", "always"] = "off"
    distance_fades: Natural = 0
    graph_emptied: bool = False
    workers: Count = 1
    checkpoint_every: Count = 10
    rollouts_every: Natural = 10
    keep_checkpoints: Annotated[int, Field(ge=2)] = 3
    policy: PolicySettings = PolicySettings()
    text: TextSettings = TextSettings()
    warm_start: WarmStartSettings = WarmStartSettings()
    update: UpdateSettings = UpdateSettings()
    estimator: EstimatorSettings = EstimatorSettings()
    starts: StartSettings = StartSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @model_validator(mode="after")
    def _parts_fit(self) -> TrainConfig:
        self.starts.check(self.group_size)
        self.shaping_at(1)
        return self

    @property
    def base_shaping(self) -> ShapingConfig:
        """The shaping settings under the estimator that ``proas.shaping`` is to use."""
        built_in = self.algorithm in ("grpo", "dapo", "gigpo")
        return self.shaping.updated({"algorithm": self.algorithm if built_in else "given"})

    def shaping_at(self, iteration: int) -> ShapingConfig:
        """The shaping of an iteration, counted from 1: distance weighs less in each where it fades."""
        return self.base_shaping.faded(iteration, self.distance_fades)

    @property
    def uses_graph(self) -> bool:
        """Whether the run needs a reference graph."""
        return self.algorithm != "sft" and (self.shaping.needs_labels or self.starts.share > 0)

    @property
    def refills(self) -> int:
        """How often an iteration may draw further tasks in place of those that teach nothing (DAPO)."""
        wanted = self.algorithm == "dapo" and self.shaping.dynamic_sampling
        return self.estimator.refills if wanted else 0

    @property
    def clip_high(self) -> float:
        """How far above 1 the ratio may go."""
        if self.update.clip_high is not None:
            return self.update.clip_high
        return 0.28 if self.algorithm == "dapo" else self.update.clip_low

    @property
    def unit(self) -> Literal["sequence", "token", "step"]:
        """What the loss is a mean over: rollouts for GRPO over trajectories, else tokens, as verl-agent has it.

        A mean over steps divides an action's gradient by its length. An advantage that is the same for all steps then
        has a gradient that is not zero on average: it favours short actions, and drowns the signal of the rewards.
        """
        if self.update.unit != "auto":
            return self.update.unit
        return "sequence" if self.algorithm == "grpo" and self.shaping.rows == "trajectory" else "token"

    @property
    def arm(self) -> str:
        """A short name of what is compared: the algorithm, its shaping, and what is done beside."""
        beside = [f"lifted={self.lifted}"] if self.lifted != "off" else []
        beside += [f"distance_fades={self.distance_fades}"] if self.distance_fades else []
        beside += [f"starts={self.starts.share:g}"] if self.starts.share else []
        return " ".join([self._method, *beside])

    @property
    def _method(self) -> str:
        shaping = self.shaping
        told = {name: value for name, value in shaping.changes.items() if name not in _ALIKE}
        if self.algorithm == "sft" or not (shaping.needs_verdicts or shaping.needs_labels):
            return self.algorithm
        by_graph = shaping.needs_labels and "verdicts" not in shaping.changes
        who = f"+proas-{shaping.preset}" if by_graph else f"+{shaping.verdicts}"
        if not shaping.needs_verdicts:
            who, told = "", {k: v for k, v in told.items() if k.startswith("distance")}
        elif not by_graph:
            told = {k: v for k, v in told.items() if k not in _OF_THE_GRAPH}
        return " ".join([self.algorithm + who, *(f"{k}={v}" for k, v in told.items())])

    def updated(self, settings: Mapping[str, object]) -> TrainConfig:
        """The same settings with some replaced.

        Args:
            settings: Values by path; text is read as the setting's type.

        Raises:
            UsageError: An unknown setting, or a value that it does not take.
        """
        document = self.model_dump(mode="json")
        shaping: dict[str, object] = {}
        for name, value in settings.items():
            path = name.split(".")
            if path[0] == "shaping" and len(path) == 2:
                shaping[path[1]] = value
                continue
            put(document, path, name, plain(value))
        try:
            changed = TrainConfig.model_validate({**document, "shaping": self.shaping.updated(shaping)})
        except ValidationError as error:
            raise _usage_error(error) from None
        return changed

    def with_shaping(self, shaping: ShapingConfig) -> TrainConfig:
        """The same settings under another shaping; what concerns all arms alike (rows, penalties) stays."""
        kept = {name: getattr(self.shaping, name) for name in ("rows", "penalty_only_groups", "invalid_penalty")}
        fades = self.distance_fades if shaping.distance == "potential" else 0
        return self.model_copy(update={"shaping": shaping.updated(kept), "distance_fades": fades})

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TrainConfig:
        """The inverse of :meth:`to_dict`. Raises ``UsageError`` for settings that are not known."""
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            raise _usage_error(error) from None


def _usage_error(error: ValidationError) -> UsageError:
    first = error.errors(include_url=False, include_context=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "settings"
    if first["type"] == "extra_forbidden":
        return UsageError(f"there is no setting {name!r}", hint="docs/training.md lists them")
    return UsageError(f"setting {name}={first['input']!r}: {first['msg']}", hint="docs/training.md lists the settings")


_TINY = TrainConfig(
    preset="tiny-alfworld",
    iterations=30,
    workers=2,
    step_limit=40,
    warm_start=WarmStartSettings(demonstrations=4000, skill=0.2, checks=1, batch=8, epochs=8),
    update=UpdateSettings(minibatches=4),
    evaluation=EvaluationSettings(every=5, tasks=128),
)

PRESETS: Mapping[str, TrainConfig] = MappingProxyType(
    {
        "full": TrainConfig(),
        "tiny-alfworld": _TINY,
        "smoke": TrainConfig(
            preset="smoke",
            iterations=2,
            tasks=2,
            group_size=4,
            step_limit=12,
            checkpoint_every=1,
            policy=PolicySettings(width=32, heads=2, hidden=64, vocabulary=700),
            warm_start=WarmStartSettings(demonstrations=24, epochs=1, checks=1, low=0.0, high=1.0),
            evaluation=EvaluationSettings(every=1, tasks=4),
        ),
    }
)
"""``full`` is the size of the papers (150 iterations of 16 x 8), ``tiny-alfworld`` what two processor cores do in
minutes, ``smoke`` a check of the mechanics in seconds."""


def preset(name: str) -> TrainConfig:
    """A named set of settings.

    Raises:
        UsageError: No preset of that name.
    """
    if name not in PRESETS:
        raise UsageError(f"no training preset is called {name!r}", hint=f"choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
