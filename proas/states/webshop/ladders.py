"""Subgoals of a WebShop task, from its goal alone.

The options can be chosen in any order, so their rungs count: rung j of the options holds as soon as any j of them are
chosen. The last rung is the purchase that meets the goal, which the environment alone decides.
"""

from __future__ import annotations

from itertools import combinations

from proas.envs.webshop.goal import Target
from proas.states.webshop.projection import TARGET_BOUGHT, TARGET_IN_VIEW, TARGET_OPEN
from proas.subgoals import GOAL_REACHED, Condition, Ladder, Subgoal

__all__ = ["target_ladder"]


def target_ladder(target: Target) -> Ladder:
    """Search, target in view, its page, each number of options, bought."""
    wanted = target.wanted
    rungs: list[tuple[str, tuple[str, ...], Condition]] = [
        ("search for the product", (), ()),
        (f"bring {target.asin} into view", ("find the product among the results",), ((TARGET_IN_VIEW,),)),
        (f"open {target.asin}", ("go to the product's page",), ((TARGET_OPEN,), (TARGET_BOUGHT,))),
    ]
    phrases = tuple(f"choose {group.name}: {group.wanted}" for group in wanted)
    for count in range(1, len(wanted) + 1):
        told = phrases[0] if len(wanted) == 1 else f"choose {count} of the {len(wanted)} wanted options"
        any_of = tuple(tuple(sorted(group.fact for group in some)) for some in combinations(wanted, count))
        rungs.append((told, phrases if len(wanted) > 1 else (), any_of))
    rungs.append(("buy it", ("a purchase that meets the goal in everything",), ((GOAL_REACHED,),)))
    return Ladder(tuple(Subgoal(m, told, phrases, holds) for m, (told, phrases, holds) in enumerate(rungs)))
