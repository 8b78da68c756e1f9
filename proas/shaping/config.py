"""All settings of advantage shaping as one frozen, typed record, and the two named presets.

Every ablation of the paper (Ding et al., 2026) and every extension is a value of one of these fields, so that a run
is described by its preset and the fields that differ from it. ``docs/shaping.md`` derives each of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from proas.errors import UsageError
from proas.purify import Purification

__all__ = [
    "PRESETS",
    "Algorithm",
    "AprForm",
    "AprScope",
    "DistanceUse",
    "PresetName",
    "ShapingConfig",
    "Verdict",
    "preset",
]

Algorithm = Literal["grpo", "dapo", "gigpo", "given"]
"""Estimator of the base advantage; ``given`` takes what the records already carry."""

AprForm = Literal["drift", "none", "ramp", "reversed", "suffix"]
"""What penalty redistribution is proportional to."""

AprScope = Literal["non_progress", "unreasonable", "all"]
"""The set T over which penalty redistribution conserves the penalty."""

Verdict = Literal["graph", "loop_mask", "moving", "invalid_only"]
"""Who says whether a step is reasonable."""

DistanceUse = Literal["none", "mask", "potential"]
"""What the distances of the graph's states to the goal are used for."""

PresetName = Literal["paper", "membership", "recommended"]
"""Name of a preset."""

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]


