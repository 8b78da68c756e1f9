"""Which temperatures words can be drawn at. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from proas.errors import UsageError

__all__ = ["LEAST", "MOST", "DrawingTemperature", "Temperature", "require_temperatures"]

LEAST = 0.01
"""Below it drawing is greedy but for rounding, and scores divided by it leave the range of floats."""

MOST = 100.0
"""Above it words are drawn almost evenly, whatever the policy says."""


def _sound(value: float) -> bool:
    return value == 0 or LEAST <= value <= MOST


def _checked(value: float) -> float:
    if not _sound(value):
        kind = "temperature"
        raise PydanticCustomError(kind, "give 0 for the likeliest words, or {least} to {most}", _BOUNDS)
    return value


_BOUNDS = {"least": f"{LEAST:g}", "most": f"{MOST:g}"}

Temperature = Annotated[float, AfterValidator(_checked)]
"""Of an evaluation: 0 is greedy."""

DrawingTemperature = Annotated[float, Field(ge=LEAST, le=MOST)]
"""Of rollouts of a group, which are to differ: not 0."""


def require_temperatures(values: Iterable[float], *, greedy: bool = True) -> None:
    """Refuse temperatures at which no words can be drawn.

    Args:
        values: Temperatures.
        greedy: Take 0, which stands for the likeliest words.

    Raises:
        UsageError: One is infinite, no number, or neither 0 nor from ``LEAST`` to ``MOST``.
    """
    for value in values:
        if not _sound(value) or (value == 0 and not greedy):
            likeliest = ", or 0 for the likeliest words" if greedy else ""
            raise UsageError(
                f"nothing can be drawn at temperature {value:g}", hint=f"give one from {LEAST:g} to {MOST:g}{likeliest}"
            )
