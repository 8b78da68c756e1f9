"""Labelled copies of steps are what ``model_copy`` makes."""

from __future__ import annotations

from itertools import pairwise

from proas.graph.labelling import with_labels
from proas.rollouts import Label, State, Step

FAR = [4, None, 3, 2, 2, 0]
LABEL = Label(reasonable=True, progress=False, drift=3)


def test_equal_to_model_copy():
    state = State.of("e", "t", ("at a",))
    steps = (
        Step(action="a"),
        Step(action="b", observation="o", state=state, canonical="b", valid=True),
        Step.model_validate({"action": "c", "a field of their own": [1, {"x": 2}]}),
        Step(action="d", label=Label(reasonable=False, progress=False, drift=0)),
        Step(action="e"),
    )
    copies = with_labels(steps, [LABEL] * len(steps), FAR)
    for step, copied, (before, after) in zip(steps, copies, pairwise(FAR), strict=True):
        expected = step.model_copy(update={"label": LABEL, "distance_before": before, "distance": after})
        assert copied == expected
        assert copied.model_fields_set == expected.model_fields_set
        assert copied.model_extra == expected.model_extra
        assert copied.model_dump_json() == expected.model_dump_json()
        assert Step.model_validate_json(copied.model_dump_json()) == copied
        assert copied.model_copy(update={"action": "z"}).label == LABEL
    assert [step.label for step in steps[:3]] == [None, None, None]
    assert copies[0].model_fields_set == {"action", "label", "distance_before", "distance"}
