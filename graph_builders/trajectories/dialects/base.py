"""How the episodes of an environment read: what is general, for environments of which nothing more is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proas.graph_builders.trajectories.episodes import Call
from proas.rollouts import Rollout
from proas.states import ladder_of_rollout, state_kind
from proas.subgoals import GOAL_REACHED

__all__ = ["Dialect"]


class Dialect:
    """What is known of the logs of one environment; the environments that need more make a subclass.

    Args:
        env: Name of the environment.
    """

    scale: float = 1.0
    """The highest score that the environment gives."""

    def __init__(self, env: str) -> None:
        self.env = env

    def key_in(self, words: str) -> str:
        """The task key, as our environment has it, that an id or a path holds; empty where there is none."""
        del words
        return ""

    def first_observation(self, observation: str, context: str) -> str:
        """The environment's first words, without what a prompt puts around them."""
        return observation or context

    def goal(self, observation: str, context: str) -> str:
        """The goal that the first observation states, else what was told before it; empty where neither does."""
        kind = state_kind(self.env)
        if kind is None:
            return ""
        return kind.goal(observation) or kind.goal(context)

    def signature(self, goal: str, observation: str) -> tuple[object, ...] | None:
        """What tells tasks apart where there is no id: equal for two episodes of one task, whoever logged them.

        Args:
            goal: The goal in words.
            observation: The first observation (:meth:`first_observation`).

        Returns:
            Values that JSON can hold; ``None`` where too little is known.
        """
        parts = (" ".join(goal.lower().split()), " ".join(observation.lower().split()))
        return parts if any(parts) else None

    def worded(self, call: Call) -> str:
        """A tool call as an action in words."""
        values = [str(value) for value in call.arguments.values() if isinstance(value, str | int | float)]
        if len(call.arguments) == 1 and len(values) == 1 and next(iter(call.arguments)) in _SPELT_OUT:
            return values[0]
        return f"{call.name}[{', '.join(values)}]" if values else call.name

    def final_score(self, observation: str) -> float | None:
        """The score in [0, 1] that the environment's last words tell; ``None`` where they tell none."""
        del observation
        return None

    def last_words(self, action: str) -> str:
        """What the environment says to the action that won, for logs that end before it; empty where it may vary."""
        del action
        return ""

    def doubt(self, rollout: Rollout, *, least: float) -> str:
        """Why the states do not bear a success out that only the record tells of.

        An episode that was cut off, or one step of an episode with the reward of the whole, calls itself a success too.
        Here the states must have passed the last milestone below the goal that facts can show; a goal of which no
        milestones are known is taken at the record's word.

        Args:
            rollout: The episode, with states.
            least: Least score of a success, in (0, 1].

        Returns:
            The reason in words; empty where the states bear it out.
        """
        del least
        ladder = ladder_of_rollout(rollout)
        below = [subgoal for subgoal in ladder.subgoals[1:-1] if subgoal.condition]
        facts = [step.state.facts for step in rollout.steps if step.state is not None]
        passed = max((ladder.index([f for f in state if f != GOAL_REACHED]) for state in facts), default=0)
        if not below or passed >= below[-1].index:
            return ""
        return f"nothing in its text shows: {below[-1].description}"

    def says_nothing(self, observation: str) -> bool:
        """Whether an observation is none of the environment's own, so that no state can be read from it."""
        del observation
        return False

    def command(self, env: Any, action: str, answer: str) -> str | None:
        """What the running environment is to be given for an action; ``None`` for a thought, which it is not told.

        Args:
            env: The environment.
            action: The action as the log has it.
            answer: What the log says that the environment answered; may be empty.
        """
        del env, answer
        return action

    def difference(self, recorded: str, ours: str, task: str) -> str:
        """How an observation differs from our environment's in what it tells; empty where it does not."""
        del task
        mine, theirs = " ".join(ours.split()), " ".join(recorded.split())
        if mine == theirs:
            return ""
        same = next(
            (n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs))
        )
        return f"the record reads {_short(theirs, same)}, the environment {_short(mine, same)}"


_SPELT_OUT: Sequence[str] = ("action", "command", "input", "text", "act", "cmd")
"""Names of an argument that holds the action in words, whatever its function is called."""


_EXCERPT = 100
_LEAD = 40


def _short(text: str, differs: int) -> str:
    """An excerpt that holds the first difference."""
    if len(text) <= _EXCERPT:
        return repr(text)
    begin = max(0, min(differs - _LEAD, len(text) - _EXCERPT))
    end = begin + _EXCERPT
    return repr("..." * (begin > 0) + text[begin:end] + "..." * (end < len(text)))
