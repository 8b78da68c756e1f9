"""Checks of states: whether the same situation has the same key, whoever looks, and in whatever order it came about."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from proas.conformance.episodes import Moment, Subject, Trace, followed, told
from proas.conformance.report import Ledger
from proas.errors import ProASError
from proas.keys import state_key
from proas.purify import kept_steps
from proas.rollout_files import load_rollouts, write_rollouts
from proas.rollouts import State
from proas.states.attach import attach_states, ladder_for
from proas.states.observer import StateObserver
from proas.subgoals import GOAL_REACHED

__all__ = ["agreement", "fresh", "keys", "order", "record", "subgoals", "text_alone"]


def keys(subject: Subject, ledger: Ledger) -> None:
    """A state's key is that of its facts in any order, and it says that the goal is reached exactly when it is."""
    if subject.kind is None:
        name = subject.spec.name
        ledger.holds(False, f"no states are registered for {name!r}, so that nothing of it can be labelled")
        return
    rng = subject.rng("keys")
    for trace in subject.traces:
        for t, moment in enumerate(trace.moments):
            state = moment.state
            if not ledger.holds(state is not None, "no state", trace.where(t)) or state is None:
                continue
            shuffled = rng.sample(state.facts, len(state.facts))
            same = state.key == state_key(subject.spec.name, trace.task, shuffled)
            ledger.holds(same, f"the key of {list(state.facts)} is not that of its facts", trace.where(t))
            reached = GOAL_REACHED in state.facts
            message = f"won is {moment.info.won}, but the state is {list(state.facts)}"
            ledger.holds(reached == moment.info.won, message, trace.where(t))


def order(subject: Subject, ledger: Ledger) -> None:
    """The same done in another order, to the same effect, leads to the same state."""
    if _unknown(subject, ledger):
        return
    for task in subject.tasks:
        reached: dict[tuple[object, ...], tuple[Trace, int]] = {}
        for trace, t in (*_moments(subject.of_task(task)), *_moments(_swapped(subject, task))):
            moment = trace.moments[t]
            if not moment.facts or moment.state is None:
                continue
            done = tuple(sorted(m.action for m in trace.moments[1 : t + 1] if m.info.valid))
            # What was done last may count: it says what the agent attends to.
            same = (moment.facts, done, _last_change(trace, t), moment.info.won)
            first, then = reached.setdefault(same, (trace, t))
            if first.actions[:then] == trace.actions[:t]:
                continue
            other = first.moments[then].state
            assert other is not None
            message = f"the same situation is the state {_apart(other, moment.state)}; the other way there: "
            ledger.holds(other.key == moment.state.key, message + " | ".join(first.actions[:then][-6:]), trace.where(t))
    if all(not moment.facts for trace in subject.traces for moment in trace.moments):
        ledger.note("info.facts is empty, so that nothing says when two situations are the same")


def _last_change(trace: Trace, t: int) -> str:
    """The last action up to a moment that changed the state."""
    for now in range(t, 0, -1):
        moment, before = trace.moments[now], trace.moments[now - 1]
        if moment.state != before.state:
            return moment.canonical
    return ""


def _swapped(subject: Subject, task: str) -> Iterator[Trace]:
    """Episodes with two successive actions exchanged, and others that do two admissible actions in both orders."""
    env = subject.environment()
    rng = subject.rng("order", task)
    places = [(trace, t) for trace in subject.of_task(task) for t in range(len(trace.actions) - 1)]
    for trace, t in rng.sample(places, min(len(places), subject.samples)):
        before, (first, second), rest = trace.actions[:t], trace.actions[t : t + 2], trace.actions[t + 2 :]
        listed = trace.moments[t].admissible
        tries = [(second, first)] if first != second else []
        if len(listed) > 1 and rng.random() < 0.5:
            one, two = rng.sample(listed, 2)
            tries = [(one, two), (two, one)]
        for pair in tries:
            yield subject.again(env, trace, (*before, *pair, *rest))


