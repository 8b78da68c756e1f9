"""Policies to make rollouts with: one that knows what is wanted, and one that errs as agents do.

Randomness comes from the generator that the caller passes, so that a seed determines every rollout.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from proas.envs.webshop.env import WebShopEnv
from proas.envs.webshop.goal import WebShopGoal
from proas.envs.webshop.solutions import clickable_value, page_of_target, searches
from proas.errors import EnvironmentFailure, UsageError

__all__ = ["ExpertPolicy", "NoisyPolicy"]

_BACK = "click[back to search]"
_NEXT = "click[next >]"
_PREVIOUS = "click[< prev]"
_BUY = "click[buy now]"


class ExpertPolicy:
    """Goes the way of the reference graph from wherever it is: search, leaf, open, choose, buy.

    Args:
        rng: Draws the order of the options, and the search where several need the least leafing.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def act(self, env: WebShopEnv) -> str:
        """The next action.

        Raises:
            EnvironmentFailure: No search finds the target, or it does not come as wanted.
        """
        now, goal = env.situation, env.goal
        asin = goal.target.asin
        if now.page in ("item_page", "item_sub_page"):
            if now.asin == asin:
                return self._choose(env) if now.page == "item_page" else _PREVIOUS
            # The results from which another product was opened are two steps away at most.
            return _PREVIOUS if page_of_target(env.shop, goal, now.words) else _BACK
        if now.page == "search_results":
            page = page_of_target(env.shop, goal, now.words)
            if not page:
                return _BACK
            return f"click[{asin.lower()}]" if page == now.number else _NEXT if page > now.number else _PREVIOUS
        return f"search[{self._words(env)}]"

    def _choose(self, env: WebShopEnv) -> str:
        """An option that is wanted and not chosen yet; the purchase where there is none."""
        chosen = dict(env.situation.options)
        lacking = [group.name for group in env.goal.target.wanted if not group.met_by(chosen.get(group.name, ""))]
        if not lacking:
            return _BUY
        name = self._rng.choice(lacking)
        value = clickable_value(env.shop, env.goal, name)
        if value is None:
            raise EnvironmentFailure(f"{env.task}: the product comes in no {name} that counts as the wanted one")
        return f"click[{value}]"

    def _words(self, env: WebShopEnv) -> str:
        pages = {words: page_of_target(env.shop, env.goal, words) for words in searches(env.goal)}
        found = [page for page in pages.values() if page]
        if not found:
            raise EnvironmentFailure(f"{env.task}: no search brings the product among the results")
        return self._rng.choice([words for words, page in pages.items() if page == min(found)])


class NoisyPolicy:
    """The expert, erring as language models do in this shop.

    It searches for the whole instruction or for too few words, opens other products, chooses other options, reads pages
    about a product more than once, leafs on, goes back to the search, clicks what is not there, and buys too early.

    Args:
        rng: Source of randomness.
        skill: Probability of the expert's action at each step; ``None`` draws one for each episode, so that a group of
            rollouts has quick, slow and failed members.

    Raises:
        UsageError: The skill is no probability.
    """

    def __init__(self, rng: random.Random, skill: float | None = None) -> None:
        if skill is not None and not 0.0 <= skill <= 1.0:
            raise UsageError(f"skill {skill} is not a probability")
        self._rng = rng
        self._fixed_skill = skill
        self._skill = 0.0
        self._expert = ExpertPolicy(rng)
        self._before = ""

    def act(self, env: WebShopEnv) -> str:
        """The expert's action, or an error."""
        if env.info.steps == 0:  # another episode
            self._skill = self._rng.random() if self._fixed_skill is None else self._fixed_skill
            self._before = ""
        self._before = self._expert_or_error(env)
        return self._before

    def _expert_or_error(self, env: WebShopEnv) -> str:
        if self._rng.random() < self._skill:
            try:
                return self._expert.act(env)
            except EnvironmentFailure:
                return self._error(env)
        return self._error(env)

    def _error(self, env: WebShopEnv) -> str:
        kind = self._rng.choices(("stray", "invalid", "repeat"), (0.72, 0.18, 0.1))[0]
        if kind == "repeat" and self._before:
            return self._before
        if kind == "invalid":
            return self._rng.choice(_invalid(env))
        return self._rng.choice(_strays(env, self._rng))


def _invalid(env: WebShopEnv) -> Sequence[str]:
    """Actions as agents write them that do not apply."""
    target = env.goal.target.asin.lower()
    elsewhere = [f"click[{target}]", _BUY, _NEXT, "click[description]"]
    admissible = set(env.info.admissible)
    wrong = [action for action in elsewhere if action not in admissible]
    return [*wrong, "click[add to cart]", "click[search]", f"Click[{target}]", "buy now", "search[]"]


def _strays(env: WebShopEnv, rng: random.Random) -> Sequence[str]:
    """Actions that apply and lead astray, or nowhere."""
    now, goal, shop = env.situation, env.goal, env.shop
    if now.page == "index":
        return [f"search[{words}]" for words in _poor_searches(goal, rng)]
    if now.page == "search_results":
        others = [f"click[{asin.lower()}]" for asin in shop.listed(now) if asin != goal.target.asin]
        return [_NEXT, _NEXT, _BACK, *rng.sample(others, min(3, len(others)))]
    if now.page == "item_sub_page":
        return [_PREVIOUS, _BACK]
    values = [value for value, group in shop.clickables(now).items() if group]
    options = [f"click[{value}]" for value in rng.sample(values, min(4, len(values)))]
    return [_BUY, _PREVIOUS, _BACK, "click[description]", "click[features]", "click[reviews]", *options]


def _poor_searches(goal: WebShopGoal, rng: random.Random) -> Sequence[str]:
    words = goal.text.lower().replace("]", " ").split()
    first = rng.randrange(max(1, len(words) - 2))
    return [" ".join(words), " ".join(words[first : first + 2]), goal.query.lower() or "gift"]
