"""A budget of tokens that calls cannot exceed, however many are under way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from proas.errors import ModelError

__all__ = ["BudgetSpent", "Hold", "Meter"]


class BudgetSpent(ModelError):
    """The tokens that are left may not carry the next call."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Tokens set aside for a call under way.

    Attributes:
        tokens: How many.
    """

    tokens: int


class Meter:
    """Counts tokens, and lets a call begin only when the budget holds the most that it can cost.

    What a call costs is known afterwards; before it, only a bound is (``most_tokens`` of the conversation and the
    longest reply). The bound is set aside while the call is under way and given back for what the call did cost. Calls
    that do not fit wait while others may still give tokens back. So the sum never passes the budget, as long as the
    server's counts keep to the bound.

    Args:
        budget: Tokens that may be spent; ``None`` counts only.
        spent: Tokens that were spent before.
    """

    def __init__(self, budget: int | None = None, *, spent: int = 0) -> None:
        self.budget = budget
        self.spent = spent
        self._held = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def left(self) -> int | None:
        """Tokens that are neither spent nor set aside; ``None`` without a budget."""
        return None if self.budget is None else self.budget - self.spent - self._held

    async def hold(self, tokens: int) -> Hold:
        """Set tokens aside for a call.

        Raises:
            BudgetSpent: They are not there, and no call under way can give any back.
        """
        while (left := self.left) is not None and tokens > left:
            if not self._held:
                raise BudgetSpent(
                    f"the budget of {self.budget:,} tokens does not hold the next call: {max(0, left):,} are left, "
                    f"and it may take {tokens:,}"
                )
            given_back = asyncio.get_running_loop().create_future()
            self._waiting.append(given_back)
            await given_back
        self._held += tokens
        return Hold(tokens)

    def settle(self, hold: Hold, spent: int) -> None:
        """Give back what was set aside, and count what the call did cost."""
        self._held -= hold.tokens
        self.spent += spent
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)
