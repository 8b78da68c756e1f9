"""Rollouts on disk: what goes in comes out, and bad lines are set aside with their number and reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.errors import DataError
from proas.rollout_files import load_rollouts, read_rollouts, write_rejects, write_rollouts
from proas.rollouts import Label, Reject, Rollout, State, Step

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FOREIGN = st.dictionaries(st.from_regex(r"x_[a-z]{1,5}", fullmatch=True), JSON, max_size=2)


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    task = draw(TEXT.filter(bool))
    states = st.lists(TEXT, max_size=3).map(lambda facts: State.of("e", task, facts))
    labels = st.builds(Label, reasonable=st.booleans(), progress=st.booleans(), drift=st.integers(0, 9))
    steps = st.builds(
        lambda foreign, **known: Step(**known, **foreign),
        foreign=FOREIGN,
        action=TEXT,
        observation=TEXT,
        reward=FINITE,
        valid=st.none() | st.booleans(),
        canonical=st.none() | TEXT,
        state=st.none() | states,
        seeks=st.booleans(),
        label=st.none() | labels,
        advantage=st.none() | FINITE,
    )
    return Rollout(
        id=draw(TEXT.filter(bool)),
        env="e",
        task=task,
        goal=draw(TEXT),
        start=draw(st.none() | states),
        steps=tuple(draw(st.lists(steps, max_size=3))),
        success=draw(st.booleans()),
        **draw(FOREIGN),
    )


def line(**fields: Any) -> bytes:
    return json.dumps({"id": "r", "env": "e", "task": "t", "success": True, **fields}).encode() + b"\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rollouts.jsonl"


@settings(deadline=None, max_examples=40)
@given(batch=st.lists(rollouts(), max_size=4, unique_by=lambda r: r.id))
def test_what_is_written_is_read_again(batch: list[Rollout], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / "r.jsonl"
    assert write_rollouts(path, batch) == len(batch)
    read = load_rollouts(path)
    assert (list(read.rollouts), read.rejects) == (batch, ())
    again = path.with_name("again.jsonl")
    write_rollouts(again, read.rollouts)
    assert again.read_bytes() == path.read_bytes()


def test_foreign_fields_come_back_as_they_were(file: Path) -> None:
    key = State.of("e", "t", []).key
    given_line = {
        "mine": None,
        "deep": {"a": None, "b": [None, 1]},
        "start": {"key": key, "facts": [], "note": None},
        "steps": [{"action": "a"}, {"action": "b", "raw": {"x": None}, "state": {"key": key, "facts": [], "n": None}}],
    }
    file.write_bytes(line(**given_line))
    write_rollouts(file, load_rollouts(file).rollouts)
    written = json.loads(file.read_text())
    assert written["mine"] is None
    assert written["deep"] == given_line["deep"]
    assert written["start"]["note"] is None
    assert written["steps"][1]["raw"] == {"x": None}
    assert written["steps"][1]["state"]["n"] is None
    assert "label" not in written["steps"][0]


BAD = {
    "truncated": (line()[:30], "EOF", ""),
    "not JSON": (b"rollout 1\n", "expected", ""),
    "an array": (b"[]\n", "object", ""),
    "not UTF-8": (line(goal="x").replace(b'"x"', b'"\xff"'), "not UTF-8: byte 0xff at position", ""),
    "UTF-16": (line().decode().encode("utf-16"), "not UTF-8", ""),
    "half an emoji": (line(goal="\ud83d"), "hex escape", ""),
    "wrong type": (line(reward="high"), "number", "reward"),
    "wrong type inside": (line(steps=[{"action": "a"}, {"action": 1}]), "string", "steps.1.action"),
    "not finite": (line(reward=float("nan")), "finite", "reward"),
    "too large a number": (line().replace(b"}", b', "reward": 1e999}'), "finite", "reward"),
    "endless number": (line().replace(b"}", b', "reward": ' + b"9" * 6000 + b"}"), "out of range", ""),
    "endless nesting": (line().replace(b"}", b', "x": ' + b"[" * 9000 + b"]" * 9000 + b"}"), "recursion", ""),
    "missing field": (b'{"id": "r"}\n', "required", "env"),
    "key of other facts": (line(start={"key": "0" * 32, "facts": []}), "not the key of its facts", ""),
    "newer form": (line(schema_version=2), "should be 1", "schema_version"),
    "too long": (line(goal="x" * 3000), "longer than 2000 bytes", ""),
    "too long for the field": (line(id="x" * 600), "512 characters", "id"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_set_aside_and_the_rest_goes_through(name: str, file: Path) -> None:
    bad, reason, field = BAD[name]
    limit = 2000 if name == "too long" else 100_000
    file.write_bytes(line(id="first") + b"\n" + bad.rstrip(b"\n") + b"\n" + line(id="last"))
    batch = load_rollouts(file, max_line_bytes=limit)
    assert [r.id for r in batch] == ["first", "last"]
    assert len(batch.rejects) == 1 + (name == "UTF-16")  # in UTF-16 the line's end is a line of its own
    reject = batch.rejects[0]
    assert reason in reject.reason
    assert (reject.line, reject.field, reject.source) == (3, field, "rollouts.jsonl")


def test_a_bad_last_line_without_an_end(file: Path) -> None:
    file.write_bytes(line(id="first") + line(id="second")[:-10])
    batch = load_rollouts(file)
    assert [r.id for r in batch] == ["first"]
    assert batch.rejects[0].line == 2


def test_a_reject_names_the_rollout_where_it_can(file: Path) -> None:
    file.write_bytes(line(id="mine", reward="x", steps=[{"action": 1}]))
    (reject,) = load_rollouts(file).rejects
    assert reject.id == "mine"
    assert reject.reason.endswith("(and 1 more fault)")
    assert reject.excerpt.startswith('{"id": "mine"')


def test_repeated_ids_are_set_aside(file: Path) -> None:
    file.write_bytes(line(id="a") + line(id="b") + line(id="a", goal="again"))
    batch = load_rollouts(file)
    assert [(r.id, r.goal) for r in batch] == [("a", ""), ("b", "")]
    assert batch.rejects[0].reason == "rollout id 'a' was already used in line 1"
    assert (batch.rejects[0].line, batch.rejects[0].id) == (3, "a")


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_the_limit_counts_the_line_without_its_end(over: int, end: bytes, file: Path) -> None:
    content = line().rstrip(b"\n")
    file.write_bytes(content + end)
    batch = load_rollouts(file, max_line_bytes=len(content) - over)
    assert (len(batch), len(batch.rejects)) == ((0, 1) if over > 0 else (1, 0))


def test_a_huge_line_is_never_held_in_memory(file: Path) -> None:
    with file.open("wb") as out:
        out.write(line(id="first"))
        for _ in range(64):
            out.write(b"x" * 2**20)
        out.write(b"\n" + line(id="last"))
    tracemalloc.start()
    try:
        first, huge, last = read_rollouts(file, max_line_bytes=4096)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20
    assert isinstance(first, Rollout)
    assert isinstance(last, Rollout)
    assert isinstance(huge, Reject)
    assert huge.line == 2


def test_empty_lines_windows_ends_and_a_byte_order_mark(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + line(id="a").replace(b"\n", b"\r\n") + b"\n  \n" + line(id="b"))
    batch = load_rollouts(file)
    assert [r.id for r in batch] == ["a", "b"]
    assert batch.rejects == ()


def test_an_empty_file_is_an_empty_batch(file: Path) -> None:
    file.write_bytes(b"")
    assert len(load_rollouts(file)) == 0


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.jsonl", "No such file"), (tmp_path, "directory")):
        with pytest.raises(DataError, match=reason):
            load_rollouts(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(file: Path) -> None:
    file.write_bytes(line(id="old"))

    def breaking() -> Iterator[Rollout]:
        yield Rollout(id="new", env="e", task="t", success=True)
        raise DataError("source broke")

    with pytest.raises(DataError, match="source broke"):
        write_rollouts(file, breaking())
    assert [r.id for r in load_rollouts(file)] == ["old"]
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write"):
        write_rollouts(tmp_path / "none" / "r.jsonl", [])
    with pytest.raises(DataError, match="cannot write"):
        write_rollouts(tmp_path, [])


def test_writing_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert write_rollouts(pipe, [Rollout(id="r", env="e", task="t", success=True)]) == 1
    reader.join(timeout=10)
    assert json.loads(read[0])["id"] == "r"


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    for rollout in ("first", "second"):  # the target is new, then it is there
        write_rollouts(link, [Rollout(id=rollout, env="e", task="t", success=True)])
        assert link.is_symlink()
        assert [r.id for r in load_rollouts(target)] == [rollout]


def test_standard_output_that_is_a_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    # As root, a rename onto /dev/stdout would take that name away from the whole machine.
    name = tmp_path / "stdout"
    name.symlink_to("/proc/self/fd/1")
    program = (
        "import sys; from pathlib import Path; from proas.rollout_files import write_rollouts as write;"
        "from proas.rollouts import Rollout;"
        "write(Path(sys.argv[1]), [Rollout(id='r', env='e', task='t', success=True)]); print('end')"
    )
    with (tmp_path / "shell.out").open("wb") as file:
        subprocess.run([sys.executable, "-c", program, str(name)], stdout=file, check=True)
    first, last = (tmp_path / "shell.out").read_text(encoding="utf-8").splitlines()
    assert (json.loads(first)["id"], last) == ("r", "end")
    assert name.is_symlink()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"id": "a', "Invalid JSON: EOF while parsing a string at column 9"),
        (b"[]", "Input should be an object"),
        (b'{"id": "a", "env": "e", "task": "t", "success": 3, "steps": 4}', " (and 1 more fault)"),
    ],
)
def test_a_reason_speaks_of_the_line_alone(text: bytes, reason: str, file: Path) -> None:
    file.write_bytes(text + b"\r\n")
    (reject,) = load_rollouts(file).rejects
    assert reject.line == 1
    assert reject.reason.endswith(reason)
    assert "line 2" not in reject.reason


def test_rejects_on_disk(file: Path) -> None:
    rejects = [Reject('has "quotes"', source="a", line=3, id="\ud83d", field="x", excerpt="é\n"), Reject("b")]
    assert write_rejects(file, rejects) == 2
    first, second = (json.loads(text) for text in file.read_text(encoding="utf-8").splitlines())
    assert Reject(**first) == rejects[0]
    assert second == {"reason": "b", "source": "", "line": 0, "id": "", "field": "", "excerpt": ""}
