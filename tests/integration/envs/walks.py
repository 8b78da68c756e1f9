"""Walks through games, side by side in the reference engine and in ours."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from proas.envs.alfworld import AlfWorldEngine, Game, find_plan
from proas.envs.alfworld.reference import ReferenceEngine

STYLES = ("expert", "noisy", "random", "mover")
"""expert: a shortest plan; noisy: one with errors; random: verbs in turn; mover: things from spot to spot, looking."""

_NONSENSE = (
    "foo",
    "",
    "go to nowhere 1",
    "Look",
    "take apple 9 from desk 3",
    "examine sky 1",
    " look ",
    "inventory now",
)
_WEIGHTS = {
    "random": {"go": 2.0},
    "mover": {"take": 8.0, "put": 5.0, "move": 5.0, "look": 5.0, "slice": 5.0, "go": 4.0, "open": 4.0, "close": 0.5},
}


class Walker:
    """Chooses commands for one walk. Sees our engine only; the reference is compared, never asked."""

    def __init__(self, engine: AlfWorldEngine, style: str, seed: str) -> None:
        self.engine, self.style, self.rng = engine, style, random.Random(seed)

    def command(self) -> str:
        skill = {"expert": 1.0, "noisy": 0.6}.get(self.style, 0.0)
        if self.rng.random() < skill and (plan := find_plan(self.engine.game, start=self.engine.snapshot())):
            return plan[0]
        if self.rng.random() < 0.06:
            return self._inapplicable()
        by_verb: dict[str, list[str]] = {}
        for command in self.engine.admissible():
            by_verb.setdefault(command.split(" ")[0], []).append(command)
        verbs = sorted(by_verb)
        weights = _WEIGHTS.get(self.style, {})
        verb = self.rng.choices(verbs, [weights.get(v, 1.0) for v in verbs])[0]
        return self.rng.choice(self._interesting(verb, by_verb[verb]))

    def _inapplicable(self) -> str:
        game = self.engine.game
        thing, receptacle = self.rng.choice(game.objects), self.rng.choice(game.receptacles)
        other_wording = (
            f"put {thing} in/on {receptacle}" if game.rules.wording == "move" else f"move {thing} to {receptacle}"
        )
        made = (
            f"examine {thing}",
            f"use {thing}",
            f"open {receptacle}",
            f"take {thing} from {receptacle}",
            other_wording,
        )
        return self.rng.choice(_NONSENSE + made)

    def _interesting(self, verb: str, commands: list[str]) -> list[str]:
        """Half of the time, prefer what exercises the odd rules: shared spots, treatments, goal objects, knives."""
        game = self.engine.game
        if self.rng.random() < 0.5:
            return commands
        if verb == "go":
            kinds = ("microwave", "fridge", "sinkbasin", game.goal.receptacle)
            shared = {r for rs in game.at_place if len(rs) > 1 for r in rs}
            index = game.receptacle_index
            chosen = [c for c in commands if index[c[6:]] in shared or game.receptacle_kinds[index[c[6:]]] in kinds]
        else:
            chosen = [c for c in commands if any(word in c for word in (game.goal.object, "knife", "bowl", "lamp"))]
        return chosen or commands


@dataclass
class Comparison:
    """What was compared and where the two differ."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def check(self, what: str, where: str, reference: object, ours: object) -> None:
        self.counts[what] += 1
        if reference != ours:
            self.differences.append(f"{where}: {what}: reference {reference!r}, ours {ours!r}")


def compare(
    reference: ReferenceEngine, introduction: str, game: Game, style: str, seed: str, steps: int, into: Comparison
) -> list[dict[str, object]]:
    """Walk ``steps`` commands in both engines from the start, check everything, and return what the reference said."""
    engine = AlfWorldEngine(game)
    walker = Walker(engine, style, seed)
    into.check("text", f"{game.key} start", introduction, engine.reset())
    said: list[dict[str, object]] = [
        {"command": "", "text": introduction, "won": reference.won, "admissible": reference.admissible()}
    ]
    for t in range(steps):
        where = f"{game.key} {style} step {t}"
        into.check("admissible", where, said[-1]["admissible"], engine.admissible())
        command = walker.command()
        valid = engine.valid(command)
        text, won = reference.step(command)
        into.check("text", f"{where} {command!r}", text, (ours := engine.step(command))[0])
        into.check("won", f"{where} {command!r}", won, ours[1])
        into.check("valid", f"{where} {command!r}", command.strip() in said[-1]["admissible"], valid)  # type: ignore[operator]
        into.counts[f"verb {command.split(' ')[0] if valid else '-'}"] += 1
        said.append({"command": command, "text": text, "won": won, "admissible": reference.admissible()})
        if won and style == "expert":
            into.counts["games won"] += 1
            break
    into.check("admissible", f"{game.key} {style} end", said[-1]["admissible"], engine.admissible())
    into.counts["walks"] += 1
    into.counts["steps"] += len(said) - 1
    return said
