"""WebShop as an environment: episodes with a step limit and rewards, over the shop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from proas.envs.base import Info, RewardSettings, StepResult, begun, check_step_limit
from proas.envs.webshop.facts import WebShopFacts
from proas.envs.webshop.goal import ENV, WebShopGoal
from proas.envs.webshop.goals import GoalSource, build_goals, product_prices
from proas.envs.webshop.pages import (
    ObservationMode,
    Piece,
    done_page,
    index_page,
    item_page,
    results_page,
    rich,
    sub_page,
    text,
)
from proas.envs.webshop.products import find_files, load_catalogue, sample_root
from proas.envs.webshop.search import Bm25Search
from proas.envs.webshop.shop import Shop, Situation, parse_action
from proas.errors import EnvironmentFailure, UsageError

__all__ = ["DEFAULT_STEP_LIMIT", "WebShopEnv", "open_shop"]

DEFAULT_STEP_LIMIT = 15
"""Steps an agent has; the usual setting in reinforcement learning on this benchmark."""


def open_shop(
    folder: Path | None = None, source: GoalSource = "human", *, limit: int | None = None, seed: int = 0
) -> tuple[Shop, tuple[WebShopGoal, ...]]:
    """A shop and its goals from a folder of data files.

    Args:
        folder: Where they lie; ``None`` for the product set that ships with this package.
        source: Whose instructions.
        limit: Take the first so many products only.
        seed: Source of the prices that the original leaves to chance.

    Raises:
        DataError: The data cannot be read.
        EnvironmentFailure: The search library is not installed.
    """
    catalogue = load_catalogue(find_files(folder or sample_root()), limit=limit)
    prices = product_prices(catalogue, seed)
    shop = Shop(catalogue, prices, Bm25Search(catalogue))
    return shop, build_goals(catalogue, prices, source, seed=seed)


class WebShopEnv:
    """One WebShop episode at a time; implements ``proas.envs.base.Environment``.

    A purchase ends the episode. It wins if it meets the goal in everything, that is with a score of 1; ``score`` has
    the score of any other.

    Args:
        shop: The shop; several environments can share one.
        goals: Where ``reset`` looks a task key up; by their keys where many environments share them. Empty where goals
            are passed to ``reset``.
        observations: ``text`` or ``text_rich``, as the original words them.
        step_limit: Steps after which an episode without a purchase is cut.
        rewards: What steps pay.

    Raises:
        UsageError: The step limit is not positive.
    """

    name = ENV

    def __init__(
        self,
        shop: Shop,
        goals: Iterable[WebShopGoal] | Mapping[str, WebShopGoal] = (),
        *,
        observations: ObservationMode = "text",
        step_limit: int = DEFAULT_STEP_LIMIT,
        rewards: RewardSettings = RewardSettings(),
    ) -> None:
        self.shop = shop
        self.observations = observations
        self.step_limit = check_step_limit(step_limit)
        self.rewards = rewards
        self._goals = goals if isinstance(goals, Mapping) else {goal.key: goal for goal in goals}
        self._goal: WebShopGoal | None = None
        self._now = Situation()
        self._info: Info | None = None
        self._steps = 0
        self._done = False

    @classmethod
    def from_folder(cls, folder: Path | None = None, source: GoalSource = "human") -> Self:
        """An environment over the data files of a folder (:func:`open_shop`)."""
        return cls(*open_shop(folder, source))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Keys of the tasks that can be looked up, in the order of the goals."""
        return tuple(self._goals)

    @property
    def goal(self) -> WebShopGoal:
        """What the current episode is to buy. Raises ``EnvironmentFailure`` before the first reset."""
        return begun(self._goal)

    @property
    def task(self) -> str:
        """Key of the current episode's task."""
        return self.goal.key

    @property
    def info(self) -> Info:
        """The info of the last reset or step. Raises ``EnvironmentFailure`` before the first reset."""
        return begun(self._info)

    @property
    def goal_text(self) -> str:
        """The goal as the agent reads it."""
        return self.goal.text

    @property
    def situation(self) -> Situation:
        """Where the agent stands."""
        return self._now

    @property
    def score(self) -> float | None:
        """What the purchase was worth, in [0, 1]; ``None`` before it."""
        return self._now.score.total if self._now.score is not None else None

    def reset(self, task: str | WebShopGoal, seed: int | None = None) -> tuple[str, Info]:
        """Start an episode at the search bar. The shop is deterministic, so ``seed`` changes nothing.

        Args:
            task: Task key, or the goal itself.
            seed: Ignored.

        Raises:
            UsageError: No task of that key is known, or the shop does not sell the target.
        """
        goal = task if isinstance(task, WebShopGoal) else self._look_up(task)
        if goal.target.asin not in self.shop.catalogue.products:
            raise UsageError(f"the shop does not sell {goal.target.asin!r}, the target of task {goal.key!r}")
        self._goal = goal
        self._now = Situation()
        self._steps = 0
        self._done = False
        self._info = self._look(valid=True)
        return self._observation(), self._info

    def step(self, action: str) -> StepResult:
        """Carry out one action: ``search[words]`` or ``click[name]``.

        Raises:
            EnvironmentFailure: Before the first reset, or after the end of the episode.
        """
        goal = self.goal
        if self._done:
            raise EnvironmentFailure("the episode is over", hint="call reset to start another")
        after = self.shop.after(self._now, parse_action(action), goal)
        valid = after is not None
        self._now = after or self._now
        self._steps += 1
        info = self._info = self._look(valid=valid)
        paid = self.rewards.paid(valid=valid, won=info.won)
        self._done = self._now.page == "done" or info.truncated
        return StepResult(self._observation(), paid, self._done, info)

    def _look_up(self, key: str) -> WebShopGoal:
        found = self._goals.get(key)
        if found is None:
            raise UsageError(f"no WebShop task {key!r} among the {len(self._goals)} known", hint="see build_goals")
        return found

    def _observation(self) -> str:
        page = self._page()
        return rich(page) if self.observations == "text_rich" else text(page)

    def _page(self) -> tuple[Piece, ...]:
        now, shop, told = self._now, self.shop, self.goal.text
        if now.page == "index":
            return index_page(told)
        if now.page == "search_results":
            listed = [shop.product(asin) for asin in shop.listed(now)]
            return results_page(told, listed, now.number, len(shop.found(now)), now.seen)
        if now.page == "item_page":
            chosen = [value for _group, value in now.options]
            return item_page(told, shop.product(now.asin), chosen, attributes=shop.attributes)
        if now.page == "item_sub_page":
            return sub_page(told, shop.product(now.asin), now.sub_page)
        return done_page(now.asin, dict(now.options), self.score or 0.0)

    def _look(self, *, valid: bool) -> Info:
        now = self._now
        won = now.score is not None and now.score.full
        return Info(
            admissible=self._admissible(),
            valid=valid,
            won=won,
            truncated=self._steps >= self.step_limit and now.page != "done",
            steps=self._steps,
            facts=WebShopFacts(
                page=now.page,
                number=now.number if now.page == "search_results" else 0,
                listed=tuple(self.shop.listed(now)) if now.page == "search_results" else (),
                asin=now.asin,
                sub_page=now.sub_page,
                options=frozenset(now.options),
                score=self.score,
            ),
            score=self.score,
        )

    def _admissible(self) -> tuple[str, ...]:
        """What applies now. Any words can be searched for; of these, the goal's own stand for all."""
        if self._now.page == "index":
            return (f"search[{self.goal.text.lower()}]",)
        return tuple(f"click[{name}]" for name in self.shop.clickables(self._now))
