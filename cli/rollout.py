"""``proas rollout``: play tasks with a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Advance, Output, facts_table
from proas.cli.options import LARGEST, EnvName, EnvOptions, Json, Strict, TrialLimit, env_spec

if TYPE_CHECKING:
    from proas.envs import World
    from proas.envs.collect import CollectSettings
    from proas.rollouts import Reject, Rollout

__all__ = ["Played", "rollout"]


class PolicyName(StrEnum):
    """Who plays."""

    EXPERT = "expert"
    NOISY = "noisy"
    RANDOM = "random"


def rollout(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the rollouts go.", metavar="PATH")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The environment's data; its default if not given.", metavar="PATH"),
    ] = None,
    env: EnvName = "alfworld",
    option: EnvOptions = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="Key of a task; may be repeated. All of them if not given.", metavar="KEY"),
    ] = None,
    policy: Annotated[
        PolicyName,
        typer.Option(
            "--policy",
            help="A planner (expert), one that errs as agents do (noisy), or chance (random).",
            metavar="expert|noisy|random",
        ),
    ] = PolicyName.NOISY,
    group_size: Annotated[
        int, typer.Option("--group-size", min=1, max=LARGEST, help="Rollouts of each task.", metavar="G")
    ] = 8,
    limit: TrialLimit = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same rollouts.", metavar="N")] = 0,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps",
            min=1,
            max=LARGEST,
            help="A rollout that is not done by then has failed; the environment's usual number if not given.",
            metavar="N",
        ),
    ] = None,
    states: Annotated[
        bool,
        typer.Option(
            "--states/--text-only",
            help="Write states from the environment's facts, or leave them to be read from text.",
            metavar="",
        ),
    ] = True,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Play a group of rollouts of each task and write them, one JSON object a line."""
    from proas.cli.rejects import end, settle
    from proas.envs import open_world
    from proas.envs.collect import CollectSettings
    from proas.rollout_files import write_rollouts

    output = Output(json_wanted=json)
    settings = CollectSettings(policy=policy.value, group_size=group_size, seed=seed, step_limit=max_steps)
    spec = env_spec(env, data, option)
    with closing(open_world(spec)) as world:
        tasks = tuple(task) if task else tuple(islice(world.tasks, limit))
        played = Played()
        with output.progress("Playing", len(tasks)) as advance:
            write_rollouts(out, played.rollouts(world, tasks, settings, advance, states=states))
    if not played.rollouts_written and out.is_file():
        out.unlink()
    origin = data or Path(f"{env} data")
    aside = settle(played.rejects, usable=played.rollouts_written, origin=origin, out=out, output=output)
    document = {
        "env": env,
        "policy": policy.value,
        "tasks": len(tasks),
        "rollouts": played.rollouts_written,
        "successes": played.successes,
        "steps": played.steps,
        "rejected": len(played.rejects),
        "rejects": aside,
        "out": str(out),
    }
    facts = {
        "tasks": len(tasks) - len(played.rejects),
        "rollouts": played.rollouts_written,
        "successes": f"{played.successes:,}  {played.successes / max(1, played.rollouts_written):.0%}",
        "steps": played.steps,
        "written to": out,
    }
    output.result(document, facts_table(facts, title=f"Played by {policy.value}"))
    end(played.rejects, strict=strict)


class Played:
    """Passes rollouts on to the file and counts them; keeps rejects aside."""

    def __init__(self) -> None:
        self.rollouts_written = 0
        self.successes = 0
        self.steps = 0
        self.rejects: list[Reject] = []

    def rollouts(
        self, world: World, tasks: Sequence[str], settings: CollectSettings, advance: Advance, *, states: bool
    ) -> Iterator[Rollout]:
        """Play task after task."""
        from proas.envs.collect import collect
        from proas.rollouts import Rollout
        from proas.states import follower_for

        follower = follower_for if states else None
        for number, task in enumerate(tasks, start=1):
            for made in collect(world, [task], settings, follower):
                if isinstance(made, Rollout):
                    self.rollouts_written += 1
                    self.successes += made.success
                    self.steps += len(made.steps)
                    yield made
                else:
                    self.rejects.append(made)
            advance(number, None)
