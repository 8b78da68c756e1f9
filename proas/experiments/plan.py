"""An experiment as a file: the question, what all arms share, the arms, the seeds, the targets.

A plan is TOML::

    question = "Does masking help?"
    preset = "tiny-alfworld"
    seeds = [0, 1, 2, 3, 4]
    targets = [50, 60, 70]           # percent
    baseline = "grpo"                # speed-ups and differences are against it
    references = ["loop-mask"]       # further arms that differences are given against
    together = ["main"]              # plans whose like arms are counted together with these in a table

    [settings]                       # of every run, by path
    iterations = 40

    [data]
    source = "real"                  # or "generated"
    games = 640                      # if generated

    [warm.base]                      # warm starts, each made once; the first is the arms' own
    settings = { "warm_start.high" = 0.3 }

    [graphs.plans]                   # reference graphs that arms may start over
    source = "plans"                 # or "policy": what a warm start's policy solves

    [arms.grpo]
    [arms.proas]
    shaping = "membership"
    graph = "plans"
    settings = { "shaping.apr" = "ramp" }
    note = "what the reader should know"

    [borrowed]                       # arms of another plan, as they stand there
    controls = ["invalid-only"]

    [[diagnoses]]                    # what `proas diagnose` is to ask of a run
    arms = ["proas"]
    kind = "noise"
    options = { states = 48 }

Plans are found and read by :mod:`proas.experiments.plan_files`; those that come with the package lie in ``plans/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from proas.errors import UsageError
from proas.experiments.commands import as_text
from proas.graph_builders.base import Expand
from proas.training.config import AlgorithmName, TrainConfig, preset
from proas.training.shapings import ShapingName, shaped_by
from proas.training.temperatures import DrawingTemperature

__all__ = [
    "ArmPlan",
    "DataPlan",
    "DiagnosisPlan",
    "GraphPlan",
    "Plan",
    "Scalar",
    "WarmPlan",
]

Scalar = bool | int | float | str | list[float]
"""Value of a setting."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_.+-]{0,39}")

Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataPlan(_Part):
    """What is played.

    Attributes:
        env: Name of the environment.
        source: ``real``: the environment's released data, where it is at hand, else generated games; ``generated``:
            games of our own; ``samples``: what comes with the package.
        games: Number of generated games.
        seed: Series of the generated games.
        kinds: Their kinds; all if empty.
    """

    env: str = "alfworld"
    source: Literal["real", "generated", "samples"] = "real"
    games: Count = 640
    seed: int = 1000
    kinds: tuple[str, ...] = ()


class WarmPlan(_Part):
    """A policy that arms start from, made once by imitation.

    Attributes:
        settings: Settings by path, on top of the plan's.
        seed: Of the warm start.
    """

    settings: dict[str, Scalar] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0)] = 0


class GraphPlan(_Part):
    """A reference graph that arms may start over.

    Attributes:
        source: ``plans``: what the environment's builder makes of the training tasks; ``policy``: what a warm start's
            policy manages to solve of them.
        expand: Of ``plans``: which solutions enter.
        limit: Of ``plans``: at most so many tasks; 0 for all.
        warm: Of ``policy``: the warm start; the first if empty.
        episodes: Of ``policy``: episodes of each training task.
        temperature: Of ``policy``: of drawing.
        purification: Of ``policy``: how its successes are purified.
    """

    source: Literal["plans", "policy"] = "plans"
    expand: Expand = "plan"
    limit: Annotated[int, Field(ge=0)] = 0
    warm: str = ""
    episodes: Count = 4
    temperature: DrawingTemperature = 1.0
    purification: Literal["paper", "loop_erased"] = "loop_erased"


class ArmPlan(_Part):
    """What is compared.

    Attributes:
        algorithm: What makes the base advantage.
        shaping: What is done to it.
        settings: Settings by path, on top of the plan's.
        graph: Name of the graph in ``graphs`` that the run's layer lies over; none if empty.
        warm: Name of the warm start in ``warm``; the first if empty.
        against: Arms that it is set against, in place of the plan's baseline and references, in their order.
        note: What the reader should know, in a line.
    """

    algorithm: AlgorithmName = "grpo"
    shaping: ShapingName = "none"
    settings: dict[str, Scalar] = Field(default_factory=dict)
    graph: str = ""
    warm: str = ""
    against: tuple[str, ...] = ()
    note: str = ""


