"""How episodes of WebShop read."""

from __future__ import annotations

import re
from typing import Any

from proas.envs.webshop.goal import Target, bare_instruction
from proas.errors import DataError
from proas.graph_builders.trajectories.dialects.base import Dialect
from proas.graph_builders.trajectories.episodes import Call
from proas.rollouts import Rollout
from proas.states.webshop.actions import Spoken, spoken_action
from proas.states.webshop.pages import Shown, read_page, stated_goal
from proas.states.webshop.projection import TARGET_BOUGHT
from proas.states.webshop.text import target_of

__all__ = ["WebShopDialect"]

_INSTRUCTION = re.compile(r"(?:webshop\s*(?:\[SEP\])?\s*)?instruction:", re.IGNORECASE)
_FORM = re.compile(r"\w+\[[^\n]*\]")
_SPACE = re.compile(r"\s+")
_CENT = 0.005
_DONE = "Thank you for shopping with us!"


class WebShopDialect(Dialect):
    """Pages in every wording that the states know, and instructions with or without their price."""

    def key_in(self, words: str) -> str:
        """A key of ours, which names the target."""
        try:
            Target.from_key(words)
        except DataError:
            return ""
        return words

    def first_observation(self, observation: str, context: str) -> str:
        """From the last instruction on: what stands before it in a prompt are instructions and examples."""
        told = observation if _INSTRUCTION.search(observation) else context
        found = list(_INSTRUCTION.finditer(told))
        return told[found[-1].start() :].strip() if found else observation

    def goal(self, observation: str, context: str) -> str:
        """The instruction that the last page before the first action shows."""
        return stated_goal(self.first_observation(observation, context))

    def signature(self, goal: str, observation: str) -> tuple[object, ...] | None:
        """The instruction without its price, which the original draws anew at every start."""
        words = _SPACE.sub(" ", bare_instruction(_SPACE.sub(" ", goal or stated_goal(observation)))).strip(" .").lower()
        return (words,) if words else None

    def worded(self, call: Call) -> str:
        """``search[...]`` or ``click[...]``, whatever the argument is called."""
        values = [str(value) for value in call.arguments.values() if isinstance(value, str | int)]
        if call.name.lower() in ("search", "click", "think") and values:
            return f"{call.name.lower()}[{values[0]}]"
        return super().worded(call)

    def final_score(self, observation: str) -> float | None:
        """What ``Your score (min 0.0, max 1.0)`` says."""
        return read_page(observation).score

    def last_words(self, action: str) -> str:
        """A purchase always ends on the same page."""
        return _DONE if spoken_action(action) == Spoken("click", "buy now") else ""

    def doubt(self, rollout: Rollout, *, least: float) -> str:
        """A purchase: with the shop's own score where the text has it, else of what the key says is wanted."""
        scores = [score for step in rollout.steps if (score := self.final_score(step.observation)) is not None]
        if scores:
            return "" if scores[-1] >= least else f"the shop's last words give it {scores[-1]:g}"
        last = rollout.steps[-1].state if rollout.steps else None
        facts = () if last is None else last.facts
        if "bought" not in facts:
            return "nothing in its text shows a purchase at its end"
        target = target_of(rollout.task)
        if target is None or least < 1 - _CENT:  # a part of the score has many ways to it
            return ""
        if TARGET_BOUGHT not in facts:
            return f"it does not buy {target.asin}, and no score says that what it buys is as good"
        lacking = [group for group in target.wanted if group.fact not in facts]
        return "" if not lacking else f"it buys the product without {lacking[0].name}: {lacking[0].wanted}"

    def says_nothing(self, observation: str) -> bool:
        """No page that we know."""
        return read_page(observation).kind == "nothing"

    def command(self, env: Any, action: str, answer: str) -> str | None:
        """The action in the original's form, out of other words; one that has it already as it is, capitals and all."""
        del env, answer
        spoken = spoken_action(action)
        if spoken is not None and spoken.verb == "think":
            return None
        if spoken is None or _FORM.fullmatch(action.strip()):
            return action.strip()
        return f"{spoken.verb}[{spoken.argument}]"

    def difference(self, recorded: str, ours: str, task: str) -> str:
        """The kind of page, the number of a page of results and whether the target is on it, the score.

        Which other products a search lists is not compared: rankings differ from shop to shop, and nothing that the
        states tell depends on it.
        """
        theirs, mine = read_page(recorded), read_page(ours)
        if theirs.kind == "chosen" and mine.kind == "item_page":
            return ""
        if theirs.kind == "refused":
            return ""  # that ours refuses it too is compared as the step's validity
        if theirs.kind != mine.kind:
            return f"the record shows {theirs.kind}, the environment {mine.kind}"
        return _in_detail(theirs, mine, task)


def _in_detail(theirs: Shown, mine: Shown, task: str) -> str:
    """How two pages of one kind differ."""
    if theirs.kind == "search_results":
        target = target_of(task)
        if theirs.number != mine.number:
            return f"the record shows page {theirs.number} of the results, the environment page {mine.number}"
        # Front ends that show fewer products a page cannot be held to more.
        if target is not None and target.asin in theirs.listed and target.asin not in mine.listed:
            return f"the record's results list the target {target.asin}, the environment's do not"
    if theirs.score is not None and mine.score is not None and abs(theirs.score - mine.score) > _CENT:
        return f"the record's score is {theirs.score:.2f}, the environment's {mine.score:.2f}"
    return ""
