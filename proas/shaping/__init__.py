"""Advantage shaping: arrays in, arrays out, no database.

``shape(batch, preset("paper"))`` computes the base advantages of a labelled batch (GRPO, DAPO or GiGPO) and shapes
them by the paper's Eq. 7 or one of its variants. ``docs/shaping.md`` derives each choice.
"""

from proas.shaping.config import PRESETS, ShapingConfig, preset
from proas.shaping.diagnostics import Diagnostics, Growth, Row
from proas.shaping.shaper import Shaped, shape

__all__ = ["PRESETS", "Diagnostics", "Growth", "Row", "Shaped", "ShapingConfig", "preset", "shape"]