class DiagnosisPlan(_Part):
    """An experiment on the policy or the labels of a finished run: a ``proas diagnose``.

    Attributes:
        arms: Arms of the runs.
        seed: Their seed; not looked at with ``every_seed``.
        every_seed: Ask it of the runs of all the plan's seeds.
        kind: Which experiment.
        name: What its result is kept as; the kind, if not given. One whose option ``split`` names a split that the
            games have not is left out.
        options: Its options by name, such as ``states = 48``.
        figure: Keep its figure too; for one run only.
    """

    arms: Annotated[tuple[str, ...], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)] = 0
    every_seed: bool = False
    kind: Literal["credit", "noise", "suppress", "labels", "temperatures"]
    name: Annotated[str, Field(pattern=r"^([a-z][a-z0-9_-]*)?$")] = ""
    options: dict[str, Scalar] = Field(default_factory=dict)
    figure: bool = False

    @property
    def kept_as(self) -> str:
        """Name of its result."""
        return self.name or self.kind


class Plan(_Part):
    """An experiment; see the module for the file's form.

    Attributes:
        name: The file's name.
        title: Heading in the report.
        question: What it answers.
        preset: Training preset.
        settings: Settings of all runs, by path.
        data: What is played.
        warm: Warm starts by name.
        graphs: Reference graphs by name.
        arms: Arms by name, in order; those borrowed come last.
        seeds: Seeds of each arm.
        targets: Success to be reached, in percent, at the first temperature of the evaluation.
        baseline: The arm that the others are set against.
        references: Further arms that differences are given against.
        together: Other plans, of other seeds or another start, whose arms of the same name and settings are counted
            together with this plan's in one more table.
        borrowed: For other plans by name, arms that are taken over from them.
        diagnoses: What is asked of the policies and labels of some runs.
        called: Words that name it to ``proas ablate``: name or file, and what was changed since it was read.
    """

    name: str
    title: str
    question: str
    preset: str = "tiny-alfworld"
    settings: dict[str, Scalar] = Field(default_factory=dict)
    data: DataPlan = DataPlan()
    warm: Annotated[dict[str, WarmPlan], Field(min_length=1)]
    graphs: dict[str, GraphPlan] = Field(default_factory=dict)
    arms: Annotated[dict[str, ArmPlan], Field(min_length=1)]
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (0, 1, 2, 3, 4)
    targets: tuple[Annotated[float, Field(gt=0, le=100)], ...] = (50, 60, 70)
    baseline: str = "grpo"
    references: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    borrowed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    diagnoses: tuple[DiagnosisPlan, ...] = ()
    called: Annotated[tuple[str, ...], Field(max_length=0)] = ()  # a file has none to give

    def again(self, arm: str, seeds: Iterable[int]) -> list[str]:
        """The words after ``proas`` that run an arm of this plan again, with all that was changed since it was read."""
        return ["ablate", *self._call, "--only", arm, "--seeds", ",".join(str(seed) for seed in seeds)]

    @property
    def _call(self) -> tuple[str, ...]:
        return self.called or ("--table", self.name)

    def against(self, arm: str) -> tuple[str, ...]:
        """What an arm is set against: first what speed-ups are relative to, then further arms."""
        return self.arms[arm].against or tuple(dict.fromkeys((self.baseline, *self.references)))

    def base_config(self) -> TrainConfig:
        """What all runs share."""
        return preset(self.preset).updated({"env": self.data.env, "workers": 1, **self.settings})

    def warm_name(self, arm: str) -> str:
        """The warm start of an arm."""
        return self.arms[arm].warm or next(iter(self.warm))

    def warm_config(self, name: str) -> TrainConfig:
        """Settings of a warm start, the data aside."""
        warm = self.warm[name]
        return self.base_config().updated({"algorithm": "sft", "seed": warm.seed, **warm.settings})

    def arm_config(self, name: str, seed: int) -> TrainConfig:
        """Settings of an arm's run, the data and the name of its base graph aside.

        Raises:
            UsageError: An unknown setting, or a bad value.
        """
        arm = self.arms[name]
        shaped = shaped_by(self.base_config(), arm.shaping)
        return shaped.updated({**self.settings, "algorithm": arm.algorithm, "seed": seed, **arm.settings})

    def with_settings(self, settings: Mapping[str, Scalar], *, preset: str | None = None) -> Plan:
        """The same with some settings of all runs replaced. Raises ``UsageError`` for what is no setting."""
        words = [] if preset is None else ["--preset", preset]
        words += [word for name, value in settings.items() for word in ("--set", f"{name}={as_text(value)}")]
        changed = self.model_copy(
            update={
                "settings": {**self.settings, **settings},
                "preset": preset or self.preset,
                "called": (*self._call, *words),
            }
        )
        changed.check()
        return changed

    def with_seeds(self, seeds: tuple[int, ...]) -> Plan:
        """The same over other seeds."""
        return self.model_copy(update={"seeds": seeds})

    def only(self, arms: tuple[str, ...]) -> Plan:
        """The same with some arms only.

        Raises:
            UsageError: There is no such arm.
        """
        if unknown := [arm for arm in arms if arm not in self.arms]:
            raise UsageError(f"{self.name} has no arm {unknown[0]!r}", hint=f"its arms: {', '.join(self.arms)}")
        return self.model_copy(update={"arms": {name: arm for name, arm in self.arms.items() if name in arms}})

    def check(self) -> None:
        """See that every name that the plan uses is there, and that every run has settings.

        Raises:
            UsageError: Something is not.
        """
        for name in (*self.arms, *self.warm, *self.graphs):
            if not _NAME.fullmatch(name):
                raise UsageError(f"plan {self.name}: {name!r} is no name", hint="use lower-case letters, digits and -")
        if len(set(self.seeds)) < len(self.seeds):
            raise UsageError(f"plan {self.name}: a seed is there twice", hint="name each once")
        for reference in (self.baseline, *self.references):
            self._known("arm", reference, self.arms)
        self._check_diagnoses()
        for graph in self.graphs.values():
            self._known("warm start", graph.warm, self.warm)
        for name in self.warm:
            self.warm_config(name)
        for name, arm in self.arms.items():
            self._known("graph", arm.graph, self.graphs)
            self._known("warm start", arm.warm, self.warm)
            for other in arm.against:
                self._known("arm", other, self.arms)
            config = self.arm_config(name, self.seeds[0])
            if arm.graph and not config.uses_graph:
                raise UsageError(
                    f"plan {self.name}: arm {name} asks no graph, yet starts over {arm.graph!r}",
                    hint="leave the graph out, or choose a shaping that uses it",
                )

    def _check_diagnoses(self) -> None:
        asked = [(d, seed) for d in self.diagnoses for seed in (self.seeds if d.every_seed else (d.seed,))]
        kept = [(arm, d.kept_as, seed) for d, seed in asked for arm in d.arms]
        drawn = [d.kept_as for d in self.diagnoses if d.figure]
        if len(set(kept)) < len(kept) or len(set(drawn)) < len(drawn):
            raise UsageError(f"plan {self.name}: two diagnoses have one name", hint="name one of them anew")
        for diagnosis in self.diagnoses:
            for arm in diagnosis.arms:
                self._known("arm", arm, self.arms)
            if diagnosis.figure and (diagnosis.every_seed or len(diagnosis.arms) > 1):
                raise UsageError(f"plan {self.name}: figures of several runs have one name", hint="drop one of the two")

    def _known(self, what: str, name: str, among: Mapping[str, object]) -> None:
        if name and name not in among:
            raise UsageError(
                f"plan {self.name}: there is no {what} {name!r}", hint=f"there are: {', '.join(among) or 'none'}"
            )
