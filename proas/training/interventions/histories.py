"""Histories that lead to one and the same situation, with and without unreasonable steps in them.

A step that leaves the environment exactly as it was can be put into an episode without any effect but on what is
remembered of it. Two kinds do: commands that do not apply, and pairs that go there and back. Steps that are harmless
and leave everything as it was, such as a look around, are the control: they are as many and about as long.

"Exactly as it was" is checked on the hidden state (the engine's snapshot, where the environment has one, else the facts
and what is admissible), and again on the whole history, together with the state that labels would see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from proas.envs.base import Environment, World
from proas.keys import digest
from proas.states import follower_for
from proas.training.episodes import Episode, TextLimits
from proas.training.policy.base import LanguagePolicy

__all__ = [
    "Composer",
    "Habits",
    "Inserted",
    "Junction",
    "Unit",
    "as_long",
    "chosen",
    "fingerprint",
    "harmless_units",
    "junction_of",
    "wasteful_units",
]

_TRIED = 12
"""First steps tried for a way there and back, and second steps for each."""
_ENOUGH = 6
"""Different units of a kind, after which no more are looked for."""


def fingerprint(env: Environment) -> str:
    """Digest of an environment's hidden situation; steps taken are left out of it."""
    engine: Any = getattr(env, "engine", None)
    snapshot = getattr(engine, "snapshot", None)
    hidden = repr(snapshot()) if callable(snapshot) else sorted(map(list, env.info.facts.as_tuples()))
    return digest("situation", env.name, env.task, hidden, sorted(env.info.admissible))


@dataclass(frozen=True, slots=True)
class Unit:
    """Steps that, taken together, leave everything as it was.

    Attributes:
        actions: One command, or two that go there and back.
        own: The policy itself took them in its rollouts.
    """

    actions: tuple[str, ...]
    own: bool


@dataclass(frozen=True, slots=True)
class Junction:
    """A situation in an episode at which it can be gone on with.

    Attributes:
        episode: The episode.
        step: Number of steps before it.
        situation: Fingerprint of the environment.
        state: Key of the state that labels would see.
    """

    episode: Episode
    step: int
    situation: str
    state: str

    @property
    def actions(self) -> tuple[str, ...]:
        """What was carried out before it."""
        return tuple(step.action for step in self.episode.rollout.steps[: self.step])

    @property
    def tokens(self) -> tuple[int, ...]:
        """What the policy has read and said by then."""
        return tuple(self.episode.tokens[: self.episode.starts[self.step]].tolist())

    @property
    def prompt(self) -> tuple[int, ...]:
        """Of these, what it read before its first action."""
        return tuple(self.episode.tokens[: self.episode.starts[0]].tolist())

    @property
    def number(self) -> int:
        """Seed of whatever is random in the environment."""
        return int(self.episode.rollout.id.rsplit("#", 1)[1])


@dataclass(frozen=True, slots=True)
class Inserted:
    """Steps put into a history.

    Attributes:
        actions: All commands, those of the history included, in order.
        tokens: All that the policy reads and says, in order.
        added: Tokens that were added.
    """

    actions: tuple[str, ...]
    tokens: tuple[int, ...]
    added: int


def junction_of(world: World, episode: Episode, step: int) -> Junction:
    """The situation after so many steps of an episode."""
    rollout = episode.rollout
    junction = Junction(episode, step, "", "")
    env, state = _carried_out(world, rollout.task, junction.number, junction.actions, follow=True)
    return Junction(episode, step, fingerprint(env), state)


class Habits:
    """What a policy does of its own accord that leads nowhere.

    Args:
        episodes: Its episodes, with states.
    """

    def __init__(self, episodes: Sequence[Episode]) -> None:
        self._invalid: dict[str, list[str]] = {}
        self._loops: dict[str, list[tuple[str, str]]] = {}
        self._all: dict[str, None] = {}
        for episode in episodes:
            rollout = episode.rollout
            keys = rollout.state_keys
            for t, step in enumerate(rollout.steps):
                self._all[step.action] = None
                if step.valid is False and step.action:
                    self._invalid.setdefault(rollout.task, []).append(step.action)
                elif t + 1 < len(rollout.steps) and keys[t] == keys[t + 2] != keys[t + 1]:
                    self._loops.setdefault(keys[t], []).append((step.action, rollout.steps[t + 1].action))

    def invalid(self, task: str) -> Iterator[tuple[str, bool]]:
        """Commands that did not apply, those of the task first; then any others, which may not apply elsewhere.

        Yields:
            The command, and whether the policy itself said it where it did not apply.
        """
        own = dict.fromkeys(self._invalid.get(task, ()))
        others = dict.fromkeys(action for name, said in self._invalid.items() if name != task for action in said)
        yield from ((action, True) for action in own)
        yield from ((action, True) for action in others if action not in own)
        yield from ((action, False) for action in self._all if action not in own and action not in others)

    def loops(self, state: str) -> list[tuple[str, str]]:
        """Pairs that led from a state and back to it."""
        return list(dict.fromkeys(self._loops.get(state, ())))


