"""verl's trainers with ProAS between the estimator and the update: one for each of verl's three modes.

Each is verl's own trainer but for two places: after the stock estimator has written the advantages of a batch, they are
shaped; and when a checkpoint is written, the graph has learnt all that the checkpoint has.
"""

from __future__ import annotations

import verl  # isort: skip  (first: it loads its own modules in the right order)

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf, open_dict
from tensordict import TensorDict
from verl.trainer.ppo.v1 import (
    PPOTrainer,
    PPOTrainerColocateAsync,
    PPOTrainerSeparateAsync,
    PPOTrainerSync,
    register_trainer,
)

from proas.integrations.credit import CreditRun, CreditSettings
from proas.integrations.verl.rows import FIELD
from proas.integrations.verl.shaping_step import TokenRows, shape_tokens

__all__ = ["MODES", "ProASTrainerColocateAsync", "ProASTrainerSeparateAsync", "ProASTrainerSync", "credit_settings"]

MODES: Mapping[str, str] = {
    "proas_sync": "sync",
    "proas_colocate_async": "colocate_async",
    "proas_separate_async": "separate_async",
}
"""Our modes, and verl's under each of them."""

assert verl is not None


def credit_settings(config: DictConfig) -> CreditSettings:
    """The section ``algorithm.proas`` of verl's configuration.

    Raises:
        UsageError: It holds an unknown setting or a bad value.
    """
    section = OmegaConf.select(config, "algorithm.proas")
    values: dict[str, Any] = {} if section is None else dict(OmegaConf.to_container(section, resolve=True))
    return CreditSettings.of(values)


class _WithProAS(PPOTrainer):
    """Mixed into each of verl's trainers, before it."""

    stock_mode: ClassVar[str]

    def __init__(self, config: DictConfig) -> None:
        self.credit_run = CreditRun(credit_settings(config))  # first: a bad setting must not cost a model's loading
        # verl looks at the mode's name in many places and would take an unknown one for an asynchronous mode.
        with open_dict(config):
            config.trainer.v1.trainer_mode = self.stock_mode
        super().__init__(config)

    def init(self) -> None:
        super().init()
        self.credit_run.open(iterations_done=self.global_steps * self.parameter_sync_step)

    def fit(self, agent_loop_manager: Any) -> None:
        try:
            super().fit(agent_loop_manager)
        finally:
            self.credit_run.close()

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        iteration = (self.global_steps - 1) * self.parameter_sync_step + self.local_trigger_step + 1
        data = tq.kv_batch_get(
            keys=batch.keys,
            partition_id=batch.partition_id,
            select_fields=["advantages", "response_mask", "extra_fields"],
        )
        advantages, mask = data["advantages"], data["response_mask"]
        rows = TokenRows(
            advantages=advantages.values().numpy(),
            mask=mask.values().numpy(),
            offsets=advantages.offsets().tolist(),
            fields=[_field(extra) for extra in _plain(data["extra_fields"])],
            padding=[bool(tag.get("is_padding", False)) for tag in batch.tags],
        )
        shaped = shape_tokens(rows, self.credit_run, iteration)
        values = torch.from_numpy(np.ascontiguousarray(shaped.advantages))
        nested = torch.nested.nested_tensor_from_jagged(values, offsets=advantages.offsets())
        # Returns stay: they are the critic's target, and credit is the policy's alone.
        fields = TensorDict({"advantages": nested}, batch_size=len(batch.keys))
        tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)
        metrics.update(shaped.metrics)
        if "actor/entropy" in metrics:
            metrics["proas/entropy"] = metrics["actor/entropy"]
        return batch

    def _save_checkpoint(self) -> None:
        self.credit_run.wait()
        super()._save_checkpoint()


def _plain(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _field(extra: Any) -> Any:
    return extra.get(FIELD) if isinstance(extra, Mapping) else None


@register_trainer("proas_sync")
class ProASTrainerSync(_WithProAS, PPOTrainerSync):
    """verl's synchronous trainer with ProAS."""

    stock_mode = "sync"


@register_trainer("proas_colocate_async")
class ProASTrainerColocateAsync(_WithProAS, PPOTrainerColocateAsync):
    """verl's asynchronous trainer on shared devices with ProAS."""

    stock_mode = "colocate_async"


@register_trainer("proas_separate_async")
class ProASTrainerSeparateAsync(_WithProAS, PPOTrainerSeparateAsync):
    """verl's asynchronous trainer on devices of its own with ProAS."""

    stock_mode = "separate_async"
