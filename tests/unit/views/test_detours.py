"""Where rollouts leave the graph: the same way off is one detour."""

from __future__ import annotations

from proas.rollouts import Label, Rollout, State, Step
from proas.views.detours import worst_detours


def walk(name: str, marks: str, *, success: bool = False) -> Rollout:
    """A rollout; its steps are reasonable (``r``), not (``x``), looking for something (``s``), unlabelled (``-``)."""
    labels = {
        "r": Label(reasonable=True, progress=True, drift=0),
        "x": Label(reasonable=False, progress=False, drift=1),
    }
    steps = tuple(
        Step(
            action=f"step {t}",
            canonical=f"step {t}",
            state=State.of("e", "t", [f"at {t + 1}"]),
            label=labels["x" if mark == "s" else mark] if mark != "-" else None,
            seeks=mark == "s",
        )
        for t, mark in enumerate(marks)
    )
    return Rollout(
        id=name, env="e", task="t", goal="g", start=State.of("e", "t", ["at 0"]), steps=steps, success=success
    )


def test_the_same_way_off_is_one_detour_with_its_cost() -> None:
    found = worst_detours([walk("a", "rxxr"), walk("b", "rxxxxx"), walk("c", "rxr", success=True), walk("d", "rrrx")])
    first, second = found
    assert (first.left_at, first.action, first.times, first.rollouts, first.steps) == ("at 1", "step 1", 3, 3, 8)
    assert (first.returned, first.solved, first.goal) == (2, 1, "g")
    assert (second.left_at, second.steps, second.returned) == ("at 3", 1, 0)


def test_looking_for_something_begins_no_detour_and_unlabelled_steps_are_none() -> None:
    assert worst_detours([walk("a", "rsr"), walk("b", "----"), walk("c", "")]) == ()
    (found,) = worst_detours([walk("a", "sxx")])
    assert (found.left_at, found.steps) == ("at 1", 2)


def test_only_the_worst_are_told() -> None:
    assert len(worst_detours([walk("a", "xrxrxr")], most=2)) == 2
