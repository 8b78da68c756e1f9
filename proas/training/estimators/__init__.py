"""Base advantages of methods beyond those of ``proas.shaping``: MiGPO, HGPO, GraphGPO, TIGPO and PPO.

GRPO, DAPO and GiGPO live in ``proas.shaping.estimators``. All are functions of arrays in the shapes of
``proas.shaping.ragged``; none needs torch.
"""

from proas.training.estimators.advantages import BaseAdvantages, estimate_base
from proas.training.estimators.context_groups import hgpo
from proas.training.estimators.critic import GaeEstimate, gae
from proas.training.estimators.milestones import migpo, segment_rewards
from proas.training.estimators.state_graph import GoalDistances, StateGraphs, graphgpo

__all__ = [
    "BaseAdvantages",
    "GaeEstimate",
    "GoalDistances",
    "StateGraphs",
    "estimate_base",
    "gae",
    "graphgpo",
    "hgpo",
    "migpo",
    "segment_rewards",
]
