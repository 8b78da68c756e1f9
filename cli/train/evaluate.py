"""``proas eval``: measure a run's policy, or a prompted one on the same tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proas.cli.console import Output, columns, plain
from proas.cli.options import LARGEST, EnvOptions, Json, env_spec, with_options
from proas.cli.train.run_options import At, Data, OwnWorkers, Repeats, Tasks, warn_of_wording
from proas.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from proas.training.config import TrainConfig
    from proas.training.evaluation import Evaluation
    from proas.training.measure import Measured
    from proas.training.prompted import PromptedSettings

__all__ = ["evaluate"]

_PANEL = "Prompted policy"


@dataclass(frozen=True, slots=True)
class PromptedOptions:
    """Which prompted model plays; each field's option says what it is."""

    endpoint: Annotated[
        str,
        typer.Option(
            "--endpoint",
            help="Let a prompted model play: its OpenAI-compatible endpoint; the key comes from PROAS_API_KEY or "
            "OPENAI_API_KEY, or a _FILE form.",
            metavar="URL",
            rich_help_panel=_PANEL,
        ),
    ] = ""
    model: Annotated[
        str,
        typer.Option("--model", help="Its name, as the endpoint knows it.", metavar="NAME", rich_help_panel=_PANEL),
    ] = ""
    env: Annotated[
        str | None,
        typer.Option(
            "--env", help="The environment, without RUN; alfworld if not given.", metavar="NAME", rich_help_panel=_PANEL
        ),
    ] = None
    max_tokens: Annotated[
        int,
        typer.Option("--max-tokens", min=1, max=LARGEST, help="Longest reply.", metavar="N", rich_help_panel=_PANEL),
    ] = 512
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, max=4096, help="Episodes under way at once.", metavar="N", rich_help_panel=_PANEL
        ),
    ] = 16
    retry_for: Annotated[
        float,
        typer.Option(
            "--retry-for",
            min=0.0,
            help="Seconds for which a failing call is tried again.",
            metavar="S",
            rich_help_panel=_PANEL,
        ),
    ] = 300.0

    def settings(self) -> PromptedSettings:
        """As the library takes them. Raises ``UsageError`` where no model or no endpoint is named."""
        if not self.endpoint:
            raise UsageError(f"where does {self.model} answer?", hint="give --endpoint URL")
        from proas.agents import EpisodeSettings, ModelChoice, Patience, Sampling
        from proas.training.prompted import PromptedSettings

        return PromptedSettings(
            ModelChoice(self.model, self.endpoint, connections=self.concurrency),
            episode=EpisodeSettings(sampling=Sampling(max_tokens=self.max_tokens)),
            patience=Patience(retry_for=self.retry_for),
            concurrency=self.concurrency,
        )


@with_options
def evaluate(
    prompted: PromptedOptions,
    run: Annotated[
        Path | None,
        typer.Argument(help="Folder of the run; with --endpoint only its tasks and settings count.", metavar="[RUN]"),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Name of a split of the run's data, such as valid_seen; the run's validation tasks if not given.",
            metavar="NAME",
        ),
    ] = None,
    data: Data = None,
    option: EnvOptions = None,
    checkpoint: At = None,
    temperature: Annotated[
        list[float] | None,
        typer.Option(
            "--temperature",
            min=0.0,
            help="Of drawing, 0 for the likeliest words; may be repeated. The run's own if not given.",
            metavar="T",
        ),
    ] = None,
    tasks: Tasks = None,
    repeats: Repeats = 1,
    workers: OwnWorkers = None,
    json: Json = False,
) -> None:
    """Measure the policy of a run on fixed tasks, with the same draws for every run.

    With --endpoint and --model a prompted model plays in its place: the same tasks, as many steps, the same record. It
    needs no run: without RUN, --env and --data say where it plays, and the tasks are those that any run on them is
    measured on.
    """
    from proas.cli.train.needs import require_torch

    output = Output(json_wanted=json)
    chosen = tuple(temperature) if temperature else None
    if prompted.endpoint or prompted.model:
        _refuse_policy_options(checkpoint, workers)
        _measure_prompted(
            prompted, output, run, split=split, data=data, option=option, drawn=chosen, tasks=tasks, repeats=repeats
        )
        return
    if run is None:
        raise UsageError("nothing to measure is named", hint="give RUN, or --endpoint URL --model NAME")
    if prompted.env is not None:
        raise UsageError("--env goes with --endpoint; a run plays in its own environment", hint="leave it out")
    from proas.training.run_directory import RunDirectory

    directory = RunDirectory(run)
    options = env_spec(directory.config().env, data, option).options
    require_torch()
    from proas.training.measure import measure_run

    warn_of_wording(output, directory, split, data, options)
    with output.waiting("Playing"):
        found = measure_run(
            directory,
            split=split,
            data=data,
            options=options,
            iteration=checkpoint,
            temperatures=chosen,
            tasks=tasks,
            repeats=repeats,
            workers=workers,
        )
    title = plain(f"{run} after iteration {found.iteration}, {found.tasks} tasks of {found.data}")
    output.result({"run": str(run), **_document(found)}, title, _table(found.evaluations))


