"""Checks of an environment: what ``proas.envs.base`` promises to whoever plays in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise

from proas.conformance.episodes import Moment, Playing, Subject, Trace, told
from proas.conformance.report import Ledger, Where
from proas.envs.base import RewardSettings
from proas.envs.registry import open_world
from proas.errors import EnvironmentFailure, ProASError

__all__ = [
    "admissible",
    "episodes",
    "invalid",
    "isolated",
    "limits",
    "outside",
    "replay",
    "reset",
    "rewards",
    "tasks",
]

NONSENSE = ("qwxz plugh 7", "!!", "xyzzy[nothing of the kind]")
"""Words that no environment knows."""

_LONGEST_KEY = 512
_UNUSUAL = RewardSettings(success=7.0, invalid=-0.25, step=-0.015625)


def tasks(subject: Subject, ledger: Ledger) -> None:
    """Keys are well-formed, unique, and the same whenever the data is opened; each task has a goal in words."""
    keys = tuple(subject.world.tasks)
    if not ledger.holds(bool(keys), "the world has no tasks"):
        return
    repeated = [key for key in set(keys) if keys.count(key) > 1] if len(keys) < 5000 else []
    ledger.holds(len(set(keys)) == len(keys), f"task keys occur twice: {sorted(repeated)[:3]}")
    for key in keys:
        well = isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY and key.isprintable() and key == key.strip()
        ledger.holds(well, f"task key {key!r} is empty, longer than {_LONGEST_KEY}, or holds what cannot be printed")
    with closing(open_world(subject.spec)) as again:
        ledger.holds(
            tuple(again.tasks) == keys, f"opened again, the tasks are others: {_first_change(keys, again.tasks)}"
        )
    for trace in subject.traces:
        ledger.holds(bool(trace.goal.strip()), "the task has no goal in words", trace.where(0))
        stated = subject.kind.goal(trace.moments[0].observation) if subject.kind is not None else ""
        alike = not stated or stated.strip() == trace.goal.strip()
        ledger.holds(alike, f"the first observation states the goal {stated!r}, the env {trace.goal!r}", trace.where(0))


def _first_change(before: Sequence[str], after: Sequence[str]) -> str:
    if len(after) != len(before):
        return f"{len(before)} before, {len(after)} now"
    return next((f"{a!r} before, {b!r} now" for a, b in zip(before, after, strict=True) if a != b), "")


def episodes(subject: Subject, ledger: Ledger) -> None:
    """Every policy plays every task to an end, and nothing breaks down on the way."""
    for _trace in subject.traces:
        ledger.holds(True, "")
    for crash in subject.crashes:
        ledger.holds(False, str(crash), crash.where)
    for reason in subject.unplayable.values():
        ledger.note(reason)
    if "expert" in subject.policies and subject.traces:
        wins = sum(trace.won for trace in subject.traces if trace.policy == "expert")
        ledger.holds(wins > 0, "the policy 'expert' solves none of the tasks")


def reset(subject: Subject, ledger: Ledger) -> None:
    """A reset with the same seed begins the same episode: after other episodes, and in another environment."""
    env, other = subject.environment(), subject.environment()
    for trace in _one_a_task(subject):
        first = trace.moments[0]
        for label, place in (("in another environment", other), ("once more", other), ("after other episodes", env)):
            again = subject.playing(place, trace.task, trace.seed).begin()
            _alike(ledger, first, again, f"reset {label} differs", trace.where(0))
        for elsewhere in _one_a_task(subject)[:2]:  # leaves the environment in the middle of something
            subject.again(env, elsewhere, elsewhere.actions[:3])


def replay(subject: Subject, ledger: Ledger) -> None:
    """The same actions after the same reset come to the same answers."""
    env = subject.environment()
    for trace in _sampled(subject):
        again = subject.again(env, trace)
        for t, (before, now) in enumerate(zip(trace.moments, again.moments, strict=False)):
            if not _alike(ledger, before, now, "played again, the answer differs", trace.where(t)):
                break


def isolated(subject: Subject, ledger: Ledger) -> None:
    """Episodes in two environments of one world, step by step in turn, go as each does alone."""
    traces = _one_a_task(subject)
    pairs = list(pairwise(traces)) or [(trace, trace) for trace in traces]
    for one, two in pairs:
        playing = [subject.playing(subject.environment(), trace.task, trace.seed) for trace in (one, two)]
        for game in playing:
            game.begin()
        for t in range(min(len(one.actions), len(two.actions))):
            for trace, game in zip((one, two), playing, strict=True):
                moment = game.step(trace.actions[t])
                message = "beside another episode, the answer differs"
                if not _alike(ledger, trace.moments[t + 1], moment, message, trace.where(t + 1)):
                    return


def limits(subject: Subject, ledger: Ledger) -> None:
    """Steps are counted, an episode ends at the limit and not before, and a step out of turn is refused."""
    fresh = subject.environment()
    _refused(ledger, lambda: fresh.step("anything"), "a step before the first reset")
    for trace in subject.traces:
        for t, moment in enumerate(trace.moments):
            info, last = moment.info, t == len(trace.moments) - 1
            ledger.holds(info.steps == t, f"info.steps is {info.steps} after {t} steps", trace.where(t))
            over = info.won or info.truncated
            ledger.holds(moment.done or not over, "won or cut, but not done", trace.where(t))
            ledger.holds(moment.done <= last, "done, but the episode went on", trace.where(t))
    for trace in _one_a_task(subject):
        limit = 2
        short = Playing(subject.world.environment(step_limit=limit), trace.task, trace.seed)
        done = short.begin().done
        while not done and len(short.moments) <= limit:
            done = short.step(NONSENSE[0]).done
        cut = done and (short.moments[-1].info.truncated or len(short.moments) <= limit)
        ledger.holds(cut, f"a step limit of {limit} does not end the episode", short.trace().where())
        _refused(ledger, lambda env=short.env: env.step("anything"), "a step after the end")
    unknown = f"{subject.tasks[0] if subject.tasks else ''}-which-does-not-exist"
    _refused(ledger, lambda: subject.environment().reset(unknown), "a reset to a task that does not exist", ProASError)


def _refused(ledger: Ledger, act: object, what: str, kind: type[ProASError] = EnvironmentFailure) -> None:
    assert callable(act)
    try:
        act()
    except kind:
        ledger.holds(True, "")
    except Exception as error:  # noqa: BLE001  # what it raised is the finding
        ledger.holds(False, f"{what} raises {told(error)}; it should raise {kind.__name__}")
    else:
        ledger.holds(False, f"{what} is accepted; it should raise {kind.__name__}")


def rewards(subject: Subject, ledger: Ledger) -> None:
    """A step pays what the settings say: for itself, for not applying, for winning."""
    env = subject.world.environment(rewards=_UNUSUAL)
    for trace in _sampled(subject):
        again = subject.again(env, trace)
        for t, moment in enumerate(again.moments[1:], start=1):
            due = _UNUSUAL.step + _UNUSUAL.invalid * (not moment.info.valid) + _UNUSUAL.success * moment.info.won
            paid = abs(moment.reward - due) < 1e-9
            told_ = f"valid {moment.info.valid}, won {moment.info.won} under {_UNUSUAL}"
            if not ledger.holds(paid, f"a step pays {moment.reward}, not {due}: {told_}", again.where(t)):
                break


def admissible(subject: Subject, ledger: Ledger) -> None:
    """What is listed as admissible applies."""
    for trace in subject.traces:
        for t, (before, moment) in enumerate(zip(trace.moments, trace.moments[1:], strict=False), start=1):
            if moment.action in before.admissible:
                message = f"{moment.action!r} is listed as admissible and does not apply: {moment.observation[:120]!r}"
                ledger.holds(moment.info.valid, message, trace.where(t))
    env = subject.environment()
    for task in subject.tasks:
        tried: set[tuple[object, str]] = set()
        for trace, t in _places(subject, task, "admissible"):
            listed = trace.moments[t].admissible
            new = [action for action in listed if (trace.moments[t].facts, action) not in tried]
            if not new:
                continue
            action = subject.rng("admissible", task, trace.policy, trace.seed, t).choice(new)
            tried.add((trace.moments[t].facts, action))
            probe = subject.again(env, trace, (*trace.actions[:t], action))
            message = f"{action!r} is listed as admissible and does not apply: {probe.moments[-1].observation[:120]!r}"
            ledger.holds(probe.moments[-1].info.valid, message, probe.where())
    if not subject.traces or not any(moment.admissible for moment in subject.traces[0].moments):
        ledger.note("the environment lists no actions")


def outside(subject: Subject, ledger: Ledger) -> None:
    """What no environment knows is flagged as invalid and changes nothing, and the episode goes on as if unsaid."""
    env = subject.environment()
    for task in subject.tasks:
        for trace, t in _places(subject, task, "outside", most=3):
            playing = subject.playing(env, trace.task, trace.seed)
            playing.begin()
            for action in trace.actions[:t]:
                playing.step(action)
            before = playing.moments[-1]
            for words in NONSENSE:
                if words in before.admissible or playing.moments[-1].done:
                    continue
                moment = playing.step(words)
                message = f"{words!r} is none of the {len(before.admissible)} admissible actions and counts as valid"
                if ledger.holds(not moment.info.valid, message, playing.trace().where()):
                    _unchanged(ledger, before, moment, playing.trace().where())
            if t < len(trace.actions) and not playing.moments[-1].done:
                moment, expected = playing.step(trace.actions[t]), trace.moments[t + 1]
                went_on = moment.done or expected.done or moment.facts == expected.facts
                message = "after an invalid action, the next one has another effect than without it"
                ledger.holds(went_on, message, playing.trace().where())


def invalid(subject: Subject, ledger: Ledger) -> None:
    """An invalid step changes nothing: neither the hidden state, nor what is admissible, nor the state."""
    for trace in subject.traces:
        for t, (before, moment) in enumerate(zip(trace.moments, trace.moments[1:], strict=False), start=1):
            if not moment.info.valid:
                _unchanged(ledger, before, moment, trace.where(t))


def _unchanged(ledger: Ledger, before: Moment, moment: Moment, where: Where) -> None:
    gone, new = sorted(before.facts - moment.facts)[:3], sorted(moment.facts - before.facts)[:3]
    ledger.holds(moment.facts == before.facts, f"an invalid step changes the facts: {gone} gone, {new} new", where)
    ledger.holds(not moment.info.won or before.info.won, "an invalid step wins", where)
    if not moment.info.truncated and not moment.done:
        same = moment.admissible == before.admissible
        ledger.holds(same, "an invalid step changes what is admissible", where)
    if moment.state is not None and before.state is not None:
        same = moment.state.key == before.state.key
        facts = f"{list(before.state.facts)} before, {list(moment.state.facts)} after"
        ledger.holds(same, f"an invalid step changes the state: {facts}", where)


def _alike(ledger: Ledger, before: Moment, now: Moment, message: str, where: Where) -> bool:
    names = ("observation", "reward", "done", "valid", "won", "admissible", "facts")
    for name, one, two in zip(names, before.seen, now.seen, strict=True):
        if one != two:
            return ledger.holds(False, f"{message}: {name} {_short(one, two)}", where)
    return ledger.holds(True, "", where)


def _short(one: object, two: object) -> str:
    if isinstance(one, frozenset) and isinstance(two, frozenset):
        return f"{sorted(one - two)[:3]} before, {sorted(two - one)[:3]} now"
    return f"{str(one)[:160]!r} before, {str(two)[:160]!r} now"


def _one_a_task(subject: Subject) -> list[Trace]:
    """The longest trace of each task."""
    return [
        max(traces, key=lambda trace: len(trace.actions)) for task in subject.tasks if (traces := subject.of_task(task))
    ]


def _sampled(subject: Subject) -> Iterator[Trace]:
    """A trace of each task by each policy."""
    seen: set[tuple[str, str]] = set()
    for trace in subject.traces:
        if (trace.task, trace.policy) not in seen:
            seen.add((trace.task, trace.policy))
            yield trace


def _places(subject: Subject, task: str, purpose: str, *, most: int | None = None) -> list[tuple[Trace, int]]:
    """Places of a task's episodes at which they can go on, drawn at random."""
    places = [
        (trace, t)
        for trace in subject.of_task(task)
        for t, moment in enumerate(trace.moments)
        if not moment.done and t < subject.environment_limit - len(NONSENSE) - 1
    ]
    count = min(len(places), subject.samples if most is None else min(most, subject.samples))
    return subject.rng(purpose, task).sample(places, count)
