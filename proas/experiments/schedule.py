"""From a plan and its games to the runs that have to be done, each with its folder and its command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proas.experiments.commands import settings_digest, train_words
from proas.experiments.data import Games
from proas.experiments.plan import GraphPlan, Plan
from proas.keys import digest
from proas.training.config import TrainConfig

__all__ = ["BaseGraph", "Folders", "Run", "WarmStart", "arm_digest", "run_place", "schedule"]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where an evidence folder keeps what.

    Attributes:
        root: The folder.
    """

    root: Path

    @property
    def data(self) -> Path:
        """Games."""
        return self.root / "data"

    @property
    def logs(self) -> Path:
        """What the runs printed."""
        return self.root / "logs"

    def warm(self, place: str) -> Path:
        """A warm start."""
        return self.root / "warm" / place

    def graph(self, name: str) -> Path:
        """The note of what a reference graph holds."""
        return self.root / "graphs" / f"{name}.json"

    def run(self, experiment: str, arm: str, seed: int, place: str) -> Path:
        """A run; the digest keeps runs of changed settings apart."""
        return self.root / "runs" / experiment / f"{arm}-s{seed}-{place}"

    def finished(self, seed: int, place: str) -> Path | None:
        """Where a run of these settings, on these games, has come to its end here, for whichever experiment."""
        return next((file.parent for file in self.root.glob(f"runs/*/*-s{seed}-{place}/final.json")), None)


@dataclass(frozen=True, slots=True)
class WarmStart:
    """A policy to start from.

    Attributes:
        name: As the plan has it.
        config: Settings.
        folder: Its run.
        words: Its command.
    """

    name: str
    config: TrainConfig
    folder: Path
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BaseGraph:
    """A reference graph to start over.

    Attributes:
        plan: What it is made of.
        name: Its name in the database.
        config: Settings that say where the tasks are.
        warm: The warm start whose policy makes it; ``None`` for plans.
        marker: The note of what it holds.
    """

    plan: GraphPlan
    name: str
    config: TrainConfig
    warm: WarmStart | None
    marker: Path


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one arm.

    Attributes:
        experiment: Name of the plan.
        arm: Name of the arm.
        seed: Its seed.
        config: Settings, data and base graph named.
        digest: Of the arm's settings; see :func:`arm_digest`.
        place: Digest of the same and of the games, the end of the folder's name.
        folder: Where it is kept.
        words: Its command.
        again: The command that does all of it again, data that the user named aside.
        warm: What it starts from.
        base: What its layer lies over.
    """

    experiment: str
    arm: str
    seed: int
    config: TrainConfig
    digest: str
    place: str
    folder: Path
    words: tuple[str, ...]
    again: tuple[str, ...]
    warm: WarmStart
    base: BaseGraph | None

    @property
    def key(self) -> str:
        """Experiment, arm and seed in a word."""
        return f"{self.experiment}/{self.arm}-s{self.seed}"


def arm_digest(plan: Plan, arm: str) -> str:
    """What decides an arm's results, seed and games aside: settings, warm start, base graph.

    Arms of two plans that agree in it are one, and share their results.
    """
    graph = plan.arms[arm].graph
    described = None if not graph else _described(plan.graphs[graph])
    if graph and plan.graphs[graph].source == "policy":
        described = {**(described or {}), "warm": _warm_digest(plan, plan.graphs[graph].warm or next(iter(plan.warm)))}
    return settings_digest(plan.arm_config(arm, 0), _warm_digest(plan, plan.warm_name(arm)), described)[:16]


def _described(graph: GraphPlan) -> dict[str, object]:
    """What decides a graph, the name of a warm start aside; settings that do not concern its source are left out."""
    mine = {"plans": ("expand", "limit"), "policy": ("episodes", "temperature", "purification")}[graph.source]
    return {"source": graph.source, **{name: getattr(graph, name) for name in mine}}


def schedule(plan: Plan, games: Games, folders: Folders) -> list[Run]:
    """The runs of a plan: all arms of the first seed, then of the second, and so on.

    Args:
        plan: The plan.
        games: What is played.
        folders: Where runs are kept.
    """
    warm = {name: _warm_start(plan, name, games, folders) for name in plan.warm}
    graphs = {name: _base_graph(plan, name, games, folders, warm) for name in plan.graphs}
    return [
        _run(plan, arm, seed, games, folders, warm[plan.warm_name(arm)], graphs.get(plan.arms[arm].graph))
        for seed in plan.seeds
        for arm in plan.arms
    ]


def run_place(decided: str, games: str) -> str:
    """What a run's folder is told apart by from others of its arm and seed.

    Args:
        decided: Digest of the arm.
        games: Identity of the games.
    """
    return digest(decided, games)[:10]


def _warm_digest(plan: Plan, name: str) -> str:
    return settings_digest(plan.warm_config(name), "warm", plan.warm[name].seed)[:16]


def _warm_start(plan: Plan, name: str, games: Games, folders: Folders) -> WarmStart:
    config = plan.warm_config(name).updated({"data": games.path})
    folder = folders.warm(f"{name}-{digest(_warm_digest(plan, name), games.identity)[:12]}").absolute()
    return WarmStart(name, config, folder, tuple(train_words(config, "none", folder, init=None)))


def _base_graph(plan: Plan, name: str, games: Games, folders: Folders, warm: dict[str, WarmStart]) -> BaseGraph:
    graph = plan.graphs[name]
    start = warm[graph.warm or next(iter(warm))] if graph.source == "policy" else None
    config = plan.base_config().updated({"data": games.path})
    origin = None if start is None else start.folder.name
    where = (
        f"evidence-{graph.source}-{digest(_described(graph), origin, config.env, config.options, games.identity)[:10]}"
    )
    return BaseGraph(graph, where, config, start, folders.graph(where))


def _run(
    plan: Plan, arm: str, seed: int, games: Games, folders: Folders, warm: WarmStart, base: BaseGraph | None
) -> Run:
    config = plan.arm_config(arm, seed).updated({"data": games.path, "graph_base": "" if base is None else base.name})
    decided = arm_digest(plan, arm)
    place = run_place(decided, games.identity)
    folder = folders.run(plan.name, arm, seed, place).absolute()
    words = train_words(config, plan.arms[arm].shaping, folder, init=warm.folder)
    again = tuple(plan.again(arm, (seed,)))
    return Run(plan.name, arm, seed, config, decided, place, folder, tuple(words), again, warm, base)
