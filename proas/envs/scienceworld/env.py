"""ScienceWorld as an environment: episodes with a step limit and rewards, over the simulator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from proas.envs.base import Info, RewardSettings, StepResult, begun, check_step_limit
from proas.envs.scienceworld.facts import ScienceWorldFacts, read_facts
from proas.envs.scienceworld.goal import ENV, ScienceWorldGoal, is_refusal
from proas.errors import EnvironmentFailure

if TYPE_CHECKING:
    from proas.envs.scienceworld.simulator import Session

__all__ = ["DEFAULT_STEP_LIMIT", "ScienceWorldEnv", "ScienceWorldInfo"]

DEFAULT_STEP_LIMIT = 100
"""Steps an agent has; the simulator's own default, and usual in the literature."""

_WON = 1.0 - 1e-9


class ScienceWorldInfo(Info):
    """An :class:`~proas.envs.base.Info` whose costly parts are asked of the simulator when they are first read.

    ``admissible`` takes longer than a step, ``facts`` about as long. Both belong to the situation of their step: read
    for the first time after the episode went on, they raise ``EnvironmentFailure``. A pickled copy carries both.
    """

    __slots__ = ("_ask", "_asked", "_told")

    _ask: Callable[[str], Any]
    _asked: tuple[str, ...] | None
    _told: ScienceWorldFacts | None

    def __init__(
        self,
        ask: Callable[[str], Any],
        *,
        valid: bool,
        won: bool,
        truncated: bool,
        steps: int,
        score: float,
        admissible: tuple[str, ...] | None = None,
        facts: ScienceWorldFacts | None = None,
    ) -> None:
        plain = {"valid": valid, "won": won, "truncated": truncated, "steps": steps, "score": score}
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_ask", ask)
        object.__setattr__(self, "_asked", admissible)
        object.__setattr__(self, "_told", facts)

    @property
    def admissible(self) -> tuple[str, ...]:
        """The simulator's valid combinations of actions and objects, sorted."""
        if self._asked is None:
            object.__setattr__(self, "_asked", self._ask("admissible"))
        return self._asked or ()

    @property
    def facts(self) -> ScienceWorldFacts:
        """Typed view of the hidden state."""
        if self._told is None:
            object.__setattr__(self, "_told", self._ask("facts"))
        assert self._told is not None
        return self._told

    def __reduce__(self) -> tuple[object, ...]:
        plain = {name: getattr(self, name) for name in ("valid", "won", "truncated", "steps", "score")}
        return partial(ScienceWorldInfo, _passed, **plain, admissible=self.admissible, facts=self.facts), ()


def _passed(name: str) -> Any:
    raise EnvironmentFailure(
        f"{name} of a situation that has passed was never asked for", hint="read it before the next step"
    )


class ScienceWorldEnv:
    """One ScienceWorld episode at a time; implements ``proas.envs.base.Environment``.

    An episode ends when the task is solved (score 1), when it has failed (the simulator's score turns negative, as
    after a focus on the wrong thing), or at the step limit. It is deterministic: a variation is its own seed.

    Args:
        session: Where it is played.
        check: The task of a key; raises ``UsageError`` where there is none.
        step_limit: Steps after which an unsolved episode is cut.
        rewards: What steps pay.
        listing: Whether ``info.admissible`` lists actions; without it, it is empty and costs nothing.

    Raises:
        UsageError: The step limit is not positive.
    """

    name = ENV

    def __init__(
        self,
        session: Session,
        check: Callable[[str], ScienceWorldGoal],
        *,
        step_limit: int = DEFAULT_STEP_LIMIT,
        rewards: RewardSettings = RewardSettings(),
        listing: bool = True,
    ) -> None:
        self.step_limit = check_step_limit(step_limit)
        self.rewards = rewards
        self._session = session
        self._check = check
        self._listing = listing
        self._goal: ScienceWorldGoal | None = None
        self._text = ""
        self._info: ScienceWorldInfo | None = None
        self._turn = 0
        self._steps = 0
        self._raw = 0.0
        self._failed = False
        self._done = False

    @property
    def goal(self) -> ScienceWorldGoal:
        """The task of the current episode. Raises ``EnvironmentFailure`` before the first reset."""
        return begun(self._goal)

    @property
    def task(self) -> str:
        """Key of the current episode's task."""
        return self.goal.key

    @property
    def goal_text(self) -> str:
        """The goal as the agent reads it."""
        return self._text if self.goal else ""

    @property
    def info(self) -> ScienceWorldInfo:
        """The info of the last reset or step. Raises ``EnvironmentFailure`` before the first reset."""
        return begun(self._info)

    @property
    def score(self) -> float:
        """The simulator's score in [0, 1]; 0 after a failure."""
        return max(0.0, self._raw)

    @property
    def failed(self) -> bool:
        """Whether the episode ended because the task can no longer be solved."""
        return self._failed

    def look(self) -> str:
        """What ``look around`` would answer; no step, and no time passes."""
        return self._session.look() if self.goal else ""

    def reset(self, task: str, seed: int | None = None) -> tuple[str, ScienceWorldInfo]:
        """Start an episode. The variation is the seed of all that is random in it, so ``seed`` changes nothing.

        Returns:
            The task in words and a look around; and the info.

        Raises:
            UsageError: There is no such task.
            EnvironmentFailure: The simulator cannot be started.
        """
        goal = self._check(task)
        self._goal = self._info = None  # an episode that cannot be loaded leaves none behind
        self._session.load(goal)
        text, look = self._session.task(), self._session.look()
        self._goal, self._text = goal, " ".join(text.split())
        self._steps, self._raw, self._failed, self._done = 0, 0.0, False, False
        self._info = self._look(valid=True, won=False)
        return f"Task description:\n{text}\n\n{look.strip()}", self._info

    def step(self, action: str) -> StepResult:
        """Carry out one action, in the simulator's own words (``go to kitchen``, ``pick up thermometer``).

        Where several things answer to a description, the answer lists them by number and nothing is done; the next
        action is then the number.

        Raises:
            EnvironmentFailure: Before the first reset, after the end of the episode, or if the simulator failed.
        """
        if self._done:
            raise EnvironmentFailure("the episode is over", hint="call reset to start another")
        self.goal  # noqa: B018  # refuses a step before the first reset
        words = " ".join(action.encode("utf-8", "replace").decode().split())  # a lone surrogate has no bytes to send
        observation, self._raw, broke = self._session.step(words)
        self._steps += 1
        valid = not is_refusal(observation)
        won = self._raw >= _WON
        self._failed = broke or self._raw < 0
        info = self._info = self._look(valid=valid, won=won)
        paid = self.rewards.paid(valid=valid, won=won)
        self._done = won or self._failed or info.truncated
        return StepResult(observation.strip(), paid, self._done, info)

    def _look(self, *, valid: bool, won: bool) -> ScienceWorldInfo:
        self._turn += 1
        turn, score = self._turn, self._raw

        def ask(name: str) -> Any:
            if turn != self._turn:
                _passed(name)
            if name == "admissible":
                return tuple(sorted(self._session.admissible())) if self._listing else ()
            session = self._session
            return read_facts(session.tree(), session.progress(), score=score, moves=session.moves())

        cut = self._steps >= self.step_limit and not won and not self._failed
        return ScienceWorldInfo(ask, valid=valid, won=won, truncated=cut, steps=self._steps, score=self.score)
