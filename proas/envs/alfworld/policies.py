"""Policies to make rollouts with: a planner that knows everything, one that errs as agents do, and a random one.

Each is a small class with ``act(env)``. Randomness comes from the generator that the caller passes, so that a seed
determines every rollout.
"""

from __future__ import annotations

import random
from typing import Literal, Protocol

from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.env import AlfWorldEnv
from proas.envs.alfworld.game import Snapshot, bits
from proas.envs.alfworld.planner import find_plan
from proas.errors import EnvironmentFailure, UsageError

__all__ = ["POLICIES", "ExpertPolicy", "NoisyPolicy", "Policy", "PolicyName", "RandomPolicy", "make_policy"]

PolicyName = Literal["expert", "noisy", "random"]


class Policy(Protocol):
    """Chooses the next command from the environment's present situation."""

    def act(self, env: AlfWorldEnv) -> str:
        """The next command."""
        ...


class ExpertPolicy:
    """Follows a shortest plan and plans again when something else has happened. Deterministic."""

    def __init__(self) -> None:
        self._game = ""
        self._expected: Snapshot | None = None
        self._rest: tuple[str, ...] = ()

    def act(self, env: AlfWorldEnv) -> str:
        """The next command of a shortest plan.

        Raises:
            EnvironmentFailure: The goal cannot be reached any more.
        """
        now = env.engine.snapshot()
        if now != self._expected or self._game != env.game.key or not self._rest:
            plan = find_plan(env.game, start=now)
            if not plan:
                raise EnvironmentFailure(f"{env.game.key or 'the game'}: no plan reaches the goal from here")
            self._rest = plan
            self._game = env.game.key
        command, self._rest = self._rest[0], self._rest[1:]
        ahead = env.engine.copy()
        ahead.step(command)
        self._expected = ahead.snapshot()
        return command


class RandomPolicy:
    """Any admissible command; verbs are drawn first, so that the many ``go to`` do not drown the rest."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def act(self, env: AlfWorldEnv) -> str:
        """A random admissible command."""
        return _random_command(env.engine, self._rng)


class NoisyPolicy:
    """An expert that errs: it wanders, looks around, opens and closes, walks back, and writes invalid commands.

    The errors are those that language models make on this benchmark: commands for what is not there or not in hand,
    wrong case, repeated looks, detours, things taken for no reason.

    Args:
        rng: Source of randomness.
        skill: Probability of the expert's command at each step; ``None`` draws one for each episode, often a low one,
            so that a group of rollouts has quick, slow and failed members.
    """

    def __init__(self, rng: random.Random, skill: float | None = None) -> None:
        if skill is not None and not 0.0 <= skill <= 1.0:
            raise UsageError(f"skill {skill} is not a probability")
        self._rng = rng
        self._fixed_skill = skill
        self._skill = 0.0
        self._engine: AlfWorldEngine | None = None
        self._expert = ExpertPolicy()
        self._before = ""

    def act(self, env: AlfWorldEnv) -> str:
        """The expert's command, or an error."""
        if env.engine is not self._engine:  # another episode
            self._engine = env.engine
            self._skill = 0.9 * self._rng.random() ** 2 if self._fixed_skill is None else self._fixed_skill
            self._before = ""
        errs = self._rng.random() >= self._skill
        command = self._error(env.engine) if errs else self._planned(env)
        self._before = command
        return command

    def _planned(self, env: AlfWorldEnv) -> str:
        try:
            return self._expert.act(env)
        except EnvironmentFailure:
            # Its errors can lead into a dead end (a thing in hand that nothing takes back); it then stumbles on.
            return self._error(env.engine)

    def _error(self, engine: AlfWorldEngine) -> str:
        kind = self._rng.choices(("wander", "any", "look", "invalid", "repeat"), (0.4, 0.2, 0.12, 0.2, 0.08))[0]
        match kind:
            case "wander":
                going = [c for c in engine.admissible() if c.startswith(("go to ", "open "))]
                return self._rng.choice(going) if going else "look"
            case "look":
                return self._rng.choice([c for c in engine.admissible() if c.startswith(("look", "inv", "examine"))])
            case "invalid":
                return _invalid_command(engine, self._rng)
            case "repeat" if self._before:
                return self._before
        return _random_command(engine, self._rng)


def _random_command(engine: AlfWorldEngine, rng: random.Random) -> str:
    by_verb: dict[str, list[str]] = {}
    for command in engine.admissible():
        by_verb.setdefault(command.split(" ", 1)[0], []).append(command)
    return rng.choice(by_verb[rng.choice(sorted(by_verb))])


def _invalid_command(engine: AlfWorldEngine, rng: random.Random) -> str:
    """A command as an agent would write it that does not apply here."""
    game = engine.game
    thing = game.objects[rng.choice(bits(game.goal_objects or game.pickupable) or [0])]
    receptacle = rng.choice(game.receptacles)
    put = "move {} to {}" if game.rules.wording == "move" else "put {} in/on {}"
    other = "put {} in/on {}" if game.rules.wording == "move" else "move {} to {}"
    candidates = [
        f"take {thing} from {receptacle}",
        put.format(thing, receptacle),
        other.format(thing, receptacle),
        f"open {receptacle}",
        f"close {receptacle}",
        f"go to {thing}",
        f"Go to {receptacle}",
        f"examine {thing}",
        f"heat {thing} with {receptacle}",
        f"clean {thing} with {receptacle}",
        f"use {thing}",
        f"pick up {thing}",
        "look around",
    ]
    rng.shuffle(candidates)
    return next(command for command in candidates if not engine.valid(command))


POLICIES: tuple[PolicyName, ...] = ("expert", "noisy", "random")


def make_policy(name: str, rng: random.Random) -> Policy:
    """A policy by name.

    Raises:
        UsageError: There is none of that name.
    """
    match name:
        case "expert":
            return ExpertPolicy()
        case "noisy":
            return NoisyPolicy(rng)
        case "random":
            return RandomPolicy(rng)
    raise UsageError(f"no policy {name!r}", hint=f"known: {', '.join(POLICIES)}")
