"""One worker's share: it plays some of the tasks, keeps their tokens, and computes gradients over them.

A shard computes with one thread. That is quicker than many threads on one small model, and the result does not depend
on how threads happen to share the work: the same seed gives the same bits on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from proas.envs import EnvSpec, open_world
from proas.rollouts import Reject, Rollout
from proas.states import follower_for
from proas.training.config import TrainConfig
from proas.training.episodes import Episode, TextLimits, episode_of
from proas.training.objective import ClipRange, policy_terms
from proas.training.play import PlaySettings, play_tasks
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.load import load_flat, policy_from_description

__all__ = ["PlayReport", "Shard", "ShardSpec", "Signal", "UpdateOrder", "UpdateStats"]

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ShardSpec:
    """What a shard is made from: plain values, so that it crosses process borders.

    Attributes:
        env: Name of the environment.
        train: Data of the training tasks.
        valid: Data of the validation tasks.
        options: The environment's options.
        policy: Description of the policy (``LanguagePolicy.describe``).
        limits: Limits of text.
        micro_batch_tokens: Tokens that one backward pass holds at most.
    """

    env: str
    train: Path | None
    valid: Path | None
    options: dict[str, str]
    policy: dict[str, Any]
    limits: TextLimits
    micro_batch_tokens: int

    @classmethod
    def of(cls, config: TrainConfig, policy: dict[str, Any], train: Path | None, valid: Path | None) -> ShardSpec:
        """What a run's settings say of it; policy and data are given."""
        limits = TextLimits.of(config.text)
        return cls(config.env, train, valid, config.options, policy, limits, config.update.micro_batch_tokens)


@dataclass(frozen=True, slots=True)
class PlayReport:
    """What a shard says of its episodes; their tokens stay with it.

    Attributes:
        rollouts: The records.
        values: The critic's values of each rollout's own steps.
        rejects: Tasks that cannot be played.
        tokens: Tokens of all episodes.
        entropy: Mean over episodes of the entropy of the policy's words.
        environment_seconds: Time inside the environment.
        policy_seconds: Time inside the policy.
        given: How many of each rollout's first steps were given, and are not the policy's.
    """

    rollouts: list[Rollout]
    values: list[Floats]
    rejects: list[Reject]
    tokens: int
    entropy: list[float]
    environment_seconds: float
    policy_seconds: float
    given: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Signal:
    """What an update is to do with one episode.

    Attributes:
        advantages: Advantage of each step, ``(S,)``.
        weights: Weight of each token of a step, ``(S,)``.
        targets: What the critic should say before each step, ``(S,)``; ``None`` without a critic.
    """

    advantages: Floats
    weights: Floats
    targets: Floats | None = None


@dataclass(frozen=True, slots=True)
class UpdateOrder:
    """How a gradient is to be computed.

    Attributes:
        clip: Range of the ratio.
        kl: Weight of the divergence from the reference.
        entropy: Weight of the entropy bonus.
        value: Weight of the critic's loss.
        temperature: At which the tokens were drawn.
        scale: Factor of the whole loss: the number of minibatches, so that each is a mean.
        imitate: Maximise the likelihood of the episodes instead, whatever their advantages.
        text_weight: With ``imitate``, weight of the environment's words beside the actions.
    """

    clip: ClipRange = field(default_factory=lambda: ClipRange(0.2, 0.2))
    kl: float = 0.0
    entropy: float = 0.0
    value: float = 0.0
    temperature: float = 1.0
    scale: float = 1.0
    imitate: bool = False
    text_weight: float = 0.0


