"""The prompted baseline: a language model behind an endpoint plays the tasks that trained policies are measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from proas.agents import (
    UNFINISHED,
    EpisodeSettings,
    Job,
    ModelChoice,
    Patience,
    Patient,
    Prompter,
    PromptSettings,
    play_all,
    play_episode,
)
from proas.envs import Environment, EnvSpec, open_world
from proas.errors import ModelUnavailable
from proas.graph_builders.distill.teacher import run_now
from proas.rollouts import Rollout
from proas.training.config import TrainConfig
from proas.training.evaluation import Evaluation
from proas.training.measure import Measured, data_of, named_place, plays_own_tasks, under_options, validation_count
from proas.training.tasks import fixed_tasks
from proas.training.temperatures import require_temperatures

__all__ = ["Prompted", "PromptedSettings", "measure_prompted"]


@dataclass(frozen=True, slots=True)
class PromptedSettings:
    """Who plays, and how it is asked.

    Attributes:
        choice: The model and where it is.
        prompts: What it reads.
        episode: How its replies are drawn and read; the temperature is given anew each time.
        patience: How long a failing call is tried again.
        concurrency: Episodes under way at once.
    """

    choice: ModelChoice
    prompts: PromptSettings = field(default_factory=PromptSettings)
    episode: EpisodeSettings = field(default_factory=EpisodeSettings)
    patience: Patience = field(default_factory=Patience)
    concurrency: int = 16


@dataclass(frozen=True, slots=True)
class Prompted:
    """What was found, and what it took.

    Attributes:
        measured: As for a trained policy; the iteration is 0.
        calls: Calls of the model.
        prompt_tokens: Tokens that it read.
        completion_tokens: Tokens that it wrote.
        invalid_formats: Replies that broke the form that prompts ask for.
    """

    measured: Measured
    calls: int
    prompt_tokens: int
    completion_tokens: int
    invalid_formats: int


def measure_prompted(
    config: TrainConfig,
    settings: PromptedSettings,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: Mapping[str, str] | None = None,
    temperatures: tuple[float, ...] | None = None,
    tasks: int | None = None,
    repeats: int = 1,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Prompted:
    """Let a prompted model play fixed tasks, as :func:`proas.training.measure.measure_run` lets a trained policy.

    Args:
        config: Of the run whose tasks, step limit and seed of evaluation are taken.
        settings: Who plays, and how it is asked.
        split: Name of a split of the run's data; its own validation tasks where nothing says otherwise.
        data: Other data of the same environment.
        options: Other options of the environment than the run's, such as ScienceWorld's ``split``.
        temperatures: Of drawing; the run's own if not given.
        tasks: Most tasks; the run's own number on its own tasks, all of a split.
        repeats: Episodes of each task, one at temperature 0.
        progress: Told of the number of episodes done, and of all.

    Raises:
        ModelUnavailable: The model could not be asked to the end; nothing is said of half an evaluation.
        DataError: No task can be played.
        UsageError: There is no such split, or nothing can be drawn at a temperature.
    """
    config = under_options(config, options)
    where = data_of(config, split, data)
    drawn = temperatures or config.evaluation.temperatures
    require_temperatures(drawn)
    with closing(open_world(EnvSpec(config.env, where, config.options))) as world:
        own = plays_own_tasks(config, split, data, options)
        available = len(world.tasks)
        count = tasks or (validation_count(config, available) if own else available)
        chosen = fixed_tasks(world, count, config.evaluation.choice)
        counts = [repeats if temperature > 0 else 1 for temperature in drawn]
        total = sum(counts) * len(chosen)
        played: list[list[Rollout]] = []
        for temperature, count in zip(drawn, counts, strict=True):
            jobs = [Job(task, number) for task in chosen for number in range(count)]
            before = sum(map(len, played))
            played.append(
                _play(
                    lambda: world.environment(step_limit=config.step_limit),
                    jobs,
                    _at(settings, config, temperature),
                    world.name,
                    _beyond(progress, before, total),
                )
            )
    rollouts = [rollout for group in played for rollout in group]
    measured = Measured(
        0,
        len(chosen),
        named_place(where, options),
        tuple(Evaluation.of(group, temperature) for group, temperature in zip(played, drawn, strict=True)),
    )

    def total_of(name: str) -> int:
        return sum(int((rollout.model_extra or {}).get(name, 0)) for rollout in rollouts)

    return Prompted(
        measured,
        total_of("calls"),
        total_of("prompt_tokens"),
        total_of("completion_tokens"),
        total_of("invalid_formats"),
    )


def _beyond(progress: Callable[[int, int], object], before: int, total: int) -> Callable[[int], object]:
    """Tell of the episodes of one temperature after those of the temperatures before it."""
    return lambda done: progress(before + done, total)


def _at(settings: PromptedSettings, config: TrainConfig, temperature: float) -> PromptedSettings:
    """The same at a temperature, with a seed: that of the run's evaluation where none is given."""
    sampling = settings.episode.sampling
    seed = config.evaluation.seed if sampling.seed is None else sampling.seed
    sampling = replace(sampling, temperature=temperature, seed=seed)
    return replace(settings, episode=replace(settings.episode, sampling=sampling))


def _play(
    environment: Callable[[], Environment],
    jobs: Sequence[Job],
    settings: PromptedSettings,
    env: str,
    progress: Callable[[int], object],
) -> list[Rollout]:
    """Rollouts in the order of the jobs."""
    found: dict[Job, Rollout] = {}
    prompter = Prompter(env, settings.prompts)

    async def work() -> None:
        model = Patient(settings.choice.open(), settings.patience, concurrency=settings.concurrency)

        async def player(place: Environment, job: Job) -> Rollout:
            return await play_episode(place, model, prompter, job, settings.episode)

        def done(job: Job, outcome: Rollout | Exception) -> None:
            if isinstance(outcome, Exception):
                raise outcome  # all tasks were found to be playable: it is a fault of ours or of the environment
            _refuse_broken_off(outcome, model, len(found), len(jobs))
            found[job] = outcome
            progress(len(found))

        try:
            await model.check()
            await play_all(jobs, environment, player, done, concurrency=settings.concurrency)
        finally:
            await model.aclose()

    run_now(work())
    return [found[job] for job in jobs]


def _refuse_broken_off(rollout: Rollout, model: Patient, done: int, jobs: int) -> None:
    """An episode that the model did not play to its end is no failure of its: the whole evaluation is broken off."""
    extra = rollout.model_extra or {}
    if extra.get("cause") not in UNFINISHED:
        return
    if model.gone is not None:
        raise model.gone
    raise ModelUnavailable(
        f"{model.name} broke off after {done} of {jobs} episodes: {extra.get('fault', '')}",
        hint="see that the endpoint answers, and begin again",
    )
