"""A change of the public names is a decision: it shows here."""

from __future__ import annotations

import pickle

import proas
from proas import errors


def test_names_of_the_package() -> None:
    assert sorted(proas.__all__) == [
        "KEY_VERSION",
        "Label",
        "Ladder",
        "ProASError",
        "Purification",
        "Reject",
        "Rollout",
        "RolloutBatch",
        "State",
        "Step",
        "Subgoal",
        "__version__",
        "kept_steps",
        "state_key",
        "transition_key",
    ]
    assert all(hasattr(proas, name) for name in proas.__all__)


def test_every_error_is_in_the_tree_and_its_drawing() -> None:
    drawing = errors.__doc__ or ""
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.ProASError)
        assert name in drawing


def test_errors_say_what_where_and_what_to_do() -> None:
    error = errors.RecordError("not a number", source="a.jsonl", line=3, field="reward", hint="write 1.0")
    assert str(error) == "a.jsonl:3: reward: not a number (write 1.0)"
    assert errors.UsageError("no").exit_code == 2


def test_errors_survive_a_process_border() -> None:
    error = errors.RecordError("bad", source="a.jsonl", line=3, field="x", hint="mend it")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.line, copy.hint) == (errors.RecordError, str(error), 3, "mend it")
