"""The table at which a person plays: reads lines, answers them, until the episode or the input ends."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.text import Text

from proas.cli.console import plain
from proas.cli.env.episode import Episode
from proas.cli.env.view import actions_listed, moment_view, ways_listed

if TYPE_CHECKING:
    from proas.cli.env.episode import Moment

__all__ = ["Lines", "PlayTable"]

_LONGEST = 20_000
"""Characters of a line beyond which it is no action."""

_HELP = """\
a number        the action of that number
anything else   is said to the environment as it stands
:hint           all ways on that the graph knows from here
:actions WORD   the actions that hold WORD, or all of them
:look           the present situation again
:goal           the goal again
:undo           takes the last step back
:quit           ends the episode here (so does the end of the input)"""


class Lines:
    """Lines from standard input. Where they are not typed at a terminal, they are shown as they are read.

    Args:
        console: Where the prompt goes.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._typed = sys.stdin is not None and sys.stdin.isatty()
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # bytes that are no text must not end the game

    @property
    def typed(self) -> bool:
        """Whether a person types them."""
        return self._typed

    def next(self, prompt: str) -> str | None:
        """The next line without its end; ``None`` at the end of the input."""
        if self._typed and not self._console.stderr:
            return self._edited(prompt)
        self._console.print(Text(prompt, "bold"), end="")
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not self._typed:
            self._console.print(plain(line.rstrip("\r\n") if line else "(end of input)"), soft_wrap=True)
        return line.rstrip("\r\n") if line else None

    def _edited(self, prompt: str) -> str | None:
        with suppress(ImportError):
            import readline  # noqa: F401  # gives input() a history and keys to move by
        try:
            return input(prompt)
        except EOFError:
            self._console.print()
            return None


class PlayTable:
    """Plays an episode with a person.

    Args:
        episode: The episode, just begun.
        console: Where it is shown.
        title: Heading of the graph's view.
    """

    def __init__(self, episode: Episode, console: Console, title: str) -> None:
        self._episode = episode
        self._console = console
        self._title = title
        self._lines = Lines(console)

    def play(self) -> None:
        """Play until the episode is over, the person has enough, or the input ends."""
        self._show(self._episode.now)
        while not self._episode.done:
            line = self._lines.next("> ")
            if line is None or line.strip() in (":quit", ":q"):
                return
            self._answer(line.strip())

    def _answer(self, line: str) -> None:
        if line.startswith(":"):
            self._command(line)
        elif len(line) > _LONGEST:
            self._say(Text(f"That is too long for an action: {len(line):,} characters.", "yellow"))
        elif line:
            action = self._meant(line)
            if action is not None:
                self._show(self._episode.act(action))

    def _meant(self, line: str) -> str | None:
        """The action of a line: the words as they stand, or those of the number."""
        admissible = self._episode.now.admissible
        if line in admissible or not (line.isascii() and line.isdecimal()):
            return line
        number = int(line[:9])
        if len(line) <= 9 and 1 <= number <= len(admissible):
            return admissible[number - 1]
        self._say(Text(f"There is no action {line[:20]} here: the numbers go from 1 to {len(admissible)}.", "yellow"))
        return None

    def _command(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word in (":help", ":h", ":?"):
            self._say(Text(_HELP))
        elif word == ":undo":
            self._undo()
        elif word == ":hint":
            self._hint()
        elif word == ":actions":
            self._actions(rest.strip())
        elif word == ":look":
            self._show(self._episode.now)
        elif word == ":goal":
            self._say(plain(self._episode.goal))
        else:
            self._say(Text.assemble(plain(f"{word[:40]} is no command"), "; :help lists them."))

    def _undo(self) -> None:
        if self._episode.undo():
            self._say(Text("The last step is taken back.", "dim"))
            self._show(self._episode.now)
        else:
            self._say(Text("There is no step to take back.", "yellow"))

    def _hint(self) -> None:
        look = self._episode.now.look
        if look is None or look.known is None:
            self._say(Text("No graph is at hand that could give one.", "yellow"))
        elif not look.known:
            self._say(Text("The graph does not know this state; :undo leads back.", "yellow"))
        else:
            numbers = self._episode.numbers_of({way.action for way in look.ways})
            self._say(ways_listed(look, numbers))
            if any(way.action not in numbers for way in look.ways):
                self._say(Text("What has no number is a kind of action: say it in the environment's words.", "dim"))

    def _actions(self, word: str) -> None:
        admissible = self._episode.now.admissible
        found = [(n, action) for n, action in enumerate(admissible, start=1) if word.lower() in action.lower()]
        if found:
            self._say(actions_listed(found, width=self._console.width))
        else:
            self._say(plain(f"No action holds {word!r}." if word else "The environment lists no actions."))

    def _show(self, moment: Moment) -> None:
        self._say("", moment_view(moment, title=self._title, width=self._console.width))

    def _say(self, *renderables: RenderableType) -> None:
        for renderable in renderables:
            self._console.print(renderable)
