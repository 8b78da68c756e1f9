"""ScienceWorld (Wang et al., 2022) through its own simulator, behind the interface of every environment."""

from proas.envs.scienceworld.env import DEFAULT_STEP_LIMIT, ScienceWorldEnv, ScienceWorldInfo
from proas.envs.scienceworld.facts import ScienceWorldFacts, Thing
from proas.envs.scienceworld.goal import ENV, SIMPLIFICATIONS, ScienceWorldGoal
from proas.envs.scienceworld.simulator import Session, Simulator, missing_packages
from proas.envs.scienceworld.world import SPLITS, ScienceWorldWorld, Split, split_of

__all__ = [
    "DEFAULT_STEP_LIMIT",
    "ENV",
    "SIMPLIFICATIONS",
    "SPLITS",
    "ScienceWorldEnv",
    "ScienceWorldFacts",
    "ScienceWorldGoal",
    "ScienceWorldInfo",
    "ScienceWorldWorld",
    "Session",
    "Simulator",
    "Split",
    "Thing",
    "missing_packages",
    "split_of",
]
