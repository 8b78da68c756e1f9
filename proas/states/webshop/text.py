"""WebShop states from text alone: what a trainer that sees only observations has.

It serves this package's environment and a running original server alike. The text of a product's page shows neither its
number nor, in ``text``, what is chosen, so the observer follows the clicks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from proas.envs.webshop.goal import ENV, Target
from proas.errors import DataError, StateError
from proas.rollouts import State
from proas.states.observer import Observed, StateMaker
from proas.states.webshop.actions import Spoken, plain_words, spoken_action
from proas.states.webshop.pages import Shown, read_page
from proas.states.webshop.projection import Look, Projection, Searching, projection_of
from proas.subgoals import GOAL_REACHED

__all__ = ["TextObserver", "target_of"]

_FULL_SCORE = 1.0 - 1e-9
_SUB_PAGES = frozenset(("description", "features", "reviews", "attributes"))
_BACK = "back to search"
_NEXT = "next >"
_PREVIOUS = frozenset(("< prev", "< back to results", "< back to item page"))
_BUY = "buy now"
_THINK = "think"


def target_of(task: str) -> Target | None:
    """The target that a task key names, ``None`` where it is of another form."""
    try:
        return Target.from_key(task)
    except DataError:
        return None


class TextObserver:
    """Follows a rollout by what the agent said and what the shop showed.

    An action that the last page did not offer is an invalid step; so is one that the shop refuses. A thought is a valid
    step that leaves the state as it is.

    Args:
        task: Key of the task.
        target: What is to be bought; ``None`` where it is not known. Every product and option then counts as a fact.
    """

    def __init__(self, task: str, target: Target | None = None) -> None:
        self._task = task
        self._projection = projection_of(target)
        self._make = StateMaker(ENV, task)
        self._now: _Followed | None = None

    def begin(self, observation: str) -> State:
        """State before the first action; usually at the search bar."""
        shown = read_page(observation)
        page = shown.kind if shown.kind in ("search_results", "item_page", "item_sub_page") else "index"
        look = Look(page, shown.number, shown.listed)
        self._now = _Followed(Searching(self._projection), look, shown, self._make(self._projection.facts(look)))
        return self._now.state

    def observe(self, action: str, observation: str, *, valid: bool | None = None, won: bool = False) -> Observed:
        """State after an action; see :class:`~proas.states.observer.StateObserver`."""
        now = self._now
        if now is None:
            raise StateError(f"task {self._task!r}: a step before the first observation", hint="call begin() first")
        shown = read_page(observation)
        spoken = spoken_action(action)
        if spoken is not None and spoken.verb == _THINK and valid is not False:
            return self._unchanged(now, _THINK, valid=True, won=won)
        refused = spoken is None or valid is False or shown.kind in ("refused", "noted")
        led = None if refused or spoken is None else _led(now, spoken, shown, self._projection)
        if led is None:
            return self._unchanged(now, plain_words(action), valid=valid is True, won=won)
        canonical, look = led
        now.look = look
        if shown.kind not in ("chosen", "nothing"):
            now.shown = shown
        won = won or (shown.score is not None and shown.score >= _FULL_SCORE)
        now.state = self._make(self._facts(look, won=won))
        return Observed(now.state, canonical, valid=True, seeks=now.searching.seeks(look))

    def _unchanged(self, now: _Followed, canonical: str, *, valid: bool, won: bool) -> Observed:
        if won:
            now.state = self._make(self._facts(now.look, won=True))
        return Observed(now.state, canonical, valid, seeks=False)

    def _facts(self, look: Look, *, won: bool) -> Iterable[str]:
        yield from self._projection.facts(look)
        if won:
            yield GOAL_REACHED


@dataclass(slots=True)
class _Followed:
    """What the text has told so far of the rollout under way.

    Attributes:
        searching: Which products were seen.
        look: Where the agent stands.
        shown: The last page.
        state: The state of it.
    """

    searching: Searching
    look: Look
    shown: Shown
    state: State


def _led(now: _Followed, spoken: Spoken, shown: Shown, projection: Projection) -> tuple[str, Look] | None:
    """Canonical form of an action and where it led; ``None`` where the last page did not offer it."""
    verb, name = spoken
    look = now.look
    if look.page == "done":
        return None
    if verb == "search":
        if shown.kind != "search_results" or not name:
            return None
        reached = Look("search_results", shown.number, shown.listed)
        return projection.searched(reached), reached
    if look.page == "search_results":
        return _from_results(look, name, shown, projection)
    if look.page == "item_page":
        return _from_item(now, name, shown, projection)
    if look.page == "item_sub_page":
        return _from_details(look, name, shown)
    return None


def _from_results(look: Look, name: str, shown: Shown, projection: Projection) -> tuple[str, Look] | None:
    if name == _BACK and shown.kind == "index":
        return f"click[{_BACK}]", Look()
    if shown.kind == "search_results" and (name == _NEXT or (name in _PREVIOUS and look.number > 1)):
        return f"click[{'< prev' if name in _PREVIOUS else _NEXT}]", Look("search_results", shown.number, shown.listed)
    if shown.kind == "item_page" and name.upper() in look.listed:
        return projection.opened(name.upper()), Look("item_page", asin=name.upper())
    return None


def _from_item(now: _Followed, name: str, shown: Shown, projection: Projection) -> tuple[str, Look] | None:
    look = now.look
    if name == _BUY:
        return (f"click[{_BUY}]", replace(look, page="done")) if shown.kind == "done" else None
    if name == _BACK:
        return (f"click[{_BACK}]", Look()) if shown.kind == "index" else None
    if name in _PREVIOUS:
        reached = Look("search_results", shown.number, shown.listed)
        return ("click[< prev]", reached) if shown.kind == "search_results" else None
    if name in _SUB_PAGES:
        return (f"click[{name}]", replace(look, page="item_sub_page")) if shown.kind == "item_sub_page" else None
    if shown.kind not in ("item_page", "chosen"):
        return None
    groups = now.shown.groups_by(projection.names() if projection.counts(look.asin) else ())
    # Of one value in two groups, the shop takes the later.
    group = next((group for group in reversed(list(groups)) if name in groups[group]), None)
    if group is None:
        known = now.shown.groups is not None or (groups and projection.names())
        if known or name not in now.shown.area[1:]:  # what stands first names a group
            return None
        group = name
    options = {**look.options, group: name} if projection.counts(look.asin) else look.options
    return projection.chose(look.asin, group, name), replace(look, options=options)


def _from_details(look: Look, name: str, shown: Shown) -> tuple[str, Look] | None:
    if name == _BACK and shown.kind == "index":
        return f"click[{_BACK}]", Look()
    if name in _PREVIOUS and shown.kind == "item_page":
        return "click[< prev]", replace(look, page="item_page")
    return None
