"""Plays the same episodes in another process, where Python salts its hashes otherwise, and compares the keys.

python -m proas.conformance.elsewhere < asked.json > answered.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from proas.conformance.episodes import Subject, Trace, told
from proas.conformance.report import Ledger
from proas.envs.registry import EnvSpec, env_kind
from proas.keys import digest
from proas.rollouts import State
from proas.states.attach import ladder_for

__all__ = ["process"]

_PATIENCE_S = 300
_FEW = 12


def process(subject: Subject, ledger: Ledger) -> None:
    """Another process, with another salt and the tasks in another order, tells the same states, subgoals and tasks."""
    traces = _chosen(subject)
    modules = _modules(subject)
    if modules is None:
        ledger.note("the environment is defined in the program that runs, which another process cannot import")
        return
    answer = _asked(subject.spec, modules, traces, ledger)
    if answer is None:
        return
    ledger.holds(answer["tasks"] == _tasks(subject), "in another process the tasks have other keys")
    for trace, told_ in zip(traces, reversed(answer["episodes"]), strict=True):
        mine = _episode(subject, trace)
        if not ledger.holds("error" not in told_, f"in another process: {told_.get('error')}", trace.where()):
            continue
        ledger.holds(mine["ladder"] == told_["ladder"], "in another process the subgoals differ", trace.where(0))
        for t, (one, two) in enumerate(zip(mine["states"], told_["states"], strict=False)):
            message = f"the state is {one} here and {two} in another process"
            if not ledger.holds(one == two, message, trace.where(t)):
                break


def _chosen(subject: Subject) -> list[Trace]:
    by_task = [subject.of_task(task) for task in subject.tasks]
    return [trace for traces in by_task for trace in traces[:: max(1, len(traces) // 3)][:3]][:_FEW]


def _modules(subject: Subject) -> list[str] | None:
    """Modules that the other process must import to know the environment; ``None`` where it cannot."""
    places = [env_kind(subject.spec.name).open]
    if subject.kind is not None:
        places += [subject.kind.observer]  # type: ignore[list-item]  # only its module is asked for
    names = [getattr(place, "__module__", "") or "" for place in places]
    owner = getattr(places[-1], "__self__", None)
    names += [type(owner).__module__] if owner is not None else []
    if "__main__" in names:
        return None
    return [name for name in dict.fromkeys(names) if name and not name.startswith("proas.")]


def _asked(spec: EnvSpec, modules: Sequence[str], traces: Sequence[Trace], ledger: Ledger) -> dict[str, Any] | None:
    question = {
        "env": spec.name,
        "data": str(spec.data) if spec.data is not None else None,
        "options": dict(spec.options),
        "modules": list(modules),
        "episodes": [{"task": t.task, "seed": t.seed, "goal": t.goal, "actions": t.actions} for t in reversed(traces)],
    }
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109  # a text is wanted
    done = subprocess.run(
        [sys.executable, "-m", "proas.conformance.elsewhere"],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": salt, "PYTHONPATH": paths},
    )
    if not ledger.holds(done.returncode == 0, f"another process breaks down: {done.stderr.strip()[-400:]}"):
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _tasks(subject: Subject) -> list[object]:
    return [len(subject.world.tasks), digest(list(subject.world.tasks))]


def _episode(subject: Subject, trace: Trace) -> dict[str, Any]:
    """What this process says of an episode: keys and facts by the follower and by text, and the subgoals."""
    played = subject.again(subject.environment(), trace)
    make = subject.readers()
    told_: list[list[object]] = [[_plain(moment.state)] for moment in played.moments]
    if make is not None:
        reader = make(trace)
        told_[0].append(_plain(reader.begin(played.moments[0].observation)))
        for place, moment in zip(told_[1:], played.moments[1:], strict=True):
            info = moment.info
            seen = reader.observe(moment.action, moment.observation, valid=info.valid, won=info.won)
            place.append(_plain(seen.state))
    return {"states": told_, "ladder": repr(ladder_for(subject.spec.name, trace.task, trace.goal))}


def _plain(state: State | None) -> list[object]:
    return [] if state is None else [state.key, list(state.facts)]


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    for module in question["modules"]:
        import_module(module)
    spec = EnvSpec(question["env"], Path(question["data"]) if question["data"] else None, question["options"])
    subject = Subject(spec, tasks=0, policies=(), group_size=0, samples=0, seed=0)
    episodes = []
    for asked in question["episodes"]:
        try:
            playing = subject.playing(subject.environment(), asked["task"], asked["seed"])
            done = playing.begin().done
            for action in asked["actions"]:
                if not done:
                    done = playing.step(action).done
            episodes.append(_episode(subject, playing.trace()))
        except Exception as error:  # noqa: BLE001  # the asking process reports it
            episodes.append({"error": told(error)})
    return {"tasks": _tasks(subject), "episodes": episodes}


if __name__ == "__main__":
    print(json.dumps(_answer(json.load(sys.stdin))))  # noqa: T201  # the answer
