"""From a teacher's attempts to reference graphs.

The attempts come first, all of them; then each task's graph is made from its verified successes, in the order of the
tasks, whatever the order in which answers came.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from proas.agents import LanguageModel, Patience
from proas.envs import Environment, EnvSpec, World, open_world
from proas.errors import ProASError, TaskError, UsageError
from proas.graph.records import Task
from proas.graph_builders.base import BuildOptions, Built, Rejected
from proas.graph_builders.distill.coverage import Coverage, kind_of
from proas.graph_builders.distill.filters import SOURCE, distilled
from proas.graph_builders.distill.journal import Attempt, Journal
from proas.graph_builders.distill.settings import DistillSettings
from proas.graph_builders.distill.teacher import Listener, Taught, explain, left_to_do, run_now, teach
from proas.rollouts import Rollout
from proas.states import follower_for, ladder_of_rollout

__all__ = ["DistillBuilder"]


class DistillBuilder:
    """Builds from what a language model manages to solve; implements ``proas.graph_builders.base.Builder``.

    Args:
        settings: What is asked for.
        model: Name of the teacher.
        open_model: Makes it; called when attempts are left to be made, once to look whether it is there, once to play.
        journal: File of the attempts; an existing one is continued.
        patience: How long a failing model is asked again.
        listener: Told how the attempts go.
    """

    def __init__(
        self,
        settings: DistillSettings,
        model: str,
        open_model: Callable[[], LanguageModel],
        journal: Path,
        *,
        patience: Patience | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.settings = settings
        self.model = model
        self.journal = journal
        self.coverage = Coverage(model, str(journal))
        self._open_model = open_model
        self._patience = patience
        self._listener = listener

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of tasks that will be answered for. Looks whether the journal fits and the teacher is there.

        Raises:
            DataError: The data or the journal cannot be read.
            UsageError: The journal was begun with other settings.
            ModelError: Attempts are left to be made, and the teacher cannot be asked.
        """
        if options.expand != "plan":
            raise UsageError(f"--expand {options.expand} does not go with distill: a teacher's ways are all there is")
        with closing(self._world(data)) as world:
            tasks = _tasks(world, options)
            with self._journal() as journal:
                to_do = left_to_do(tasks, self.settings, journal)
        if to_do:
            run_now(self._look())
        return len(tasks)

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """Make the attempts that are missing, then build task by task; see :class:`proas.graph_builders.base.Builder`.

        ``coverage`` is complete when the last answer is out.
        """
        with closing(self._world(data)) as world, self._journal() as journal:
            tasks = _tasks(world, options)
            self.coverage = Coverage(self.model, str(self.journal), unreadable_lines=len(journal.rejects))
            taught = teach(
                world,
                tasks,
                self.settings,
                self._open_model,
                journal,
                patience=self._patience,
                listener=self._listener,
            )
            yield from _Assembly(self.settings, world, journal, taught, self.coverage).answers(tasks)

    def _world(self, data: Path | None) -> World:
        return open_world(EnvSpec(self.settings.env, data, self.settings.options))

    def _journal(self) -> Journal:
        return Journal(self.journal, self.settings.manner(self.model))

    async def _look(self) -> None:
        model = self._open_model()
        try:
            await model.check()
        finally:
            await model.aclose()


