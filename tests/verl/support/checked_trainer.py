"""The plug-in's trainers with a witness: what verl is about to learn from, written down beside what was recorded.

Nothing is computed here. After the trainer has shaped a batch, the advantages that the actor will read are read from
the queue again and written with the rollouts behind them, for the test to hold against ``proas.shaping``.
"""

from __future__ import annotations

import verl  # isort: skip  (first: it loads its own modules in the right order)

import json
import os
from pathlib import Path
from typing import Any

import transfer_queue as tq
from verl.trainer.ppo.v1 import PPOTrainer, get_trainer_cls, register_trainer

from proas.integrations.verl.trainers import MODES

assert verl is not None


class _Witnessed(PPOTrainer):
    """Writes one JSON line a row to the file that ``PROAS_TEST_WITNESS`` names. Mixed into a trainer, before it."""

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        names = ["advantages", "response_mask", "responses", "extra_fields", "rm_scores"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=names)
        extras = data["extra_fields"]
        extras = extras.tolist() if hasattr(extras, "tolist") else list(extras)
        with Path(os.environ["PROAS_TEST_WITNESS"]).open("a", encoding="utf-8") as file:
            for i, (key, tag) in enumerate(zip(batch.keys, batch.tags, strict=True)):
                row = {
                    "step": self.global_steps,
                    "key": key,
                    "padding": bool(tag.get("is_padding", False)),
                    "advantages": data["advantages"].unbind()[i].tolist(),
                    "mask": data["response_mask"].unbind()[i].tolist(),
                    "responses": data["responses"].unbind()[i].tolist(),
                    "score": float(data["rm_scores"].unbind()[i].sum()),
                    "carried": extras[i].get("proas"),
                }
                file.write(json.dumps(row) + "\n")
            shown = {name: float(value) for name, value in metrics.items() if isinstance(value, int | float)}
            file.write(json.dumps({"step": self.global_steps, "metrics": shown}) + "\n")
        return batch


for mode in MODES:
    ours = get_trainer_cls(mode)
    register_trainer(f"{mode}_witnessed")(type(f"Witnessed{ours.__name__}", (_Witnessed, ours), {}))
