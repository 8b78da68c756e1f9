"""Does a plan: games, warm starts, reference graphs, runs, records. What is there already is taken as it is."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proas.errors import DataError, ProASError, UsageError
from proas.experiments.base_graphs import ensure_base_graph
from proas.experiments.data import Games, find_games
from proas.experiments.diagnoses import Diagnosis, diagnoses_of
from proas.experiments.plan import Plan
from proas.experiments.pool import Deadline, Failed, Listener, Pool, Ticket
from proas.experiments.records import Record, condense, read_results, write_record
from proas.experiments.schedule import BaseGraph, Folders, Run, WarmStart, schedule
from proas.graph import Connection, ReferenceGraph
from proas.training.run_directory import RunDirectory

__all__ = ["Outcome", "Session"]


@dataclass(slots=True)
class Outcome:
    """What came of a plan.

    Attributes:
        games: What was played.
        done: Runs finished by this call.
        reused: Runs whose results were there.
        failed: Runs given up.
        left: Runs left over at the deadline, or because what they start from failed.
    """

    games: Games
    done: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every run has its result."""
        return not self.failed and not self.left


@dataclass(frozen=True, slots=True)
class Session:
    """Does plans.

    Attributes:
        folder: Where games, warm starts and runs are kept.
        results: Where the records are kept.
        connect: Answers with the database; called once, and only where a run needs it.
        listener: Who is told.
        jobs: Runs side by side, each on one core.
        deadline: When no more is begun.
        data: Data that the user names.
        keep_graphs: Leave the runs' own graphs in the database.
        missing_only: Take every result that is there, whoever made it; otherwise only those of runs in ``folder``.
        diagnoses: Folders of the plans' diagnoses and of their figures; ``None`` to make none.
    """

    folder: Path
    results: Path
    connect: Callable[[], Connection]
    listener: Listener
    jobs: int = 1
    deadline: Deadline = field(default_factory=Deadline)
    data: Path | None = None
    keep_graphs: bool = False
    missing_only: bool = False
    diagnoses: tuple[Path, Path] | None = None

    def run(self, plan: Plan) -> Outcome:
        """Do what is left to do of a plan.

        Raises:
            UsageError: Settings that make no sense.
            DataError: Games or results cannot be read or written.
            GraphError: The database could not be asked.
        """
        if self.jobs < 1:
            raise UsageError(f"{self.jobs} runs side by side make no progress", hint="give 1 or more")
        folders = Folders(self.folder.absolute())
        games = find_games(plan.data, plan.base_config(), folders.data, given=self.data)
        if plan.data.source == "real" and games.kind == "generated":
            self.listener.note(f"the {games.env} release is not at hand; {games.label} take its place")
        outcome = Outcome(games)
        stored = read_results(self.results)
        for problem in stored.unreadable:
            self.listener.note(f"left out: {problem}")
        todo: list[Run] = []
        reused: list[Run] = []
        for run in schedule(plan, games, folders):
            known = stored.find(run.digest, run.seed, games=games.identity, experiment=plan.name)
            counts = known is not None and (self.missing_only or folders.finished(run.seed, run.place) is not None)
            (reused if counts else todo).append(run)
        outcome.reused += [run.key for run in reused]
        asked = self._asked(plan, todo, reused)
        graphs = any(run.config.uses_graph for run in (*todo, *(diagnosis.run for diagnosis in asked)))
        connection = self.connect() if graphs else None
        if todo:
            self._do(todo, outcome, folders, games, connection, {diagnosis.run.key for diagnosis in asked})
        self._diagnose(asked, outcome, folders, connection)
        return outcome

    def _do(
        self,
        todo: list[Run],
        outcome: Outcome,
        folders: Folders,
        games: Games,
        connection: Connection | None,
        awaited: set[str],
    ) -> None:
        """Do runs; the graphs of those that are awaited stay."""
        pool = Pool(
            self.jobs,
            folders.logs,
            self.listener,
            environ={} if connection is None else _login(connection),
            deadline=self.deadline,
        )
        cold = self._warm_starts(todo, pool, outcome)
        bare = self._base_graphs([run for run in todo if run.warm.folder not in cold], connection, outcome, cold)
        able = [run for run in todo if run.warm.folder not in cold and (run.base is None or run.base.name not in bare)]
        outcome.left += [run.key for run in todo if run not in able]
        by_key = {run.key: run for run in able}

        def done(ticket: Ticket) -> str:
            run = by_key[ticket.key]
            record = condense(run, games, folder=folders.root, jobs=self.jobs, data=self.data)
            write_record(record, self.results)
            outcome.done.append(run.key)
            if run.key not in awaited:
                self._drop(connection, run.folder)
            return _headline(record)

        tickets = [
            Ticket(run.key, run.folder, run.words, run.config.iterations, self._ready(connection, run)) for run in able
        ]
        failed, left = pool.run(tickets, done, before=len(outcome.reused))
        outcome.failed += failed
        outcome.left += [ticket.key for ticket in left]

    def _asked(self, plan: Plan, todo: Sequence[Run], reused: Sequence[Run]) -> list[Diagnosis]:
        """The diagnoses to be made."""
        if self.diagnoses is None:
            return []
        found = list(diagnoses_of(plan, [*todo, *reused], *self.diagnoses))
        lacking = {diagnosis.plan.kept_as: diagnosis.lacks for diagnosis in found if diagnosis.lacks}
        for name, split in lacking.items():
            self.listener.note(f"{plan.name}: diagnosis {name} is left out, as the games have no split {split}")
        return [d for d in found if not d.lacks and not (self.missing_only and d.whole)]

    def _diagnose(
        self, asked: Sequence[Diagnosis], outcome: Outcome, folders: Folders, connection: Connection | None
    ) -> None:
        """Make diagnoses, one after the other; the graphs of their runs go when all of a run's are made."""
        unmade = {failure.key for failure in outcome.failed} | set(outcome.left)
        environ = {} if connection is None else _login(connection)
        wanting: set[str] = set()
        for diagnosis in asked:
            began = time.monotonic()
            if diagnosis.run.key in unmade or self.deadline.too_late_for(0):
                outcome.left.append(diagnosis.key)
                wanting.add(diagnosis.run.key)
            elif failure := diagnosis.make(folders, connection, environ):
                outcome.failed.append(failure)
                self.listener.failed(failure)
                wanting.add(diagnosis.run.key)
            else:
                outcome.done.append(diagnosis.key)
                self.listener.finished(diagnosis.key, time.monotonic() - began, str(diagnosis.file))
        for run in {diagnosis.run.key: diagnosis.run for diagnosis in asked}.values():
            folder = folders.finished(run.seed, run.place)
            if run.key not in wanting and folder is not None:
                self._drop(connection, folder)

    def _drop(self, connection: Connection | None, folder: Path) -> None:
        """Remove a run's own graph, where it has one."""
        name = str(RunDirectory(folder).document().get("graph", ""))
        if connection is None or not name or self.keep_graphs:
            return
        with suppress(ProASError):  # a graph that stays costs room, no result
            graph = ReferenceGraph(connection, name)
            if graph.exists():
                graph.drop()

    def _ready(self, connection: Connection | None, run: Run) -> Callable[[], None]:
        """Before a run goes on: without its graph it would go on from an empty one, so it is begun anew instead.

        One that ended before its first checkpoint has nothing to keep: it begins anew where it is.
        """

        def set_aside_if_lost() -> None:
            directory = RunDirectory(run.folder)
            if connection is None or not run.config.uses_graph or not directory.exists:
                return
            if not directory.has_checkpoint and directory.final() is None:
                return
            name = str(directory.document().get("graph", ""))
            if not ReferenceGraph(connection, name).exists():
                aside = _set_aside(run.folder)
                self.listener.note(
                    f"{run.key} begins anew: its graph {name} is no longer in the database; "
                    f"what was done of it is kept in {aside}"
                )

        return set_aside_if_lost

    def _warm_starts(self, todo: Sequence[Run], pool: Pool, outcome: Outcome) -> set[Path]:
        """Make the warm starts that the runs need. Answers with the folders of those that are not there."""
        wanted: dict[Path, WarmStart] = {}
        for run in todo:
            for warm in (run.warm, None if run.base is None else run.base.warm):
                if warm is not None:
                    wanted.setdefault(warm.folder, warm)
        tickets = [Ticket(f"warm/{warm.name}", warm.folder, warm.words, 0) for warm in wanted.values()]
        missing = [ticket for ticket in tickets if not ticket.finished]
        failed, left = pool.run(missing, lambda ticket: _warm_headline(ticket.folder))
        outcome.failed += failed
        pool.expected = 0.0
        given_up = {failure.key for failure in failed} | {ticket.key for ticket in left}
        return {ticket.folder for ticket in missing if ticket.key in given_up and not ticket.finished}

    def _base_graphs(
        self, runs: Sequence[Run], connection: Connection | None, outcome: Outcome, cold: set[Path]
    ) -> set[str]:
        """Make the reference graphs that the runs start over. Answers with the names of those that are not there."""
        wanted: dict[str, BaseGraph] = {run.base.name: run.base for run in runs if run.base is not None}
        missing: set[str] = set()
        for name, base in wanted.items():
            assert connection is not None
            if self.deadline.too_late_for(0) or (base.warm is not None and base.warm.folder in cold):
                missing.add(name)
                continue
            counts = ensure_base_graph(base, connection)
            self.listener.note(f"graph {name}: {counts['tasks']:,} tasks, {counts['transitions']:,} transitions")
        return missing


