"""``proas rollout``: play games with a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Advance, Output, facts_table
from proas.cli.options import LARGEST, Json, Strict, TrialLimit

if TYPE_CHECKING:
    from proas.envs.alfworld import Trial
    from proas.envs.collect import CollectSettings
    from proas.rollouts import Reject, Rollout

__all__ = ["Played", "rollout"]


class Env(StrEnum):
    """Environments that can be played."""

    ALFWORLD = "alfworld"


class PolicyName(StrEnum):
    """Who plays."""

    EXPERT = "expert"
    NOISY = "noisy"
    RANDOM = "random"


def rollout(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the rollouts go.", metavar="PATH")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder or archive with the games; ALFWORLD_DATA if not given.", metavar="PATH"),
    ] = None,
    env: Annotated[Env, typer.Option("--env", help="The environment.", metavar="alfworld")] = Env.ALFWORLD,
    policy: Annotated[
        PolicyName,
        typer.Option(
            "--policy",
            help="A planner (expert), one that errs as agents do (noisy), or chance (random).",
            metavar="expert|noisy|random",
        ),
    ] = PolicyName.NOISY,
    group_size: Annotated[
        int, typer.Option("--group-size", min=1, max=LARGEST, help="Rollouts of each game.", metavar="G")
    ] = 8,
    limit: TrialLimit = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same rollouts.", metavar="N")] = 0,
    max_steps: Annotated[
        int,
        typer.Option(
            "--max-steps", min=1, max=LARGEST, help="A rollout that is not done by then has failed.", metavar="N"
        ),
    ] = 50,
    states: Annotated[
        bool,
        typer.Option(
            "--states/--text-only",
            help="Write states from the engine's facts, or leave them to be read from text.",
            metavar="",
        ),
    ] = True,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Play a group of rollouts of each game and write them, one JSON object a line."""
    from proas.cli.rejects import end, settle
    from proas.envs.alfworld import iter_trials
    from proas.envs.collect import CollectSettings
    from proas.rollout_files import write_rollouts

    output = Output(json_wanted=json)
    settings = CollectSettings(policy=policy.value, group_size=group_size, seed=seed, step_limit=max_steps)
    trials = list(islice(iter_trials(data), limit))
    played = Played()
    with output.progress("Playing", len(trials)) as advance:
        write_rollouts(out, played.rollouts(trials, settings, advance, states=states))
    if not played.rollouts_written and out.is_file():
        out.unlink()
    origin = data or Path("$ALFWORLD_DATA")
    aside = settle(played.rejects, usable=played.rollouts_written, origin=origin, out=out, output=output)
    document = {
        "env": env.value,
        "policy": policy.value,
        "trials": len(trials),
        "rollouts": played.rollouts_written,
        "successes": played.successes,
        "steps": played.steps,
        "rejected": len(played.rejects),
        "rejects": aside,
        "out": str(out),
    }
    facts = {
        "games": len(trials) - len(played.rejects),
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
        self, trials: Sequence[Trial], settings: CollectSettings, advance: Advance, *, states: bool
    ) -> Iterator[Rollout]:
        """Play trial after trial."""
        from proas.envs.collect import collect
        from proas.rollouts import Rollout
        from proas.states.alfworld import EngineObserver

        for number, trial in enumerate(trials, start=1):
            follower = (lambda game: EngineObserver(game.key, game.goal)) if states else None
            for made in collect([trial], settings, follower):
                if isinstance(made, Rollout):
                    self.rollouts_written += 1
                    self.successes += made.success
                    self.steps += len(made.steps)
                    yield made
                else:
                    self.rejects.append(made)
            advance(number, None)
