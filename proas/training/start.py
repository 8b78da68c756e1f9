"""The policy that a run starts from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from proas.errors import DataError, UsageError
from proas.rollouts import Rollout
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.config import PolicySettings, TrainConfig
from proas.training.episodes import prompt_text
from proas.training.inherited import with_policy_of
from proas.training.policy.decoder import DecoderConfig
from proas.training.policy.load import policy_from_description
from proas.training.policy.tokenizer import WordTokenizer
from proas.training.run_directory import RunDirectory

__all__ = ["fresh_policy", "require_room", "starting_weights", "stored_policy"]


def fresh_policy(demonstrations: Sequence[Rollout], settings: PolicySettings, *, critic: bool) -> dict[str, Any]:
    """Description of a new policy: the named model, else one of our own over the demonstrations' words.

    Args:
        demonstrations: Rollouts whose text makes the tokenizer.
        settings: The model.
        critic: Add a value head.
    """
    if settings.model:
        return {"kind": "huggingface", "path": settings.model, "critic": critic}
    tokenizer = WordTokenizer.learn(
        (
            text
            for r in demonstrations
            for text in (prompt_text(r.goal, r.observation), *(s.observation for s in r.steps))
        ),
        (step.action for r in demonstrations for step in r.steps),
        size=settings.vocabulary,
        phrases=settings.phrases,
    )
    decoder = DecoderConfig(
        vocabulary=len(tokenizer),
        width=settings.width,
        layers=settings.layers,
        heads=settings.heads,
        key_heads=settings.key_heads,
        hidden=settings.hidden,
    )
    return {"kind": "word", "tokenizer": tokenizer.to_json(), "decoder": decoder.model_dump(), "critic": critic}


def stored_policy(config: TrainConfig, init: Path) -> dict[str, Any]:
    """Description of the policy of a run to start from.

    Args:
        config: Settings of the run that starts.
        init: The run to start from.

    Raises:
        UsageError: There is no such run, or the settings say another policy than it has.
        DataError: Its checkpoint is damaged.
    """
    directory = RunDirectory(init)
    policy = Checkpoint.read(latest_checkpoint(directory.checkpoints)).policy
    with_policy_of(config, directory)
    return policy


def require_room(config: TrainConfig) -> None:
    """Refuse episodes that a model on disk has too few positions for, before anything is played.

    Raises:
        UsageError: It has, or there is no such model.
        DataError: The folder holds no model.
    """
    if not config.policy.model:
        return
    from proas.training.policy.huggingface import positions_of

    most = positions_of(config.policy.model)
    if most is not None and config.text.episode > most:
        raise UsageError(
            f"an episode may hold text.episode={config.text.episode} tokens, and {config.policy.model} has {most} "
            "positions",
            hint=f"--set text.episode={most}, with a text.prompt below it; longer episodes end there",
        )


def starting_weights(policy: dict[str, Any], seed: int, init: Path | None) -> Tensor:
    """The weights before the first update, flat.

    Args:
        policy: Its description.
        seed: Of the draw.
        init: Run whose newest weights are taken; a value head that it lacks starts at zero.

    Raises:
        DataError: The stored weights do not fit the policy.
    """
    torch.manual_seed(seed % 2**63)
    module = policy_from_description(policy).module
    flat = torch.cat([p.detach().reshape(-1).to(torch.float32) for p in module.parameters() if p.requires_grad])
    if init is None:
        return flat
    stored = Checkpoint.read(latest_checkpoint(RunDirectory(init).checkpoints))
    critics = sum(p.numel() for name, p in module.named_parameters() if name.startswith("value"))
    body = stored.weights
    had = policy_from_description(stored.policy).module
    body = body[: sum(p.numel() for name, p in had.named_parameters() if not name.startswith("value"))]
    if len(body) + critics != len(flat):
        raise DataError(f"the weights of {init} do not fit the policy", hint="start from a run of the same model")
    flat[: len(body)] = body
    return flat
