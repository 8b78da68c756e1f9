"""Advantage shaping: arrays in, arrays out, no database.

``shape(batch, preset("paper"))`` computes the base advantages of a labelled batch (GRPO, DAPO or GiGPO) and shapes
them by the paper's Eq. 7 or one of its variants. Underneath are functions of plain arrays, for trainers that keep no
rollout records: ``grpo``, ``dapo``, ``gigpo``, ``token_weights``, and ``mui_weights``, ``apr_weights`` and ``eq7``.
``docs/shaping.md`` derives each choice.
"""

from proas.shaping.config import PRESETS, ShapingConfig, preset
from proas.shaping.diagnostics import Diagnostics, Growth, Row
from proas.shaping.eq7 import apr_measure, apr_scope, apr_weights, eq7, mui_weights
from proas.shaping.estimators import dapo, gigpo, grpo, token_weights
from proas.shaping.ragged import future_count, offsets_of
from proas.shaping.shaper import Shaped, shape

__all__ = [
    "PRESETS",
    "Diagnostics",
    "Growth",
    "Row",
    "Shaped",
    "ShapingConfig",
    "apr_measure",
    "apr_scope",
    "apr_weights",
    "dapo",
    "eq7",
    "future_count",
    "gigpo",
    "grpo",
    "mui_weights",
    "offsets_of",
    "preset",
    "shape",
    "token_weights",
]