@dataclass(slots=True)
class UpdateStats:
    """Sums over what was updated; they add up over shards."""

    loss: float = 0.0
    surrogate: float = 0.0
    kl: float = 0.0
    entropy: float = 0.0
    clipped: float = 0.0
    ratio: float = 0.0
    value_loss: float = 0.0
    weight: float = 0.0
    tokens: int = 0

    def add(self, other: UpdateStats) -> None:
        """Add another's sums."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class _Item:
    """An episode in an update, as flat arrays over its action tokens."""

    episode: Episode
    places: Tensor
    chosen: Tensor
    old: Tensor
    advantages: Tensor
    weights: Tensor
    firsts: Tensor
    targets: Tensor | None
    step_weights: Tensor
    reference: Tensor | None = None


@dataclass(slots=True)
class _Kept:
    episodes: dict[str, Episode] = field(default_factory=dict)
    items: dict[str, _Item] = field(default_factory=dict)


class Shard:
    """A worker's share of tasks, tokens and gradients.

    Args:
        spec: What it is made from.
        weights: The policy's weights as one flat vector, shared with the trainer that changes them.
        gradient: Where this shard leaves its gradient, a flat vector of the same length.
        reference: Weights of the reference policy.
    """

    def __init__(self, spec: ShardSpec, weights: Tensor, gradient: Tensor, reference: Tensor) -> None:
        self._spec = spec
        self._weights, self._gradient, self._reference = weights, gradient, reference
        self._policy: LanguagePolicy = policy_from_description(spec.policy)
        self._parameters = [p for p in self._policy.module.parameters() if p.requires_grad]
        self._worlds = {
            "train": open_world(EnvSpec(spec.env, spec.train, spec.options)),
            "valid": open_world(EnvSpec(spec.env, spec.valid, spec.options)),
        }
        self._kept = _Kept()

    def play(
        self, split: str, tasks: Sequence[str], how: PlaySettings, *, keep: bool, beside: bool = False
    ) -> PlayReport:
        """Play tasks with the present weights.

        Args:
            split: ``train`` or ``valid``.
            tasks: Keys.
            how: Settings.
            keep: Keep the tokens for an update, in place of those kept before, and attach states.
            beside: Let those kept before stay as well.
        """
        self._load(self._weights)
        follower = follower_for if keep else None
        done = play_tasks(self._worlds[split], self._policy, tasks, how, follower)
        if keep:
            before = self._kept.episodes if beside else {}
            self._kept = _Kept(before | {episode.rollout.id: episode for episode in done.episodes})
        return PlayReport(
            rollouts=[episode.rollout for episode in done.episodes],
            values=[episode.values for episode in done.episodes],
            rejects=done.rejects,
            tokens=sum(len(episode.tokens) for episode in done.episodes),
            entropy=[episode.entropy for episode in done.episodes],
            environment_seconds=done.environment_seconds,
            policy_seconds=done.policy_seconds,
            given=[episode.given for episode in done.episodes],
        )

    def take(self, demonstrations: Sequence[Rollout]) -> int:
        """Keep demonstrations for imitation, in place of what was kept. Answers with their tokens."""
        self._kept = _Kept()
        total = 0
        for rollout in demonstrations:
            episode = episode_of(rollout, self._policy, self._spec.limits)
            steps = len(episode.starts)
            ones = np.ones(steps, dtype=np.float32)
            self._kept.items[rollout.id] = _item(episode, Signal(ones, ones))
            total += int(episode.counts.sum())
        return total

    def prepare(self, signals: dict[str, Signal], *, reference: bool, temperature: float) -> None:
        """Receive what is to be done with the episodes kept; those without a signal take no part in the update.

        Args:
            signals: By rollout id.
            reference: Work out the reference's log-probabilities too.
            temperature: At which the tokens were drawn.
        """
        episodes = self._kept.episodes
        self._kept.items = {name: _item(episodes[name], signal) for name, signal in signals.items()}
        if reference and self._kept.items:
            self._load(self._reference)
            with torch.inference_mode():
                for batch in self._micro_batches(list(self._kept.items)):
                    scores, _ = self._score(batch)
                    chosen = torch.cat([item.chosen for item in batch])
                    found = torch.log_softmax(scores / temperature, dim=-1).gather(1, chosen.unsqueeze(1)).squeeze(1)
                    parts = torch.split(found.clone(), [len(item.chosen) for item in batch])
                    for item, part in zip(batch, parts, strict=True):
                        item.reference = part

    def gradient(self, members: Sequence[str], order: UpdateOrder) -> UpdateStats:
        """Leave the gradient of the loss over some episodes in the shared vector.

        Args:
            members: Rollout ids; those that this shard does not keep are passed over.
            order: How.
        """
        self._load(self._weights)
        for parameter in self._parameters:
            parameter.grad = None
        stats = UpdateStats()
        for batch in self._micro_batches([name for name in members if name in self._kept.items]):
            loss = self._imitation_loss(batch, order, stats) if order.imitate else self._loss(batch, order, stats)
            torch.autograd.backward(loss)
        flat = [
            (torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1).to(torch.float32) for p in self._parameters
        ]
        self._gradient.copy_(torch.cat(flat))
        return stats

    def close(self) -> None:
        """Let go of the environments."""
        for world in self._worlds.values():
            world.close()

    def _load(self, flat: Tensor) -> None:
        load_flat(self._parameters, flat)

    def _micro_batches(self, names: Sequence[str]) -> Iterator[list[_Item]]:
        """Episodes of like length together, so many that their padded tokens stay within the bound."""
        items = sorted((self._kept.items[name] for name in names), key=lambda item: len(item.episode.tokens))
        batch: list[_Item] = []
        for item in items:
            if batch and (len(batch) + 1) * len(item.episode.tokens) > self._spec.micro_batch_tokens:
                yield batch
                batch = []
            batch.append(item)
        if batch:
            yield batch

    def _score(self, batch: Sequence[_Item], *, everywhere: bool = False) -> tuple[Tensor, Tensor]:
        """Scores and values at the places of the action tokens, or at all places."""
        longest = max(len(item.episode.tokens) for item in batch)
        tokens = torch.zeros(len(batch), longest, dtype=torch.long)
        for row, item in enumerate(batch):
            tokens[row, : len(item.episode.tokens)] = torch.from_numpy(item.episode.tokens)
        places = [torch.arange(len(item.episode.tokens) - 1) if everywhere else item.places for item in batch]
        rows = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor([len(place) for place in places]))
        return self._policy.score(tokens, rows, torch.cat(places))

    def _loss(self, batch: Sequence[_Item], order: UpdateOrder, stats: UpdateStats) -> Tensor:
        scores, values = self._score(batch)
        weights = torch.cat([item.weights for item in batch])
        references = [item.reference for item in batch]
        known = [reference for reference in references if reference is not None]
        terms = policy_terms(
            scores,
            torch.cat([item.chosen for item in batch]),
            torch.cat([item.old for item in batch]),
            torch.cat([item.advantages for item in batch]),
            weights,
            order.clip,
            reference=torch.cat(known) if len(known) == len(batch) and order.kl else None,
            temperature=order.temperature,
        )
        loss = -terms.surrogate + order.kl * terms.kl - order.entropy * terms.entropy
        targets = [item.targets for item in batch if item.targets is not None]
        if targets and order.value:
            first = torch.cat([item.firsts for item in batch])
            error = functional.mse_loss(values[first], torch.cat(targets), reduction="none")
            value_loss = (torch.cat([item.step_weights for item in batch]) * error).sum()
            loss = loss + order.value * value_loss
            stats.value_loss += float(value_loss.detach())
        stats.loss += float(loss.detach())
        stats.surrogate += float(terms.surrogate.detach())
        stats.kl += float(terms.kl.detach())
        stats.entropy += float(terms.entropy.detach())
        stats.clipped += float(terms.clipped.detach())
        stats.ratio += float(terms.ratio.detach())
        stats.weight += float(weights.sum())
        stats.tokens += len(weights)
        return torch.as_tensor(loss * order.scale)

    def _imitation_loss(self, batch: Sequence[_Item], order: UpdateOrder, stats: UpdateStats) -> Tensor:
        """Negative log-likelihood of the actions, each token alike, and of the environment's words where wanted."""
        scores, _ = self._score(batch, everywhere=order.text_weight > 0)
        if order.text_weight > 0:
            chosen, weights = _all_words(batch, order.text_weight)
        else:
            chosen = torch.cat([item.chosen for item in batch])
            weights = torch.ones(len(chosen))
        loss = (functional.cross_entropy(scores, chosen, reduction="none").nan_to_num(posinf=0.0) * weights).sum()
        stats.loss += float(loss.detach())
        stats.weight += float(weights.sum())
        stats.tokens += len(chosen)
        return loss * order.scale


