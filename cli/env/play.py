"""``proas env play``: a person plays a task, or follows a recorded rollout, with the graph's view beside each step."""

from __future__ import annotations

import json as jsonlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from proas.cli.console import Output, facts_table, plain
from proas.cli.options import LARGEST, DatabaseOptions, EnvOptions, Json, VersionOption, env_spec, with_options
from proas.errors import DataError, UsageError

if TYPE_CHECKING:
    from proas.cli.env.episode import Episode
    from proas.cli.env.guide import Guide
    from proas.envs import EnvSpec, World
    from proas.graph.store import ReferenceGraph
    from proas.rollouts import Rollout

__all__ = ["play"]


@with_options
def play(
    database: DatabaseOptions,
    env: Annotated[
        str | None, typer.Argument(help="The environment; `proas env list` names them.", metavar="ENV")
    ] = None,
    task: Annotated[
        str | None,
        typer.Argument(
            help="Key of the task, its unique beginning, or its number in --tasks. The first that can be played if not "
            "given.",
            metavar="TASK",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="The environment's data; its default if not given, else its samples.", metavar="PATH"
        ),
    ] = None,
    option: EnvOptions = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            "-g",
            envvar="PROAS_GRAPH",
            show_envvar=False,
            help="Graph whose view is shown; PROAS_GRAPH if not given, else none.",
            metavar="NAME",
        ),
    ] = None,
    version: VersionOption = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=LARGEST, help="Source of what is random in the environment.", metavar="N"),
    ] = 0,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps",
            min=1,
            max=LARGEST,
            help="Steps after which the episode ends; the environment's usual number if not given.",
            metavar="N",
        ),
    ] = None,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="List the tasks with their numbers, and end.", metavar="")
    ] = False,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            help="Follow a recorded rollout in place of playing: a file of rollouts, and an id, its unique beginning "
            "or its number in the file.",
            metavar="FILE#ID",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the episode here, as a rollout.", metavar="PATH")
    ] = None,
    json: Json = False,
) -> None:
    """Play a task in the terminal, with the reference graph's view of each step beside it.

    Type a number or an action; `:help` lists what else there is. A script of actions may be piped in. At the end the
    episode is shown with its labels, the same that `proas label` gives.
    """
    output = Output(json_wanted=json)
    console = output.err if json else output.out
    if replay is not None:
        _refuse_beside_replay(task, data, option, save, tasks=tasks)
        _replay(replay, env, _Views(graph, version, database, output), output)
        return
    if env is None:
        raise UsageError("which environment?", hint="`proas env list` names them")
    if save is not None and not save.absolute().parent.is_dir():
        raise DataError(f"cannot write {save}: there is no folder {save.parent}", hint="make it first")
    if save is not None and save.is_dir():
        raise DataError(f"cannot write {save}: it is a folder", hint="name a file in it")
    from proas.cli.env.choice import opened

    views = _Views(graph, version, database, output)
    spec, world = opened(env_spec(env, data, option), output)
    with closing(world):
        if tasks:
            _list_tasks(spec, world, views, output)
            return
        episode = _begun(world, task, seed, max_steps, output)
        guide = views.of_episode(episode, spec)
        if guide is not None:
            episode.guided(guide)
        from proas.cli.env.table import PlayTable

        console.print(_heading(spec.name, episode.task, episode.goal, views))
        try:
            PlayTable(episode, console, views.title).play()
        finally:
            if save is not None:
                _write(save, episode.rollout())  # also of one that was broken off
    _end(views.labelled(episode.rollout()), guide, save, output)


@dataclass(slots=True)
class _Views:
    """The graph that is looked at, if one is."""

    name: str | None
    version: int | None
    database: DatabaseOptions
    output: Output
    store: ReferenceGraph | None = None
    coverage: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            if self.version is not None:
                raise UsageError("--version goes with --graph", hint="name the graph too")
            return
        from proas.cli.database import connect, existing_graph

        self.store = existing_graph(connect(self.database, self.output), self.name)
        newest = self.store.info().version
        if self.version is None:
            self.version = newest  # so that what is shown and what is labelled at the end agree
        elif self.version > newest:
            raise UsageError(f"graph {self.name!r} has no version {self.version}", hint=f"its newest is {newest}")

    @property
    def title(self) -> str:
        """Heading of the view."""
        return f"{self.name}, version {self.version}" if self.store is not None else "no graph"

    def of_task(self, env: str, task: str, goal: str, spec: EnvSpec | None = None) -> Guide:
        """The view of a task; of the goal alone where no graph knows it."""
        from proas.cli.env.guide import Guide
        from proas.errors import GraphNotFound
        from proas.states import ladder_for

        ladder = ladder_for(env, task, goal)
        if self.store is None:
            self.coverage = "none: states and subgoals, but no labels"
            self.output.warn(f"no --graph, so no labels{_how_to_build(env, spec, None)}")
            return Guide(ladder)
        try:
            found = self.store.read(task, version=self.version)
        except GraphNotFound:
            found = None
        if found is None or not found.transitions:
            self.coverage = f"{self.title}: does not cover this task"
            self.output.warn(f"{self.coverage}, so no labels{_how_to_build(env, spec, self.name)}")
            return Guide(ladder)
        size = f"{len(found.states):,} states, {len(found.transitions):,} transitions"
        self.coverage = f"{self.title}: covers this task with {size}"
        return Guide(found.ladder, found)

    def of_episode(self, episode: Episode, spec: EnvSpec) -> Guide | None:
        """The view of an episode; ``None`` where its states are not known."""
        if episode.start is None:
            self.output.warn(f"{episode.stateless}: without states the graph has nothing to say")
            return None
        return self.of_task(spec.name, episode.task, episode.goal, spec)

    def labelled(self, rollout: Rollout) -> Rollout:
        """The rollout with its labels."""
        if self.store is None:
            return rollout
        from proas.rollouts import RolloutBatch

        (labelled,) = self.store.label(RolloutBatch((rollout,)), version=self.version)
        return labelled


