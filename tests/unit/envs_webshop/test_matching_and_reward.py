"""The reward's comparisons. Expected scores of ``token_set_ratio`` are thefuzz's, recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.envs.webshop import Product, Shop, WebShopGoal
from proas.envs.webshop.matching import colour_or_text, option_met, token_set_ratio
from proas.envs.webshop.nouns import title_nouns
from proas.envs.webshop.reward import score_purchase, title_score

RATIOS = [
    ("easy to clean", "easy clean", 100),
    ("x-large", "large", 100),
    ("6.76 fl oz (pack of 1)", "6.76 fl oz", 100),
    ("black", "matte black", 100),
    ("essential oil", "essential oils", 96),
    ("tea tree", "tree tea", 100),
    ("navy", "navy blue", 100),
    ("a3-army\xa0green", "a3-army black", 56),
    ("x_y", "x y", 100),
    ("", "anything", 0),
    ("60x40x40cm", "60x40x40 cm", 95),
    ("woody scent", "floral", 12),
    ("12 count (pack of 7)", "6 count (pack of 7)", 94),
    ("gluten free", "glutenfree", 57),
    ("ümlaut", "umlaut", 91),
    ("machine washable", "hand washable", 76),
]


@pytest.mark.parametrize(("one", "other", "score"), RATIOS)
def test_scores_of_the_original(one: str, other: str, score: int) -> None:
    assert token_set_ratio(one, other) == score


@given(st.text(max_size=30), st.text(max_size=30))
def test_likeness_is_symmetric_and_bounded(one: str, other: str) -> None:
    score = token_set_ratio(one, other)
    assert score == token_set_ratio(other, one)
    assert 0 <= score <= 100
    assert token_set_ratio(one, one) in (0, 100)


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        ("black forest", "black"),
        ("violet lavender", "lavender"),
        ("123alabaster", "alabaster"),
        ("xx-small", "xx-small"),
        ("", ""),
    ],
)
def test_colours(text: str, colour: str) -> None:
    assert colour_or_text(text) == colour


@pytest.mark.parametrize(
    ("wanted", "chosen", "met"),
    [
        ("pink", "z2-pink", True),
        ("8", "8", True),
        ("8", "8.5", True),  # to the original's comparison, ``8 5`` holds all the words of ``8``
        ("8", "9", False),
        ("black", "white", False),
        ("10.5", "10.5 wide", True),
    ],
)
def test_options(wanted: str, chosen: str, met: bool) -> None:
    assert option_met(wanted, chosen) is met


def test_nouns_leave_out_numbers_measures_and_small_words() -> None:
    assert title_nouns("Table Lamp for the Office, 12 oz, pack of 2") == ("table", "lamp", "office", "pack")


def test_title_score_counts_against_the_wanted_name() -> None:
    assert title_score("Oak Table Lamp", "Table Lamp Shade Holder") == 0.5
    assert title_score("Oak Table Lamp", "12 oz") == 0.2
    assert title_score("Rain Coat", "Table Lamp") == 0.0


def _purchase(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> tuple[Product, WebShopGoal, float, list[str]]:
    shop, goals = opened
    goal = next(goal for goal in goals if len(goal.target.wanted) == 2)
    return shop.product(goal.target.asin), goal, shop.prices[goal.target.asin], [g.wanted for g in goal.target.wanted]


def test_the_target_with_its_options_scores_one(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    product, goal, price, chosen = _purchase(opened)
    score = score_purchase(product, goal, price, chosen)
    assert score.total == 1.0
    assert score.full


def test_each_part_is_missed_by_its_share(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    product, goal, price, chosen = _purchase(opened)
    parts = len(goal.attributes) + len(goal.options) + 1
    assert score_purchase(product, goal, price, chosen[:1]).total == pytest.approx((parts - 1) / parts)
    assert score_purchase(product, goal, price, []).total == pytest.approx((parts - 2) / parts)
    assert score_purchase(product, goal, 1e6, chosen).total == pytest.approx((parts - 1) / parts)
    unlike = replace(product, query="another", product_category="another", title=f"{product.title} " + "x" * 9)
    assert score_purchase(unlike, goal, price, chosen).type == 1.0  # the name still says it
    other = replace(product, title="Nothing Alike", query="another", product_category="another")
    assert score_purchase(other, goal, price, chosen).total == 0.0


def test_unwanted_options_neither_pay_nor_cost(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    product, goal, price, chosen = _purchase(opened)
    assert score_purchase(product, goal, price, [*chosen, "nothing that is wanted"]).total == 1.0
