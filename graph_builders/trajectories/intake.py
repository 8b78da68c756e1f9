"""From logged episodes to demonstrations: environment, task, outcome, replay, states; one episode at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from proas.envs import EnvSpec
from proas.errors import ProASError, StateError, UsageError
from proas.graph_builders.trajectories.dialects import Dialect, dialect_of, environment_of
from proas.graph_builders.trajectories.episodes import Aside, Episode
from proas.graph_builders.trajectories.formats import AUTO, chosen_formats
from proas.graph_builders.trajectories.merging import Demonstrations
from proas.graph_builders.trajectories.partial import partial
from proas.graph_builders.trajectories.reading import read_episodes
from proas.graph_builders.trajectories.replaying import Differs, Replayed, play_again
from proas.graph_builders.trajectories.worlds import Replay, Task, Worlds
from proas.purify import Purification
from proas.rollouts import Rollout, Step
from proas.states import attach_states, state_names

__all__ = ["Intake", "Settings", "Totals", "Unscored"]

Unscored = Literal["skip", "success"]
"""What an episode without score is worth: nothing, or a success, where the user says that the log holds only those."""

_KEPT = 1000
"""Things kept aside that are remembered with their reasons; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What counts and how.

    Attributes:
        format: Name of the format, or ``auto``.
        env: Environment of every episode; empty to have it read from each.
        threshold: Least score of a success, as a share of the highest; ``None`` for 1, unless the record itself says
            whether it was one.
        score_max: The highest score; ``None`` for the environment's own.
        unscored: What an episode without score is worth.
        replay: Whether episodes are played again.
        worlds: Environments to play episodes in, by name, with their data; others are opened from their default.
        purification: Which steps are worth keeping.
        least_support: Demonstrations that a transition needs.

    Raises:
        UsageError: A value makes no sense.
    """

    format: str = AUTO
    env: str = ""
    threshold: float | None = None
    score_max: float | None = None
    unscored: Unscored = "skip"
    replay: Replay = "auto"
    worlds: Mapping[str, EnvSpec] = field(default_factory=dict)
    purification: Purification = "loop_erased"
    least_support: int = 1

    def __post_init__(self) -> None:
        """Refuse what no build can follow."""
        chosen_formats(self.format)
        if self.env and self.env not in state_names():
            known = ", ".join(state_names())
            hint = f"known: {known}; docs/own_environment.md tells how to register another"
            raise UsageError(f"no states are known for environment {self.env!r}", hint=hint)
        if self.threshold is not None and not 0 < self.threshold <= 1:
            hint = "it is a share of the highest score; --score-max says what that is"
            raise UsageError(f"the threshold must lie in (0, 1], not at {self.threshold}", hint=hint)
        if self.score_max is not None and not 0 < self.score_max < float("inf"):
            raise UsageError(f"the highest score must be positive, not {self.score_max}")
        if self.worlds and self.replay == "never":
            raise UsageError("an environment's data serves to play episodes again", hint="leave one of the two out")
        if self.least_support < 1:
            raise UsageError(f"the least support must be at least 1, not {self.least_support}")


@dataclass
class Totals:
    """What a pass came to.

    Attributes:
        files: Files read.
        bytes: Bytes read of them.
        formats: Episodes by format.
        envs: Episodes by environment.
        outcomes: Episodes by outcome: ``success``, ``failure``, ``unscored``.
        entered: Successes by what became of them: ``replayed``, ``unverified``, ``duplicate``.
        replays_failed: Successes that the environment did not confirm, by where they differ.
        tasks_by: Successes by what told their task: ``id``, ``start``, ``digest``.
        steps: Steps of the episodes whose states were read from text.
        steps_unread: Of these, steps whose observation is none of the environment's.
        asides: Everything kept aside, by problem.
        kept: The first of it with reasons.
    """

    files: int = 0
    bytes: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    envs: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    entered: Counter[str] = field(default_factory=Counter)
    replays_failed: Counter[str] = field(default_factory=Counter)
    tasks_by: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    steps_unread: int = 0
    asides: Counter[str] = field(default_factory=Counter)
    kept: list[Aside] = field(default_factory=list)

    def put_aside(self, aside: Aside) -> None:
        """Count something, and remember it while there is room."""
        self.asides[aside.problem] += 1
        if len(self.kept) < _KEPT:
            self.kept.append(aside)


@dataclass(frozen=True, slots=True)
class _Placed:
    """An episode of a known environment and task."""

    episode: Episode
    dialect: Dialect
    task: Task
    goal: str
    observation: str
    outcome: Literal["success", "failure", "unscored"]


class Intake:
    """Reads files and collects what they demonstrate.

    Args:
        settings: What counts.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._worlds = Worlds(settings.worlds, replay=settings.replay)
        self._envs = state_names()
        self._dialects: dict[str, Dialect] = {}
        self.totals = Totals()
        self.demonstrations = Demonstrations(settings.purification)

    def rollouts(
        self, files: Sequence[tuple[Path, str]], *, progress: Callable[[int], None] | None = None, all_: bool = False
    ) -> Iterator[Rollout]:
        """Read the files; what they demonstrate is in ``demonstrations`` when this has ended.

        Args:
            files: Paths, each with what to call it.
            progress: Called with the number of bytes read since the last call.
            all_: Read the states of failures too.

        Yields:
            Every episode with states: successes as they entered, failures where they are wanted.
        """
        told = progress or (lambda _: None)

        def read(count: int) -> None:
            self.totals.bytes += count
            told(count)

        try:
            for path, name in files:
                self.totals.files += 1
                number = 0
                for answer in read_episodes(path, self._settings.format, source=name, progress=read):
                    if isinstance(answer, Aside):
                        self.totals.put_aside(answer)
                        continue
                    number += 1
                    self.totals.formats[answer.format] += 1
                    # Rollouts of ours are known by their ids, which several runs may have given alike.
                    own = answer.id if answer.rollout is not None else ""
                    called = f"{name}#{number}" if not own else own if len(files) == 1 else f"{name}:{own}"
                    yield from self._guarded(answer, called, all_=all_)
        finally:
            self._worlds.close()

    def _guarded(self, episode: Episode, name: str, *, all_: bool) -> Iterator[Rollout]:
        """What an episode came to; an error of an environment's or its states' costs that episode alone."""
        try:
            yield from self._taken(episode, name, all_=all_)
        except ProASError:
            raise  # the environment cannot be opened at all
        except Exception as error:  # noqa: BLE001  # one odd episode must not cost the others; the report names it
            self.totals.put_aside(_aside(episode, "fault", f"{type(error).__name__}: {error}"))

    def _taken(self, episode: Episode, name: str, *, all_: bool) -> Iterator[Rollout]:
        placed = self._placed(episode)
        if isinstance(placed, Aside):
            self.totals.put_aside(placed)
            return
        self.totals.outcomes[placed.outcome] += 1
        if placed.outcome == "failure":
            if all_:
                yield from self._by_text(placed, name, success=False, enter=False)
            return
        env = self._worlds.environment(placed.dialect.env) if placed.task.known else None
        if env is not None:
            yield from self._replayed(placed, name)
        elif self._settings.replay == "require":
            self.totals.put_aside(_aside(episode, "not_replayable", "the environment at hand has no such task"))
        elif placed.outcome == "success":
            yield from self._by_text(placed, name, success=True, enter=True)
        else:
            reason = "no score tells its outcome: give --env-data to play it again, or --unscored success"
            self.totals.put_aside(_aside(episode, "unscored", reason))
            if all_:
                yield from self._by_text(placed, name, success=False, enter=False)

    def _placed(self, episode: Episode) -> _Placed | Aside:
        """Environment, task and outcome of an episode."""
        env = self._settings.env or environment_of(episode, self._envs)
        if not env:
            return _aside(episode, "no_environment", "neither the record nor its text tells the environment: use --env")
        if env not in self._envs:
            reason = f"no states are known for environment {env!r}; docs/own_environment.md tells how to register them"
            return _aside(episode, "unknown_environment", reason)
        if self._settings.env and episode.env:
            named = environment_of(episode, self._envs)
            if named in self._envs and named != env:
                return _aside(episode, "other_environment", f"the record is of {named}, not of {env}")
        if part := partial(episode):
            return _aside(episode, "partial_episode", part)
        dialect = self._dialects.setdefault(env, dialect_of(env))
        observation = dialect.first_observation(episode.observation, episode.context)
        goal = dialect.goal(observation, episode.context) or episode.goal
        task = self._worlds.task_of(episode, dialect, goal, observation)
        if task is None:
            return _aside(episode, "no_task", "neither an id nor a goal with a first observation tells its task")
        outcome = self._outcome(episode, dialect)
        if isinstance(outcome, Aside):
            return outcome
        self.totals.envs[env] += 1
        return _Placed(episode, dialect, task, goal, observation, outcome)

    def _outcome(self, episode: Episode, dialect: Dialect) -> Literal["success", "failure", "unscored"] | Aside:
        """By the record's own words; where it has none by the environment's last words, where those are a score."""
        told = dialect.final_score(episode.turns[-1].observation) if episode.turns else None
        success, score = episode.success, episode.score
        least = self._settings.threshold if self._settings.threshold is not None else 1.0
        by_score = score is not None and (success is None or self._settings.threshold is not None)
        if by_score and score is not None:
            highest = self._settings.score_max or dialect.scale
            if score > highest + _SLACK:
                reason = f"its score is {score:g}, above {highest:g}: say with --score-max what the highest is"
                return _aside(episode, "unknown_scale", reason)
            success = score / highest >= least - _SLACK
            if 0 < score <= 1 and not success and score >= least - _SLACK:  # a success if the highest is 1
                if told is None:
                    reason = f"its score is {score:g}, of {highest:g} or of 1? Build logs of each scale by themselves"
                    return _aside(episode, "unknown_scale", reason + ", with --score-max")
                success = None
        if success is None and told is not None:
            success = told >= least - _SLACK
        if success and told is not None and told < least - _SLACK:
            reason = f"the record calls it a success, the environment's last words give it {told:g}"
            return _aside(episode, "contradiction", reason)
        if success is None:
            return "success" if self._settings.unscored == "success" else "unscored"
        return "success" if success else "failure"

    def _replayed(self, placed: _Placed, name: str) -> Iterator[Rollout]:
        """Play an episode again in each task that it may be of; it enters every one that confirms it."""
        env = self._worlds.environment(placed.dialect.env)
        assert env is not None
        threshold = self._settings.threshold if self._settings.threshold is not None else 1.0
        nearest: Differs | None = None
        confirmed = 0
        for key in placed.task.keys:
            rollout = _rollout(placed, key, name if not confirmed else f"{name}~{confirmed}", success=True)
            if isinstance(rollout, Aside):
                self.totals.put_aside(rollout)
                return
            answer = play_again(_bare(rollout), env, placed.dialect, threshold=threshold - _SLACK)
            if isinstance(answer, Replayed):
                confirmed += 1
                yield from self._entered(placed, answer.rollout, replayed=True, first=confirmed == 1)
            elif nearest is None or answer.step > nearest.step:
                nearest = answer
        if not confirmed and nearest is not None:
            self._unconfirmed(placed, nearest)

    def _unconfirmed(self, placed: _Placed, differs: Differs) -> None:
        self.totals.replays_failed[differs.kind] += 1
        steps = len(placed.episode.turns)
        where = "first observation" if differs.step < 0 else f"step {differs.step + 1} of {steps}"
        where = "end" if differs.kind == "end" else where
        several = f" (of {len(placed.task.keys)} tasks that begin like it)" if len(placed.task.keys) > 1 else ""
        self.totals.put_aside(_aside(placed.episode, "replay_differs", f"{where}{several}: {differs.reason}"))

    def _by_text(self, placed: _Placed, name: str, *, success: bool, enter: bool) -> Iterator[Rollout]:
        """States by the text alone."""
        rollout = _rollout(placed, placed.task.keys[0], name, success=success)
        if isinstance(rollout, Rollout):
            try:
                rollout = _with_states(rollout, placed.dialect)
            except StateError as error:
                rollout = _aside(placed.episode, "no_states", error.message)
        if enter and isinstance(rollout, Rollout):
            rollout = self._borne_out(placed, rollout)
        if isinstance(rollout, Aside):
            self.totals.put_aside(rollout)
            return
        self.totals.steps += len(rollout.steps)
        last = len(rollout.steps) - 1  # many logs end with the agent's last words
        self.totals.steps_unread += sum(
            placed.dialect.says_nothing(step.observation)
            for t, step in enumerate(rollout.steps)
            if step.observation or t < last
        )
        if enter:
            yield from self._entered(placed, rollout, replayed=False, first=True)
        else:
            yield rollout

    def _borne_out(self, placed: _Placed, rollout: Rollout) -> Rollout | Aside:
        """A success that the environment does not confirm, where its own text shows it."""
        least = self._settings.threshold if self._settings.threshold is not None else 1.0
        doubt = placed.dialect.doubt(rollout, least=least - _SLACK)
        if not doubt:
            return rollout
        reason = f"it is called a success, but {doubt}; --env-data plays it again where its task is at hand"
        return _aside(placed.episode, "not_borne_out", reason)

    def _entered(self, placed: _Placed, rollout: Rollout, *, replayed: bool, first: bool) -> Iterator[Rollout]:
        became = self.demonstrations.add(rollout, replayed=replayed)
        if became not in ("new", "duplicate"):
            self.totals.put_aside(_aside(placed.episode, "not_of_its_task", became))
            return
        if first:
            self.totals.tasks_by[placed.task.how] += 1
            self.totals.entered["duplicate" if became == "duplicate" else "replayed" if replayed else "unverified"] += 1
        yield rollout


