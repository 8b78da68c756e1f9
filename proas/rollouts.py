"""The one record that travels the whole road: from the environment to the trainer.

A stage never changes a record; it returns a copy with its own fields filled in:

============== ==================================================================================
stage          fields it fills
============== ==================================================================================
environment    ``id env task goal group observation steps[].{action,observation,reward,valid} success``
states         ``start``, ``steps[].{canonical,state,valid,seeks}``; ``goal`` where it is empty
labels         ``steps[].{label,distance_before,distance}``, ``covered``, ``graph``, ``version``
shaping        ``steps[].{base_advantage,advantage,token_weight}``, ``advantage``, ``shaping``
============== ==================================================================================

On disk a rollout is one JSON object on one line (``proas.rollout_files``). Fields that we do not know are kept and
written back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from proas.keys import state_key, transition_key

__all__ = ["SCHEMA", "Ended", "Label", "Reject", "Rollout", "RolloutBatch", "State", "Step"]

SCHEMA = 1
"""Version of the record's form."""

Ended = Literal["success", "step_limit", "stopped", "error"]
"""Why a rollout ended. One cut at the step limit is a failed one."""

Name = Annotated[str, Field(min_length=1, max_length=512)]
Text = Annotated[str, Field(max_length=1_000_000)]
Key = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)


class State(_Record):
    """A situation as the unordered set of its progress-relevant facts.

    Attributes:
        key: Digest of environment, task and facts (``proas.keys.state_key``).
        facts: Readable facts in sorted order, for example ``("apple 1 is hot", "at fridge 1", "holding apple 1")``.
    """

    key: Key
    facts: tuple[Annotated[str, Field(max_length=10_000)], ...]

    @classmethod
    def of(cls, env: str, task: str, facts: Iterable[str]) -> Self:
        """State of a task from its facts, in any order."""
        ordered = tuple(sorted(set(facts)))
        return cls(key=state_key(env, task, ordered), facts=ordered)


class Label(_Record):
    """What the graph says of one step.

    Attributes:
        reasonable: ``Re_t``: the transition is an edge of the graph.
        progress: ``PA_t``: reasonable, and its target was not visited before in this rollout.
        drift: ``D_t``: number of steps from this one to the end that are not progress.
        lifted: True where a lifted task said so and not the rollout's own (``proas.graph.fallback``).
    """

    reasonable: bool
    progress: bool
    drift: Annotated[int, Field(ge=0)]
    lifted: bool | None = None


class Step(_Record):
    """One action of the agent and what came of it.

    Attributes:
        action: The agent's words, as the environment received them.
        observation: The environment's answer.
        reward: Step reward, in the environment's units.
        valid: Whether the action was applicable; ``None`` when the source does not say.
        tokens: Number of tokens the policy sampled for this action (for token-level normalisation).
        canonical: Canonical form of the action.
        state: The state after the step.
        seeks: The step looked for a needed object where the rollout had not looked before.
        label: The graph's verdict.
        distance_before: Transitions of a shortest way from the state before the step to the goal, as the graph knows
            it; ``None`` where it knows none.
        distance: The same of the state after the step.
        base_advantage: Advantage before shaping.
        advantage: Advantage after shaping.
        token_weight: Weight in the loss of each token of this action.
    """

    action: Text
    observation: Text = ""
    reward: float = 0.0
    valid: bool | None = None
    tokens: Annotated[int, Field(ge=0)] = 1
    canonical: str | None = None
    state: State | None = None
    seeks: bool = False
    label: Label | None = None
    distance_before: Annotated[int, Field(ge=0)] | None = None
    distance: Annotated[int, Field(ge=0)] | None = None
    base_advantage: float | None = None
    advantage: float | None = None
    token_weight: Annotated[float, Field(ge=0.0)] | None = None


