"""WebShop's goals as a world: opened by name, played in environments, with policies."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from proas.envs.base import Policy, RandomPolicy, RewardSettings
from proas.envs.registry import EnvKind, EnvOption
from proas.envs.webshop.env import DEFAULT_STEP_LIMIT, WebShopEnv, open_shop
from proas.envs.webshop.goal import ENV, WebShopGoal
from proas.envs.webshop.goals import build_goals
from proas.envs.webshop.pages import ObservationMode, observation_mode
from proas.envs.webshop.policies import ExpertPolicy, NoisyPolicy
from proas.envs.webshop.products import sample_root
from proas.envs.webshop.shop import Shop
from proas.errors import UsageError

__all__ = ["WEBSHOP", "WebShopWorld"]


class WebShopWorld:
    """A shop and its goals; implements ``proas.envs.base.World``.

    Args:
        shop: The shop; its environments share it.
        goals: The goals, in the order in which they are to be played. Of several with one key the first is taken.
        observations: How pages are worded.
    """

    name = ENV
    policies = ("expert", "noisy", "random")

    def __init__(self, shop: Shop, goals: Sequence[WebShopGoal], *, observations: ObservationMode = "text") -> None:
        self.shop = shop
        self.observations = observations
        self._goals: dict[str, WebShopGoal] = {}
        for goal in goals:
            self._goals.setdefault(goal.key, goal)

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the goals."""
        return tuple(self._goals)

    def environment(self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()) -> WebShopEnv:
        """A new environment over these goals; see :class:`proas.envs.base.World`."""
        limit = DEFAULT_STEP_LIMIT if step_limit is None else step_limit
        return WebShopEnv(self.shop, self._goals, observations=self.observations, step_limit=limit, rewards=rewards)

    def policy(self, name: str, rng: random.Random) -> Policy:
        """A policy by name. Raises ``UsageError`` where there is none of that name."""
        kinds: dict[str, Callable[[random.Random], Policy]] = {
            "expert": ExpertPolicy,
            "noisy": NoisyPolicy,
            "random": RandomPolicy,
        }
        if name not in kinds:
            raise UsageError(f"{self.name} has no policy {name!r}", hint=f"known: {', '.join(self.policies)}")
        return kinds[name](rng)

    def close(self) -> None:
        """Nothing is held outside this process."""


def _open(data: Path | None, options: Mapping[str, str]) -> WebShopWorld:
    seed = int(options["price-seed"]) if options["price-seed"].isdecimal() else None
    if seed is None:
        raise UsageError(f"{ENV}: option price-seed must be a number, not {options['price-seed']!r}")
    if options["goals"] == "all":
        shop, human = open_shop(data, "human", seed=seed)
        goals = (*human, *build_goals(shop.catalogue, shop.prices, "synthetic", seed=seed))
    else:
        shop, goals = open_shop(data, "human" if options["goals"] == "human" else "synthetic", seed=seed)
    return WebShopWorld(shop, goals, observations=observation_mode(options["observations"]))


def _missing() -> str:
    lacking = [name for name, module in (("bm25s", "bm25s"), ("PyStemmer", "Stemmer")) if find_spec(module) is None]
    return f"{' and '.join(lacking)}: pip install 'proas[webshop]'" if lacking else ""


WEBSHOP = EnvKind(
    name=ENV,
    summary="buying a product that fits an instruction, page by page",
    data="folder with items_shuffle*.json and its companions; 72 invented products if not given",
    step_limit=DEFAULT_STEP_LIMIT,
    open=_open,
    options=(
        EnvOption("goals", "whose goals", "all", ("human", "synthetic", "all")),
        EnvOption("observations", "wording of the pages", "text", ("text", "text_rich"), chooses=False),
        EnvOption("price-seed", "source of the prices that the original leaves to chance", "0", chooses=False),
    ),
    missing=_missing,
    samples=sample_root,
)