def _how_to_build(env: str, spec: EnvSpec | None, graph: str | None) -> str:
    """The command that makes a graph, where one of that name does."""
    from proas.graph_builders import builder_names

    if env not in builder_names():
        return ""
    where = f" --data {spec.data}" if spec is not None and spec.data is not None else ""
    return f"; `proas graph build --source {env}{where} --graph {graph or env}` makes them"


def _begun(world: World, typed: str | None, seed: int, max_steps: int | None, output: Output) -> Episode:
    """An episode of the task that was meant."""
    from proas.cli.env.choice import chosen_task
    from proas.cli.env.episode import Episode
    from proas.errors import TaskError

    env = world.environment(step_limit=max_steps)
    if typed is not None:
        return Episode(env, chosen_task(world.tasks, typed), seed)
    for number, key in enumerate(world.tasks, start=1):
        try:
            return Episode(env, key, seed)
        except TaskError as error:
            output.warn(f"task {number} cannot be played: {error.reason}")
    raise DataError(f"{world.name}: none of the {len(world.tasks):,} tasks can be played", hint="try other --data")


def _list_tasks(spec: EnvSpec, world: World, views: _Views, output: Output) -> None:
    texts = {} if views.store is None else {t.key: t.text or t.goal for t in views.store.tasks(version=views.version)}
    rows = []
    lines = []
    for number, key in enumerate(world.tasks, start=1):
        row: dict[str, object] = {"number": number, "task": key}
        line = Text.assemble((f"{number:>5}  ", "cyan"), plain(key), no_wrap=True)
        if views.store is not None:
            row["covered"] = key in texts
            words = f"covered  {texts[key]}" if key in texts else "not covered"
            line.append_text(Text.assemble("\n       ", (f"{plain(words)}", "dim")))
        rows.append(row)
        lines.append(line)
    output.result({"env": spec.name, "data": spec.data, "tasks": rows}, *lines)


def _replay(named: str, env: str | None, views: _Views, output: Output) -> None:
    from proas.cli.env.choice import chosen_rollout
    from proas.cli.env.follow import follow
    from proas.errors import StateError
    from proas.states import attach_states

    rollout = chosen_rollout(named)
    if env is not None and env != rollout.env:
        raise UsageError(f"rollout {rollout.id!r} is of {rollout.env}, not of {env}", hint="leave the name out")
    try:
        rollout = attach_states(rollout)
    except StateError as error:
        output.warn(f"{error}: without states the graph has nothing to say")
    guide = views.of_task(rollout.env, rollout.task, rollout.goal) if rollout.has_states else None
    rollout = views.labelled(rollout)
    console = output.err if output.json_wanted else output.out
    console.print(_heading(rollout.env, rollout.task, rollout.goal, views))
    title = views.title if views.store is not None else f"labels of {rollout.graph}" if rollout.covered else "no graph"
    follow(rollout, guide, console, title)
    _end(rollout, guide, None, output)


def _refuse_beside_replay(
    task: str | None, data: Path | None, option: list[str] | None, save: Path | None, *, tasks: bool
) -> None:
    given = {"TASK": task, "--data": data, "--option": option, "--save": save, "--tasks": tasks or None}
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} does not go with --replay", hint="leave it out")


def _write(path: Path, rollout: Rollout) -> None:
    from proas.rollout_files import write_rollouts

    write_rollouts(path, [rollout])


def _heading(env: str, task: str, goal: str, views: _Views) -> RenderableType:
    return facts_table({"task": task, "goal": goal, "graph": views.coverage or "none"}, title=env)


def _end(rollout: Rollout, guide: Guide | None, save: Path | None, output: Output) -> None:
    from proas.cli.env.view import summary

    view = summary(rollout, guide.ladder if guide is not None else None)
    (output.err if output.json_wanted else output.out).print(view)
    if save is not None:
        output.done(f"the episode is in {save}")
    if output.json_wanted:
        shown = jsonlib.loads(rollout.model_dump_json(exclude_none=True))
        output.result({"rollout": shown, "saved": save})
