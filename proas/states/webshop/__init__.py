"""State identity in WebShop, from text and from the shop (DESIGN: facts are readable strings)."""

from proas.envs.webshop.goal import ENV, Target
from proas.states.webshop.engine import ShopObserver
from proas.states.webshop.ladders import target_ladder
from proas.states.webshop.pages import read_page, stated_goal
from proas.states.webshop.projection import Look, OpenProjection, TargetProjection
from proas.states.webshop.text import TextObserver, target_of

__all__ = [
    "ENV",
    "Look",
    "OpenProjection",
    "ShopObserver",
    "Target",
    "TargetProjection",
    "TextObserver",
    "read_page",
    "stated_goal",
    "target_ladder",
    "target_of",
]
