"""Options of ``--source distill``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from proas.cli.graph.sources.base import Asked, Epilogue
from proas.cli.options import LARGEST, env_spec
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph_builders import Builder
    from proas.graph_builders.distill import DistillSettings

__all__ = ["DistillOptions"]

_TEACHER = "Distill: teacher"
_PROMPT = "Distill: prompts and replies"
_BUDGET = "Distill: attempts and budget"
_QUALITY = "Distill: quality filter"


class PromptLayout(StrEnum):
    """How the teacher is spoken to."""

    TURNS = "turns"
    DIALOGUE = "dialogue"


class ReplyReading(StrEnum):
    """What becomes of replies that do not keep to the form."""

    TOLERANT = "tolerant"
    STRICT = "strict"


def _option(panel: str, name: str, text: str, metavar: str, **bounds: Any) -> Any:
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel=panel, **bounds)


@dataclass(frozen=True, slots=True)
class DistillOptions:
    """What only this source takes; each field's option says what it is."""

    model: Annotated[
        str, _option(_TEACHER, "--model", "Name of the teacher, as its endpoint or engine knows it.", "NAME")
    ] = ""
    endpoint: Annotated[
        str,
        _option(
            _TEACHER,
            "--endpoint",
            "OpenAI-compatible endpoint; the key comes from PROAS_API_KEY or OPENAI_API_KEY, or a _FILE form.",
            "URL",
        ),
    ] = ""
    engine: Annotated[str, _option(_TEACHER, "--engine", "Load the model into this process instead: vllm.", "vllm")] = (
        ""
    )
    model_option: Annotated[
        list[str] | None,
        _option(
            _TEACHER,
            "--model-option",
            "A further field of every request, or argument of the engine; may be repeated.",
            "NAME=JSON",
        ),
    ] = None
    temperature: Annotated[
        float, _option(_TEACHER, "--temperature", "Sampling temperature.", "T", min=0.0, max=10.0)
    ] = 0.7
    top_p: Annotated[float, _option(_TEACHER, "--top-p", "Nucleus sampling.", "P", min=0.0, max=1.0)] = 1.0
    max_tokens: Annotated[
        int, _option(_TEACHER, "--max-tokens", "Longest reply in tokens.", "N", min=1, max=LARGEST)
    ] = 512
    sampling_seed: Annotated[
        int | None,
        _option(_TEACHER, "--sampling-seed", "Seed sent with every request, another one for each step.", "N"),
    ] = None
    timeout: Annotated[
        float, _option(_TEACHER, "--timeout", "Seconds until a reply is there as a whole.", "S", min=0.01)
    ] = 180.0
    retry_for: Annotated[
        float, _option(_TEACHER, "--retry-for", "Seconds for which a failing call is tried again.", "S", min=0.0)
    ] = 300.0
    layout: Annotated[
        PromptLayout,
        _option(_PROMPT, "--layout", "A prompt of its own for each action, or one dialogue.", "turns|dialogue"),
    ] = PromptLayout.TURNS
    history: Annotated[str, _option(_PROMPT, "--history", "Past steps that the teacher is shown.", "N|all")] = "5"
    hide_admissible: Annotated[
        bool, _option(_PROMPT, "--hide-admissible", "Do not list the actions that apply.", "")
    ] = False
    no_thoughts: Annotated[
        bool, _option(_PROMPT, "--no-thoughts", "Ask for the action alone, without think tags.", "")
    ] = False
    reading: Annotated[
        ReplyReading,
        _option(_PROMPT, "--reading", "Whether a reply that breaks the form may be played.", "tolerant|strict"),
    ] = ReplyReading.TOLERANT
    attempts: Annotated[int, _option(_BUDGET, "--attempts", "Attempts at each task.", "N", min=1, max=LARGEST)] = 8
    enough: Annotated[
        int | None, _option(_BUDGET, "--enough", "Leave a task after so many successes.", "N", min=1, max=LARGEST)
    ] = None
    max_steps: Annotated[
        int | None,
        _option(
            _BUDGET, "--max-steps", "Steps of an attempt; the environment's usual number if not given.", "N", min=1
        ),
    ] = None
    episode_tokens: Annotated[
        int | None, _option(_BUDGET, "--episode-tokens", "Tokens after which an attempt is given up.", "N", min=1)
    ] = None
    budget_tokens: Annotated[
        int | None,
        _option(_BUDGET, "--budget-tokens", "Tokens read and written in all; never exceeded.", "N", min=1),
    ] = None
    budget_attempts: Annotated[
        int | None,
        _option(_BUDGET, "--budget-attempts", "Attempts in all; 0 builds from the journal alone.", "N", min=0),
    ] = None
    concurrency: Annotated[
        int, _option(_BUDGET, "--concurrency", "Attempts under way at once.", "N", min=1, max=4096)
    ] = 16
    journal: Annotated[
        Path | None,
        _option(_BUDGET, "--journal", "File of the attempts, from which a rerun goes on; one for each graph.", "PATH"),
    ] = None
    max_detour: Annotated[
        float,
        _option(
            _QUALITY, "--max-detour", "Longest success, in lengths of the shortest; 0 takes any.", "RATIO", min=0.0
        ),
    ] = 2.0
    min_agreement: Annotated[
        float,
        _option(_QUALITY, "--min-agreement", "Share of the successes that must have it.", "SHARE", min=0.0, max=1.0),
    ] = 0.0

    def builder(self, asked: Asked) -> Builder:
        """The builder. Raises ``UsageError`` where the options make no sense together."""
        from proas.agents import ModelChoice, Patience
        from proas.cli.graph.teacher_view import TeacherBar
        from proas.graph_builders.distill import DistillBuilder

        if asked.env is None:
            raise UsageError("--source distill plays in an environment", hint="name it by --env, for example alfworld")
        settings = self._settings(asked)
        choice = ModelChoice(
            self.model,
            self.endpoint,
            self.engine,
            timeout=self.timeout,
            options=_fields(self.model_option or ()),
            connections=self.concurrency,
        )
        return DistillBuilder(
            settings,
            self.model,
            choice.open,
            self.journal or _default_journal(asked.graph),
            patience=Patience(retry_for=self.retry_for),
            listener=TeacherBar(asked.output),
        )

    def epilogue(self, builder: Builder) -> Epilogue:
        """The coverage report, and whether the teacher was lost."""
        from proas.cli.graph.teacher_view import coverage_tables
        from proas.graph_builders.distill import DistillBuilder

        assert isinstance(builder, DistillBuilder)
        coverage = builder.coverage
        stopped = coverage.stopped
        warning = f"{stopped.message}; {stopped.hint}" if stopped.hint else stopped.message
        if stopped.why:
            warning = f"{coverage.missing:,} attempts were not made: {warning}"
        document = {"coverage": coverage.as_json()}
        return Epilogue(document, coverage_tables(coverage), warning, failed=stopped.why == "model")

    def _settings(self, asked: Asked) -> DistillSettings:
        from proas.agents import EpisodeSettings, PromptSettings, Sampling
        from proas.graph_builders.distill import Budget, DistillSettings, QualityFilter

        spec = env_spec(asked.env or "", None, asked.options)
        return DistillSettings(
            env=spec.name,
            options=spec.options,
            attempts=self.attempts,
            enough=self.enough,
            step_limit=self.max_steps,
            prompts=PromptSettings(
                layout=self.layout.value,
                history=_history(self.history),
                admissible=not self.hide_admissible,
                thoughts=not self.no_thoughts,
            ),
            episode=EpisodeSettings(
                sampling=Sampling(self.temperature, self.top_p, self.max_tokens, seed=self.sampling_seed),
                reading=self.reading.value,
                token_cap=self.episode_tokens,
            ),
            concurrency=self.concurrency,
            budget=Budget(self.budget_tokens, self.budget_attempts),
            quality=QualityFilter(
                asked.quality.purification.value,
                self.max_detour or None,
                asked.quality.min_support,
                self.min_agreement,
            ),
        )


def _history(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal():
        raise UsageError(f"--history takes a number of steps or all, not {text!r}")
    return int(text)


def _fields(given: Sequence[str]) -> dict[str, Any]:
    """Fields by name; a value that is no JSON counts as text."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--model-option {text!r} is not of the form NAME=JSON", hint="for example top_k=20")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _default_journal(graph: str) -> Path:
    """A file in the user's data folder: attempts are paid for, so no cache will do."""
    from proas.localdb.home import data_root

    return data_root() / "journals" / f"{quote(graph, safe='')}.jsonl"
