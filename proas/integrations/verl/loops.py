"""Agent loops for verl: any environment of ProAS, played by the model that is trained.

``proas``
    One sequence of tokens a trajectory: a conversation that grows. Its tokens are the sampled ones, never tokenised
    anew, and each step's span of them is recorded where they are sampled.
``proas_steps``
    One row a step, each with a prompt of its own that shows the last ``history`` steps: for episodes too long for one
    sequence.

The reward of a trajectory is its episode return; ``reward_extra_info.acc`` is 1 for a success, for DAPO's group filter
and for validation.
"""

from __future__ import annotations

import verl  # isort: skip  (first: it loads its own modules in the right order)

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import uuid4

from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register
from verl.utils.profiler import simple_timer

from proas.agents.prompts import Layout
from proas.integrations.verl.episode import Episode, TaskRef
from proas.integrations.verl.play_settings import PlaySettings
from proas.integrations.verl.rows import FIELD, carried
from proas.integrations.verl.worlds import Worlds
from proas.rollouts import Rollout

__all__ = ["StepLoop", "TrajectoryLoop"]

assert verl is not None

THREADS = 32
"""Environments of one worker that step at the same time; the others wait."""


@cache
def _worlds() -> Worlds:
    """The worlds of this process, made when it is first asked: Ray's workers each have their own."""
    return Worlds()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="proas-env")


@dataclass
class _Sampled:
    """What is known of the weights and the time that sampled a row."""

    first_version: int | None = None
    last_version: int | None = None
    times: dict[str, Any] = field(default_factory=dict)

    def saw(self, extra: dict[str, Any]) -> None:
        low, high = extra.get("min_global_steps"), extra.get("max_global_steps")
        if low is not None:
            self.first_version = low if self.first_version is None else min(self.first_version, low)
        if high is not None:
            self.last_version = high if self.last_version is None else max(self.last_version, high)

    def versions(self, global_steps: int) -> dict[str, int]:
        """Verl's trainer needs both numbers; a row for which nothing was sampled has those of its step."""
        now = max(0, global_steps - 1)
        return {
            "min_global_steps": now if self.first_version is None else self.first_version,
            "max_global_steps": now if self.last_version is None else self.last_version,
        }


class _Loop(AgentLoopBase):
    """What both loops do: begin an episode, sample a reply, and hand rows over."""

    def _play_settings(self) -> PlaySettings:
        section = OmegaConf.select(self.config, "data.proas")
        return PlaySettings.of({} if section is None else dict(OmegaConf.to_container(section, resolve=True)))

    async def _begin(self, layout: Layout, values: dict[str, Any]) -> Episode:
        task = values["extra_info"]
        session = int(values.get("session_id", 0))
        uid = str(values.get("uid") or uuid4().hex)
        ref = TaskRef(
            data=str(task.get("data") or ""),
            task=str(task["task"]),
            number=session,
            rollout=f"{uid}_{session}",
            group=uid,
        )
        episode = Episode(ref, self._play_settings(), layout, _worlds(), _threads())
        await episode.begin()
        return episode

    async def _sample(
        self, request: str, prompt: list[int], most: int, sampling: dict[str, Any], sampled: _Sampled
    ) -> Any:
        with simple_timer("generate_sequences", sampled.times):
            output = await self.server_manager.generate(
                request_id=request, prompt_ids=prompt, sampling_params={**sampling, "max_tokens": most}
            )
        sampled.saw(output.extra_fields)
        return output

    def _words(self, token_ids: list[int]) -> str:
        return str(self.tokenizer.decode(token_ids, skip_special_tokens=True))

    def _row(self, made: _Row, rollout: Rollout, sampled: _Sampled, global_steps: int) -> Any:
        success = float(rollout.success)
        invalid = sum(step.valid is False for step in rollout.steps) / max(1, len(rollout.steps))
        response = made.response or [self.tokenizer.eos_token_id or 0]  # verl needs a token to put the reward on
        return AgentLoopOutput(
            prompt_ids=made.prompt,
            response_ids=response,
            response_mask=made.mask or [0],
            response_logprobs=(made.logprobs or [0.0]) if self.rollout_config.calculate_log_probs else None,
            reward_score=float(rollout.reward),
            num_turns=2 * len(rollout.steps) + 1,
            metrics=AgentLoopMetrics(**sampled.times),
            extra_fields={
                "turn_scores": [step.reward for step in rollout.steps],
                "tool_rewards": [],
                "reward_extra_info": {"acc": success, "invalid_share": invalid, "steps": float(len(rollout.steps))},
                **sampled.versions(global_steps),
                FIELD: carried(rollout, first=made.first, count=len(made.spans), spans=made.spans),
            },
        )


