"""Subgoals of a WebShop task, from its goal alone.

The options can be chosen in any order, so their rungs count: rung j of the options holds as soon as any j of them are
chosen. The last rung is the purchase that meets the goal, which the environment alone decides.
"""

from __future__ import annotations

from proas.envs.webshop.goal import Target
from proas.states.webshop.projection import TARGET_BOUGHT, TARGET_IN_VIEW, TARGET_OPEN
from proas.subgoals import GOAL_REACHED, Ladder, Rung, any_order, ladder_of

__all__ = ["target_ladder"]


def target_ladder(target: Target) -> Ladder:
    """Search, target in view, its page, each number of options, bought."""
    wanted = target.wanted
    phrases = tuple(f"choose {group.name}: {group.wanted}" for group in wanted)
    told = "choose {count} of the {of} wanted options"
    options = any_order([group.fact for group in wanted], told=told, phrases=phrases)
    if len(wanted) == 1:
        options = [Rung(phrases[0], options[0].condition)]
    found = Rung(f"bring {target.asin} into view", ((TARGET_IN_VIEW,),), ("find the product among the results",))
    opened = Rung(f"open {target.asin}", ((TARGET_OPEN,), (TARGET_BOUGHT,)), ("go to the product's page",))
    bought = Rung("buy it", ((GOAL_REACHED,),), ("a purchase that meets the goal in everything",))
    return ladder_of((found, opened, *options), start="search for the product", goal=bought)