class Rollout(_Record):
    """One trajectory of a task.

    Attributes:
        schema_version: Form of this record.
        id: Unique in its batch.
        env: Name of the environment.
        task: Key of the task; the group of rollouts that share it is the unit of GRPO.
        goal: The task in words.
        group: Rollouts with the same group share a baseline; empty means the task is the group.
        observation: What the agent saw before its first action.
        start: The state before the first action.
        steps: The steps in order; may be empty.
        success: Whether the environment says that the task was solved.
        reward: Episode return, as the algorithm should see it.
        score: How well the task was met in the end, in [0, 1], where the environment pays in part.
        ended: Why it ended.
        covered: Whether the graph knows the task; ``None`` before labelling.
        graph: Name of the graph that labelled it.
        version: Version of the graph that labelled it.
        advantage: ``A_i``, where the algorithm has one a trajectory.
        shaping: The settings that shaped it, in one line.
    """

    schema_version: Literal[1] = 1
    id: Name
    env: Name
    task: Name
    goal: Text = ""
    group: Annotated[str, Field(max_length=512)] = ""
    observation: Text = ""
    start: State | None = None
    steps: Annotated[tuple[Step, ...], Field(max_length=100_000)] = ()
    success: bool
    reward: float = 0.0
    score: float | None = None
    ended: Ended = "stopped"
    covered: bool | None = None
    graph: str | None = None
    version: int | None = None
    advantage: float | None = None
    shaping: Text | None = None

    @model_validator(mode="after")
    def _keys_match_their_facts(self) -> Self:
        states = [("start", self.start)]
        states += [(f"steps.{t}.state", step.state) for t, step in enumerate(self.steps)]
        for where, state in states:
            if state is not None and state.key != state_key(self.env, self.task, state.facts):
                msg = f"{where}.key is not the key of its facts under env {self.env!r} and task {self.task!r}"
                raise ValueError(msg)
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields replaced, unchecked; keys that were derived from the old ones are not kept."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("state_keys", "transition_keys"):
            copied.__dict__.pop(name, None)
        return copied

    @property
    def baseline_group(self) -> str:
        """Name of the group whose rollouts share a baseline."""
        return self.group or self.task

    @property
    def has_states(self) -> bool:
        """Whether the start and every step carry a state and a canonical action."""
        return self.start is not None and all(s.state is not None and s.canonical is not None for s in self.steps)

    @cached_property
    def state_keys(self) -> tuple[str, ...]:
        """Keys of the T + 1 states visited, start first. Raises ``ValueError`` when states are missing."""
        if self.start is None or any(step.state is None for step in self.steps):
            msg = f"rollout {self.id!r} carries no states yet"
            raise ValueError(msg)
        return (self.start.key, *(step.state.key for step in self.steps if step.state is not None))

    @cached_property
    def transition_keys(self) -> tuple[str, ...]:
        """Keys of the T transitions taken. Raises ``ValueError`` when states are missing."""
        keys = self.state_keys
        return tuple(
            transition_key(keys[t], step.canonical if step.canonical is not None else step.action, keys[t + 1])
            for t, step in enumerate(self.steps)
        )


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that was kept aside, and why.

    Attributes:
        reason: What is wrong with it.
        source: File or stream that it came from.
        line: 1-based line, 0 when there is none.
        id: Rollout id or task key where it could be read, else empty.
        field: Dotted path of the offending field, else empty.
        excerpt: The first characters of the record, for a person to recognise it.
    """

    reason: str
    source: str = ""
    line: int = 0
    id: str = ""
    field: str = ""
    excerpt: str = ""


@dataclass(frozen=True)
class RolloutBatch:
    """Rollouts of one iteration, in a fixed order, with what had to be kept aside.

    Raises:
        ValueError: Two rollouts share an id.
    """

    rollouts: tuple[Rollout, ...]
    rejects: tuple[Reject, ...] = ()

    def __post_init__(self) -> None:
        """Refuse repeated ids, which would make labels ambiguous."""
        seen: set[str] = set()
        for rollout in self.rollouts:
            if rollout.id in seen:
                msg = f"rollout id {rollout.id!r} occurs twice in a batch"
                raise ValueError(msg)
            seen.add(rollout.id)

    def __len__(self) -> int:
        return len(self.rollouts)

    def __iter__(self) -> Iterator[Rollout]:
        return iter(self.rollouts)

    @property
    def steps(self) -> int:
        """Number of steps over all rollouts."""
        return sum(len(rollout.steps) for rollout in self.rollouts)

    def by_task(self) -> Mapping[str, tuple[Rollout, ...]]:
        """Rollouts of each task, tasks in order of first appearance."""
        return self._by(lambda rollout: rollout.task)

    def by_group(self) -> Mapping[str, tuple[Rollout, ...]]:
        """Rollouts of each baseline group, groups in order of first appearance."""
        return self._by(lambda rollout: rollout.baseline_group)

    def _by(self, name: Callable[[Rollout], str]) -> Mapping[str, tuple[Rollout, ...]]:
        groups: defaultdict[str, list[Rollout]] = defaultdict(list)
        for rollout in self.rollouts:
            groups[name(rollout)].append(rollout)
        return {key: tuple(members) for key, members in groups.items()}
