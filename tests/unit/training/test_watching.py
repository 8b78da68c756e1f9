"""How often a watcher is told."""

from __future__ import annotations

from proas.training.watching import Paced


class Recorder:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.notes: list[str] = []

    def phase(self, what: str) -> None:
        self.phases.append(what)

    def metrics(self, row: dict[str, float]) -> None:
        raise AssertionError(row)

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_long_work_is_told_once_a_second_and_noted_every_twenty() -> None:
    now = 0.0
    told = Recorder()
    paced = Paced(told, "demonstrations", 2000, clock=lambda: now)
    for tried in range(1, 1001):
        now = tried * 0.05
        paced(tried // 2, tried)
    assert len(told.phases) == 50
    assert told.phases[0] == "demonstrations: 10 of 2,000 after 20 tries"
    assert told.notes == [
        "demonstrations: 200 of 2,000 after 400 tries",
        "demonstrations: 400 of 2,000 after 800 tries",
    ]


def test_short_work_is_not_told_at_all() -> None:
    told = Recorder()
    paced = Paced(told, "demonstrations", 3, clock=lambda: 0.5)
    paced(3, 3)
    assert (told.phases, told.notes) == ([], [])