def wasteful_units(world: World, junction: Junction, actions: Sequence[str], habits: Habits) -> list[Unit]:
    """Unreasonable steps that may be taken after some commands and change nothing.

    Args:
        world: Tasks.
        junction: Where they are wanted; its task and its state.
        actions: The commands that come before them.
        habits: What the policy does by itself; comes first.
    """
    scene = _Scene(world, junction, actions)
    task = junction.episode.rollout.task
    found: list[Unit] = []
    for action, own in habits.invalid(task):
        if len(found) >= _ENOUGH:
            break
        if scene.stays((action,), valid=False):
            found.append(Unit((action,), own))
    loops: list[Unit] = []
    for pair in habits.loops(scene.state):
        if len(loops) < _ENOUGH and scene.stays(pair, valid=True):
            loops.append(Unit(pair, own=True))
    for pair in _ways_back(scene, junction):
        if len(loops) >= _ENOUGH:
            break
        loops.append(Unit(pair, own=False))
    return found + loops


def harmless_units(world: World, junction: Junction, actions: Sequence[str]) -> list[Unit]:
    """Commands that apply, change nothing and cost nothing: a look around, a look at what is carried."""
    scene = _Scene(world, junction, actions)
    return [Unit((action,), own=False) for action in scene.admissible if scene.stays((action,), valid=True)]


def chosen(units: Sequence[Unit], counts: Sequence[int], seed: str) -> list[Unit] | None:
    """Units whose lengths add up to each of the counts, one after the other.

    Args:
        units: To choose from; each may be taken again.
        counts: Ascending numbers of steps.
        seed: Decides the choice.

    Returns:
        The units, so that for each count the first of them add up to it; ``None`` where that cannot be.
    """
    single = [unit for unit in units if len(unit.actions) == 1]
    double = [unit for unit in units if len(unit.actions) == 2]
    taken: list[Unit] = []
    total = 0
    for count in counts:
        while total < count:
            left = count - total
            two = left > 1 and double and (not single or int(digest(seed, total, "kind"), 16) % 2 == 0)
            kind = double if two else single
            if not kind:
                return None
            unit = kind[int(digest(seed, total, "which"), 16) % len(kind)]
            taken.append(unit)
            total += len(unit.actions)
    return taken


class Composer:
    """Writes steps into the history of a junction.

    Args:
        world: Tasks.
        policy: Who reads the history.
        limits: Of the texts' pieces.
        junction: Whose history.
        first: Steps of it that come before what is put in.
    """

    def __init__(
        self, world: World, policy: LanguagePolicy, limits: TextLimits, junction: Junction, first: int
    ) -> None:
        self._world, self._policy, self._limits = world, policy, limits
        self._junction = junction
        self.before = junction.actions[:first]
        self.after = junction.actions[first:]
        episode = junction.episode
        cut = int(episode.starts[first])
        self._head = tuple(episode.tokens[:cut].tolist())
        self._tail = junction.tokens[cut:]

    def read(self, action: str, observation: str) -> tuple[int, ...]:
        """Tokens of a step."""
        return (*self._policy.read_action(action), *self._policy.read(observation, self._limits.observation))

    def with_steps(self, actions: Sequence[str]) -> Inserted | None:
        """The history with some more steps; ``None`` where it does not lead to the same situation and state."""
        rollout = self._junction.episode.rollout
        env, follower = _begun(self._world, rollout.task, self._junction.number, follow=True)
        written: list[int] = []
        state = follower.begin(env, rollout.observation).key
        for place, action in enumerate((*self.before, *actions, *self.after)):
            result = env.step(action)
            if result.done:
                return None
            state = follower.observe(
                env, action, result.observation, valid=result.info.valid, won=result.info.won
            ).state.key
            if len(self.before) <= place < len(self.before) + len(actions):
                written += self.read(action, result.observation)
        if fingerprint(env) != self._junction.situation or state != self._junction.state:
            return None
        return Inserted((*self.before, *actions, *self.after), (*self._head, *written, *self._tail), len(written))

    def lengths(self, units: Iterable[Unit]) -> list[int]:
        """Tokens that each unit would add."""
        found: list[int] = []
        for unit in units:
            env, _ = _begun(self._world, self._junction.episode.rollout.task, self._junction.number, follow=False)
            for action in self.before:
                env.step(action)
            found.append(sum(len(self.read(action, env.step(action).observation)) for action in unit.actions))
        return found


