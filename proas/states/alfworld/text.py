"""ALFWorld states from text alone: what a trainer that sees only observations has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import DataError, StateError
from proas.rollouts import State
from proas.states.alfworld.answers import Answer, read_answer
from proas.states.alfworld.commands import Command, canonical_words, is_thought, spoken_command
from proas.states.alfworld.knowledge import FACTS, Noted, Noting
from proas.states.alfworld.memory import Memory, projected
from proas.states.alfworld.search import Search
from proas.states.observer import Observed, StateMaker
from proas.subgoals import GOAL_REACHED

__all__ = ["ENV", "TextObserver", "goal_of", "stated_goal"]

ENV = FACTS.env
"""Name of the environment in every key."""

_THINK = Command("think")


def goal_of(task: str, *texts: str) -> AlfWorldGoal | None:
    """Goal of a task: by its key where that has the release's form, else by the first text that states one."""
    try:
        return AlfWorldGoal.from_task_key(task)
    except DataError:
        pass
    for text in texts:
        try:
            return AlfWorldGoal.from_text(text)
        except DataError:
            continue
    return None


def stated_goal(observation: str) -> str:
    """The sentence after "Your task is to:" in a first observation; empty where there is none."""
    found = _TASK.search(observation)
    return found.group(1).strip() if found else ""


_TASK = re.compile(r"your task is to:[ \t]*([^\n]+)", re.IGNORECASE)


class TextObserver:
    """Follows a rollout by what the agent said and the game answered.

    The answer decides what was carried out; the agent's words fill in what the answer leaves open. A thought is a valid
    step that leaves the state as it is. "Nothing happens.", ``valid=False``, or an answer that is none of the game's
    makes the step invalid, unless the environment vouches for it. Where there is no answer at all the words are taken
    as carried out.

    Which steps seek information is told in :class:`~proas.states.alfworld.search.Search`.

    Args:
        task: Key of the task.
        goal: The goal; ``None`` to read it from the first observation.
        noting: Which kind of states.
    """

    def __init__(self, task: str, goal: AlfWorldGoal | None = None, noting: Noting = FACTS) -> None:
        self._task = task
        self._given = goal
        self._noting = noting
        self._make = StateMaker(noting.env, task)
        self._begun: _Begun | None = None

    def begin(self, observation: str) -> State:
        """State before the first action: nothing held, attending to nothing, nothing seen.

        Raises:
            StateError: No goal was given and the observation states none.
        """
        goal = self._given or goal_of("", observation)
        if goal is None:
            raise StateError(
                f"task {self._task!r}: the goal is not one of ALFWorld's",
                hint="give the sentence after 'Your task is to:' as the rollout's goal, or the task's folder name",
            )
        mind = self._noting.first(goal)
        self._begun = _Begun(mind.memory, mind.noted, Search(goal), self._make(mind.noted.facts()))
        return self._begun.state

    def observe(self, action: str, observation: str, *, valid: bool | None = None, won: bool = False) -> Observed:
        """State after an action; see :class:`~proas.states.observer.StateObserver`."""
        now = self._begun
        if now is None:
            raise StateError(f"task {self._task!r}: a step before the first observation", hint="call begin() first")
        answer = read_answer(observation)
        vouched = valid is True or (valid is None and won)
        command = None if valid is False else _carried_out(action, observation, answer, now.memory, vouched=vouched)
        if command is None:
            carried = vouched and answer.reply != "refused"
            if carried:
                now.state = self._make(now.facts(won=won))
            return Observed(now.state, _words(action), carried, seeks=False)
        now.take_in(command, answer)
        seeks = now.search.seeks(command, answer.receptacle if answer.sees else "", answer.contents)
        now.state = self._make(now.facts(won=won))
        return Observed(now.state, command.canonical, valid=True, seeks=seeks)


@dataclass(slots=True)
class _Begun:
    """What the text has told so far of the rollout under way."""

    memory: Memory
    noted: Noted
    search: Search
    state: State
    holding: str = ""
    open: dict[str, bool] = field(default_factory=dict)

    def take_in(self, command: Command, answer: Answer) -> None:
        """Note what a step did and showed."""
        if command.verb == "take":
            self.holding = command.object
        elif command.verb == "move":
            self.holding = ""
        if answer.opened is not None:
            self.open[answer.receptacle] = answer.opened
        elif command.verb in ("open", "close"):
            self.open[command.object] = command.verb == "open"
        self.memory = self.memory.after(command, off=answer.off)
        self.noted = self.noted.after(command, answer.receptacle if answer.sees else "", answer.contents)

    def facts(self, *, won: bool) -> Iterable[str]:
        """Facts of the state, in any order."""
        yield from projected(self.memory, self.holding, attended_open=self.open.get(self.memory.attended, False))
        yield from self.noted.facts()
        if won:
            yield GOAL_REACHED


def _carried_out(action: str, observation: str, answer: Answer, memory: Memory, *, vouched: bool) -> Command | None:
    """The command that the game carried out, ``None`` when it carried out nothing that we know."""
    if answer.reply == "done":
        return answer.command
    if answer.reply == "noted":
        return _THINK
    if answer.reply == "refused":
        return None
    spoken = spoken_command(action)
    if answer.reply == "sight" and not answer.receptacle:  # "You arrive at loc 5." and no more
        return spoken if spoken is not None and spoken.verb == "go" else None
    if answer.reply == "sight":
        if spoken is not None and spoken.object == answer.receptacle and spoken.verb in ("go", "examine"):
            return spoken
        return Command("examine" if answer.receptacle == memory.attended else "go", answer.receptacle)
    if not vouched and observation.strip():
        return None
    if spoken is None and is_thought(action):
        return _THINK
    return spoken


def _words(action: str) -> str:
    """Canonical form of words that were not carried out."""
    spoken = spoken_command(action)
    if spoken is not None:
        return spoken.canonical
    return _THINK.canonical if is_thought(action) else canonical_words(action)