def _login(connection: Connection) -> dict[str, str]:
    """Variables that name a database to a run."""
    return {
        "NEO4J_URI": connection.uri,
        "NEO4J_USERNAME": connection.username,
        "NEO4J_PASSWORD": connection.password.get_secret_value(),
        "NEO4J_PASSWORD_FILE": "",
        "NEO4J_DATABASE": connection.database,
    }


def _set_aside(folder: Path) -> Path:
    """Keep a run's folder under a name that no run has."""
    number = next(n for n in itertools.count(1) if not folder.with_name(f"{folder.name}-lost{n}").exists())
    target = folder.with_name(f"{folder.name}-lost{number}")
    try:
        return folder.rename(target)
    except OSError as error:
        message = f"{folder}, whose graph is gone, cannot be renamed to {target.name}: {error.strerror}"
        raise DataError(message, hint="move it away") from error


def _headline(record: Record) -> str:
    parts = [f"T={t} {100 * values['success'][-1]:.0f}%" for t, values in record.evaluations.items()]
    return ", ".join([*parts, f"{record.seconds.get('total', 0.0):.1f} s an iteration"])


def _warm_headline(folder: Path) -> str:
    last = (RunDirectory(folder).final() or {}).get("last", {})
    return ", ".join(
        f"{name.split('/')[1][1:]}: {100 * value:.0f}%"
        for name, value in last.items()
        if name.startswith("evaluation/") and name.endswith("/success")
    )
