"""ProAS: progress-aware advantage shaping for LLM agents, with the reference graph in Neo4j.

The road of data: rollouts, states, labels (Cypher), shaping (arrays), trainer; successes are purified and evolve
the graph. ``ARCHITECTURE.md`` draws the rooms.
"""

from proas.errors import ProASError
from proas.keys import KEY_VERSION, state_key, transition_key
from proas.purify import Purification, kept_steps
from proas.rollouts import Label, Reject, Rollout, RolloutBatch, State, Step
from proas.subgoals import Ladder, Subgoal

__version__ = "0.1.0"

__all__ = [
    "KEY_VERSION",
    "Label",
    "Ladder",
    "ProASError",
    "Purification",
    "Reject",
    "Rollout",
    "RolloutBatch",
    "State",
    "Step",
    "Subgoal",
    "__version__",
    "kept_steps",
    "state_key",
    "transition_key",
]
