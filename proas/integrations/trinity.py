"""ProAS for Trinity-RFT: an advantage function over step experiences.

Trinity finds it by its path, so nothing has to be registered::

    algorithm:
      advantage_fn: proas.integrations.trinity.ProASAdvantageFn
      advantage_fn_args:
        inner: step_wise_grpo          # Trinity's own estimator, by its name; it comes first
        graph: alfworld
        run: trinity-seed0

A workflow sets ``eid.run`` and ``eid.step`` of each experience, as Trinity asks for, and puts into ``info["proas"]``
what the experience carries of its rollout (:func:`proas.integrations.verl.rows.carried`): one step, or the whole
trajectory. Made for Trinity-RFT 0.6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from trinity.algorithm.advantage_fn import ADVANTAGE_FN, AdvantageFn
from trinity.buffer.operators import ExperienceOperator

from proas.integrations.credit import CreditRun, CreditSettings
from proas.integrations.verl.rows import FIELD
from proas.integrations.verl.shaping_step import TokenRows, shape_tokens

__all__ = ["ProASAdvantageFn"]


class ProASAdvantageFn(AdvantageFn, ExperienceOperator):
    """One of Trinity's advantage functions, and ProAS after it.

    Args:
        inner: Name of the advantage function that comes first.
        inner_args: Its arguments.
        iterations_done: Iterations of the checkpoint that the run resumes from; 0 for a new run.
        **credit: Fields of :class:`proas.integrations.credit.CreditSettings`.

    Raises:
        UsageError: The settings make no sense.
    """

    def __init__(
        self,
        inner: str = "step_wise_grpo",
        inner_args: dict[str, Any] | None = None,
        iterations_done: int = 0,
        **credit: Any,
    ) -> None:
        kind = ADVANTAGE_FN.get(inner)
        self._inner = kind(**{**kind.default_args(), **(inner_args or {})})
        self._iterations = iterations_done
        self._opened = False
        self.credit_run = CreditRun(CreditSettings.of(credit))

    def __call__(self, exps: Any, **options: Any) -> tuple[Any, dict[str, float]]:
        """As Trinity's advantage functions: experiences in, experiences with advantages and metrics out."""
        del options
        return self.process(exps)

    def process(self, exps: list[Any]) -> tuple[list[Any], dict[str, float]]:
        """Compute and shape the advantages of one iteration's experiences."""
        exps, metrics = self._inner.process(exps)
        if not exps:
            return exps, metrics
        if not self._opened:
            self.credit_run.open(iterations_done=self._iterations)
            self._opened = True
        self._iterations += 1
        lengths = [len(exp.advantages) for exp in exps]
        offsets = np.cumsum([0, *lengths]).tolist()
        rows = TokenRows(
            advantages=torch.cat([exp.advantages for exp in exps]).float().numpy(),
            mask=torch.cat([exp.action_mask for exp in exps]).numpy(),
            offsets=offsets,
            fields=[exp.info.get(FIELD) for exp in exps],
            padding=[False] * len(exps),
        )
        shaped = shape_tokens(rows, self.credit_run, self._iterations)
        for exp, values in zip(exps, np.split(shaped.advantages, offsets[1:-1]), strict=True):
            exp.advantages = torch.from_numpy(np.ascontiguousarray(values))
        return exps, {**metrics, **shaped.metrics}

    def close(self) -> None:
        """Let the graph learn what it was told."""
        self.credit_run.close()

    @classmethod
    def compute_in_trainer(cls) -> bool:
        """Experiences are shaped where they are made, in groups that are whole."""
        return False

    @classmethod
    def default_args(cls) -> dict[str, Any]:
        """Arguments where none are given."""
        return {"inner": "step_wise_grpo"}
