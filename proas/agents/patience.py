"""Retries: a model that is asked again, with growing pauses, when a try fails that might not fail again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proas.agents.budget import Meter
from proas.agents.endpoint import PromptRefused, TryFailed
from proas.agents.model import Completion, LanguageModel, Message, Sampling, most_tokens
from proas.errors import ModelError, ModelRefused, ModelUnavailable, UsageError

__all__ = ["GaveUp", "Patience", "Patient"]

_REFUSALS = 3
"""Conversations that a model refuses before it is known to take none of this form."""


class GaveUp(TryFailed):
    """Every try of a call failed; the message is the last one's."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call is tried again, and with which pauses.

    Attributes:
        retry_for: Seconds after the first failure within which another try may begin; 0 makes a single try.
        first_pause: Seconds before the second try; every pause after it is twice as long.
        longest_pause: Seconds that no pause exceeds, unless the server asks for more (``Retry-After``).
        jitter: Share of a pause that is left to chance, so that many callers do not come back at once.

    Raises:
        UsageError: A value makes no sense.
    """

    retry_for: float = 300.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        if not min(self.retry_for, self.first_pause, self.longest_pause) >= 0:
            raise UsageError("times of retries must not be negative")
        if not 0 <= self.jitter <= 1:
            raise UsageError("jitter is a share between 0 and 1")

    def pause(self, failed: int, asked: float | None, chance: float) -> float:
        """Seconds to wait before the next try.

        Args:
            failed: Number of failed tries, from 1.
            asked: What the server asks for.
            chance: A random number in [0, 1).
        """
        grown = min(self.longest_pause, self.first_pause * 2.0 ** min(failed - 1, 60))
        pause = grown * (1 - self.jitter * chance)
        return pause if asked is None else max(asked, pause)


class Patient:
    """A model that is asked again; implements :class:`proas.agents.model.LanguageModel`.

    It also tells a call that fails from a model that is gone. Gone is one that refuses the key or its own name, one
    that cannot be connected to while a call was tried again in vain, one that answered nothing usable while two calls
    in a row were, and one that refuses the first three conversations, whatever they are. From then on every call fails
    at once.

    Args:
        model: Who answers a single try.
        patience: How long.
        meter: Counts the tokens of every try, failed ones by estimate, and refuses what the budget does not hold.
        concurrency: Most tries under way at once.

    Raises:
        UsageError: No call is allowed at all.
    """

    def __init__(
        self,
        model: LanguageModel,
        patience: Patience | None = None,
        *,
        meter: Meter | None = None,
        concurrency: int = 64,
    ) -> None:
        if concurrency < 1:
            raise UsageError(f"at least one call must be allowed at a time, not {concurrency}")
        self.model = model
        self.meter = meter or Meter()
        self._patience = patience or Patience()
        self._gate = asyncio.Semaphore(concurrency)
        self._chance = random.Random()  # noqa: S311  # spreads callers in time, no secret
        self._replied = float("-inf")
        self._given_up = self._refused = 0
        self._gone: ModelError | None = None
        self._ended = asyncio.Event()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def gone(self) -> ModelError | None:
        """Why the model is given up altogether; ``None`` while it is not."""
        return self._gone

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The reply, after as many tries as it takes.

        Raises:
            GaveUp: Every try failed; ``tokens`` is what all of them are believed to have cost.
            ModelRefused: The request is refused.
            BudgetSpent: The budget may not hold the call.
        """
        wasted = failed = 0
        first_failure = float("inf")
        while True:
            try:
                done = await self._try(messages, sampling)
            except TryFailed as error:
                first_failure = min(first_failure, time.monotonic())
                wasted += error.tokens
                failed += 1
                pause = self._patience.pause(failed, error.wait, self._chance.random())
                if time.monotonic() + pause > first_failure + self._patience.retry_for:
                    raise self._give_up(error, failed, first_failure, wasted) from None
                await self._rest(pause)
            except ModelError as error:
                error.tokens += wasted
                self._refuse(error)
                raise
            else:
                self._replied = time.monotonic()
                self._given_up = 0
                return replace(done, wasted=wasted, calls=failed + 1)

    async def check(self) -> tuple[str, ...] | None:
        """Look whether the model can be asked; a single try."""
        return await self.model.check()

    async def aclose(self) -> None:
        """Let go of the model."""
        await self.model.aclose()

    async def _try(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        async with self._gate:
            if self._gone is not None:
                raise ModelUnavailable(self._gone.message, hint=self._gone.hint)
            hold = await self.meter.hold(most_tokens(messages) + sampling.max_tokens)
            spent = 0
            try:
                done = await self.model.complete(messages, sampling)
                spent = done.usage.total
            except ModelError as error:
                spent = error.tokens
                raise
            finally:
                self.meter.settle(hold, spent)
            return done

    async def _rest(self, seconds: float) -> None:
        """Wait, unless the model is given up meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return

    def _give_up(self, error: TryFailed, failed: int, first_failure: float, wasted: int) -> GaveUp:
        self._given_up += 1
        tries = f", {failed} times" if failed > 1 else ""
        asked = f"; it asks to wait {error.wait:.0f} s" if error.wait is not None else ""
        given_up = GaveUp(
            error.message + tries + asked, hint=error.hint, wait=error.wait, tokens=wasted, reached=error.reached
        )
        if self._replied < first_failure and (not error.reached or self._given_up > 1):
            self._end(given_up)
        return given_up

    def _refuse(self, error: ModelError) -> None:
        if isinstance(error, PromptRefused):
            self._refused += 1
            if self._replied > float("-inf") or self._refused < _REFUSALS:
                return
        if isinstance(error, ModelRefused):
            self._end(error)

    def _end(self, error: ModelError) -> None:
        if self._gone is None:
            self._gone = error
            self._ended.set()