def _item(episode: Episode, signal: Signal) -> _Item:
    """Spread a signal over the tokens of an episode's actions."""
    places = torch.from_numpy(episode.action_places.astype(np.int64))
    counts = torch.from_numpy(episode.counts.astype(np.int64))
    tokens = torch.from_numpy(episode.tokens.astype(np.int64))
    weights, advantages = torch.from_numpy(signal.weights), torch.from_numpy(signal.advantages)
    total = int(counts.sum())
    firsts = torch.zeros(total, dtype=torch.bool)
    firsts[counts.cumsum(0) - counts] = True
    return _Item(
        episode=episode,
        places=places,
        chosen=tokens[places + 1],
        old=torch.from_numpy(episode.logprobs),
        advantages=advantages.repeat_interleave(counts),
        weights=weights.repeat_interleave(counts),
        firsts=firsts,
        targets=None if signal.targets is None else torch.from_numpy(signal.targets),
        step_weights=weights * counts,
    )


def _all_words(batch: Sequence[_Item], text_weight: float) -> tuple[Tensor, Tensor]:
    """Every next token of the episodes and its weight: 1 for the policy's own words, less for the environment's."""
    chosen: list[Tensor] = []
    weights: list[Tensor] = []
    for item in batch:
        following = torch.from_numpy(item.episode.tokens.astype(np.int64))[1:]
        weight = torch.full((len(following),), text_weight)
        weight[item.places] = 1.0
        chosen.append(following)
        weights.append(weight)
    return torch.cat(chosen), torch.cat(weights)
