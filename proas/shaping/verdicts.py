"""Which steps are reasonable and which are progress: the graph's labels, the controls, and the ablations on them.

The order of application: source (graph or control), pruned edges, distance, information-seeking, then chance (random or
shuffled), so that a shuffled control shuffles the very mask that it is compared with.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from proas.errors import DataError
from proas.purify import loop_erased_steps, moving_steps
from proas.rollouts import Label, Rollout
from proas.shaping.config import ShapingConfig, Verdict
from proas.shaping.distance import StepDistances
from proas.shaping.frame import Frame, state_keys_of
from proas.shaping.ragged import Bools, Floats, Ints, future_count

__all__ = [
    "Verdicts",
    "by_distance",
    "graph_verdicts",
    "graphless_verdicts",
    "match_confidence",
    "prune",
    "randomise",
    "shuffle",
    "verdicts_of",
]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is believed of each step.

    Attributes:
        reasonable: ``Re_t``, ``(S,)``.
        progress: ``PA_t``, ``(S,)``; never without ``reasonable``, information-seeking aside.
        drift: ``D_t``, ``(S,)``.
        judged: Rollouts that were judged, ``(N,)``; the others pass through unchanged.
        faults: Labels that contradict themselves: progress that is not reasonable, or a drift that is not the number
            of steps to come without progress.
    """

    reasonable: Bools
    progress: Bools
    drift: Ints
    judged: Bools
    faults: int = 0


def verdicts_of(frame: Frame, config: ShapingConfig) -> Verdicts:
    """Verdicts under the settings.

    Raises:
        DataError: A covered rollout lacks a label, or states that a setting needs.
    """
    verdicts = graph_verdicts(frame) if config.verdicts == "graph" else graphless_verdicts(frame, config.verdicts)
    if config.prune_edges:
        verdicts = prune(verdicts, frame, config.prune_edges, config.seed)
    if config.distance == "mask":
        verdicts = by_distance(verdicts, frame)
    if config.info_seeking:
        # Progress and drift stay as they are: to learn where things are is not yet to be nearer to the goal.
        found = frame.seeks & ~frame.invalid
        verdicts = replace(verdicts, reasonable=verdicts.reasonable | found)
    if config.labels == "random":
        return randomise(verdicts, frame, config.seed)
    if config.labels == "shuffled":
        return shuffle(verdicts, frame, config.seed)
    return verdicts


def graph_verdicts(frame: Frame) -> Verdicts:
    """The labels that the records carry. Rollouts of tasks that the graph does not know are not judged.

    The recorded drift is used as it is; a disagreement with the recorded progress is counted.

    Raises:
        DataError: A rollout was never labelled, or a step of a covered one has no label.
    """
    blank = Label(reasonable=True, progress=True, drift=0)
    labels: list[Label] = []
    for rollout in frame.rollouts:
        labels += _labels_of(rollout) if rollout.covered is not False else [blank] * len(rollout.steps)
    reasonable = np.array([label.reasonable for label in labels], dtype=np.bool_)
    claimed = np.array([label.progress for label in labels], dtype=np.bool_)
    drift = np.array([label.drift for label in labels], dtype=np.int64)
    progress = claimed & reasonable
    judged_steps = frame.covered[frame.owner]
    faulty = ((claimed != progress) | (drift != future_count(~progress, frame.offsets))) & judged_steps
    return Verdicts(reasonable, progress, drift, frame.covered.copy(), int(np.count_nonzero(faulty)))


def graphless_verdicts(frame: Frame, rule: Verdict) -> Verdicts:
    """Verdicts without a graph, from validity and the order of states alone; every rollout is judged.

    A kept step that reaches a state not visited before in its rollout is progress. ``invalid_only`` needs no states;
    where there are none, every applicable step is progress.

    Raises:
        DataError: A rollout carries no states and the rule needs them.
    """
    reasonable = ~frame.invalid
    progress = reasonable.copy()
    for i, rollout in enumerate(frame.rollouts):
        if not rollout.steps or (rule == "invalid_only" and not rollout.has_states):
            continue
        keys = state_keys_of(rollout, f"verdicts={rule}", "choose verdicts=invalid_only")
        own = frame.segment(i)
        applicable = reasonable[own].tolist()
        if rule != "invalid_only":
            erase = loop_erased_steps if rule == "loop_mask" else moving_steps
            reasonable[own] = erase(keys, applicable)
        progress[own] = reasonable[own] & _first_visits(keys)
    drift = future_count(~progress, frame.offsets)
    return Verdicts(reasonable, progress, drift, np.ones(len(frame.rollouts), dtype=np.bool_))


def prune(verdicts: Verdicts, frame: Frame, fraction: float, seed: int) -> Verdicts:
    """Verdicts as if a fraction of the graph's edges were absent.

    Whether an edge is absent depends on its transition key and the seed alone: it is the same for every step, rollout
    and iteration that takes it. Its steps become unreasonable, hence no progress, and drift follows.

    Raises:
        DataError: A judged rollout carries no states.
    """
    keys: list[str] = []
    for i, rollout in enumerate(frame.rollouts):
        if verdicts.judged[i] and rollout.steps:
            state_keys_of(rollout, "pruned edges", "set prune_edges=0")
            keys += rollout.transition_keys
    steps = verdicts.judged[frame.owner]
    present = np.ones(steps.size, dtype=np.bool_)
    present[steps] = _uniform_of_keys(keys, seed) >= fraction
    progress = verdicts.progress & present
    drift = np.where(steps, future_count(~progress, frame.offsets), verdicts.drift)
    return replace(verdicts, reasonable=verdicts.reasonable & present, progress=progress, drift=drift)


