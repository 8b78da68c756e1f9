"""The example's game, broken in one way at a time. A module that another process can import, as a plug-in would be."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import vault
from vault import Scene, Vault, VaultStates

from proas import envs, states
from proas.envs.base import Info, RewardSettings, StepResult
from proas.envs.games import Game, GameEnv, GameWorld
from proas.keys import digest
from proas.rollouts import State
from proas.states.base import States
from proas.states.observer import Observed
from proas.subgoals import Ladder, Rung, ladder_of

TASKS = tuple(f"vault-{number}" for number in range(6))


def define(
    name: str,
    *,
    game: Callable[[str], Game[Scene]] = Vault,
    env: type[GameEnv[Scene]] = GameEnv,
    told: type[States[Any]] = VaultStates,
    follower: Callable[[Any], Any] | None = None,
    tasks: Callable[[], Iterable[str]] = lambda: TASKS,
) -> None:
    """Register a variant."""

    class World(GameWorld[Scene]):
        def environment(
            self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()
        ) -> GameEnv[Scene]:
            return env(name, self._game, step_limit=step_limit or 30, rewards=rewards)

    def open_world(data: Path | None, options: Mapping[str, str]) -> World:
        return World(name, tuple(tasks()), game, step_limit=30)

    kind = type("Told", (told,), {"env": name})().kind()
    envs.register(envs.EnvKind(name, "broken", "none", 30, open_world))
    states.register(replace(kind, follower=follower or kind.follower))


class Carried(NamedTuple):
    """A scene, and what is held in the order in which it was taken."""

    scene: Scene
    order: tuple[str, ...] = ()


class ListFacts(States[Carried]):
    """Tells what is held in one fact, in the order in which it was taken."""

    def first(self, task: str, goal: str, observation: str) -> Carried:
        return Carried(Scene())

    def _now(self, before: Carried, scene: Scene) -> Carried:
        return Carried(scene, (*before.order, *(x for x in scene.held if x not in before.order)))

    def after(self, before: Carried, command: str, observation: str) -> Carried | None:
        scene = VaultStates().after(before.scene, command, observation)
        return None if scene is None else self._now(before, scene)

    def hidden(self, env: GameEnv[Scene], before: Carried | None) -> Carried:
        return self._now(before or Carried(Scene()), env.now)

    def facts(self, now: Carried) -> Iterable[str]:
        return {f"in {now.scene.room}", f"carrying {', '.join(now.order)}", *["unlocked"] * now.scene.unlocked}

    def ladder(self, task: str, goal: str) -> Ladder:
        return ladder_of([], goal=goal)


class Leaking(VaultStates):
    """Remembers the rooms of earlier episodes."""

    visited: ClassVar[set[str]] = set()

    def facts(self, now: Scene) -> set[str]:
        self.visited.add(now.room)
        return super().facts(now) | {f"visited {room}" for room in self.visited}


class DeafToKeys(VaultStates):
    """Does not read that a door is unlocked."""

    def after(self, before: Scene, command: str, observation: str) -> Scene | None:
        now = super().after(before, command, observation)
        return before if now is not None and now.unlocked != before.unlocked else now


class Falling(VaultStates):
    """Counts it as a milestone to have left the hall, which every way back undoes."""

    def ladder(self, task: str, goal: str) -> Ladder:
        return ladder_of([Rung("leave the hall", tuple((f"in {room}",) for room in vault.ROOMS))], goal=goal)


class Salted(VaultStates):
    """Tells the hand by Python's hash."""

    def facts(self, now: Scene) -> set[str]:
        return super().facts(now) | {f"hand {hash(tuple(sorted(now.held))) % 1000}"}


class Failing(VaultStates):
    """Breaks down in the cellar."""

    def facts(self, now: Scene) -> set[str]:
        return super().facts(now) | {{"cellar": None}.get(now.room, "somewhere").upper()}  # type: ignore[union-attr]


