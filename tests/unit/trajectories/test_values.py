"""JSON values out of files: every layout, every damage, one value at a time."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.errors import DataError
from proas.graph_builders.trajectories import values
from proas.graph_builders.trajectories.values import json_texts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def read(path: Path, **how: int) -> list[tuple[int, object]]:
    """Line and value, or line and fault in words."""
    return [
        (text.line, text.fault or json.loads(text.json))
        for text in json_texts(path, **how)  # type: ignore[arg-type]
    ]


def written(folder: Path, data: bytes | str) -> Path:
    path = folder / "log.json"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@given(found=st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), max_size=8), chunk=st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_every_layout_gives_the_same_values(
    found: list[dict[str, object]], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("values")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "_CHUNK", chunk)  # so that values lie across the borders of what is read at once
        for text in (
            json.dumps(found),
            json.dumps(found, indent=2, ensure_ascii=False),
            "\ufeff" + json.dumps(found, indent=1),
            "\n".join(json.dumps(value) for value in found),
            "\r\n\r\n".join(json.dumps(value, ensure_ascii=False) for value in found) + "\r\n",
            gzip.compress(json.dumps(found).encode()),
        ):
            if found:
                data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
                assert [value for _, value in read(written(folder, data))] == found


def test_a_large_object_gives_its_members(tmp_path: Path) -> None:
    members = {"a": "x" * 50, "b": [{"c": 1}, {"d": "]}" * 10}], "e": {"f": None}, "g": 5, "h": []}
    path = written(tmp_path, json.dumps(members))
    assert read(path) == [(1, members)]
    assert [value for _, value in read(path, limit=60)] == [
        {"a": "x" * 50},
        {"c": 1},
        {"d": "]}" * 10},
        {"e": {"f": None}},
        {"g": 5},
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", [(0, "the file is empty")]),
        (b" \r\n\n", [(0, "the file is empty")]),
        (b"PAR1\x15\x04", [(0, "a Parquet file: write its rows as JSON lines first")]),
        (b"\x89PNG\r\n\x1a\n\0\0", [(0, "not text: the file holds zero bytes")]),
        ("[1]".encode("utf-16"), [(0, "not UTF-8: the file begins with the mark of UTF-16")]),
        (b'[{"a": 1}, {"b": [2', [(1, {"a": 1}), (1, "the file ends inside this value")]),
        (b'[{"a": 1},\n"b', [(1, {"a": 1}), (2, "the file ends inside this value")]),
        (b'[{"a": 1}', [(1, {"a": 1}), (1, "the file ends inside this value")]),
        (b'{"a": 1}\n{"b": 2}', [(1, {"a": 1}), (2, {"b": 2})]),
        (b"[]", []),
        (b"[1, 2]\n[3]\n", [(1, [1, 2]), (2, [3])]),
        (b"[[1, 2],\n[3]]\n", [(1, [1, 2]), (2, [3])]),
        (b'{\n "a": 1\n}\n{\n "b": 2\n}\n', [(1, {"a": 1}), (4, {"b": 2})]),
    ],
)
def test_odd_files(tmp_path: Path, data: bytes, found: list[tuple[int, object]]) -> None:
    assert read(written(tmp_path, data)) == found


def test_a_damaged_value_costs_itself_alone(tmp_path: Path) -> None:
    lines = written(tmp_path, b'{"a": 1\n{"b": 2}\nnonsense\n{"c": 3}\n')
    assert [text.json for text in json_texts(lines)] == [b'{"a": 1', b'{"b": 2}', b"nonsense", b'{"c": 3}']
    array = written(tmp_path, b'[{"a": tru},\n {"b": 2}},\n {"c": 3}]')
    assert [(text.line, text.json or text.fault) for text in json_texts(array)] == [
        (1, b'{"a": tru}'),
        (2, b'{"b": 2}'),
        (2, """not JSON: expected a value, found '},\\n {"c": 3}]'"""),
        (3, b'{"c": 3}'),
    ]


@pytest.mark.parametrize("layout", ['{{"a": {0}}}\n{{"b": 2}}', '[{{"a": {0}}},\n{{"b": 2}}]', '[{0},\n{{"b": 2}}]'])
@pytest.mark.parametrize("long", ['"' + 'x\\"' * 100 + '"', "[" + "[1], " * 99 + "0]", "1" * 300])
def test_a_value_beyond_the_limit_is_passed_over(tmp_path: Path, layout: str, long: str) -> None:
    path = written(tmp_path, layout.format(long))
    assert read(path, limit=100) == [(1, "longer than 100 bytes"), (2, {"b": 2})]


def test_a_cut_archive_gives_what_comes_before_the_cut(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(100_000)))
    found = list(json_texts(written(tmp_path, whole[:-100])))
    assert len(found) > 10_000
    assert found[-1].fault.startswith("the gzip archive is damaged here")
    assert not any(text.fault for text in found[:-1])


def test_what_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*missing"):
        list(json_texts(tmp_path / "missing"))
    with pytest.raises(DataError, match="cannot read"):
        list(json_texts(tmp_path))


@pytest.mark.parametrize("layout", ["lines", "array", "object", "gzip"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, layout: str) -> None:
    value = '{"messages": [' + ", ".join('{"role": "user", "content": "%s"}' % ("w" * 500) for _ in range(20)) + "]}"
    count = 2000  # 21 MB
    path = tmp_path / "log"
    if layout == "object":
        path.write_text("{" + ",".join(f'"e{n}": {value}' for n in range(count)) + "}")
    elif layout == "array":
        path.write_text("[" + ",\n".join([value] * count) + "]")
    else:
        data = (value + "\n").encode() * count
        path.write_bytes(gzip.compress(data, 1) if layout == "gzip" else data)
    tracemalloc.start()
    try:
        assert sum(not text.fault for text in json_texts(path, limit=1 << 20)) == count
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