def by_distance(verdicts: Verdicts, frame: Frame) -> Verdicts:
    """Verdicts by distance where the graph knows it on both sides of a step: reasonable is what comes nearer.

    Progress is lost with reasonableness and not gained: what is nearer may have been visited before.
    """
    distances = StepDistances.of(frame)
    reasonable = np.where(distances.known, distances.nearer, verdicts.reasonable)
    progress = verdicts.progress & reasonable
    drift = np.where(verdicts.judged[frame.owner], future_count(~progress, frame.offsets), verdicts.drift)
    return replace(verdicts, reasonable=reasonable, progress=progress, drift=drift)


def randomise(verdicts: Verdicts, frame: Frame, seed: int) -> Verdicts:
    """Labels dealt out at random over all judged steps of the batch, as many of each kind as there were.

    The draw of a step depends on the seed, its rollout's id and its place, not on the order of rollouts.
    """
    steps = np.flatnonzero(verdicts.judged[frame.owner])
    kinds = np.sort(_kinds(verdicts)[steps])
    dealt = _kinds(verdicts)
    dealt[steps[np.argsort(frame.draws(seed)[steps], kind="stable")]] = kinds
    return _from_kinds(dealt, verdicts, frame)


def shuffle(verdicts: Verdicts, frame: Frame, seed: int) -> Verdicts:
    """Labels shuffled within each rollout: the same share of each, at other steps."""
    order = np.lexsort((frame.draws(seed), frame.owner))
    steps = verdicts.judged[frame.owner]
    kinds = _kinds(verdicts)
    return _from_kinds(np.where(steps, kinds[order], kinds), verdicts, frame)


def match_confidence(verdicts: Verdicts, frame: Frame) -> Floats:
    """How nearly a step reached verified ground, in [0, 1], ``(S,)``; the soft mask keeps this share.

    1 for a reasonable step. 0 for one that was invalid, or led to a state that the rollout had visited before (a
    self-loop is such a one). Else the largest Jaccard similarity between the facts of the state that it reached and
    those of a verified state of the task. Verified are both ends of every reasonable step of the task in this batch:
    a lower bound, for the records carry no more of the graph than the batch touched.

    Raises:
        DataError: A judged rollout carries no states.
    """
    confidence = verdicts.reasonable.astype(np.float64)
    verified: defaultdict[int, dict[str, frozenset[str]]] = defaultdict(dict)
    open_steps: list[tuple[int, int, str, frozenset[str]]] = []
    for i, rollout in enumerate(frame.rollouts):
        if not verdicts.judged[i] or not rollout.steps:
            continue
        keys = state_keys_of(rollout, "the soft mask", "set soft_mask=false")
        states = [rollout.start, *(step.state for step in rollout.steps)]
        facts = [frozenset(state.facts) for state in states if state is not None]
        task, own = int(frame.tasks[i]), frame.segment(i)
        fresh = _first_visits(keys) & ~frame.invalid[own]
        for t, reasonable in enumerate(verdicts.reasonable[own]):
            if reasonable:
                verified[task][keys[t]], verified[task][keys[t + 1]] = facts[t], facts[t + 1]
            elif fresh[t]:
                open_steps.append((own.start + t, task, keys[t + 1], facts[t + 1]))
    known: dict[tuple[int, str], float] = {}
    for j, task, key, reached in open_steps:
        if (task, key) not in known:
            known[task, key] = max((_jaccard(reached, other) for other in verified[task].values()), default=0.0)
        confidence[j] = known[task, key]
    return confidence


def _labels_of(rollout: Rollout) -> list[Label]:
    if rollout.covered is None and rollout.steps and rollout.steps[0].label is None:
        raise DataError(f"rollout {rollout.id!r} has not been labelled: step 0 has no label", hint=_LABEL_FIRST)
    labels: list[Label] = []
    for t, step in enumerate(rollout.steps):
        if step.label is None:
            raise DataError(f"rollout {rollout.id!r}, step {t}: no label", hint=_LABEL_FIRST)
        labels.append(step.label)
    if rollout.covered is None:
        raise DataError(f"rollout {rollout.id!r}: covered is not set", hint=_LABEL_FIRST)
    return labels


_LABEL_FIRST = "label the batch first (proas label), or choose verdicts that need no graph"


def _first_visits(keys: tuple[str, ...]) -> Bools:
    """Whether each of the T steps reaches a state for the first time, given the T + 1 states."""
    visited = {keys[0]}
    first = np.zeros(len(keys) - 1, dtype=np.bool_)
    for t, key in enumerate(keys[1:]):
        first[t] = key not in visited
        visited.add(key)
    return first


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def _kinds(verdicts: Verdicts) -> Ints:
    return verdicts.reasonable + 2 * verdicts.progress.astype(np.int64)


def _from_kinds(kinds: Ints, verdicts: Verdicts, frame: Frame) -> Verdicts:
    progress = kinds >= 2
    drift = np.where(verdicts.judged[frame.owner], future_count(~progress, frame.offsets), verdicts.drift)
    return replace(verdicts, reasonable=kinds % 2 == 1, progress=progress, drift=drift)


def _uniform_of_keys(keys: list[str], seed: int) -> Floats:
    """A uniform number for each key of 32 hex digits: its leading 64 bits, mixed with the seed (SplitMix64)."""
    bits = np.frombuffer(bytes.fromhex("".join(keys)), dtype=">u8")[::2].astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = bits + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