_SLACK = 1e-6


def _aside(episode: Episode, problem: str, reason: str) -> Aside:
    return Aside(problem, reason, episode.source, episode.line, id=episode.id)


def _rollout(placed: _Placed, key: str, name: str, *, success: bool) -> Rollout | Aside:
    """The episode as a rollout of a task, without states unless it came with them."""
    episode = placed.episode
    if episode.rollout is not None:
        return episode.rollout.model_copy(update={"success": success, "id": name[-512:]})
    try:
        return Rollout(
            id=name[-512:],
            env=placed.dialect.env,
            task=key,
            goal=placed.goal,
            observation=placed.observation,
            steps=tuple(
                Step(
                    action=turn.action if turn.call is None else placed.dialect.worded(turn.call),
                    observation=turn.observation,
                    valid=turn.valid,
                )
                for turn in episode.turns
            ),
            success=success,
            reward=episode.score or 0.0,
            ended="success" if success else "stopped",
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        return _aside(episode, "too_long", f"{'.'.join(map(str, first['loc']))}: {first['msg']}")


def _with_states(rollout: Rollout, dialect: Dialect) -> Rollout:
    """States from the text. A success whose log ends with the agent's words is read as if its answer were there."""
    last = rollout.steps[-1] if rollout.steps else None
    words = dialect.last_words(last.action) if rollout.success and last is not None and not last.observation else ""
    if last is None or not words or rollout.has_states:
        return attach_states(rollout)
    told = last.model_copy(update={"observation": words})
    found = attach_states(rollout.model_copy(update={"steps": (*rollout.steps[:-1], told)}))
    steps = (*found.steps[:-1], found.steps[-1].model_copy(update={"observation": ""}))
    return found.model_copy(update={"steps": steps})


def _bare(rollout: Rollout) -> Rollout:
    """Without states, which the environment will tell."""
    unknown = {"canonical": None, "state": None, "seeks": False}
    steps = tuple(step.model_copy(update=unknown) for step in rollout.steps)
    return rollout.model_copy(update={"start": None, "steps": steps})
