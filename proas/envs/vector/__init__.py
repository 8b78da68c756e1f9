"""Many episodes side by side, in this process or each protected from the others in processes of their own."""

from proas.envs.vector.base import VectorEnv
from proas.envs.vector.inprocess import InProcessVector
from proas.envs.vector.isolated import IsolatedVector
from proas.envs.vector.records import Fault, FaultKind, Player, Turn
from proas.envs.vector.rollouts import collect_many

__all__ = ["Fault", "FaultKind", "InProcessVector", "IsolatedVector", "Player", "Turn", "VectorEnv", "collect_many"]
