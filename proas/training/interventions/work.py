"""Continuations spread over processes. What comes out does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from proas.errors import EnvironmentFailure, ProASError
from proas.graph_builders.pool import in_order
from proas.training.interventions.bench import Bench, Source, one_thread
from proas.training.interventions.continuations import Point, continue_from

__all__ = ["Errand", "outcomes_of"]

_AT_ONCE = 512
"""Continuations in one batch at most, a single point's aside."""


@dataclass(frozen=True, slots=True)
class Errand:
    """Points to go on from.

    Attributes:
        source: Whose policy, on which data.
        points: The points.
        repeats: Continuations of each.
        temperature: Of drawing.
        seed: Of the draws.
        label: Of the experiment; part of the seed.
    """

    source: Source
    points: tuple[Point, ...]
    repeats: int
    temperature: float
    seed: int
    label: str


def outcomes_of(
    errands: Iterable[Errand], workers: int, done: Callable[[int], object] = lambda _: None
) -> Iterator[list[list[bool | None]]]:
    """Carry errands out, in their order; see :func:`continue_from`.

    Args:
        errands: Each is a piece of work for one process.
        workers: Processes; 1 works in this one.
        done: Told of the number of errands that are done.

    Raises:
        ProASError: An errand failed; the first one that did.
    """
    for number, answer in enumerate(in_order(_carry_out, errands, workers=workers, lost=_lost), start=1):
        if isinstance(answer, Exception):
            raise answer
        done(number)
        yield answer


def _carry_out(errand: Errand) -> list[list[bool | None]] | Exception:
    try:
        bench = Bench.shared(errand.source)
        how = bench.settings(temperature=errand.temperature, seed=errand.seed, label=errand.label)
        found: list[list[bool | None]] = []
        with one_thread():
            for points in _batches(errand.points, errand.repeats):
                found += continue_from(bench.world, bench.policy, points, errand.repeats, how)
    except ProASError as error:
        return error
    return found


def _batches(points: Sequence[Point], repeats: int) -> Iterator[Sequence[Point]]:
    size = max(1, _AT_ONCE // repeats)
    for first in range(0, len(points), size):
        yield points[first : first + size]


def _lost(errand: Errand) -> list[list[bool | None]] | Exception:
    del errand
    return EnvironmentFailure("a worker process died", hint="out of memory? take fewer workers, or fewer continuations")
