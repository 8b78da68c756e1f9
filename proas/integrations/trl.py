"""ProAS for TRL: a ``GRPOTrainer`` whose advantages are shaped step by step.

TRL computes one advantage a row and takes one a token just as well. The rollout function that plays an environment
returns, beside ``prompt_ids``, ``completion_ids``, ``logprobs`` and ``env_mask``, a list ``proas`` of what each row
carries of its rollout (:func:`proas.integrations.verl.rows.carried`); TRL hands it on to this trainer.

::

    trainer = ProASGRPOTrainer(
        model, reward_funcs=[success], args=config, train_dataset=tasks, rollout_func=play,
        credit=CreditSettings(graph="alfworld", run="trl-seed0"),
    )

Made for TRL 1.16. All ranks hand their rows to the first, which alone talks to the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from accelerate.utils import broadcast_object_list, gather_object
from trl import GRPOTrainer

from proas.integrations.credit import CreditRun, CreditSettings
from proas.integrations.verl.rows import FIELD
from proas.integrations.verl.shaping_step import TokenRows, shape_tokens

__all__ = ["ProASGRPOTrainer"]


class ProASGRPOTrainer(GRPOTrainer):
    """TRL's trainer with ProAS after its estimator.

    Args:
        credit: How the run uses the graph.
        *arguments: As ``GRPOTrainer``'s.
        **options: As ``GRPOTrainer``'s.

    Raises:
        UsageError: The settings make no sense.
    """

    def __init__(self, *arguments: Any, credit: CreditSettings, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.credit_run = CreditRun(credit)
        self._opened = False

    def train(self, *arguments: Any, **options: Any) -> Any:
        """Train; what the graph is still to learn is learnt before it returns."""
        try:
            return super().train(*arguments, **options)
        finally:
            self.credit_run.close()

    def _save_checkpoint(self, *arguments: Any, **options: Any) -> Any:
        self.credit_run.wait()  # the graph has learnt all that the checkpoint has
        return super()._save_checkpoint(*arguments, **options)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        if self.model.training:
            output["advantages"] = self._shaped(inputs, output)
        return dict(output)

    def _shaped(self, inputs: list[dict[str, Any]], output: dict[str, Any]) -> torch.Tensor:
        """Advantages of this process's rows, one a token, ``(B, T)``."""
        mask = output["completion_mask"]
        if "tool_mask" in output:
            mask = mask * output["tool_mask"]
        tokens = output["advantages"][:, None].expand(mask.shape).float()
        own = [
            (row.cpu().numpy(), kept.cpu().numpy(), example.get(FIELD))
            for row, kept, example in zip(tokens, mask, inputs, strict=True)
        ]
        everyone = gather_object(own)
        answer: list[Any] = [None]
        if self.accelerator.is_main_process:
            answer = [self._credit(everyone)]
        shaped, metrics = broadcast_object_list(answer)[0]
        for name, value in metrics.items():
            self._metrics["train"][name].append(value)
        first = self.accelerator.process_index * len(own)
        return torch.from_numpy(np.stack(shaped[first : first + len(own)])).to(tokens.device)

    def _credit(self, rows: list[tuple[Any, Any, Any]]) -> tuple[list[Any], dict[str, float]]:
        iteration = self._iteration()
        if not self._opened:
            self.credit_run.open(iterations_done=iteration - 1)
            self._opened = True
        offsets = np.cumsum([0, *(len(row[0]) for row in rows)]).tolist()
        made = TokenRows(
            advantages=np.concatenate([row[0] for row in rows]),
            mask=np.concatenate([row[1] for row in rows]),
            offsets=offsets,
            fields=[row[2] for row in rows],
            padding=[False] * len(rows),
        )
        shaped = shape_tokens(made, self.credit_run, iteration)
        return np.split(shaped.advantages, offsets[1:-1]), shaped.metrics

    def _iteration(self) -> int:
        """Number of this batch of rollouts, from 1; the same after a restart from a checkpoint."""
        micro_steps = self.state.global_step * self.args.gradient_accumulation_steps
        return int(micro_steps // (self.args.steps_per_generation * self.num_iterations)) + 1
