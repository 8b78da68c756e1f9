"""Every failure ends in one message, a hint, and the right exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import proas.errors
from proas.cli.console import Output
from proas.cli.faults import fault_of, report
from proas.errors import GraphAuthError, ProASError, RecordError, TaskError, UsageError


def raised(message: str) -> RuntimeError:
    """An error that has been raised, and so has a traceback."""
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError(message)
    return caught.value


def error_classes() -> list[type[ProASError]]:
    named = [getattr(proas.errors, name) for name in proas.errors.__all__]
    return [kind for kind in named if kind is not ProASError and not issubclass(kind, RecordError | TaskError)]


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_each_deliberate_error_keeps_its_words_and_code(kind: type[ProASError]) -> None:
    fault = fault_of(kind("the thing broke", hint="mend it"))
    assert (fault.kind, fault.message, fault.hint) == (kind.__name__, "the thing broke", "mend it")
    assert fault.exit_code == (2 if issubclass(kind, UsageError) else 1)


def test_a_record_error_names_file_line_and_field() -> None:
    fault = fault_of(RecordError("is no number", source="a.jsonl", line=3, field="steps.0.reward"))
    assert fault.message == "a.jsonl:3: steps.0.reward: is no number"


def test_a_task_error_names_the_task() -> None:
    fault = fault_of(TaskError("pick-1", "no_game", "has no game"))
    assert fault.message == "pick-1: has no game"


def test_an_interrupt_ends_with_130() -> None:
    assert fault_of(KeyboardInterrupt()).exit_code == 130


def test_an_unexpected_error_leaves_its_traceback_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROAS_DEBUG", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    fault = fault_of(raised("no luck with swordfish"))
    (log,) = tmp_path.glob("proas-error-*.log")
    assert str(log) in fault.hint
    assert "in raised" in log.read_text()
    assert "Traceback" not in fault.message
    assert "swordfish" not in log.read_text() + fault.message
    assert log.stat().st_mode & 0o077 == 0


def test_debugging_shows_the_traceback_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROAS_DEBUG", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fault = fault_of(raised("no luck"))
    assert "Traceback" in fault.message
    assert not list(tmp_path.iterdir())


def test_with_json_the_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    report(fault_of(GraphAuthError("wrong password for neo4j", hint="set NEO4J_PASSWORD")), Output(json_wanted=True))
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "error": {
            "kind": "GraphAuthError",
            "message": "wrong password for neo4j",
            "hint": "set NEO4J_PASSWORD",
            "exit_code": 1,
        }
    }
    assert "wrong password for neo4j" in err
    assert "set NEO4J_PASSWORD" in err


def test_an_error_s_words_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    report(fault_of(UsageError("no graph is called '[red]x[/red]'")), Output())
    assert "'[red]x[/red]'" in capsys.readouterr().err
