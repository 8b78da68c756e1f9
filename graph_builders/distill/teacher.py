"""The teacher's attempts: which are made, in which order, how many at once, and what stops them.

Attempts go breadth first: the first one at every task, then the second at every task, so that a budget that runs out
has covered many tasks rather than a few. An attempt that the journal holds is not made again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from proas.agents import Job, LanguageModel, Meter, Patience, Patient, Prompter, play_all, play_episode
from proas.envs import Environment, World
from proas.errors import ProASError, TaskError
from proas.graph_builders.distill.coverage import Stopped
from proas.graph_builders.distill.journal import Attempt, Journal
from proas.graph_builders.distill.settings import DistillSettings
from proas.rollouts import Rollout
from proas.states import follower_for

__all__ = ["Listener", "Pace", "Taught", "explain", "left_to_do", "run_now", "teach"]

T = TypeVar("T")

_TICK = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How far the attempts are.

    Attributes:
        planned: Attempts that are to be there in the end.
        finished: Attempts that are there.
        successes: Of these, won.
        tokens: Tokens paid for in this run.
        under_way: Attempts being played.
    """

    planned: int
    finished: int
    successes: int
    tokens: int
    under_way: int


class Listener(Protocol):
    """Told how a teacher goes on; the command line draws a bar from it."""

    def begin(self, pace: Pace) -> None:
        """Attempts begin."""
        ...

    def moved(self, pace: Pace) -> None:
        """Something happened, or half a second passed."""
        ...

    def end(self) -> None:
        """Attempts are over, for whatever reason."""
        ...


class Silent:
    """Listens and says nothing."""

    def begin(self, pace: Pace) -> None:
        """Ignore it."""

    def moved(self, pace: Pace) -> None:
        """Ignore it."""

    def end(self) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class Taught:
    """What came of it, beside what the journal holds.

    Attributes:
        stopped: Why attempts are missing.
        unplayable: Tasks that cannot be played, with the fault.
        faults: Attempts that the environment broke, by task, with the last fault.
    """

    stopped: Stopped
    unplayable: Mapping[str, TaskError]
    faults: Mapping[str, Exception]


def left_to_do(tasks: Sequence[str], settings: DistillSettings, journal: Journal) -> bool:
    """Whether any attempt is left that the budget of attempts allows."""
    finished = [one for one in journal.attempts if one.finished]
    allowed = settings.budget.attempts
    if allowed is not None and len(finished) >= allowed:
        return False
    return next(_Plan(tasks, settings, finished).missing(), None) is not None


def teach(
    world: World,
    tasks: Sequence[str],
    settings: DistillSettings,
    open_model: Callable[[], LanguageModel],
    journal: Journal,
    *,
    patience: Patience | None = None,
    listener: Listener | None = None,
) -> Taught:
    """Make the attempts that the journal lacks.

    Args:
        world: Where they are played.
        tasks: Keys of the tasks, in the order in which they are covered.
        settings: How many and how.
        open_model: Makes the teacher; it is closed in the end.
        journal: Where attempts go.
        patience: How long a failing model is asked again.
        listener: Told how it goes.

    Returns:
        Why it stopped, and which tasks cannot be played. A model that is gone and a budget that is spent end it early;
        what was done is in the journal.

    Raises:
        DataError: The journal cannot be written.
        UsageError: The environment does not know a task.
    """
    work = _Teacher(world, tasks, settings, journal, listener or Silent())
    return run_now(work.run(open_model, patience))


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


class _Plan:
    """Which attempts are missing, given those that are there."""

    def __init__(self, tasks: Sequence[str], settings: DistillSettings, finished: Sequence[Attempt]) -> None:
        self._tasks = tasks
        self._settings = settings
        self._made = {(one.task, one.number) for one in finished}
        self.successes = Counter(one.task for one in finished if one.success)
        self.skipped: set[str] = set()

    def missing(self) -> Iterator[Job]:
        """Missing attempts, breadth first. What happens meanwhile counts."""
        for number in range(self._settings.attempts):
            for task in self._tasks:
                if (task, number) not in self._made and self.wants(task):
                    yield Job(task, number)

    def wants(self, task: str) -> bool:
        """Whether further attempts at a task make sense."""
        enough = self._settings.enough
        return task not in self.skipped and (enough is None or self.successes[task] < enough)