def as_long(wanted: Sequence[int], units: Sequence[Unit], lengths: Sequence[int]) -> list[Unit]:
    """One of some units for each step that is wanted, so that their tokens keep up with it.

    Args:
        wanted: Tokens of each step that is to be matched.
        units: Of one command each; may be taken again.
        lengths: Their tokens.
    """
    taken: list[Unit] = []
    behind = 0
    for tokens in wanted:
        behind += tokens
        place = min(range(len(units)), key=lambda i: (abs(behind - lengths[i]), i))
        behind -= lengths[place]
        taken.append(units[place])
    return taken


class _Scene:
    """A situation that can be tried out and is there again afterwards."""

    def __init__(self, world: World, junction: Junction, actions: Sequence[str]) -> None:
        self._world = world
        self._task = junction.episode.rollout.task
        self._number = junction.number
        self._actions = tuple(actions)
        self._env, self.state = _carried_out(world, self._task, self._number, self._actions, follow=True)
        self.situation = fingerprint(self._env)
        self.admissible = self._env.info.admissible

    def stays(self, actions: Sequence[str], *, valid: bool) -> bool:
        """Whether commands all apply (or all do not) and leave everything as it was."""
        ok, done = True, False
        for action in actions:
            result = self._env.step(action)
            ok, done = ok and result.info.valid is valid, result.done
            if done or not ok:
                break
        same = not done and fingerprint(self._env) == self.situation
        if not same:
            self._again()
        return ok and same

    def after(self, action: str) -> tuple[str, ...] | None:
        """What is admissible after a command that changes something; ``None`` where it does not, or ends all."""
        result = self._env.step(action)
        moved = result.info.valid and not result.done and fingerprint(self._env) != self.situation
        found = result.info.admissible if moved else None
        self._again()
        return found

    def _again(self) -> None:
        self._env, _ = _carried_out(self._world, self._task, self._number, self._actions, follow=False)


def _ways_back(scene: _Scene, junction: Junction) -> Iterator[tuple[str, str]]:
    """Pairs of commands that go there and back, in an order that the junction decides."""
    been = list(dict.fromkeys(reversed(junction.actions)))
    first = sorted(scene.admissible, key=lambda action: digest("there", junction.state, action))[:_TRIED]
    for there in first:
        admissible = scene.after(there)
        if admissible is None:
            continue
        verb = there.split(" ", 1)[0]
        likely = [action for action in been if action in admissible]
        likely += [action for action in admissible if action.split(" ", 1)[0] != verb and action not in likely]
        for back in likely[:_TRIED]:
            if scene.stays((there, back), valid=True):
                yield there, back
                break


def _begun(world: World, task: str, number: int, *, follow: bool) -> tuple[Environment, Any]:
    env = world.environment(step_limit=_NO_LIMIT)
    env.reset(task, seed=number)
    return env, follower_for(env) if follow else None


def _carried_out(
    world: World, task: str, number: int, actions: Sequence[str], *, follow: bool
) -> tuple[Environment, str]:
    """An environment after some commands, and the key of the state that labels would see."""
    env = world.environment(step_limit=_NO_LIMIT)
    observation, _ = env.reset(task, seed=number)
    if not follow:
        for action in actions:
            env.step(action)
        return env, ""
    follower = follower_for(env)
    state = follower.begin(env, observation).key
    for action in actions:
        result = env.step(action)
        state = follower.observe(
            env, action, result.observation, valid=result.info.valid, won=result.info.won
        ).state.key
    return env, state


_NO_LIMIT = 1_000_000
