"""A small object view of reference graphs for notebooks, over py2neo: task -> subgoals -> states -> transitions.

::

    with open_view(Connection.resolve()) as view:
        arg = ARG.match(view, "alfworld").first()
        for subgoal in arg.tasks[0].subgoals:
            for state in subgoal.states:
                print(state.name, [t.action for t in state.transitions])

Read-only: every query runs in a transaction that the server refuses to write in. Bounded: a listing holds at most
``view.limit`` members and says whether there are more. A layer shows the union with its base. Nothing is cached, so
each access asks the database again.

py2neo is end-of-life and serves this one purpose; trainers use :class:`proas.graph.ReferenceGraph`. What py2neo can no
longer do on today's servers is listed in ``docs/py2neo.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Generic, Self, TypeVar, overload

from proas.cypher import statement
from proas.errors import GraphError, GraphNotFound, GraphUnavailable, UsageError
from proas.graph.client import Client
from proas.graph.connect import Connection

__all__ = ["ARG", "Listing", "State", "Subgoal", "Task", "Transition", "View", "open_view"]

DEFAULT_LIMIT = 200

T = TypeVar("T")


def open_view(connection: Connection, *, limit: int = DEFAULT_LIMIT) -> View:
    """Open the object view.

    Args:
        connection: The database. Its address is handed to py2neo as it is.
        limit: Most members of one listing.

    Raises:
        UsageError: py2neo is not installed, or the limit is not positive.
        GraphAuthError: The server refused the credentials.
        GraphUnavailable: No server answers.
        GraphVersionError: The server is too old.
    """
    if limit < 1:
        raise UsageError(f"the limit of a listing must be positive, not {limit}")
    try:
        import py2neo
    except ImportError as error:
        raise UsageError("the object view needs py2neo", hint="pip install 'proas[py2neo]'") from error
    # The official driver knocks first: py2neo says "connection has been closed" to a wrong password, and its retries
    # would lock the account.
    Client(connection).server_version()
    auth = (connection.username, connection.password.get_secret_value())
    graph = _guarded(
        lambda: py2neo.Graph(connection.uri, auth=auth, name=connection.database, user_agent="proas/py2neo")
    )
    return View(graph, connection.uri, limit)


@dataclass(frozen=True)
class View:
    """An open database.

    Attributes:
        py2neo: The ``py2neo.Graph``, for queries of your own; with it nothing is bounded and writing is possible.
        uri: Address of the server.
        limit: Most members of one listing.
    """

    py2neo: Any = field(repr=False)
    uri: str
    limit: int = DEFAULT_LIMIT

    def close(self) -> None:
        """Close the connections; py2neo leaves them open for good otherwise. The view is of no use afterwards."""
        self.py2neo.service.connector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def graphs(self) -> Listing[ARG]:
        """All reference graphs by name."""
        return ARG.match(self)

    def listing(self, name: str, make: Callable[[Mapping[str, Any]], T], **parameters: Any) -> Listing[T]:
        """What a statement of ``cypher/queries`` gives, each row made into an object; it takes ``limit``.

        Raises:
            GraphUnavailable: The server went away.
            GraphError: It refused the statement.
        """

        def ask() -> list[Mapping[str, Any]]:
            found: list[Mapping[str, Any]] = self.py2neo.query(
                statement(name), {**parameters, "limit": self.limit + 1}
            ).data()
            return found

        rows = _guarded(ask)
        return Listing(tuple(make(row) for row in rows[: self.limit]), more=len(rows) > self.limit)


@dataclass(frozen=True)
class Listing(Sequence[T], Generic[T]):
    """A bounded sequence that says when it is not all.

    Attributes:
        members: At most ``view.limit`` members.
        more: Whether there are more in the database.
    """

    members: tuple[T, ...]
    more: bool = False

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        """A member, or some."""
        return self.members[index]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[T]:
        return iter(self.members)

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.members)) + (", ..." if self.more else "")
        return f"[{inner}]"

    def first(self) -> T | None:
        """The first member, or ``None``."""
        return self.members[0] if self.members else None

    def _repr_html_(self) -> str:
        """The members as an HTML table, for notebooks."""
        rows = "".join(f"<tr><td>{escape(repr(member))}</td></tr>" for member in self.members)
        return f"<table>{rows}{'<tr><td>and more</td></tr>' if self.more else ''}</table>"


@dataclass(frozen=True)
class ARG:
    """A named reference graph.

    Attributes:
        name: Its name.
        version: Its current version.
        base: Base of a layer, else ``None``.
        base_version: Version of the base that the layer sees, else ``None``.
    """

    _view: View = field(repr=False, compare=False)
    name: str
    version: int
    base: str | None
    base_version: int | None

    @classmethod
    def match(cls, view: View, name: str | None = None) -> Listing[ARG]:
        """The graph of a name, or all graphs by name."""
        return view.listing("view_graphs", lambda row: cls(view, **row), graph=name)

    @property
    def tasks(self) -> Listing[Task]:
        """Its tasks in order of their keys."""
        return self.match_tasks("")

    def match_tasks(self, prefix: str) -> Listing[Task]:
        """The tasks whose key begins with ``prefix``, in order of their keys."""
        return self.listing("view_tasks", lambda row: Task(self, **row), prefix=prefix)

    def task(self, key: str) -> Task:
        """The task of a key.

        Raises:
            GraphNotFound: There is none.
        """
        for task in self.match_tasks(key)[:1]:  # a key sorts before all that it is a prefix of
            if task.key == key:
                return task
        raise GraphNotFound(f"graph {self.name!r} has no task {key!r}", hint="match_tasks(prefix) finds some")

    def listing(self, name: str, make: Callable[[Mapping[str, Any]], T], **parameters: Any) -> Listing[T]:
        """What a statement gives that also takes ``graph``, ``base`` and ``base_version``; see :meth:`View.listing`."""
        scope = {"graph": self.name, "base": self.base, "base_version": self.base_version}
        return self._view.listing(name, make, **scope, **parameters)


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        graph: Name of the graph that it lives in: that of the ARG or its base.
        key: Its key.
        env: Name of the environment.
        goal: Goal in the environment's terms.
        text: Goal as the agent reads it.
        start: Key of its first state.
    """

    _arg: ARG = field(repr=False, compare=False)
    graph: str
    key: str
    env: str
    goal: str
    text: str
    start: str

    @property
    def subgoals(self) -> Listing[Subgoal]:
        """Its subgoals in order."""
        return self._arg.listing("view_subgoals", lambda row: Subgoal(self._arg, self.key, **row), task=self.key)

    @property
    def start_state(self) -> State:
        """Its first state.

        Raises:
            GraphNotFound: The task was removed in the meantime.
        """
        parameters = {"subgoal": None, "state": self.start}
        found = self._arg.listing("view_states", lambda row: State(self._arg, **row), **parameters).first()
        if found is None:
            raise GraphNotFound(f"task {self.key!r} has no start state any more", hint="read the graph again")
        return found


