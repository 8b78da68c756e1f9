"""Episodes of a running original, taken down: keys of its goals, validity by what could be clicked, states by text."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from proas.envs.webshop import ObservationMode, Shop, WebShopEnv, WebShopGoal, build_goals
from proas.envs.webshop.original import OriginalEpisode, original_goal, play_original
from proas.envs.webshop.policies import NoisyPolicy
from proas.errors import DataError, UsageError
from proas.states import attach_states, follower_for
from proas.states.webshop.pages import read_page, stated_goal

Opened = tuple[Shop, tuple[WebShopGoal, ...]]


def dictionary(goal: WebShopGoal, *, synthetic: bool) -> dict[str, Any]:
    """A goal as the original's server holds it."""
    chosen = {group.name: group.wanted for group in goal.target.wanted}
    return {
        "asin": goal.target.asin,
        "category": goal.category,
        "query": goal.query,
        "name": goal.title,
        "product_category": goal.product_category,
        "instruction_text": goal.text,
        "attributes": list(goal.attributes),
        "price_upper": goal.price_limit if goal.price_limit is not None else 1000000,
        "goal_options": chosen if synthetic else list(goal.options),
        "weight": 1,
    }


@pytest.mark.parametrize("synthetic", [False, True], ids=["people's", "synthetic"])
def test_the_key_is_that_of_the_same_goal_built_here(opened: Opened, synthetic: bool) -> None:
    shop, goals = opened
    if synthetic:
        goals = build_goals(shop.catalogue, shop.prices, "synthetic")
    for goal in goals:
        held = original_goal(dictionary(goal, synthetic=synthetic), shop.product(goal.target.asin).options)
        assert held.key == goal.key
        assert held == goal
    other = build_goals(shop.catalogue, shop.prices, "synthetic" if synthetic else "human", seed=7)
    assert [goal.key for goal in other] == [goal.key for goal in goals]  # the price is no part of it
    assert [goal.text for goal in other] != [goal.text for goal in goals]


@pytest.mark.parametrize("lacking", ["asin", "instruction_text", "attributes", "goal_options"])
def test_a_goal_of_another_form_is_told(opened: Opened, lacking: str) -> None:
    held = dictionary(opened[1][0], synthetic=False)
    del held[lacking]
    with pytest.raises(DataError, match=lacking):
        original_goal(held, {})
    with pytest.raises(DataError):
        original_goal(held | {lacking: None, "attributes": None}, {})


@dataclass
class Original:
    """Our shop behind the methods that the original's text environment has."""

    inner: WebShopEnv
    goals: Sequence[WebShopGoal]
    session: str = ""

    def __post_init__(self) -> None:
        items = {product.asin: {"options": product.options} for product in self.inner.shop.catalogue}
        self.server = SimpleNamespace(user_sessions={}, product_item_dict=items)

    def reset(self, session: Any = None) -> tuple[str, Any]:
        self.session = str(session)
        goal = self.goals[session]
        self.server.user_sessions[self.session] = {"goal": dictionary(goal, synthetic=False)}
        return self.inner.reset(goal)[0], None

    def step(self, action: str) -> tuple[str, float, bool, Any]:
        result = self.inner.step(action)
        return result.observation, self.inner.score or 0.0, self.inner.score is not None, None

    def get_available_actions(self) -> Mapping[str, Any]:
        index = self.inner.situation.page == "index"
        clicks = ["search"] if index else list(self.inner.shop.clickables(self.inner.situation))
        return {"has_search_bar": index, "clickables": clicks}


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_an_episode_has_the_states_of_the_hidden_situation(opened: Opened, mode: ObservationMode) -> None:
    shop, goals = opened
    compared = wins = 0
    for number in range(24):
        env = WebShopEnv(shop, goals, observations=mode, step_limit=100)
        original = Original(env, goals)
        rng = random.Random(number)
        policy = NoisyPolicy(rng, skill=0.5)
        rollout = play_original(
            original, lambda words, clicks, p=policy, e=env: p.act(e), session=number, step_limit=15
        )
        assert (rollout.id, rollout.env, rollout.task) == (str(number), "webshop", goals[number].key)
        assert (rollout.success, rollout.reward) == (env.info.won, env.score or 0.0)
        assert rollout.ended == ("success" if env.info.won else "stopped" if env.score is not None else "step_limit")
        read = attach_states(rollout)
        env.reset(goals[number].key)
        follower = follower_for(env)
        assert read.start == follower.begin(env, rollout.observation)
        for step in read.steps:
            result = env.step(step.action)
            info = result.info
            seen = follower.observe(env, step.action, result.observation, valid=info.valid, won=info.won)
            assert (step.state, step.canonical, step.valid) == (seen.state, seen.canonical, info.valid), step.action
            compared += 1
        wins += rollout.success
    assert compared > 150
    assert 5 < wins < 24


def test_validity_may_be_left_to_the_text(opened: Opened) -> None:
    shop, goals = opened
    env = WebShopEnv(shop)
    observation, _ = env.reset(goals[0])
    episode = OriginalEpisode(goals[0], observation)
    for action in (f"search[{goals[0].title}]", "click[no such thing]", "nonsense"):
        result = env.step(action)
        episode.add(action, result.observation, done=False)
    read = attach_states(episode.rollout("one", cut=False))
    assert [step.valid for step in read.steps] == [True, False, False]
    assert (read.ended, read.success) == ("stopped", False)


def test_a_step_limit_must_make_sense(opened: Opened) -> None:
    with pytest.raises(UsageError, match="not positive"):
        play_original(Original(WebShopEnv(opened[0]), opened[1]), lambda words, clicks: "", session=0, step_limit=0)


HEAD = "Instruction: i need a lamp, and price lower than 40.00 dollars [SEP] Current Query: oak lamp [SEP] "
BACK = "Back to Search [SEP] "
SUB_PAGES = "Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
OTHER_WORDING = {
    "index": "Amazon Shopping Game [SEP] Instruction: [SEP] i need a lamp [SEP] Search",
    "search_results": HEAD + "Results [SEP] Page 2 (11-20) of 50 total results [SEP] " + BACK + "< Prev [SEP] Next > "
    "[SEP] P000000001 [SEP] Oak Lamp [SEP] $9.0",
    "item_page": HEAD + BACK + "< Back to Results [SEP] color [SEP] black [SEP] white [SEP] size [SEP] tall [SEP] Oak "
    "Lamp [SEP] Price: $9.0 [SEP] Rating: N.A. [SEP] " + SUB_PAGES,
    "item_sub_page": HEAD + BACK + "< Back to Item Page [SEP] No Description",
}


@pytest.mark.parametrize("kind", OTHER_WORDING)
def test_pages_in_the_original_s_other_wording_are_read(kind: str) -> None:
    """The original's templates changed once: the instruction in one piece, the query below it, other buttons back."""
    shown = read_page(OTHER_WORDING[kind])
    assert shown.kind == kind
    assert stated_goal(OTHER_WORDING[kind]).startswith("i need a lamp")
    if kind == "search_results":
        assert (shown.number, shown.listed) == (2, ("P000000001",))
    if kind == "item_page":
        assert shown.groups_by(("color", "size")) == {"color": ("black", "white"), "size": ("tall",)}
