"""Prompts: what a language model reads before each action.

Two layouts, both usual for agents of this kind:

``turns``
    Every action is asked for in a conversation of its own: rules and task, a window of the last ``history`` actions
    with what they were answered, the present observation, the actions that apply. The length is bounded.
``dialogue``
    One conversation: rules, task and first observation, then the model's replies as it gave them and the
    environment's answers in turn. With ``history=None`` the messages before an action are a prefix of those before the
    next one, so that a whole episode is one sequence of tokens.

The form of the answer is that of :mod:`proas.agents.replies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from proas.agents.model import Message
from proas.agents.words import EnvWords, words_for
from proas.errors import UsageError

__all__ = ["Layout", "PromptSettings", "Prompter", "Turn"]

Layout = Literal["turns", "dialogue"]


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """How prompts are made.

    Attributes:
        layout: See the module's docstring.
        history: Past actions that are shown; ``None`` shows all.
        admissible: Whether the actions that apply are listed.
        admissible_limit: At most so many are listed.
        thoughts: Whether think tags are asked for.
        observation_limit: Longest observation in characters; the middle of a longer one is left out.

    Raises:
        UsageError: A value makes no sense.
    """

    layout: Layout = "turns"
    history: int | None = 5
    admissible: bool = True
    admissible_limit: int = 120
    thoughts: bool = True
    observation_limit: int = 6_000

    def __post_init__(self) -> None:
        """Refuse settings that no prompt can follow."""
        if self.layout not in ("turns", "dialogue"):
            raise UsageError(f"unknown layout {self.layout!r}", hint="known: turns, dialogue")
        if self.history is not None and self.history < 0:
            raise UsageError(f"a history of {self.history} steps makes no sense", hint="0 shows none")
        if self.admissible_limit < 1 or self.observation_limit < 100:
            raise UsageError("a prompt must have room for one action and 100 characters of observation")


@dataclass(frozen=True, slots=True)
class Turn:
    """One past step of an episode.

    Attributes:
        reply: The model's reply as it came.
        action: The action that was read from it.
        observation: The environment's answer.
        admissible: What applied after it.
        readable: Whether an action could be read at all.
    """

    reply: str
    action: str
    observation: str
    admissible: tuple[str, ...] = ()
    readable: bool = True


class Prompter:
    """Makes the prompts of one environment.

    Args:
        env: Name of the environment.
        settings: How.

    Raises:
        UsageError: There is no such environment.
    """

    def __init__(self, env: str, settings: PromptSettings = PromptSettings()) -> None:
        self.settings = settings
        self._words = words_for(env)

    def messages(
        self, goal: str, observation: str, turns: Sequence[Turn] = (), *, admissible: Sequence[str] = ()
    ) -> list[Message]:
        """The conversation before the next action.

        Args:
            goal: The task in words.
            observation: The environment's first words.
            turns: All steps so far, in order.
            admissible: What applied before the first step.

        Returns:
            A system message, and one user message (``turns``) or one more than there are shown steps (``dialogue``).
        """
        system = Message("system", _system(self._words, thoughts=self.settings.thoughts))
        if self.settings.layout == "dialogue":
            return [system, *self._dialogue(goal, observation, turns, admissible)]
        return [system, Message("user", self._turn(goal, observation, turns, admissible))]

    def _turn(self, goal: str, first: str, turns: Sequence[Turn], admissible: Sequence[str]) -> str:
        shown = self._window(turns)
        parts = [f"Your task: {_sentence(goal)}"]
        if shown:
            parts.append(f"You have taken {len(turns)} steps. The last {len(shown)}, the oldest first:")
            begin = len(turns) - len(shown)
            for number, turn in enumerate(shown, start=begin + 1):
                before = first if number == 1 else turns[number - 2].observation
                parts.append(f"[{number}] You saw: {self._cut(before)}\n    You did: {_done(turn)}")
        elif turns:
            parts.append(f"You have taken {len(turns)} steps.")
        parts.append(f"Step {len(turns) + 1}. You see now: {self._cut(turns[-1].observation if turns else first)}")
        parts.append(self._request(turns[-1].admissible if turns else admissible))
        return "\n\n".join(part for part in parts if part)

    def _dialogue(self, goal: str, first: str, turns: Sequence[Turn], admissible: Sequence[str]) -> list[Message]:
        opening = f"Your task: {_sentence(goal)}\n\nYou see: {self._cut(first)}"
        shown = self._window(turns)
        offered = self._request(admissible) if len(shown) == len(turns) else ""
        messages = [Message("user", f"{opening}\n\n{offered}".rstrip())]
        if len(shown) < len(turns):
            left_out = f"\n\n({len(turns) - len(shown)} steps are left out here.)"
            seen = turns[-len(shown) - 1]
            now = f"\n\nYou see now: {self._cut(seen.observation)}\n\n{self._request(seen.admissible)}"
            messages = [Message("user", (opening + left_out + now).rstrip())]
        for turn in shown:
            note = "" if turn.readable else "(Your reply held no action between action tags.)\n"
            answer = f"{note}{self._cut(turn.observation)}\n\n{self._request(turn.admissible)}".rstrip()
            messages += [Message("assistant", turn.reply), Message("user", answer)]
        return messages

    def _window(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        history = self.settings.history
        return turns if history is None or history >= len(turns) else turns[len(turns) - history :]

    def _request(self, admissible: Sequence[str]) -> str:
        offered = self._words.offered(admissible) if self.settings.admissible else ()
        if not offered:
            return ""
        limit = self.settings.admissible_limit
        lines = [f"- {action}" for action in offered[:limit]]
        if len(offered) > limit:
            lines.append(f"- ... and {len(offered) - limit} more")
        return "Actions that apply now:\n" + "\n".join(lines)

    def _cut(self, observation: str) -> str:
        limit = self.settings.observation_limit
        text = observation.strip()
        if len(text) <= limit:
            return text
        half = limit // 2
        return f"{text[:half]} [... {len(text) - 2 * half} characters left out ...] {text[-half:]}"


def _system(words: EnvWords, *, thoughts: bool) -> str:
    parts = [words.role]
    if words.rules:
        parts.append("\n".join(f"- {rule}" for rule in words.rules))
    example = f"<action>{words.example}</action>"
    if thoughts:
        parts.append(
            "Answer in this form. First think about the situation, step by step, between <think> and </think>. "
            "Then give exactly one action, the next one, between <action> and </action>. For example:\n"
            f"<think>Why this action comes next.</think>\n{example}"
        )
    else:
        parts.append(f"Answer with exactly one action, between <action> and </action>. For example:\n{example}")
    return "\n\n".join(parts)


def _sentence(goal: str) -> str:
    return goal.strip() or "as the observation says"


def _done(turn: Turn) -> str:
    return turn.action if turn.readable else "nothing: your reply held no action between action tags"
