"""Options of ``--source trajectories``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.graph.sources.base import Asked, Epilogue
from proas.cli.options import env_spec
from proas.errors import DataError, UsageError

if TYPE_CHECKING:
    from proas.cli.console import Output
    from proas.envs import EnvSpec
    from proas.graph_builders import Builder

__all__ = ["ReplayName", "TrajectoriesOptions", "UnscoredName"]

_PANEL = "Trajectories"


class ReplayName(StrEnum):
    """Whether episodes are played again."""

    AUTO = "auto"
    NEVER = "never"
    REQUIRE = "require"


class UnscoredName(StrEnum):
    """What an episode without score is worth."""

    SKIP = "skip"
    SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class TrajectoriesOptions:
    """What only this source takes.

    Attributes:
        format: Format of the records.
        threshold: Least share of the highest score.
        score_max: The highest score.
        unscored: What an episode without score is worth.
        replay: Whether episodes are played again.
        env_data: Data of environments to play them in.
        write_rollouts: Where the episodes go as rollouts.
    """

    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="Format of the records; auto tells each by its content.",
            metavar="auto|agentgym|trl|atif|verl|react|proas",
            rich_help_panel=_PANEL,
        ),
    ] = "auto"
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            help="Least score of a success, as a share of the highest; 1 if not given. Given, it decides also where a "
            "record says itself whether it succeeded.",
            metavar="SHARE",
            rich_help_panel=_PANEL,
        ),
    ] = None
    score_max: Annotated[
        float | None,
        typer.Option(
            "--score-max",
            help="The highest score; 1 if not given, for scienceworld 100.",
            metavar="SCORE",
            rich_help_panel=_PANEL,
        ),
    ] = None
    unscored: Annotated[
        UnscoredName,
        typer.Option(
            "--unscored",
            help="Episodes without a score that cannot be played again: leave them out (skip), or trust that the log "
            "holds successes only (success).",
            metavar="skip|success",
            rich_help_panel=_PANEL,
        ),
    ] = UnscoredName.SKIP
    replay: Annotated[
        ReplayName,
        typer.Option(
            "--replay",
            help="Play successes again in our environment, and let only those enter that it confirms: where it has "
            "their task (auto), never, or leave out what cannot be played (require).",
            metavar="auto|never|require",
            rich_help_panel=_PANEL,
        ),
    ] = ReplayName.AUTO
    env_data: Annotated[
        list[str] | None,
        typer.Option(
            "--env-data",
            help="Data of the environment to play episodes in; ENV=PATH where --env is not given. May be repeated.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None
    write_rollouts: Annotated[
        Path | None,
        typer.Option(
            "--write-rollouts",
            help="Write every episode there, failures too, as rollouts with task and states, for `proas label`.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None

    def builder(self, asked: Asked) -> Builder:
        """The builder of these episodes. Raises ``UsageError`` where the options make no sense together."""
        from proas.graph_builders.trajectories import Settings, TrajectoriesBuilder

        if not asked.data:
            raise UsageError("--source trajectories needs --data", hint="a file, a folder or a pattern of episodes")
        if self.write_rollouts is not None and not self.write_rollouts.absolute().parent.is_dir():
            folder = self.write_rollouts.parent
            raise DataError(f"cannot write {self.write_rollouts}: there is no folder {folder}", hint="make it first")
        settings = Settings(
            format=self.format,
            env=asked.env or "",
            threshold=self.threshold,
            score_max=self.score_max,
            unscored=self.unscored.value,
            replay=self.replay.value,
            worlds=self._worlds(asked),
            purification=asked.quality.purification.value,
            least_support=asked.quality.min_support,
        )
        return TrajectoriesBuilder(
            settings, asked.data, rollouts=self.write_rollouts, progress=lambda total: _shown(asked.output, total)
        )

    def epilogue(self, builder: Builder) -> Epilogue:
        """What was read, and what became of it."""
        from proas.cli.graph.episodes_view import episodes_tables
        from proas.graph_builders.trajectories import TrajectoriesBuilder

        assert isinstance(builder, TrajectoriesBuilder)
        summary = builder.summary()
        told = frozenset(builder.totals.asides)
        return Epilogue({"episodes": summary}, episodes_tables(summary), told=told)

    def _worlds(self, asked: Asked) -> dict[str, EnvSpec]:
        """The environments that are named, with their data and settings."""
        if asked.options and asked.env is None:
            raise UsageError("--option sets something of which environment?", hint="name it by --env")
        found = {asked.env: env_spec(asked.env, None, asked.options)} if asked.env and asked.options else {}
        for given in self.env_data or ():
            name, equals, path = given.partition("=")
            if not equals and asked.env is None:
                raise UsageError(
                    f"--env-data {given}: data of which environment?", hint="write ENV=PATH, or give --env"
                )
            env, place = (name, Path(path)) if equals else (asked.env or "", Path(given))
            if not place.exists():
                raise DataError(f"{place}: no such file or folder", hint="--env-data names the environment's data")
            found[env] = env_spec(env, place, asked.options if env == asked.env else ())
        return found


@contextmanager
def _shown(output: Output, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of the megabytes read."""
    with output.progress("Reading episodes, MB", max(1, total >> 20)) as advance:
        read = 0

        def told(count: int) -> None:
            nonlocal read
            read += count
            advance(read >> 20, None)

        yield told