class ShapingConfig(BaseModel):
    """Settings of :func:`proas.shaping.shape`. The defaults are those of the preset ``paper``.

    Attributes:
        preset: The preset that the settings started from; kept for the record, it changes nothing by itself.
        algorithm: Estimator of the base advantage: ``grpo``, ``dapo``, ``gigpo``, or ``given`` (keep
            ``steps[].base_advantage``, else broadcast ``advantage``: for trainers that bring their own).
        normalise: Divide by the group's standard deviation (``mean_std``) or centre only (``mean``).
        rows: What the baseline's mean and deviation run over: one return a ``trajectory``, or one row a ``step`` as
            in verl-agent, where an invalid step's penalty falls on that step alone.
        std_eps: Added to a standard deviation before dividing by it.
        success_reward: ``None``: the episode return is the record's ``reward``. A number: it is this for a success
            and 0 for a failure, and step rewards are left out.
        invalid_penalty: Penalty of every step whose action was not applicable; at most 0, in units of the reward. It
            takes the place of a negative reward that the record has there; ``recorded`` keeps the record's.
        penalty_only_groups: Groups whose returns differ by such penalties alone: ``keep`` them as they are, or
            ``drop`` the penalties there, which leaves the group at zero.
        dynamic_sampling: DAPO only: keep groups aside in which all succeeded or all failed.
        gamma: GiGPO only: discount of the step returns.
        omega: GiGPO only: weight of the step-level advantage.
        anchor: GiGPO only: an anchor is a ``state`` or the text of the ``observation`` before the step.
        purification: Rule by which evolution purifies successes; recorded here, applied by evolution.
        order: Whether an iteration's own successes count in its labels; recorded here, applied by the run loop.
        evolve: ``False`` is the paper's static graph; recorded here, applied by the run loop.
        verdicts: Who says which steps are reasonable: the ``graph``'s labels, or a control without a graph:
            ``loop_mask`` (not invalid, no self-loop, not inside an erased loop), ``moving`` (not invalid, no
            self-loop), ``invalid_only`` (not invalid).
        info_seeking: Count information-seeking steps as reasonable.
        min_support: Labels treat transitions of less support as absent; recorded here, applied by labelling.
        distance: Use of the graph's distances to the goal. ``mask``: where both are known a step is reasonable if and
            only if it comes nearer. ``potential``: each step's shaped advantage gains what the step adds to a potential
            of the distance (:func:`proas.shaping.distance.potential`), in groups without any other signal too.
        distance_weight: What a step of a shortest way gains on average, in units of the advantage.
        distance_gamma: Discount of the potential, in (0, 1].
        distance_gains: Give each step what it gains by the potential ``as_given``, or a control that keeps a rollout's
            sum: ``shuffled`` within the rollout, or ``even`` over its reasonable steps.
        labels: Use the verdicts ``as_given``, dealt out at ``random`` over the batch at the same rate, or
            ``shuffled`` within each rollout.
        prune_edges: Fraction of the graph's edges that labels treat as absent, chosen by transition key and seed.
        seed: Seed of ``labels``, ``distance_gains`` and ``prune_edges``.
        progress_as: Use progress for ``shaping``, or add it to the ``reward`` instead (the paper's ablation PR).
        progress_bonus: Reward of a progress step when ``progress_as`` is ``reward``; in units of the reward.
        mui: Mask unreasonable incentives.
        mask_signs: Mask steps of ``positive`` advantage, or of ``both`` signs; the latter takes the place of APR.
        mask_mass: What the mask takes from a rollout's positive advantages is ``lost``, or ``moved`` to the steps that
            it keeps, in proportion, so that the rollout's positive advantages sum to what they were.
        kept_bonus: What each reasonable step of a success gains, whatever its group did; in units of the advantage.
        epsilon_mask: Weight that a masked step keeps, in [0, 1]; 0 is the paper's mask.
        soft_mask: Let a masked step keep its match confidence (:func:`proas.shaping.verdicts.match_confidence`).
        apr: Penalty redistribution in proportion to future ``drift``, ``none``, or a control: ``suffix`` (steps left,
            over the same T), ``ramp`` and ``reversed`` (steps left and steps done, over all steps; no graph).
        apr_scope: The set T: ``non_progress``, ``unreasonable`` or ``all`` steps of the trajectory.
        eps: Epsilon of Eq. 7, added to the mean drift over T.

    Raises:
        UsageError: An unknown setting, a value out of range, or settings that contradict each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    preset: PresetName = "paper"
    algorithm: Algorithm = "grpo"
    normalise: Literal["mean_std", "mean"] = "mean_std"
    rows: Literal["trajectory", "step"] = "trajectory"
    std_eps: Positive = 1e-6
    success_reward: float | None = None
    invalid_penalty: Literal["recorded"] | Annotated[float, Field(le=0.0)] = -0.1
    penalty_only_groups: Literal["keep", "drop"] = "keep"
    dynamic_sampling: bool = True
    gamma: Fraction = 0.95
    omega: Annotated[float, Field(ge=0.0)] = 1.0
    anchor: Literal["state", "observation"] = "state"
    purification: Purification = "paper"
    order: Literal["label_then_evolve", "evolve_then_label"] = "label_then_evolve"
    evolve: bool = True
    verdicts: Verdict = "graph"
    info_seeking: bool = False
    min_support: Annotated[int, Field(ge=1)] = 1
    distance: DistanceUse = "none"
    distance_weight: Annotated[float, Field(ge=0.0)] = 0.2
    distance_gamma: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95
    distance_gains: Literal["as_given", "shuffled", "even"] = "as_given"
    labels: Literal["as_given", "random", "shuffled"] = "as_given"
    prune_edges: Fraction = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    progress_as: Literal["shaping", "reward"] = "shaping"
    progress_bonus: Annotated[float, Field(ge=0.0)] = 0.1
    mui: bool = True
    mask_signs: Literal["positive", "both"] = "positive"
    mask_mass: Literal["lost", "moved"] = "lost"
    kept_bonus: Annotated[float, Field(ge=0.0)] = 0.0
    epsilon_mask: Fraction = 0.0
    soft_mask: bool = False
    apr: AprForm = "drift"
    apr_scope: AprScope = "non_progress"
    eps: Positive = 1e-6

    @model_validator(mode="wrap")
    @classmethod
    def _faults_are_usage_errors(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            config = handler(data)
        except ValidationError as error:
            raise _usage_error(error) from None
        if config.prune_edges and config.verdicts != "graph":
            message = f"prune_edges={config.prune_edges:g} prunes the graph, but verdicts={config.verdicts} uses none"
            raise UsageError(message, hint="set verdicts=graph, or prune_edges=0")
        if config.distance_gains != "as_given" and config.distance != "potential":
            message = f"distance_gains={config.distance_gains} has nothing to act on: distance={config.distance}"
            raise UsageError(message, hint="set distance=potential, or distance_gains=as_given")
        return config

    @property
    def masks(self) -> bool:
        """Whether MUI is in force."""
        return self.mui and self.progress_as == "shaping"

    @property
    def redistribution(self) -> AprForm:
        """The form of APR in force; ``none`` where another setting takes its place."""
        replaced = self.progress_as == "reward" or (self.masks and self.mask_signs == "both")
        return "none" if replaced else self.apr

    @property
    def needs_verdicts(self) -> bool:
        """Whether the result depends on which steps are reasonable or progress."""
        from_verdicts = self.redistribution in ("drift", "suffix")
        return self.masks or from_verdicts or self.progress_as == "reward" or self.kept_bonus > 0

    @property
    def needs_labels(self) -> bool:
        """Whether the result depends on the graph's labels."""
        return (self.needs_verdicts and self.verdicts == "graph") or self.needs_distances

    @property
    def needs_distances(self) -> bool:
        """Whether the result depends on the graph's distances."""
        return self.distance == "potential" or (self.distance == "mask" and self.needs_verdicts)

    def over_given_advantages(self) -> ShapingConfig:
        """The same settings over base advantages that others computed.

        Raises:
            UsageError: They change rewards, which those have used already.
        """
        if self.progress_as == "reward":
            raise UsageError(
                "progress_as=reward changes rewards, which were used before ProAS sees the advantages",
                hint="use progress_as=shaping, or an estimator that starts from the rewards",
            )
        return self.updated({"algorithm": "given"})

    def updated(self, settings: Mapping[str, object]) -> ShapingConfig:
        """The same settings with some replaced.

        Args:
            settings: Values by name; text such as ``"0.1"`` or ``"true"`` is read as the field's type, ``"none"``
                as no value where the field may be empty.

        Raises:
            UsageError: An unknown setting or a bad value.
        """
        changed = dict(settings)
        if changed.get("preset", self.preset) != self.preset:
            message = f"preset={changed['preset']} cannot be set on top of the preset {self.preset}"
            raise UsageError(message, hint="choose the preset first, then change its settings")
        if changed.get("success_reward") in ("none", "null", ""):
            changed["success_reward"] = None
        return ShapingConfig.model_validate({**self.model_dump(), **changed})

    def faded(self, iteration: int, over: int) -> ShapingConfig:
        """The settings of an iteration where distance fades: its weight falls to 0 linearly, and stays there.

        Args:
            iteration: Counted from 1, which has the whole weight.
            over: Iterations until nothing is left of it; 0 for a weight that stays.

        Raises:
            UsageError: Distance is to fade, and no step gains by it.
        """
        if not over:
            return self
        if self.distance != "potential":
            raise UsageError(
                f"distance_fades={over}, and no step gains by distance",
                hint="set distance=potential, as the preset recommended does, or distance_fades=0",
            )
        left = min(1.0, max(0.0, 1.0 - (iteration - 1) / over))
        return self.updated({"distance_weight": self.distance_weight * left})

    def to_dict(self) -> dict[str, str | int | float | bool]:
        """All settings as plain values that JSON and TOML can hold; a setting without a value is left out."""
        return self.model_dump(exclude_none=True)

    @classmethod
    def from_dict(cls, settings: Mapping[str, object]) -> ShapingConfig:
        """The inverse of :meth:`to_dict`; settings that are left out are those of the named ``preset``.

        Raises:
            UsageError: An unknown preset or setting, or a bad value.
        """
        return preset(str(settings.get("preset", "paper"))).updated(settings)

    @property
    def changes(self) -> dict[str, str | int | float | bool]:
        """The settings that differ from those of the preset, the algorithm aside."""
        usual = PRESETS[self.preset].to_dict()
        return {
            name: value for name, value in self.to_dict().items() if name != "algorithm" and usual.get(name) != value
        }

    def describe(self) -> str:
        """One line for the record of a run: algorithm, preset, the four settings that decide results, and changes."""
        named = {
            "purification": self.purification,
            "order": self.order,
            "info_seeking": "on" if self.info_seeking else "off",
            "apr": self.redistribution,
        }
        named |= {name: str(value) for name, value in self.changes.items() if name not in named}
        return " ".join(
            [self.algorithm, f"preset={self.preset}", *(f"{name}={value}" for name, value in named.items())]
        )