def _moments(traces: Iterable[Trace]) -> Iterator[tuple[Trace, int]]:
    for trace in traces:
        for t in range(1, len(trace.moments)):
            yield trace, t


def fresh(subject: Subject, ledger: Ledger) -> None:
    """What says the states forgets one episode before the next, and is not disturbed by another beside it."""
    if _unknown(subject, ledger):
        return
    assert subject.kind is not None
    env = subject.environment()
    traces = _few(subject)
    follower = followed(subject.kind, env)
    for trace in (*traces, *traces):  # one environment and one follower for all
        again = subject.again(env, trace, follower=follower)
        _same_states(ledger, trace, [moment.state for moment in again.moments], "followed again")
    make = subject.readers()
    assert make is not None
    alone = {id(trace): _read(make(trace), trace) for trace in traces}
    for trace in traces:
        reader = make(trace)
        for label in ("read again", "read a third time, by the same observer"):
            _same_states(ledger, trace, _read(reader, trace), label, alone[id(trace)])
    for one, two in pairwise(traces):
        beside = _read_in_turn((make(one), make(two)), (one, two))
        for trace, states in zip((one, two), beside, strict=True):
            _same_states(ledger, trace, states, "read beside another episode", alone[id(trace)])


def _same_states(
    ledger: Ledger, trace: Trace, states: Sequence[State | None], label: str, before: Sequence[State] | None = None
) -> None:
    expected = before if before is not None else [moment.state for moment in trace.moments]
    for t, (one, two) in enumerate(zip(expected, states, strict=False)):
        message = f"{label}, the state is {_apart(one, two)}"
        if not ledger.holds(one is not None and two is not None and one.key == two.key, message, trace.where(t)):
            return


def _read(reader: StateObserver, trace: Trace) -> list[State]:
    states = [reader.begin(trace.moments[0].observation)]
    return states + [_observed(reader, moment) for moment in trace.moments[1:]]


def _observed(reader: StateObserver, moment: Moment) -> State:
    info = moment.info
    return reader.observe(moment.action, moment.observation, valid=info.valid, won=info.won).state


def _read_in_turn(readers: Sequence[StateObserver], traces: Sequence[Trace]) -> list[list[State]]:
    read = [[reader.begin(trace.moments[0].observation)] for reader, trace in zip(readers, traces, strict=True)]
    for t in range(1, max(len(trace.moments) for trace in traces)):
        for reader, trace, states in zip(readers, traces, read, strict=True):
            if t < len(trace.moments):
                states.append(_observed(reader, trace.moments[t]))
    return read


def agreement(subject: Subject, ledger: Ledger) -> None:
    """The text alone tells the same states, actions, validity and seeking as the hidden state does."""
    if _unknown(subject, ledger):
        return
    if subject.kind is not None and subject.kind.follower is None:
        ledger.note("there is no follower of the hidden state: text is all there is")
        return
    for trace in subject.traces:
        bare = trace.rollout(subject.spec.name, states=False)
        try:
            read = attach_states(bare)
        except ProASError as error:
            ledger.holds(False, f"no states from text: {error}", trace.where(0))
            continue
        states = [read.start, *(step.state for step in read.steps)]
        for t, (moment, state) in enumerate(zip(trace.moments, states, strict=True)):
            same = state is not None and moment.state is not None and state.key == moment.state.key
            said = f"the answer was {moment.observation[:160]!r}"
            if not ledger.holds(
                same, f"by hidden state and by text: {_apart(moment.state, state)}; {said}", trace.where(t)
            ):
                break
            if t:
                step = read.steps[t - 1]
                one, two = (moment.canonical, moment.seeks), (step.canonical, step.seeks)
                message = f"by hidden state the step is {one}, by text {two} (canonical action, seeks); {said}"
                if not ledger.holds(one == two, message, trace.where(t)):
                    break