@dataclass
class _Row:
    """Tokens of one row.

    Attributes:
        prompt: Tokens before the response.
        response: Tokens of the response: what the model said and, in a trajectory, what it was answered.
        mask: 1 for sampled tokens.
        logprobs: Of the response's tokens; 0 for those that were not sampled.
        spans: Sampled tokens of each step.
        first: Number of the first step.
    """

    prompt: list[int]
    response: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    first: int = 0


@register("proas")
class TrajectoryLoop(_Loop):
    """One sequence a trajectory."""

    async def run(self, sampling_params: dict[str, Any], **values: Any) -> Any:
        """Play an episode; see ``AgentLoopBase.run``."""
        episode = await self._begin("dialogue", values)
        sampled = _Sampled()
        if episode.is_over():
            row = _Row([self.tokenizer.eos_token_id or 0])
        else:
            row = await self._converse(episode, sampling_params, sampled)
        return self._row(row, episode.rollout(), sampled, int(values.get("global_steps", 1)))

    async def _converse(self, episode: Episode, sampling: dict[str, Any], sampled: _Sampled) -> _Row:
        request = uuid4().hex
        messages = episode.messages()
        tokens: list[int] = await self.ct_build_initial_tokens(messages)
        row = _Row(list(tokens))
        # A list from the start, or none throughout: verl aligns probabilities with tokens only if it is given some.
        logprobs: list[float] | None = [] if self.rollout_config.calculate_log_probs else None
        limit = int(self.rollout_config.response_length)
        while not episode.is_over():
            room = min(limit - len(row.mask), int(self.rollout_config.max_model_len or 1 << 30) - len(tokens))
            if room < 1:
                episode.stop("no room for another reply")
                break
            output = await self._sample(request, tokens, min(room, episode.settings.turn_tokens), sampling, sampled)
            said = list(output.token_ids)[:room]
            merged, row.mask, logprobs = await self.ct_merge_assistant_token(
                tokens,
                said,
                row.mask,
                logprobs,
                (output.log_probs or [])[: len(said)] if logprobs is not None else None,
            )
            tokens = merged.token_ids
            row.spans.append((len(row.mask) - len(said), len(row.mask)))
            await episode.act(self._words(said), len(said))
            if episode.taken < len(row.spans):
                row.spans.pop()  # the environment failed: these tokens led to no step
            if episode.is_over():
                break
            answered = episode.messages()
            merged, mask, answered_logprobs = await self.ct_merge_context_msg(
                [*messages, answered[len(messages)]], answered, tokens, row.mask, logprobs
            )
            if len(mask) >= limit:
                episode.stop("no room for the environment's answer")
                break
            kept = len(row.mask) - merged.removed_prefix_token_count
            row.spans[-1] = (min(row.spans[-1][0], kept), min(row.spans[-1][1], kept))
            tokens, row.mask, logprobs, messages = merged.token_ids, mask, answered_logprobs, answered
        row.response = tokens[len(row.prompt) :][: len(row.mask)]
        row.logprobs = logprobs or []
        return row


@register("proas_steps")
class StepLoop(_Loop):
    """One row a step."""

    async def run(self, sampling_params: dict[str, Any], **values: Any) -> Any:
        """Play an episode; see ``AgentLoopBase.run``."""
        episode = await self._begin("turns", values)
        rows: list[tuple[_Row, _Sampled]] = []
        request = uuid4().hex
        while not episode.is_over():
            sampled = _Sampled()
            prompt = await self._prompt(episode)
            output = await self._sample(request, prompt, episode.settings.turn_tokens, sampling_params, sampled)
            said = list(output.token_ids)[: int(self.rollout_config.response_length)]
            await episode.act(self._words(said), len(said))
            if episode.taken == len(rows):
                break  # the environment failed: no step, no row
            logprobs = list(output.log_probs or [])[: len(said)]
            rows.append((_Row(prompt, said, [1] * len(said), logprobs, [(0, len(said))], len(rows)), sampled))
        rollout = episode.rollout()
        steps = int(values.get("global_steps", 1))
        if not rows:
            return self._row(_Row([self.tokenizer.eos_token_id or 0]), rollout, _Sampled(), steps)
        return [self._row(row, rollout, sampled, steps) for row, sampled in rows]

    async def _prompt(self, episode: Episode) -> list[int]:
        """The prompt, with less history where all of it is too long; verl would cut its beginning off."""
        limit = int(self.rollout_config.prompt_length)
        for history in range(episode.settings.history, -1, -1):
            messages = episode.messages(history=history)
            tokens: list[int] = await self.loop.run_in_executor(
                None, lambda shown=messages: self.continuous_token_builder.build_initial_tokens(shown)
            )
            if len(tokens) <= limit:
                return tokens
        return tokens[-limit:]
