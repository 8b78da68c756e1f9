"""Gives rollouts their states: the observer and the subgoals of each environment, and whole rollouts at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from proas.errors import StateError
from proas.keys import state_key
from proas.rollouts import Reject, Rollout, RolloutBatch, State, Step
from proas.states.kinds import Follower, state_kind, state_names
from proas.states.observer import Observed, StateObserver
from proas.subgoals import GOAL_REACHED, Ladder, generic_ladder

__all__ = ["attach_all", "attach_states", "follower_for", "ladder_for", "observer_for"]


def observer_for(env: str, task: str, goal_text: str = "") -> StateObserver:
    """An observer that reads states from text.

    Args:
        env: Name of the environment.
        task: Key of the task.
        goal_text: The goal as the agent reads it; may be empty where the key or the first observation says it.

    Raises:
        StateError: Nothing is known of that environment.
    """
    known = state_kind(env)
    if known is None:
        raise StateError(
            f"no states are known for environment {env!r}",
            hint=f"known: {', '.join(state_names())}; or write 'start' and each step's 'state' and "
            "'canonical' into the rollouts yourself",
        )
    return known.observer(task, goal_text)


def ladder_for(env: str, task: str, goal_text: str = "") -> Ladder:
    """Subgoals of a task from its goal alone, for tasks that the graph does not know yet.

    Args:
        env: Name of the environment.
        task: Key of the task.
        goal_text: The goal as the agent reads it.

    Returns:
        Two classes, under way and done, where the environment or the goal is not known.
    """
    known = state_kind(env)
    return generic_ladder(goal_text) if known is None else known.ladder(task, goal_text)


def ladder_of_rollout(rollout: Rollout) -> Ladder:
    """As :func:`ladder_for`, for the task that a rollout played."""
    return ladder_for(rollout.env, rollout.task, rollout.goal)


class _Running(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def goal_text(self) -> str: ...


class _TextFollower:
    """Follows an episode by what the environment says, where nothing reads its hidden state."""

    def begin(self, env: _Running, observation: str) -> State:
        self._observer = observer_for(env.name, env.task, env.goal_text)
        return self._observer.begin(observation)

    def observe(self, env: _Running, action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        del env
        return self._observer.observe(action, observation, valid=valid, won=won)


def follower_for(env: _Running) -> Follower:
    """What says in which state a running environment is: by its hidden state where that can be read, else by its text.

    Args:
        env: The environment (``proas.envs.Environment``); it may play any number of episodes.

    Raises:
        StateError: Nothing is known of that environment.
    """
    known = state_kind(env.name)
    if known is None:
        raise StateError(f"no states are known for environment {env.name!r}", hint="see docs/states.md")
    return _TextFollower() if known.follower is None else known.follower(env)


def attach_states(rollout: Rollout) -> Rollout:
    """Fill in ``start`` and each step's ``canonical``, ``state``, ``valid`` and ``seeks`` from the text.

    ``valid`` is filled in only where the source did not say, and ``goal`` where it is empty and the first observation
    states it. If the rollout says that it succeeded, the goal counts as reached from the last step on that changed
    something. A rollout that carries states already is checked and comes back unchanged; states that only some steps
    carry must agree with the text.

    Raises:
        StateError: The environment or the goal is unknown, or states that were given are wrong.
    """
    if rollout.has_states:
        _check(rollout)
        return rollout
    try:
        observer = observer_for(rollout.env, rollout.task, rollout.goal)
        start = observer.begin(rollout.observation)
    except StateError as error:
        raise StateError(f"rollout {rollout.id!r}: {error.message}", hint=error.hint) from error
    last = len(rollout.steps) - 1
    seen = [
        observer.observe(step.action, step.observation, valid=step.valid, won=rollout.success and t == last)
        for t, step in enumerate(rollout.steps)
    ]
    if rollout.success:
        seen = _with_goal_at_the_winning_step(rollout, start, seen)
    _agree(rollout, "start", rollout.start, start)
    steps: list[Step] = []
    for t, (step, found) in enumerate(zip(rollout.steps, seen, strict=True)):
        _agree(rollout, f"step {t}", step.state, found.state)
        known = {
            "canonical": found.canonical,
            "state": found.state,
            "valid": found.valid if step.valid is None else step.valid,
            "seeks": found.seeks,
        }
        steps.append(step.model_copy(update=known))
    kind = state_kind(rollout.env)
    goal = rollout.goal or (kind.goal(rollout.observation) if kind is not None else "")
    return rollout.model_copy(update={"goal": goal, "start": start, "steps": tuple(steps)})


def attach_all(batch: RolloutBatch) -> RolloutBatch:
    """States for a whole batch; rollouts that get none are kept aside with their reason."""
    done: list[Rollout] = []
    rejects: list[Reject] = list(batch.rejects)
    for rollout in batch:
        try:
            done.append(attach_states(rollout))
        except StateError as error:
            rejects.append(Reject(str(error), id=rollout.id, field="steps", excerpt=rollout.observation[:120]))
    return RolloutBatch(tuple(done), tuple(rejects))


def _with_goal_at_the_winning_step(rollout: Rollout, start: State, seen: Sequence[Observed]) -> list[Observed]:
    """Move ``goal reached`` from the last step to the one that won.

    Agents go on talking after the win. The winner is the step that entered the situation in which the rollout ended;
    where nothing ever changed, the last valid step.
    """
    situations = [_situation(state) for state in (start, *(found.state for found in seen))]
    winner = len(seen)
    while winner and situations[winner - 1] == situations[-1]:
        winner -= 1
    if winner == 0:
        winner = max((t for t, found in enumerate(seen, start=1) if found.valid), default=0)
    if winner == 0:
        return list(seen)
    won = State.of(rollout.env, rollout.task, situations[-1] | {GOAL_REACHED})
    return [found if t < winner else replace(found, state=won) for t, found in enumerate(seen, start=1)]


def _situation(state: State) -> frozenset[str]:
    return frozenset(state.facts) - {GOAL_REACHED}


def _check(rollout: Rollout) -> None:
    """Refuse states whose key is not that of their facts, which copies made without validation can hold."""
    states = (("start", rollout.start), *((f"step {t}", step.state) for t, step in enumerate(rollout.steps)))
    for where, state in states:
        if state is None or state.key != state_key(rollout.env, rollout.task, state.facts):
            raise StateError(
                f"rollout {rollout.id!r}, {where}: the state's key is not that of its facts",
                hint="leave the states out to have them read from the text",
            )


def _agree(rollout: Rollout, where: str, given: State | None, found: State) -> None:
    if given is not None and given.key != found.key:
        raise StateError(
            f"rollout {rollout.id!r}, {where}: the given state {list(given.facts)} is not the one that the text tells, "
            f"{list(found.facts)}",
            hint="give states for every step, or for none",
        )
