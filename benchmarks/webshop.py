"""Speed of the WebShop environment, its start-up, and the rate of building goals, in one run.

    python benchmarks/webshop.py [--data PATH] [--pages PATH] [--episodes N] [--goals N] [--out FILE]

A step means: carry out an action, answer with the page's text, and list what can be clicked next. Episodes search,
leaf, open products and buy. Start-up is a fresh interpreter until the first page, imports included, best of three.
Without ``--data`` the products are those that ship with the package. Times are of this process (CPU), so that other
work on the machine matters less; start-up is wall time too.

With ``--pages``, a folder of pages that the original rendered, and BeautifulSoup installed, the part of the original's
step that can be measured without its server is measured beside ours: it parses its own page twice a step, once for what
can be clicked and once for the text. Rendering the page, and the search in Java, come on top of that.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import machine

from proas.envs.webshop import WebShopEnv, open_shop
from proas.graph_builders import BuildOptions, Built
from proas.graph_builders.webshop import WebShopBuilder
from proas.states.webshop import TextObserver, target_of

START = (
    "import sys; from pathlib import Path; from proas.envs.webshop import WebShopEnv;"
    "env = WebShopEnv.from_folder(Path(sys.argv[1]) if sys.argv[1] else None); env.reset(env.tasks[0])"
)


def start_up(data: Path | None) -> dict[str, float]:
    """Seconds of a fresh interpreter until the first page: wall, and of the processor."""
    best = {"wall_s": float("inf"), "cpu_s": float("inf")}
    for _ in range(3):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, "-c", START, str(data or "")], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = {"wall_s": min(best["wall_s"], time.perf_counter() - begun), "cpu_s": min(best["cpu_s"], used)}
    return {name: round(value, 2) for name, value in best.items()}


def walk(env: WebShopEnv, rng: random.Random) -> list[tuple[str, str]]:
    """One episode: a search by the instruction, clicks at random, a purchase in the end if a product is open."""
    _first, info = env.reset(rng.choice(env.tasks))
    said: list[tuple[str, str]] = []
    done = False
    while not done:
        clicks = info.admissible
        action = "click[buy now]" if "click[buy now]" in clicks and rng.random() < 0.2 else rng.choice(clicks)
        result = env.step(action)
        info, done = result.info, result.done
        said.append((action, result.observation))
    return said


def steps(data: Path | None, episodes: int) -> dict[str, Any]:
    """Steps a second of the environment in both wordings, and of telling states from its text."""
    shop, goals = open_shop(data, "synthetic")
    found: dict[str, Any] = {}
    for mode in ("text", "text_rich"):
        env = WebShopEnv(shop, goals, observations=mode)  # type: ignore[arg-type]  # both are modes
        rng, count, begun, read = random.Random(0), 0, time.process_time(), 0.0
        for _ in range(episodes):
            said = walk(env, rng)
            count += len(said)
            mark = time.process_time()
            observer = TextObserver(env.goal.key, target_of(env.goal.key))
            observer.begin("WebShop [SEP] Instruction: [SEP] x [SEP] Search")
            for action, observation in said:
                observer.observe(action, observation)
            read += time.process_time() - mark
        spent = time.process_time() - begun - read
        found[mode] = {
            "steps": count,
            "steps_per_s": round(count / spent),
            "ms_per_step": round(1e3 * spent / count, 3),
            "states_from_text_per_s": round(count / read),
        }
    queries = [goal.text.lower() for goal in goals[:500]]
    begun = time.process_time()
    for words in queries:
        shop.ranking.search(words)
    found["ms_per_new_search"] = round(1e3 * (time.process_time() - begun) / len(queries), 3)
    return found


PARSES_A_STEP = 2
"""``WebAgentTextEnv.step`` asks for the available actions and then for the observation; each parses the page anew."""


def original(pages: Path, ours_ms: float) -> dict[str, Any]:
    """What the original spends on parsing its pages, as its text mode does, beside a whole step of ours."""
    from bs4 import BeautifulSoup
    from bs4.element import Comment

    hidden = {"style", "script", "head", "title", "meta", "[document]"}
    texts = [path.read_text(encoding="utf-8") for path in sorted(pages.iterdir()) if path.is_file()]
    repeats, begun = 30, time.process_time()
    for _ in range(repeats):
        for html in texts:
            found = BeautifulSoup(html, "html.parser").find_all(string=True)
            " [SEP] ".join(t.strip() for t in found if t.parent.name not in hidden and not isinstance(t, Comment))
    parse_ms = 1e3 * (time.process_time() - begun) / (repeats * len(texts))
    return {
        "pages": len(texts),
        "parse_ms": round(parse_ms, 2),
        "parses_per_step": PARSES_A_STEP,
        "steps_per_s_at_most": round(1e3 / (PARSES_A_STEP * parse_ms)),
        "times_ours": round(PARSES_A_STEP * parse_ms / ours_ms, 1),
    }


def building(data: Path | None, goals: int) -> dict[str, Any]:
    """Goals built a minute, without the database."""
    builder = WebShopBuilder()
    options = BuildOptions(limit=goals, expand="optimal")
    builder.count(data, options)
    begun = time.process_time()
    answers = list(builder.build(data, options))
    spent = time.process_time() - begun
    built = [answer for answer in answers if isinstance(answer, Built)]
    return {
        "goals": len(answers),
        "built": len(built),
        "transitions": sum(len(answer.graph.transitions) for answer in built),
        "goals_per_minute": round(60 * len(answers) / spent),
    }


def main() -> None:
    """Measure and print; write a file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--pages", type=Path, default=None)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--goals", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    result = {
        "benchmark": "webshop",
        "products": len(open_shop(given.data)[0].catalogue),
        "machine": machine(),
        "start_up": start_up(given.data),
        "environment": steps(given.data, given.episodes),
        "builder": building(given.data, given.goals),
    }
    if given.pages is not None:
        result["original"] = original(given.pages, result["environment"]["text"]["ms_per_step"])
    print(json.dumps(result, indent=2))
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