@dataclass(frozen=True)
class Subgoal:
    """A subgoal of a task.

    Attributes:
        task: Key of the task.
        key: Its key.
        index: m, from 0 to M.
        description: What is to be done.
        phrases: The same in other people's words.
    """

    _arg: ARG = field(repr=False, compare=False)
    task: str
    key: str
    index: int
    description: str
    phrases: Sequence[str] = field(repr=False)

    @property
    def states(self) -> Listing[State]:
        """The states in its class: the initial one first, then in the order in which they were found."""
        parameters = {"subgoal": self.key, "state": None}
        return self._arg.listing("view_states", lambda row: State(self._arg, **row), **parameters)


@dataclass(frozen=True)
class State:
    """A state.

    Attributes:
        graph: Name of the graph that it lives in.
        key: Its key.
        name: The facts in one line.
        facts: Readable facts in sorted order.
        initial: Whether every rollout of the task begins here.
        source: Where the knowledge comes from.
        since: Version of ``graph`` that first held it.
    """

    _arg: ARG = field(repr=False, compare=False)
    graph: str
    key: str
    name: str
    facts: Sequence[str] = field(repr=False)
    initial: bool
    source: str
    since: int

    @property
    def transitions(self) -> Listing[Transition]:
        """The transitions that leave it, those with the most support first."""

        def make(row: Mapping[str, Any]) -> Transition:
            return Transition(**{**row, "target": State(self._arg, **row["target"])})

        return self._arg.listing("view_transitions", make, state=self.key)


@dataclass(frozen=True)
class Transition:
    """A verified transition.

    Attributes:
        graph: Name of the graph that it lives in.
        key: Its key.
        action: Canonical action.
        source: Where the knowledge comes from.
        since: Version of ``graph`` that first held it.
        support: Demonstrations seen, those of a layer and its base together.
        target: The state that it leads to.
    """

    graph: str
    key: str = field(repr=False)
    action: str
    source: str
    since: int
    support: int
    target: State


def _guarded(ask: Callable[[], T]) -> T:
    """Run a call of py2neo; its errors, which have no common root, become those of this package."""
    from py2neo import errors

    lost = (errors.ConnectionUnavailable, errors.ConnectionBroken, errors.ConnectionLimit, errors.ServiceUnavailable)
    try:
        return ask()
    except lost as error:
        raise GraphUnavailable(f"py2neo lost the server: {error}", hint="is it running? `proas db status`") from error
    except errors.Neo4jError as error:
        raise GraphError(f"the server refused a query of the object view: {error}") from error