PRESETS: Mapping[PresetName, ShapingConfig] = MappingProxyType(
    {
        "paper": ShapingConfig(),
        "membership": ShapingConfig(
            preset="membership",
            purification="loop_erased",
            order="evolve_then_label",
            info_seeking=True,
            apr="none",
            penalty_only_groups="drop",
        ),
        "recommended": ShapingConfig(
            preset="recommended",
            purification="loop_erased",
            order="evolve_then_label",
            verdicts="loop_mask",
            distance="potential",
            distance_weight=1.0,
            mask_mass="moved",
            apr="none",
            penalty_only_groups="drop",
        ),
    }
)
"""``paper`` is Eq. 7 to the letter. ``membership`` masks by whether the graph knows a transition, in the form that our
measurements support. ``recommended`` is what they found best: the change of the distance to the goal, which only a
graph knows, over a mask that needs none and moves credit in place of losing it (``docs/shaping.md``,
``docs/evidence.md``)."""


def preset(name: str) -> ShapingConfig:
    """A named set of settings.

    Raises:
        UsageError: No preset of that name.
    """
    for known, config in PRESETS.items():
        if known == name:
            return config
    raise UsageError(f"no preset is called {name!r}", hint=f"choose one of {', '.join(PRESETS)}")


def _usage_error(error: ValidationError) -> UsageError:
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    valid = sorted(ShapingConfig.model_fields)
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, valid, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        return UsageError(f"unknown shaping setting {name!r}", hint=f"{guess}valid settings: {', '.join(valid)}")
    return UsageError(f"shaping setting {name}={first['input']!r}: {first['msg']}", hint="see docs/shaping.md")