class _Teacher:
    """The state of the attempts while they are made."""

    def __init__(
        self, world: World, tasks: Sequence[str], settings: DistillSettings, journal: Journal, listener: Listener
    ) -> None:
        self._world = world
        self._settings = settings
        self._journal = journal
        self._listener = listener
        finished = [one for one in journal.attempts if one.finished]
        self._plan = _Plan(tasks, settings, finished)
        self._left = sum(1 for _ in self._plan.missing())
        self._meter = Meter(settings.budget.tokens, spent=sum(one.tokens for one in journal.attempts))
        self._before = self._meter.spent
        self._settled = self._before  # spent by attempts that are over
        self._finished = len(finished)
        self._planned = self._finished + self._left
        self._finished_tokens = sum(one.tokens for one in finished)
        self._won = sum(one.success for one in finished)
        self._broken_off = {(one.task, one.number): one for one in journal.attempts if not one.finished and one.steps}
        self._under_way = 0
        self._stopped = Stopped()
        self._unplayable: dict[str, TaskError] = {}
        self._faults: dict[str, Exception] = {}

    async def run(self, open_model: Callable[[], LanguageModel], patience: Patience | None) -> Taught:
        if not self._left:
            return self._taught()
        model = Patient(open_model(), patience, meter=self._meter, concurrency=self._settings.concurrency)
        prompter = Prompter(self._settings.env, self._settings.prompts)

        async def play(env: Environment, job: Job) -> Rollout:
            return await play_episode(
                env,
                model,
                prompter,
                job,
                self._settings.episode,
                follower_for(env),
                begun=self._begun(job),
                broken_off=self._journal.append,
            )

        def done(job: Job, outcome: Rollout | Exception) -> None:
            self._note(job, outcome, model)

        self._listener.begin(self._pace())
        clock = asyncio.create_task(self._tick())
        try:
            await play_all(self._jobs(), self._environment, play, done, concurrency=self._settings.concurrency)
        finally:
            clock.cancel()
            with suppress(asyncio.CancelledError):
                await clock
            self._listener.end()
            await model.aclose()
        return self._taught()

    def _environment(self) -> Environment:
        return self._world.environment(step_limit=self._settings.step_limit)

    def _begun(self, job: Job) -> Rollout | None:
        """The attempt as an earlier run had to leave it."""
        last = self._broken_off.get((job.task, job.number))
        return self._journal.read(last) if last is not None else None

    def _jobs(self) -> Iterator[Job]:
        """Attempts to be made, as long as nothing stops them."""
        for job in self._plan.missing():
            if self._must_stop():
                return
            self._under_way += 1
            yield job

    def _must_stop(self) -> bool:
        if self._stopped.why:
            return True
        allowed = self._settings.budget.attempts
        if allowed is not None and self._finished + self._under_way >= allowed:
            self._stop(Stopped("attempts", f"the budget of {allowed:,} attempts is spent", "raise --budget-attempts"))
        elif not self._affordable():
            self._stop_for_tokens()
        return bool(self._stopped.why)

    def _affordable(self) -> bool:
        """Whether the tokens left carry the attempts under way and one more, at what one has cost on average."""
        if self._meter.budget is None or not self._finished:
            return True
        mean = self._finished_tokens / self._finished
        begun = self._meter.spent - self._settled
        return (self._under_way + 1) * mean - begun <= self._meter.budget - self._meter.spent

    def _note(self, job: Job, outcome: Rollout | Exception, model: Patient) -> None:
        """Write an attempt down and see what follows from it."""
        self._under_way -= 1
        if isinstance(outcome, Rollout):
            self._keep(self._journal.append(outcome))
        elif isinstance(outcome, TaskError):
            self._unplayable[job.task] = outcome
            self._plan.skipped.add(job.task)
        else:
            self._faults[job.task] = outcome
        if model.gone is not None:
            again = "run the same command again to go on where it stopped"
            hint = f"{model.gone.hint}; {again}" if model.gone.hint else again
            self._stop(Stopped("model", model.gone.message, hint))
        self._listener.moved(self._pace())

    def _keep(self, attempt: Attempt) -> None:
        self._settled += attempt.tokens
        if attempt.finished:
            self._finished += 1
            self._finished_tokens += attempt.tokens
            self._won += attempt.success
            self._plan.successes[attempt.task] += attempt.success
        elif attempt.cause == "budget":
            self._stop_for_tokens()

    def _stop_for_tokens(self) -> None:
        budget, spent = self._meter.budget, self._meter.spent
        message = f"of the budget of {budget:,} tokens, {spent:,} are spent, and what is left may not carry an attempt"
        self._stop(Stopped("tokens", message, "raise --budget-tokens"))

    def _stop(self, reason: Stopped) -> None:
        # A model that is gone outranks a budget: it makes the run a failed one.
        if not self._stopped.why or reason.why == "model":
            self._stopped = reason

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self._listener.moved(self._pace())

    def _pace(self) -> Pace:
        tokens = self._meter.spent - self._before
        return Pace(self._planned, self._finished, self._won, tokens, self._under_way)

    def _taught(self) -> Taught:
        return Taught(self._stopped, self._unplayable, self._faults)


def explain(error: Exception) -> str:
    """An exception in one line."""
    return error.message if isinstance(error, ProASError) else f"{type(error).__name__}: {error}"
