"""WebShop in process: data, pages, goals, search, reward, and the environment over them."""

from proas.envs.webshop.env import DEFAULT_STEP_LIMIT, WebShopEnv, open_shop
from proas.envs.webshop.facts import WebShopFacts
from proas.envs.webshop.goal import ENV, OptionGroup, Target, WebShopGoal, bare_instruction
from proas.envs.webshop.goals import GoalSource, build_goals, goal_source, product_prices, resolved
from proas.envs.webshop.pages import ObservationMode, observation_mode
from proas.envs.webshop.products import Catalogue, Product, ShopFiles, find_files, load_catalogue, sample_root
from proas.envs.webshop.reward import Score, score_purchase
from proas.envs.webshop.search import Bm25Search, Ranking
from proas.envs.webshop.shop import Shop, Situation, parse_action

__all__ = [
    "DEFAULT_STEP_LIMIT",
    "ENV",
    "Bm25Search",
    "Catalogue",
    "GoalSource",
    "ObservationMode",
    "OptionGroup",
    "Product",
    "Ranking",
    "Score",
    "Shop",
    "ShopFiles",
    "Situation",
    "Target",
    "WebShopEnv",
    "WebShopFacts",
    "WebShopGoal",
    "bare_instruction",
    "build_goals",
    "find_files",
    "goal_source",
    "load_catalogue",
    "observation_mode",
    "open_shop",
    "parse_action",
    "product_prices",
    "resolved",
    "sample_root",
    "score_purchase",
]
