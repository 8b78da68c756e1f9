"""The coverage report of a teacher: which tasks it was tried on, solved and left a graph for, and at what cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

from proas.graph_builders.distill.filters import DROPPED
from proas.graph_builders.distill.journal import Attempt
from proas.states.webshop.text import target_of

__all__ = ["Coverage", "KindCoverage", "Stopped", "dropped_rows", "kind_of"]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why no more attempts were made although some were left.

    Attributes:
        why: ``tokens``, ``attempts`` (the budgets), ``model`` (it is gone); empty where all were made.
        message: The same in words.
        hint: What to do about it.
    """

    why: str = ""
    message: str = ""
    hint: str = ""


@dataclass(slots=True)
class KindCoverage:
    """Tasks of one kind.

    Attributes:
        tasks: All of them.
        tried: With an attempt that was played to its end.
        solved: With a verified success.
        covered: With a graph after the filter.
    """

    tasks: int = 0
    tried: int = 0
    solved: int = 0
    covered: int = 0


@dataclass
class Coverage:
    """What came of a teacher's attempts, those of earlier runs in the journal included.

    Attributes:
        model: Name of the teacher.
        journal: File of the attempts.
        kinds: Coverage by kind of task.
        attempts: Attempts played to their end.
        reused: Of these, made by earlier runs.
        successes: Of these, won, as the environment said.
        unverified: Of these, from earlier runs and no longer won when they were played again.
        broken_off: Attempts that the model's failure, the budget or the user broke off; a rerun continues them.
        causes: Attempts that did not win, by what ended them.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        wasted_tokens: Tokens of failed tries, by estimate; the server's answer never came.
        tokens_estimated: Whether some counts are estimates because the server gave none.
        calls: Calls made.
        steps: Steps of the attempts that were played to their end.
        invalid_formats: Replies that broke the form asked for.
        dropped: What the filter dropped, by rule.
        unreadable_lines: Lines of the journal that could not be used.
        stopped: Why attempts are missing.
        missing: Attempts that were not made.
    """

    model: str
    journal: str
    kinds: defaultdict[str, KindCoverage] = field(default_factory=lambda: defaultdict(KindCoverage))
    attempts: int = 0
    reused: int = 0
    successes: int = 0
    unverified: int = 0
    broken_off: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    wasted_tokens: int = 0
    tokens_estimated: bool = False
    calls: int = 0
    steps: int = 0
    invalid_formats: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    unreadable_lines: int = 0
    stopped: Stopped = field(default_factory=Stopped)
    missing: int = 0

    @property
    def tasks(self) -> int:
        """All tasks that were asked for."""
        return sum(kind.tasks for kind in self.kinds.values())

    @property
    def tried(self) -> int:
        """Tasks with an attempt that was played to its end."""
        return sum(kind.tried for kind in self.kinds.values())

    @property
    def solved(self) -> int:
        """Tasks with a verified success."""
        return sum(kind.solved for kind in self.kinds.values())

    @property
    def covered(self) -> int:
        """Tasks with a graph after the filter."""
        return sum(kind.covered for kind in self.kinds.values())

    @property
    def tokens(self) -> int:
        """All tokens that were paid for."""
        return self.prompt_tokens + self.completion_tokens + self.wasted_tokens

    def count(self, made: Sequence[Attempt], finished: Sequence[Attempt]) -> None:
        """Add the attempts of a task.

        Args:
            made: All of them, those included that were broken off and perhaps continued later: every one was paid for.
            finished: Those that were played to their end, each number once.
        """
        for one in made:
            self.prompt_tokens += one.prompt_tokens
            self.completion_tokens += one.completion_tokens
            self.wasted_tokens += one.wasted_tokens
            self.tokens_estimated |= one.estimated
            self.calls += one.calls
            self.invalid_formats += one.invalid_formats
        self.broken_off += len({one.number for one in made} - {one.number for one in finished})
        self.attempts += len(finished)
        self.reused += sum(not one.fresh for one in finished)
        self.successes += sum(one.success for one in finished)
        self.steps += sum(one.steps for one in finished)
        self.causes.update(one.cause for one in finished if not one.success)

    def as_json(self) -> dict[str, object]:
        """The report as values that JSON can hold."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)} | {
            "kinds": {name: asdict(kind) for name, kind in sorted(self.kinds.items())},
            "causes": dict(self.causes),
            "dropped": {name: self.dropped[name] for name in DROPPED},
            "stopped": asdict(self.stopped),
        }
        names = ("tasks", "tried", "solved", "covered", "tokens")
        return {name: getattr(self, name) for name in names} | plain


def kind_of(env: str, task: str) -> str:
    """The kind of a task: ALFWorld's six types, WebShop's number of options, else what comes before ``/``."""
    if env in ("alfworld", "alfworld-knowledge"):
        return task.split("-", 1)[0]
    if env == "webshop":
        target = target_of(task)
        wanted = len(target.wanted) if target is not None else 0
        return f"{wanted} option{'' if wanted == 1 else 's'}"
    kind, slash, _rest = task.partition("/")
    return kind if slash else env


def dropped_rows(dropped: Mapping[str, int]) -> list[tuple[str, int]]:
    """What the filter dropped, in words, in the order of its rules."""
    return [(words, dropped.get(name, 0)) for name, words in DROPPED.items()]