class OwnKeys:
    """Follows with keys of its own making, which leave the room out."""

    def begin(self, env: GameEnv[Scene], observation: str) -> State:
        return State(key=digest(sorted(env.now.held)), facts=tuple(sorted(VaultStates().facts(env.now))))

    def observe(self, env: GameEnv[Scene], action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        return Observed(self.begin(env, observation), action, valid, seeks=False)


class Silent:
    """Follows without a word of the goal."""

    def begin(self, env: GameEnv[Scene], observation: str) -> State:
        return State.of(env.name, env.task, VaultStates().facts(env.now))

    def observe(self, env: GameEnv[Scene], action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        return Observed(self.begin(env, observation), action, valid, seeks=False)


class Unsettled(Vault):
    """Lies differently at every reset."""

    draw: ClassVar[random.Random] = random.Random(0)

    def __init__(self, task: str) -> None:
        super().__init__(f"{task}-{self.draw.random()}")


class Talkative(Vault):
    """Answers by chance."""

    count: ClassVar[itertools.count[int]] = itertools.count()

    def after(self, now: Scene, action: str) -> tuple[Scene, str] | None:
        answer = super().after(now, action)
        return None if answer is None else (answer[0], f"{answer[1]} ({next(self.count)})")


class Greeting(Vault):
    """Begins with other words each time."""

    count: ClassVar[itertools.count[int]] = itertools.count()

    def opening(self) -> str:
        return f"Welcome, visitor {next(self.count)}. {super().opening()}"


class Mute(Vault):
    """Says nothing at all, so that text does not show what was refused."""

    refusal = ""

    def after(self, now: Scene, action: str) -> tuple[Scene, str] | None:
        answer = super().after(now, action)
        return None if answer is None else (answer[0], "")


class Trusting(VaultStates):
    """Takes the agent at its word."""

    def after(self, before: Scene, command: str, observation: str) -> Scene | None:
        words = command.split()
        return vault.moved(before, *words) if len(words) == 2 else None


class Dancing(Vault):
    """Lists what does not apply."""

    def admissible(self, now: Scene) -> list[str]:
        return [*super().admissible(now), "dance"]

    def after(self, now: Scene, action: str) -> tuple[Scene, str] | None:
        return None if action == "dance" else super().after(now, action)


class Surrogate(Vault):
    """Says what no file can hold."""

    def opening(self) -> str:
        return super().opening() + "\ud800"


class AllValid(GameEnv[Scene]):
    """Calls every action valid."""

    def _look(self, *, valid: bool, steps: int) -> Info:
        return super()._look(valid=True, steps=steps)


class Punishing(GameEnv[Scene]):
    """Takes something out of the hand of who says what does not apply."""

    def step(self, action: str) -> StepResult:
        result = super().step(action)
        if result.info.valid:
            return result
        self._now = self._now._replace(held=frozenset(sorted(self._now.held)[1:]), room="hall")
        self._info = self._look(valid=False, steps=result.info.steps)
        return replace(result, info=self._info)


class Generous(GameEnv[Scene]):
    """Pays by its own rules."""

    def step(self, action: str) -> StepResult:
        result = super().step(action)
        return replace(result, reward=float(len(self._now.held)))


class Endless(GameEnv[Scene]):
    """Knows no limit."""

    def _look(self, *, valid: bool, steps: int) -> Info:
        return replace(super()._look(valid=valid, steps=steps), truncated=False)


class Shared(GameEnv[Scene]):
    """Keeps its situation where another environment finds it."""

    place: ClassVar[dict[str, Scene]] = {}

    @property
    def _now(self) -> Scene:  # type: ignore[override]
        return self.place["now"]

    @_now.setter
    def _now(self, scene: Scene) -> None:
        self.place["now"] = scene


numbers = itertools.count()

define("sound-vault")
define("list-facts", told=ListFacts)
define("leaking-observer", told=Leaking)
define("text-disagrees", told=DeafToKeys)
define("falling-milestones", told=Falling)
define("silent-goal", follower=lambda env: Silent())
define("salted-facts", told=Salted)
define("failing-observer", told=Failing)
define("own-keys", follower=lambda env: OwnKeys())
define("unsettled-reset", game=Unsettled)
define("answers-by-chance", game=Talkative)
define("opening-by-chance", game=Greeting)
define("mute", game=Mute, told=Trusting)
define("admissible-lies", game=Dancing)
define("unwritable-words", game=Surrogate)
define("valid-lies", env=AllValid)
define("invalid-changes", env=Punishing)
define("own-rewards", env=Generous)
define("endless", env=Endless)
define("shared-situation", env=Shared)
define("new-keys", tasks=lambda: [f"vault-{next(numbers)}" for _ in range(4)])


def _kaput(data: Path | None, options: Mapping[str, str]) -> Any:
    raise RuntimeError("kaput")


envs.register(
    envs.EnvKind(
        "without-states", "broken", "none", 30, lambda _d, _o: GameWorld("without-states", TASKS, Vault, step_limit=30)
    )
)
envs.register(
    envs.EnvKind(
        "without-tasks", "broken", "none", 30, lambda _d, _o: GameWorld("without-tasks", (), Vault, step_limit=30)
    )
)
envs.register(envs.EnvKind("unopenable", "broken", "none", 30, _kaput))
