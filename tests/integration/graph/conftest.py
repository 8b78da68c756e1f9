"""A migrated database for the store's tests, and small graphs and rollouts of a corridor world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.records import Task, TaskGraph, Transition
from proas.keys import transition_key
from proas.rollouts import Rollout, State, Step
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def client(connection: Connection) -> Client:
    return Client(connection)


@pytest.fixture
def ask(connection: Connection) -> Ask:
    """Run any Cypher, to look at the database, or to damage it, behind the store's back."""

    def run(text: str, **parameters: Any) -> list[dict[str, Any]]:
        records, _, _ = driver_of(connection).execute_query(
            text,  # type: ignore[arg-type]  # tests only
            parameters,
            database_=connection.database,
        )
        return [dict(record) for record in records]

    return run


class Corridor:
    """A world of places in a row, ten to a milestone: simple enough to know every answer by heart."""

    env = "corridor"
    length = 30

    def ladder(self) -> Ladder:
        passed = [(f"milestone {m} passed",) for m in (1, 2)]
        return Ladder(
            (
                Subgoal(0, "start"),
                Subgoal(1, "pass milestone 1", ("get beyond the first mark",), (passed[0],)),
                Subgoal(2, "pass milestone 2", (), (passed[1],)),
                Subgoal(3, "reach the end", (), ((GOAL_REACHED,),)),
            )
        )

    def state(self, task: str, place: int) -> State:
        facts = [f"at place {place}", *(f"milestone {m} passed" for m in range(1, place // 10 + 1))]
        return State.of(self.env, task, [*facts, GOAL_REACHED] if place == self.length - 1 else facts)

    def graph(self, task: str, stride: int = 1, *, source: str = "plan") -> TaskGraph:
        """The way from start to end in strides of one length."""
        places = [*range(0, self.length - 1, stride), self.length - 1]
        states = [self.state(task, place) for place in places]
        edges = tuple(
            Transition(a.key, f"go to place {p}", b.key, source)
            for a, b, p in zip(states, states[1:], places[1:], strict=False)
        )
        record = Task(task, self.env, "reach the end", "Walk to the end.")
        return TaskGraph(record, self.ladder(), states[0], {s.key: s for s in states}, edges)

    def rollout(
        self, name: str, task: str, places: Sequence[int], *, success: bool = False, invalid: Sequence[int] = ()
    ) -> Rollout:
        """A walk through places, the first of which is the start; steps in ``invalid`` were refused."""
        steps = tuple(
            Step(
                action=f"go to place {place}",
                canonical=f"go to place {place}",
                state=self.state(task, place),
                valid=t not in invalid,
            )
            for t, place in enumerate(places[1:])
        )
        start = self.state(task, places[0])
        ended = "success" if success else "step_limit"
        return Rollout(
            id=name,
            env=self.env,
            task=task,
            goal="reach the end",
            start=start,
            steps=steps,
            success=success,
            ended=ended,
        )

    def win(self, name: str, task: str, stride: int = 2) -> Rollout:
        """A clean success in strides."""
        return self.rollout(name, task, [*range(0, self.length - 1, stride), self.length - 1], success=True)

    def key(self, task: str, here: int, there: int) -> str:
        """Key of the transition between two places."""
        return transition_key(self.state(task, here).key, f"go to place {there}", self.state(task, there).key)


@pytest.fixture
def corridor() -> Corridor:
    return Corridor()