class _Assembly:
    """Makes the tasks' graphs once the attempts are over."""

    def __init__(
        self, settings: DistillSettings, world: World, journal: Journal, taught: Taught, coverage: Coverage
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._taught = taught
        self._coverage = coverage
        self._env = world.environment(step_limit=settings.step_limit)

    def answers(self, tasks: Sequence[str]) -> Iterator[Built | Rejected]:
        """One answer a task, in their order."""
        coverage = self._coverage
        by_task = _by_task(self._journal.attempts, set(tasks))
        coverage.stopped = self._taught.stopped
        for task in tasks:
            made = by_task.get(task, [])
            finished = _once(made)
            coverage.count(made, finished)
            kind = coverage.kinds[kind_of(self._settings.env, task)]
            kind.tasks += 1
            kind.tried += bool(finished)
            kind.solved += any(one.success for one in finished)
            answer = self._answer(task, finished)
            kind.covered += isinstance(answer, Built)
            coverage.missing += self._missing(task, finished)
            yield answer

    def _answer(self, task: str, finished: Sequence[Attempt]) -> Built | Rejected:
        if task in self._taught.unplayable:
            fault = self._taught.unplayable[task]
            return Rejected(task, fault.problem, fault.reason)
        won = [one for one in finished if one.success]
        if not won:
            return self._unsolved(task, finished)
        try:
            return self._built(task, finished, won)
        except TaskError as error:
            return Rejected(task, error.problem, error.reason, str(self._journal.path))
        except ProASError as error:  # a state that the data no longer has
            return Rejected(task, "unverified", explain(error), str(self._journal.path))

    def _unsolved(self, task: str, finished: Sequence[Attempt]) -> Rejected:
        if not finished and task in self._taught.faults:
            return Rejected(task, "environment", explain(self._taught.faults[task]))
        if not finished:
            return Rejected(task, "not_tried", self._taught.stopped.message or "every attempt was broken off")
        ends = Counter(one.cause for one in finished)
        told = ", ".join(f"{cause.replace('_', ' ')} {count}" for cause, count in ends.most_common())
        return Rejected(task, "unsolved", f"{_counted(len(finished), 'attempt')}, none won: {told}")

    def _built(self, task: str, finished: Sequence[Attempt], won: Sequence[Attempt]) -> Built | Rejected:
        verified = [rollout for one in won if (rollout := self._verified(one)) is not None]
        self._coverage.unverified += len(won) - len(verified)
        if not verified:
            reason = f"played again, no success in the journal wins ({_counted(len(won), 'success')})"
            return Rejected(task, "unverified", reason, str(self._journal.path))
        first = verified[0]
        same = [rollout for rollout in verified if rollout.start == first.start]
        ladder = ladder_of_rollout(first)
        described = Task(task, first.env, ladder.subgoals[-1].description, first.goal)
        left = distilled(described, ladder, same, self._settings.quality)
        self._coverage.dropped.update(left.dropped)
        if left.graph is None:
            return Rejected(
                task, "filtered", f"the filter leaves no way to the goal ({_counted(len(same), 'success')})"
            )
        tallies = {"attempts": len(finished), "successes": len(won), "tokens": sum(one.tokens for one in finished)}
        return Built(left.graph, SOURCE, tallies)

    def _verified(self, attempt: Attempt) -> Rollout | None:
        """The rollout of a success; one of an earlier run is played again first, and must win again as it did."""
        rollout = self._journal.read(attempt)
        return rollout if attempt.fresh or _wins_again(self._env, rollout, attempt.number) else None

    def _missing(self, task: str, finished: Sequence[Attempt]) -> int:
        """Attempts that were asked for and not made, for want of a budget or of the model."""
        enough = self._settings.enough
        if task in self._taught.unplayable or (enough is not None and sum(one.success for one in finished) >= enough):
            return 0
        return sum(number not in {one.number for one in finished} for number in range(self._settings.attempts))


def _counted(number: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def _wins_again(env: Environment, rollout: Rollout, seed: int) -> bool:
    """Whether a recorded success still wins, by the same states."""
    follower = follower_for(env)
    observation, info = env.reset(rollout.task, seed=seed)
    if follower.begin(env, observation) != rollout.start:
        return False
    won = info.won
    for number, step in enumerate(rollout.steps, start=1):
        result = env.step(step.action)
        won = result.info.won
        valid = result.info.valid and step.valid is not False
        seen = follower.observe(env, step.action, result.observation, valid=valid, won=won)
        if seen.state != step.state or seen.canonical != step.canonical:
            return False
        if result.done and number < len(rollout.steps):
            return False
    return won


def _tasks(world: World, options: BuildOptions) -> tuple[str, ...]:
    return tuple(islice(world.tasks, options.limit))


def _by_task(attempts: Sequence[Attempt], tasks: set[str]) -> dict[str, list[Attempt]]:
    found: defaultdict[str, list[Attempt]] = defaultdict(list)
    for one in attempts:
        if one.task in tasks:
            found[one.task].append(one)
    return found


def _once(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Finished attempts in the order of their numbers, each number once."""
    first: dict[int, Attempt] = {}
    for one in attempts:
        if one.finished:
            first.setdefault(one.number, one)
    return [first[number] for number in sorted(first)]
