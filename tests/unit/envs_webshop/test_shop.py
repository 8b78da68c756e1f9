"""Pages, actions and the environment over the sample shop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proas.envs.base import Environment, RewardSettings
from proas.envs.webshop import Shop, WebShopEnv, WebShopFacts, WebShopGoal, find_files, load_catalogue, sample_root
from proas.envs.webshop.generator import generate_products
from proas.envs.webshop.pages import observation_mode
from proas.envs.webshop.search import Bm25Search, analysed
from proas.errors import DataError, EnvironmentFailure, UsageError

Opened = tuple[Shop, tuple[WebShopGoal, ...]]


def _two_options(opened: Opened) -> WebShopGoal:
    return next(goal for goal in opened[1] if len(goal.target.wanted) == 2)


def test_an_episode_from_search_to_purchase(opened: Opened) -> None:
    env = WebShopEnv(*opened)
    goal = _two_options(opened)
    observation, info = env.reset(goal.key)
    assert observation == f"WebShop [SEP] Instruction: [SEP] {goal.text} [SEP] Search"
    assert info.admissible == (f"search[{goal.text.lower()}]",)
    found = env.step(f"search[{goal.title}]")
    assert (
        f" [SEP] Back to Search [SEP] Page 1 (Total results: {len(env.shop.found(env.situation))}) [SEP] Next > [SEP] "
        in found.observation
    )
    assert isinstance(found.info.facts, WebShopFacts)
    assert goal.target.asin in found.info.facts.listed
    item = env.step(f"click[{goal.target.asin}]")
    assert item.observation.endswith("Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now")
    for group in goal.target.wanted:
        result = env.step(f"click[{group.wanted.upper()}]")
        assert result.info.valid
        assert result.observation == item.observation  # this wording does not show what is chosen
    bought = env.step("click[Buy Now]")
    assert (bought.reward, bought.done, bought.info.won, env.score) == (10.0, True, True, 1.0)
    assert "Your score (min 0.0, max 1.0) [SEP] 1.0" in bought.observation
    with pytest.raises(EnvironmentFailure, match="over"):
        env.step("click[buy now]")


def test_rich_text_shows_what_was_clicked(opened: Opened) -> None:
    env = WebShopEnv(*opened, observations="text_rich")
    goal = _two_options(opened)
    env.reset(goal)
    found = env.step(f"search[{goal.title}]").observation
    assert f"\n[button] {goal.target.asin} [button_]\n" in found
    env.step(f"click[{goal.target.asin}]")
    value = goal.target.wanted[0].wanted
    chosen = env.step(f"click[{value}]").observation
    assert chosen.startswith(f"You have clicked {value}.\nInstruction:\n")
    assert f"  [clicked button] {value} [clicked button_]\n" in chosen
    back = env.step("click[< prev]").observation
    assert f"\n[clicked button] {goal.target.asin} [clicked button_]\n" in back


def test_an_option_replaces_the_one_in_its_group_and_leaving_forgets_all(opened: Opened) -> None:
    env = WebShopEnv(*opened)
    goal = _two_options(opened)
    env.reset(goal)
    env.step(f"search[{goal.title}]")
    env.step(f"click[{goal.target.asin}]")
    name, values = next(iter(env.shop.product(goal.target.asin).options.items()))
    for value in values[:2]:
        env.step(f"click[{value}]")
    assert env.situation.options == ((name, values[1]),)
    env.step("click[description]")
    assert env.step("click[< prev]").info.valid
    assert env.situation.options == ((name, values[1]),)
    env.step("click[< prev]")
    env.step(f"click[{goal.target.asin}]")
    assert env.situation.options == ()


@pytest.mark.parametrize(
    "words", ["", "buy it", "search[]", "click[search]", "click[buy now]", "click[< prev]", "Search[lamp]"]
)
def test_what_does_not_apply_changes_nothing(opened: Opened, words: str) -> None:
    env = WebShopEnv(*opened)
    before, _info = env.reset(opened[1][0])
    result = env.step(words)
    assert (result.observation, result.reward, result.info.valid, result.done) == (before, -0.1, False, False)


def test_leafing(opened: Opened) -> None:
    env = WebShopEnv(*opened)
    env.reset(opened[1][0])
    first = env.step("search[for made and the maker alone sold]")
    total = len(env.shop.found(env.situation))
    assert total == 50
    listed = list(env.shop.listed(env.situation))
    for _ in range(5):
        result = env.step("click[next >]")
        listed += env.shop.listed(env.situation)
    assert (
        "Page 6 (Total results: 50) [SEP] < Prev [SEP] Next >" in result.observation
    )  # the original leafs past the end
    assert listed == list(env.shop.found(env.situation))
    for _ in range(5):
        result = env.step("click[< prev]")
    assert result.observation == first.observation


def test_every_admissible_action_applies(opened: Opened) -> None:
    env = WebShopEnv(*opened)
    goal = _two_options(opened)
    path = [f"search[{goal.title}]", f"click[{goal.target.asin}]", "click[features]"]
    for depth in range(len(path) + 1):
        env.reset(goal)
        info = None
        for action in path[:depth]:
            info = env.step(action).info
        for action in info.admissible if info is not None else ():
            env.reset(goal)
            for done in path[:depth]:
                env.step(done)
            assert env.step(action).info.valid, action


def test_the_step_limit_and_the_rewards(opened: Opened) -> None:
    environment: Environment[WebShopGoal] = WebShopEnv(*opened, step_limit=2, rewards=RewardSettings(step=-0.5))
    environment.reset(opened[1][0])
    assert environment.step("search[lamp]").reward == -0.5
    last = environment.step("nonsense")
    assert (last.reward, last.done, last.info.truncated, last.info.won) == (-0.6, True, True, False)


def test_misuse(opened: Opened) -> None:
    env = WebShopEnv(*opened)
    with pytest.raises(EnvironmentFailure, match="no episode"):
        env.step("search[lamp]")
    with pytest.raises(UsageError, match="no WebShop task"):
        env.reset("nothing")
    with pytest.raises(UsageError, match="unknown observations"):
        observation_mode("html")


def test_search_finds_by_stems_and_ranks_ties_in_order(opened: Opened) -> None:
    search = Bm25Search(opened[0].catalogue)
    assert analysed("The women's X-Large 6.76 fl. oz") == ["women", "x", "large", "6.76", "fl", "oz"]
    assert search.search("lamps") == search.search("lamp")
    assert search.search("qwxyz") == search.search("the and of") == ()
    assert len(search.search("made")) == 50


def test_the_samples_are_what_the_generator_makes(tmp_path: Path) -> None:
    generate_products(72).write(tmp_path)
    for name in ("items_shuffle.json", "items_ins_v2.json", "items_human_ins.json"):
        assert (sample_root() / name).read_bytes() == (tmp_path / name).read_bytes()
    assert sum(path.stat().st_size for path in sample_root().iterdir()) < 200_000
    assert generate_products(20, seed=1) != generate_products(20, seed=2)
    with pytest.raises(UsageError, match="cannot be invented"):
        generate_products(10_000)


def test_bad_records_are_kept_aside(tmp_path: Path) -> None:
    made = generate_products(3)
    good = made.products[0]
    made.products[:] = [
        good,
        good,
        {**made.products[1], "asin": "nan"},
        {**made.products[2], "pricing": "free"},
        {**made.products[2], "name": None},
        "no record",  # type: ignore[list-item]
    ]
    made.write(tmp_path)
    catalogue = load_catalogue(find_files(tmp_path))
    assert list(catalogue.products) == [good["asin"]]
    assert [reject.reason.split(":")[0] for reject in catalogue.rejects] == [f"record {n}" for n in (2, 3, 4, 5)]


def test_unusable_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        find_files(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no items_shuffle"):
        find_files(tmp_path)
    generate_products(2).write(tmp_path)
    (tmp_path / "items_shuffle.json").write_text("[{]", encoding="utf-8")
    with pytest.raises(DataError, match="is not JSON"):
        load_catalogue(find_files(tmp_path))
    (tmp_path / "items_shuffle.json").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(DataError, match="not a list"):
        load_catalogue(find_files(tmp_path))


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from proas.envs.webshop import WebShopEnv; env = WebShopEnv.from_folder();"
        "env.reset(env.tasks[0]); env.step('search[lamp]');"
        "heavy = {'torch', 'spacy', 'jpype', 'jnius', 'selenium', 'scipy', 'numba'};"
        "print(sorted({name.split('.')[0] for name in sys.modules} & heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
