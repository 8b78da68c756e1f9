"""Vault, a text game: an environment of your own, with its states, subgoals and seeds; see docs/own_environment.md.

The pearl and the ruby are to be brought to the hall, in any order. They lie in two of the four rooms around it. One of
these is locked; its key lies in another. The task's name decides which.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from proas import envs, graph_builders, states
from proas.envs.games import Game, GameEnv, GameWorld
from proas.subgoals import Ladder, any_order, ladder_of

NAME = "vault"
ROOMS = ("attic", "cellar", "kitchen", "study")
GEMS = ("pearl", "ruby")


class Scene(NamedTuple):
    """A situation."""

    room: str = "hall"
    held: frozenset[str] = frozenset()
    unlocked: bool = False


class Vault(Game[Scene]):
    """The rules of one task."""

    goal = "bring the pearl and the ruby to the hall"
    start = Scene()

    def __init__(self, task: str) -> None:
        *free, self.locked = random.Random(task).sample(ROOMS, 4)  # noqa: S311  # no secret
        self.places = {"key": free[0], "pearl": free[1], "ruby": self.locked}

    def opening(self) -> str:
        return f"You are in a hall with doors to {', '.join(ROOMS)}. Your task is to: {self.goal}."

    def lying(self, now: Scene) -> list[str]:
        return [thing for thing, room in self.places.items() if room == now.room and thing not in now.held]

    def admissible(self, now: Scene) -> list[str]:
        if now.room != "hall":
            return ["enter hall", *(f"take {thing}" for thing in self.lying(now))]
        doors = [f"enter {room}" for room in ROOMS if now.unlocked or room != self.locked]
        return [*doors, f"unlock {self.locked}"] if "key" in now.held and not now.unlocked else doors

    def after(self, now: Scene, action: str) -> tuple[Scene, str] | None:
        if action not in self.admissible(now):
            return None
        then = moved(now, *action.split())
        seen = f" You see: {', '.join(self.lying(then)) or 'nothing'}." if then.room != now.room else ""
        return then, f"You {action}.{seen}"

    def won(self, now: Scene) -> bool:
        return now.room == "hall" and now.held.issuperset(GEMS)


def moved(now: Scene, verb: str, thing: str) -> Scene:
    """The situation after an action that applied."""
    if verb == "enter":
        return now._replace(room=thing)
    return now._replace(held=now.held | {thing}) if verb == "take" else now._replace(unlocked=True)


class VaultStates(states.States[Scene]):
    """What counts in a situation, told by the text alone (``after``) or by the game itself (``hidden``)."""

    env = NAME

    def first(self, task: str, goal: str, observation: str) -> Scene:
        return Scene()

    def after(self, before: Scene, command: str, observation: str) -> Scene | None:
        done = re.match(r"You (enter|take|unlock) (\w+)\.", observation)
        return moved(before, *done.groups()) if done else None

    def hidden(self, env: GameEnv[Scene], before: Scene | None) -> Scene:
        return env.now

    def facts(self, now: Scene) -> set[str]:
        return {f"in {now.room}", *(f"holding {thing}" for thing in now.held), *["unlocked"] * now.unlocked}

    def ladder(self, task: str, goal: str) -> Ladder:
        return ladder_of(any_order([f"holding {gem}" for gem in GEMS], told="hold {count} of {of} gems"), goal=goal)


def open_world(data: object, options: object) -> GameWorld[Scene]:
    """A hundred tasks; they need no data."""
    return GameWorld(NAME, [f"vault-{number}" for number in range(100)], Vault, step_limit=30)


envs.register(envs.EnvKind(NAME, "two gems and a locked room", "none: a task is made from its name", 30, open_world))
states.register(VaultStates().kind())
graph_builders.register_expert(NAME)