def _measure_prompted(
    prompted: PromptedOptions,
    output: Output,
    run: Path | None,
    *,
    split: str | None,
    data: Path | None,
    option: list[str] | None,
    drawn: tuple[float, ...] | None,
    tasks: int | None,
    repeats: int,
) -> None:
    from proas.cli.train.needs import require_torch

    settings = prompted.settings()
    config = _settings(run, prompted.env, data)
    options = env_spec(config.env, data, option).options
    if run is None:  # the tasks that any run under these options is measured on
        config, options = config.updated({f"options.{name}": value for name, value in options.items()}), {}
    require_torch()
    from proas.training.prompted import measure_prompted

    with output.progress("Playing") as advance:
        found = measure_prompted(
            config,
            settings,
            split=split,
            data=data if run is not None else None,
            options=options,
            temperatures=drawn,
            tasks=tasks,
            repeats=repeats,
            progress=advance,
        )
    document = {
        "run": None if run is None else str(run),
        "model": prompted.model,
        **_document(found.measured),
        "calls": found.calls,
        "prompt_tokens": found.prompt_tokens,
        "completion_tokens": found.completion_tokens,
        "invalid_formats": found.invalid_formats,
    }
    title = plain(f"{prompted.model}, prompted, {found.measured.tasks} tasks of {found.measured.data}")
    cost = plain(
        f"{found.calls:,} calls, {found.prompt_tokens:,} tokens read, {found.completion_tokens:,} written, "
        f"{found.invalid_formats:,} replies out of form"
    )
    output.result(document, title, _table(found.measured.evaluations), cost)


def _settings(run: Path | None, env: str | None, data: Path | None) -> TrainConfig:
    """Settings of the run whose tasks are played, or those of a run that would be started on the data."""
    if run is not None:
        from proas.training.run_directory import RunDirectory

        config = RunDirectory(run).config()
        if env is not None and env != config.env:
            raise UsageError(f"{run} plays in {config.env}, not in {env}", hint="leave --env out")
        return config
    from proas.training.config import preset

    config = preset("full").updated({"env": env or "alfworld"})
    return config.updated({"data": str(data.absolute())}) if data is not None else config


def _refuse_policy_options(checkpoint: int | None, workers: int | None) -> None:
    for name, value in (("--checkpoint", checkpoint), ("--workers", workers)):
        if value is not None:
            raise UsageError(f"{name} is for a run's own policy", hint="leave it out, or leave --endpoint out")


def _document(found: Measured) -> dict[str, Any]:
    return {
        "iteration": found.iteration,
        "tasks": found.tasks,
        "data": found.data,
        "evaluations": [evaluation.to_dict() for evaluation in found.evaluations],
    }


def _table(evaluations: tuple[Evaluation, ...]) -> Table:
    right = tuple(f"T={evaluation.temperature:g}" for evaluation in evaluations)
    table = columns("", *right, right=right)
    rows = {
        "success": [f"{evaluation.success:.1%}" for evaluation in evaluations],
        "return": [f"{evaluation.reward:.2f}" for evaluation in evaluations],
        "steps": [f"{evaluation.steps:.1f}" for evaluation in evaluations],
        "invalid": [f"{evaluation.invalid:.1%}" for evaluation in evaluations],
    }
    if any(evaluation.score != evaluation.success for evaluation in evaluations):
        rows["score"] = [f"{evaluation.score:.1%}" for evaluation in evaluations]
    for kind in evaluations[0].by_kind:
        rows[f"success, {kind}"] = [f"{evaluation.by_kind.get(kind, 0.0):.1%}" for evaluation in evaluations]
    for name, cells in rows.items():
        table.add_row(plain(name), *cells)
    return table
