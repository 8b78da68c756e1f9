"""Text alone tells the same states as the shop, in every wording."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import pytest

from proas.envs.webshop import Shop, Situation, WebShopGoal
from proas.errors import StateError
from proas.states.webshop import TextObserver, target_of

_spec = importlib.util.spec_from_file_location("webshop_walks", Path(__file__).with_name("walks.py"))
assert _spec is not None
assert _spec.loader is not None
walks = importlib.util.module_from_spec(_spec)
sys.modules["webshop_walks"] = walks
_spec.loader.exec_module(walks)

Opened = tuple[Shop, tuple[WebShopGoal, ...]]


@pytest.mark.parametrize("mode", ["text", "text_rich", "quoted", "bracketed"])
@pytest.mark.parametrize("told", [True, False], ids=["validity told", "validity not told"])
def test_text_and_shop_agree(opened: Opened, mode: str, told: bool) -> None:
    shop, goals = opened
    compared = kinds = wins = 0
    for number, goal in enumerate(goals[:30]):
        rng = random.Random(f"{mode}-{number}")
        start, observer, steps = walks.walk(shop, goal, rng, mode=mode)
        reader = TextObserver(goal.key, target_of(goal.key))
        assert reader.begin(start) == observer.state(Situation(), ())
        for step in steps:
            read = reader.observe(step.action, step.observation, valid=step.valid if told else None, won=step.won)
            where = (mode, goal.key, step.action, step.observation[:300])
            assert read.state == step.seen.state, where
            assert (read.valid, read.canonical, read.seeks) == (step.valid, step.seen.canonical, step.seen.seeks), where
            compared += 1
            kinds += step.valid
            wins += step.won
    assert compared > 300
    assert kinds > 200
    assert wins > 3


def test_each_wording_tells_the_same_path(opened: Opened) -> None:
    shop, goals = opened
    goal = goals[0]
    facts = set()
    for mode in ("text", "text_rich", "quoted", "bracketed"):
        start, _observer, steps = walks.walk(shop, goal, random.Random(11), mode=mode)
        reader = TextObserver(goal.key, target_of(goal.key))
        states = [reader.begin(start)] + [reader.observe(s.action, s.observation).state for s in steps]
        facts.add(tuple(state.key for state in states))
    assert len(facts) == 1
    assert len(facts.pop()) > 4


def test_a_step_before_the_first_page() -> None:
    with pytest.raises(StateError, match="before the first observation"):
        TextObserver("anything").observe("search[lamp]", "")


INDEX = "WebShop [SEP] Instruction: [SEP] i need a lamp [SEP] Search"
RESULTS = "Instruction: [SEP] i need a lamp [SEP] Back to Search [SEP] Page 1 (Total results: 2) [SEP] Next > [SEP] P000000001 [SEP] Oak Lamp [SEP] $9.0 [SEP] P000000002 [SEP] Tin Lamp [SEP] $8.0"  # noqa: E501
ITEM = "Instruction: [SEP] i need a lamp [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] black [SEP] white [SEP] size [SEP] tall [SEP] low [SEP] Oak Lamp [SEP] Price: $9.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"  # noqa: E501
KEY = "P000000001:color=black,size=tall:0123456789ab"


def _at_item() -> TextObserver:
    reader = TextObserver(KEY, target_of(KEY))
    reader.begin(INDEX)
    assert reader.observe("search[lamp]", RESULTS).canonical == "search: target in view"
    assert reader.observe("click[P000000001]", ITEM).canonical == "click[target]"
    return reader


def test_colour_first_or_size_first_is_the_same_state() -> None:
    ends = []
    for order in (("black", "tall"), ("tall", "black")):
        reader = _at_item()
        ends.append([reader.observe(f"click[{value}]", ITEM).state for value in order])
    assert ends[0][1] == ends[1][1]
    assert ends[0][0] != ends[1][0]
    assert set(ends[0][1].facts) == {"at a product", "target open", "chosen color: black", "chosen size: tall"}


def test_another_value_takes_the_wanted_one_back() -> None:
    reader = _at_item()
    assert "chosen color: black" in reader.observe("click[Black]", ITEM).state.facts
    replaced = reader.observe("click[white]", ITEM)
    assert replaced.canonical == "click[color: another]"
    assert "chosen color: black" not in replaced.state.facts


@pytest.mark.parametrize(
    "words",
    ["Thought: it is black.\nAction: click[black]", "<think>hm</think><action>click[black]</action>", "CLICK[ BLACK ]"],
)
def test_actions_inside_other_words(words: str) -> None:
    assert "chosen color: black" in _at_item().observe(words, ITEM).state.facts


def test_a_no_break_space_in_an_option_is_kept() -> None:
    """Products of the real set have them; the shop tells ``wine red`` with one from ``wine red`` without."""
    page = ITEM.replace("black [SEP] white", "wine\xa0red [SEP] wine red")
    key = KEY.replace("black", "wine%C2%A0red")
    reader = TextObserver(key, target_of(key))
    reader.begin(INDEX)
    reader.observe("search[lamp]", RESULTS)
    reader.observe("click[P000000001]", page)
    assert (
        reader.observe("click[wine red]", page).canonical == "click[color: wine\xa0red]"
    )  # alike, as the reward sees it
    seen = reader.observe("click[ Wine\xa0Red ]", page)
    assert (seen.valid, seen.canonical) == (True, "click[color: wine\xa0red]")
    assert "chosen color: wine\xa0red" in seen.state.facts


@pytest.mark.parametrize(
    "words", ["click[color]", "click[size]", "click[oak lamp]", "click[]", "buy it", "click[next >]"]
)
def test_what_the_page_does_not_offer_is_invalid(words: str) -> None:
    reader = _at_item()
    before = reader.observe("think[which colour?]", ITEM)
    assert before.valid
    seen = reader.observe(words, ITEM)
    assert not seen.valid
    assert seen.state == before.state


def test_the_score_tells_the_win() -> None:
    reader = _at_item()
    bought = "Thank you for shopping with us! [SEP] Reward [SEP] Your score (min 0.0, max 1.0) [SEP] {} [SEP] None"
    assert "goal reached" in reader.observe("click[buy now]", bought.format("1.0")).state.facts
    reader = _at_item()
    seen = reader.observe("click[buy now]", bought.format("0.75"))
    assert seen.valid
    assert seen.state.facts == ("bought", "target bought")


def test_without_a_goal_every_product_and_option_counts() -> None:
    reader = TextObserver("episode-17")
    reader.begin(INDEX)
    reader.observe("search[lamp]", RESULTS)
    reader.observe("click[p000000002]", ITEM)
    assert reader.observe("click[white]", ITEM).state.facts == ("at a product", "chosen white", "product P000000002")


def test_search_is_told_by_its_result() -> None:
    seen = set()
    for words in ("lamp", "oak lamp for my desk"):
        reader = TextObserver(KEY, target_of(KEY))
        reader.begin(INDEX)
        found = reader.observe(f"search[{words}]", RESULTS)
        seen.add((found.canonical, found.state.key, found.seeks))
    assert len(seen) == 1
    elsewhere = TextObserver("P00000000X::0123456789ab", target_of("P00000000X::0123456789ab"))
    elsewhere.begin(INDEX)
    found = elsewhere.observe("search[lamp]", RESULTS)
    assert (found.canonical, found.seeks) == ("search: target not in view", True)
    assert not elsewhere.observe("search[lamp again]", RESULTS).seeks