def text_alone(subject: Subject, ledger: Ledger) -> None:
    """Text tells the same states also where a record does not say which actions applied."""
    make = subject.readers()
    if make is None or _unknown(subject, ledger):
        return
    for trace in subject.traces:
        reader = make(trace)
        reader.begin(trace.moments[0].observation)
        for t, moment in enumerate(trace.moments[1:], start=1):
            state = reader.observe(moment.action, moment.observation, won=moment.info.won).state
            same = moment.state is not None and moment.state.key == state.key
            message = f"validity not told, the state is {_apart(moment.state, state)}; {moment.observation[:120]!r}"
            if not ledger.holds(same, message, trace.where(t)):
                break


def subgoals(subject: Subject, ledger: Ledger) -> None:
    """Along the ways of the expert no subgoal is lost again, and the last one is reached."""
    if _unknown(subject, ledger):
        return
    gold = [trace for trace in subject.traces if trace.won and trace.policy == "expert"]
    if not gold:
        ledger.note("the expert won nothing" if "expert" in subject.policies else "no policy 'expert' was played")
        gold = [trace for trace in subject.traces if trace.won]
    for trace in gold:
        states = [moment.state for moment in trace.moments if moment.state is not None]
        if len(states) < len(trace.moments):
            continue
        ladder = ladder_for(subject.spec.name, trace.task, trace.goal)
        again = ladder_for(subject.spec.name, trace.task, trace.goal)
        ledger.holds(ladder == again, "asked twice, the subgoals of the task differ", trace.where(0))
        index = [ladder.index(state.facts) for state in states]
        ledger.holds(
            index[0] < ladder.last, f"the start is at the last subgoal: {list(states[0].facts)}", trace.where(0)
        )
        message = f"the end is at subgoal {index[-1]}, not at the last, {ladder.last}: {list(states[-1].facts)}"
        ledger.holds(index[-1] == ladder.last, message, trace.where())
        kept = kept_steps("loop_erased", [state.key for state in states], [m.info.valid for m in trace.moments[1:]])
        for t, keep in enumerate(kept):
            if keep:
                falls = index[t + 1] < index[t]
                facts = f"{list(states[t].facts)} and then {list(states[t + 1].facts)}"
                told_ = f"subgoal {index[t]}, {ladder.subgoals[index[t]].description!r}, is lost again: {facts}"
                ledger.holds(not falls, told_, trace.where(t + 1))


def record(subject: Subject, ledger: Ledger) -> None:
    """A rollout is the same after it was written to a file and read again."""
    env, known = subject.spec.name, subject.kind is not None
    rollouts = []
    for trace in subject.traces:
        try:
            rollouts.append(trace.rollout(env, states=known))
        except ValueError as error:
            ledger.holds(False, f"no record can be made: {error}", trace.where())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        write_rollouts(path, rollouts)
        batch = load_rollouts(path)
    for reject in batch.rejects:
        ledger.holds(False, f"a line cannot be read again: {reject.reason}")
    read = {rollout.id: rollout for rollout in batch}
    for rollout in rollouts:
        again = read.get(rollout.id)
        if ledger.holds(again == rollout, f"{rollout.id} is another after the file") and known and again is not None:
            try:
                ledger.holds(attach_states(again) == again, f"{rollout.id}: its states are not taken as they are")
            except ProASError as error:
                ledger.holds(False, told(error))


def _unknown(subject: Subject, ledger: Ledger) -> bool:
    if subject.kind is None:
        ledger.note(f"no states are registered for {subject.spec.name!r} (proas.states.register)")
    return subject.kind is None


def _few(subject: Subject) -> list[Trace]:
    """A few traces: of each task the first, which nothing had gone before, and the longest."""
    chosen: list[Trace] = []
    for task in subject.tasks:
        traces = subject.of_task(task)
        longest = sorted(traces, key=lambda trace: -len(trace.actions))[:1]
        chosen += [*traces[:1], *(trace for trace in longest if trace is not traces[0])]
    return chosen[:8]


def _apart(one: State | None, two: State | None) -> str:
    """What two states do not share."""
    first, second = (set(state.facts) if state is not None else set() for state in (one, two))
    return f"{sorted(first - second)} here and {sorted(second - first)} there (both: {sorted(first & second)})"
