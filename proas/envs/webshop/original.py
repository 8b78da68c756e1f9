"""Attaches to a running original: rollouts from the observations of its text environment.

The original (princeton-nlp/WebShop, ``WebAgentTextEnv``) is not imported: whoever runs it hands over what it says. A
record needs the goal that its server holds, the option groups of the target's page, and the episode's words. With the
key of :func:`original_goal` as its task, states are read from the text alone, and the labels are those of a graph that
was built here from the same data files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from proas.envs.base import check_step_limit
from proas.envs.webshop.env import DEFAULT_STEP_LIMIT
from proas.envs.webshop.goal import ENV, OptionGroup, Target, WebShopGoal, bare_instruction
from proas.envs.webshop.goals import resolved_among
from proas.envs.webshop.reward import FULL_SCORE
from proas.envs.webshop.shop import parse_action
from proas.errors import DataError
from proas.rollouts import Ended, Rollout, Step

__all__ = ["OriginalEpisode", "OriginalTextEnv", "original_goal", "play_original"]

_NO_LIMIT = 1_000_000
"""The original's ``price_upper`` of a goal without one."""


def original_goal(goal: Mapping[str, Any], options: Mapping[str, Sequence[str]]) -> WebShopGoal:
    """The goal that a running original holds.

    Args:
        goal: The original's dictionary: ``asin``, ``instruction_text``, ``attributes``, ``goal_options`` (a list for
            people's goals, a dictionary for synthetic ones), ``price_upper``, ``name``, ``category``, ``query`` and
            ``product_category``. The first four are needed.
        options: Option groups of the target's page in its order, each with its values
            (``server.product_item_dict[asin]["options"]``).

    Returns:
        The goal; its ``key`` is that of the same goal built here from the same data files.

    Raises:
        DataError: Something that is needed is missing or of another form.
    """
    try:
        asin, told = str(goal["asin"]), str(goal["instruction_text"])
        wanted, attributes = goal["goal_options"], tuple(goal["attributes"])
    except (KeyError, TypeError) as error:
        raise DataError(f"the original's goal lacks {error}", hint="give the dictionary of server.goals") from error
    if isinstance(wanted, Mapping):
        target = Target(asin, tuple(OptionGroup(name, str(wanted.get(name, ""))) for name in options))
        values = tuple(str(wanted[name]) for name in sorted(wanted))
    else:
        values = tuple(str(value) for value in wanted)
        target = resolved_among(asin, options, values)
    limit = goal.get("price_upper")
    return WebShopGoal(
        instruction=bare_instruction(told),
        target=target,
        attributes=attributes,
        options=values,
        price_limit=float(limit) if isinstance(limit, (int, float)) and 0 < limit < _NO_LIMIT else None,
        title=str(goal.get("name", "")),
        category=str(goal.get("category", "")),
        query=str(goal.get("query", "")),
        product_category=str(goal.get("product_category", "")),
    )


class OriginalEpisode:
    """Takes down an episode of a running original, step by step.

    Args:
        goal: What is to be bought (:func:`original_goal`).
        observation: The first observation, in ``text`` or ``text_rich``.
    """

    def __init__(self, goal: WebShopGoal, observation: str) -> None:
        self._goal = goal
        self._observation = observation
        self._steps: list[Step] = []
        self._score = 0.0
        self._over = False

    def add(
        self, action: str, observation: str, *, score: float = 0.0, done: bool, clickables: Iterable[str] | None = None
    ) -> None:
        """One step.

        Args:
            action: What the agent was given to say.
            observation: The answer.
            score: The original's reward of the step, in [0, 1].
            done: Whether the episode is over.
            clickables: What could be clicked before the step (``get_available_actions()["clickables"]``); where it is
                not told, validity is read from the text.
        """
        valid = None if clickables is None else _applies(action, frozenset(clickables))
        if done:
            self._score, self._over = score, True
        self._steps.append(Step(action=action, observation=observation, valid=valid))

    def rollout(self, name: str, *, cut: bool = True) -> Rollout:
        """The record, without states: ``proas.states.attach_states`` or ``proas label`` reads them from its text.

        Args:
            name: Its id.
            cut: Whether an episode without a purchase was ended by the step limit, not by the agent.
        """
        won = self._over and self._score >= FULL_SCORE
        ended: Ended = "success" if won else "step_limit" if cut and not self._over else "stopped"
        return Rollout(
            id=name,
            env=ENV,
            task=self._goal.key,
            goal=self._goal.text,
            observation=self._observation,
            steps=tuple(self._steps),
            success=won,
            reward=self._score,
            ended=ended,
        )


def _applies(action: str, clickables: frozenset[str]) -> bool:
    """Whether the original carries an action out: it searches on every page, and clicks what is there."""
    asked = parse_action(action)
    if asked is None:
        return False
    return asked.verb == "search" or (asked.argument in clickables and asked.argument != "search")


class OriginalTextEnv(Protocol):
    """What is used of the original's ``WebAgentTextEnv``."""

    @property
    def session(self) -> str:
        """Name of the session."""
        ...

    @property
    def server(self) -> Any:
        """Its server, with ``user_sessions`` and ``product_item_dict``."""
        ...

    def reset(self, session: Any = None) -> tuple[str, Any]:
        """Begin; an integer session is the number of a goal."""
        ...

    def step(self, action: str) -> tuple[str, float, bool, Any]:
        """Carry out an action."""
        ...

    def get_available_actions(self) -> Mapping[str, Any]:
        """What can be clicked."""
        ...


def play_original(
    env: OriginalTextEnv,
    act: Callable[[str, Sequence[str]], str],
    *,
    session: int | str | None = None,
    name: str = "",
    step_limit: int = DEFAULT_STEP_LIMIT,
) -> Rollout:
    """Play one episode in a running original and take it down.

    Args:
        env: The original's text environment, ``text`` or ``text_rich``, without earlier observations in its own.
        act: Chooses an action from the observation and what can be clicked.
        session: The original's session; an integer is the number of a goal.
        name: Id of the rollout; the session's name if not given.
        step_limit: Steps after which an episode without a purchase is cut.

    Returns:
        The rollout. Its reward is the original's score.

    Raises:
        DataError: The goal that the original holds is of another form.
        UsageError: The step limit is not positive.
    """
    check_step_limit(step_limit)
    observation, _ = env.reset(session=session)
    held = env.server.user_sessions[env.session]["goal"]
    episode = OriginalEpisode(original_goal(held, env.server.product_item_dict[held["asin"]]["options"]), observation)
    for _ in range(step_limit):
        clickables = tuple(env.get_available_actions()["clickables"])
        action = act(observation, clickables)
        observation, score, done, _info = env.step(action)
        episode.add(action, observation, score=float(score), done=bool(done), clickables=clickables)
        if done:
            break
    return episode.rollout(name or str(env.session))
