"""Random walks through the sample shop, and the shop's pages in the other wordings that agents see."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proas.envs.webshop import Shop, WebShopEnv, WebShopGoal
from proas.envs.webshop.pages import Piece, text
from proas.states.observer import Observed
from proas.states.webshop import ShopObserver


@dataclass(frozen=True)
class WalkStep:
    action: str
    observation: str
    valid: bool
    won: bool
    seen: Observed


def quoted(page: tuple[Piece, ...]) -> str:
    """The instruction left out and every piece in quotes, as some trainers put it."""
    pieces = page if page[0].words == "WebShop" else page[2:]
    return " [SEP] ".join(f"'{piece.words.strip()}'" for piece in pieces)


def bracketed(page: tuple[Piece, ...]) -> str:
    """One line a piece, buttons in brackets, the values of a group behind its name."""
    lines: list[str] = []
    for piece in page:
        words = piece.words.strip()
        if piece.role == "option":
            lines[-1] += f" [{words}]" if "[" not in lines[-1] else f"[{words}]"
        else:
            lines.append(f"[{words}]" if piece.role in ("button", "product") else words)
    return " \n".join(lines)


WORDINGS: dict[str, Callable[[tuple[Piece, ...]], str]] = {"text": text, "quoted": quoted, "bracketed": bracketed}


def walk(
    shop: Shop, goal: WebShopGoal, rng: random.Random, *, mode: str = "text", steps: int = 40
) -> tuple[str, ShopObserver, Iterator[WalkStep]]:
    """A walk of one episode: half at random, half towards the goal, with nonsense in between."""
    env = WebShopEnv(shop, observations="text_rich" if mode == "text_rich" else "text", step_limit=steps)
    observation, info = env.reset(goal)
    observer = ShopObserver(goal.key, goal.target)

    def shown(words: str) -> str:
        return words if mode in ("text", "text_rich") else WORDINGS[mode](env._page())

    def listed() -> tuple[str, ...]:
        return tuple(shop.listed(env.situation)) if env.situation.page == "search_results" else ()

    start = shown(observation)
    observer.begin(env.situation)

    def carry_on() -> Iterator[WalkStep]:
        admissible, done = info.admissible, False
        while not done:
            action = _choose(goal, admissible, rng)
            result = env.step(action)
            admissible, done = result.info.admissible, result.done
            seen = observer.observe(action, env.situation, listed(), valid=result.info.valid)
            yield WalkStep(action, shown(result.observation), result.info.valid, result.info.won, seen)

    return start, observer, carry_on()


def _choose(goal: WebShopGoal, admissible: tuple[str, ...], rng: random.Random) -> str:
    helpful = [f"click[{goal.target.asin.lower()}]", *(f"click[{group.wanted}]" for group in goal.target.wanted)]
    draw = rng.random()
    if draw < 0.08:
        return rng.choice(("click[nothing of the kind]", "look around", "click[search]", "search[]", "click[Buy]"))
    if draw < 0.2:
        return f"search[{rng.choice((goal.title, goal.query, 'small lamp', 'qwxyz', goal.text))}]"
    possible = [action for action in helpful if action in admissible]
    if possible and draw < 0.85:
        buy = "click[buy now]" in admissible and rng.random() < 0.2
        return "click[buy now]" if buy else rng.choice(possible)
    clicks = [action for action in admissible if action != "click[buy now]" or rng.random() < 0.3]
    if admissible[0].startswith("search["):
        return f"search[{rng.choice((goal.title, goal.query, goal.title))}]"
    return rng.choice(clicks).replace("click[b", "click[B")
