"""Parquet and JSON lines give back exactly what went in, and say exactly what is wrong when they cannot."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proas.errors import DataError, RecordError, UsageError
from proas.graph.exchange import jsonl, parquet
from proas.graph.exchange.formats import format_of, reader_of, writer_of
from proas.graph.exchange.tables import TABLES

from .sample import HEADER, graph_rows, read, write

ENDINGS = [".jsonl", ".jsonl.gz", ".parquet"]
ODD = "\"'`\\ \n\r\t \u2028 é 日本 🙂 \x00 {o:apple} $x"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("odd", ["", ODD])
def test_rows_come_back_as_they_went_in(tmp_path: Path, ending: str, odd: str) -> None:
    rows = graph_rows(tasks=4, states=9, odd=odd)
    path = write(tmp_path / f"graph{ending}", rows)
    assert read(path) == rows
    header = reader_of(path, None).header
    assert header == HEADER.model_copy(update={"counts": header.counts})
    assert header.counts["State"] == 36


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd=st.text(st.characters(exclude_categories=["Cs"]), max_size=30), ending=st.sampled_from(ENDINGS))
def test_any_text_survives(tmp_path: Path, odd: str, ending: str) -> None:
    rows = graph_rows(tasks=1, states=3, odd=odd)
    assert read(write(tmp_path / f"any{ending}", rows)) == rows


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_rows_are_the_same_bytes(tmp_path: Path, ending: str) -> None:
    first = write(tmp_path / f"a{ending}", graph_rows())
    second = write(tmp_path / f"b{ending}", read(first))
    assert _content(first) == _content(second)


def test_an_empty_graph_is_a_graph(tmp_path: Path) -> None:
    for ending in ENDINGS:
        rows = graph_rows(tasks=0)
        assert read(write(tmp_path / f"empty{ending}", rows)) == rows


def test_digests_do_not_depend_on_name_or_format(tmp_path: Path) -> None:
    other = HEADER.model_copy(update={"name": "other"})
    lines = write(tmp_path / "a.jsonl", graph_rows(), header=other).read_text().splitlines()
    folder = write(tmp_path / "b.parquet", graph_rows())
    metadata = pq.read_metadata(folder / "State.parquet").metadata
    assert json.loads(lines[-1]) == json.loads(metadata[b"proas.footer"])


def test_parquet_has_a_file_for_each_label_and_type_with_schema_and_constraints(tmp_path: Path) -> None:
    folder = write(tmp_path / "g", graph_rows())
    names = "ARG HAS_SUBGOAL MEMBER_OF State Subgoal Success TRANSITION Task Version"
    assert sorted(p.stem for p in folder.iterdir()) == names.split()
    for file in folder.iterdir():
        header = json.loads(pq.read_metadata(file).metadata[b"proas.graph"])
        assert header["schema_version"] == 2
        assert header["constraints"] == ["arg_name_unique: ..."]
    states = pq.read_table(folder / "State.parquet")
    assert states.schema.field("facts").type == pa.list_(pa.field("element", pa.string(), nullable=False))
    assert "subgoal" not in states.column_names
    assert pq.read_table(folder / "MEMBER_OF.parquet").column_names == ["state", "subgoal"]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("g.jsonl", "jsonl"),
        ("g.JSONL.GZ", "jsonl"),
        ("g.graphml", "graphml"),
        ("g", "parquet"),
        ("g.parquet", "parquet"),
    ],
)
def test_the_ending_says_the_format(name: str, form: str) -> None:
    assert format_of(Path(name)) == form


def test_an_unknown_ending_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="does not say in which format"):
        format_of(Path("graph.csv"))


# Damage


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_every_cut_of_a_jsonl_file_is_noticed(tmp_path: Path) -> None:
    data = write(tmp_path / "whole.jsonl", graph_rows(tasks=1, states=3)).read_bytes()
    cut = tmp_path / "cut.jsonl"
    for length in [*range(0, len(data) - 1, 97), len(data) - 2]:
        cut.write_bytes(data[:length])
        with pytest.raises(DataError):
            read(cut)


def test_every_cut_of_a_gzip_file_is_noticed(tmp_path: Path) -> None:
    data = write(tmp_path / "whole.jsonl.gz", graph_rows(tasks=1, states=3)).read_bytes()
    cut = tmp_path / "cut.jsonl.gz"
    for length in range(0, len(data) - 1, 53):
        cut.write_bytes(data[:length])
        with pytest.raises(DataError):
            read(cut)


def test_a_cut_inside_a_line_names_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    lines = _lines(path)
    path.write_bytes(b"".join(lines[:9]) + lines[9][:20])
    with pytest.raises(RecordError, match=r"g\.jsonl:10: not JSON.*cut off here"):
        read(path)


def test_a_file_without_footer_says_how_much_is_there(tmp_path: Path) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    lines = _lines(path)
    path.write_bytes(b"".join(lines[:9]))
    with pytest.raises(DataError, match=rf"cut off: 8 of {len(lines) - 2} rows and no footer"):
        read(path)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("since", "1", "must be a whole number, not text"),
        ("since", True, "must be a whole number, not a truth value"),
        ("since", 1.0, "must be a whole number, not a fraction"),
        ("since", 2**63, "does not fit into 64 bits"),
        ("since", None, "must be a whole number, not null"),
        ("initial", 0, "must be true or false, not a whole number"),
        ("facts", "at desk", "must be a list of texts, not text"),
        ("facts", ["at desk", 3], "member 1 must be text, not a whole number"),
        ("name", ["x"], "must be text, not a list"),
        ("name", "\ud83d", "half of a surrogate pair"),
        ("name", "x" * 1_000_001, "longer than 1000000 characters"),
        ("colour", "red", "is no column of State"),
    ],
)
def test_a_wrong_value_is_named_with_line_and_field(tmp_path: Path, field: str, value: object, reason: str) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    lines = _lines(path)
    number = next(n for n, line in enumerate(lines) if b'"kind":"State"' in line)
    lines[number] = json.dumps(json.loads(lines[number]) | {field: value}).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(RecordError) as caught:
        read(path)
    assert (caught.value.line, caught.value.field) == (number + 1, field)
    assert reason in caught.value.reason


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    path.write_bytes(path.read_bytes().replace(b',"task":"task 1"', b"", 1))
    with pytest.raises(RecordError, match=r"g\.jsonl:\d+: task: is missing"):
        read(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"kind":"State","key":"\xff"}\n', "not UTF-8: byte 0xff at position 23"),
        (b"[1, 2]\n", "must be a JSON object"),
        (b'{"kind":"Person"}\n', "kind: must be one of"),
        (b'{"kind":["State"]}\n', "kind: must be one of"),
        (b"\n", "not JSON"),
        (b"[" * 200_000 + b"\n", "not JSON"),
    ],
)
def test_a_foreign_line_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    lines = _lines(path)
    path.write_bytes(b"".join([*lines[:5], line, *lines[5:]]))
    with pytest.raises(RecordError, match=r"g\.jsonl:6: ") as caught:
        read(path)
    assert reason in str(caught.value)


def test_a_huge_line_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 2_000)
    path = write(tmp_path / "g.jsonl", graph_rows())
    lines = _lines(path)
    path.write_bytes(b"".join([*lines[:5], b'{"kind":"' + b"x" * 3_000 + b'"}\n', *lines[5:]]))
    with pytest.raises(RecordError, match=r"g\.jsonl:6: line is longer than 2000 bytes"):
        read(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[:-2] + lines[-1:], r"rows of Success, not"),
        (lambda lines: [*lines[:-1], lines[-2], lines[-1]], r"rows of Success, not"),
        (lambda lines: [*lines[:3], lines[3].replace(b"run 1", b"run 9"), *lines[4:]], r"digest"),
        (lambda lines: [*lines, lines[-2]], r"more after the footer"),
        (lambda lines: [lines[0], *lines[2:-1], lines[1], lines[-1]], r"ARG after a Success"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], r"ARG after a Version"),
    ],
)
def test_lost_repeated_changed_or_moved_rows_are_noticed(tmp_path: Path, change: object, reason: str) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    path.write_bytes(b"".join(change(_lines(path))))  # type: ignore[operator]
    with pytest.raises(DataError, match=reason):
        read(path)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("format", "other", "not the header of an exported graph: format"),
        ("format_version", 2, "format version 2; this ProAS reads version 1"),
        ("key_version", 0, "keys of version 0"),
        ("counts", {}, "the header counts"),
        ("version", -1, "not the header"),
        ("base", "x", "base and base_version go together"),
        ("surprise", 1, "not the header"),
    ],
)
def test_a_header_of_another_form_is_refused(tmp_path: Path, field: str, value: object, reason: str) -> None:
    path = write(tmp_path / "g.jsonl", graph_rows())
    lines = _lines(path)
    path.write_bytes(json.dumps(json.loads(lines[0]) | {field: value}).encode() + b"\n" + b"".join(lines[1:]))
    with pytest.raises(DataError, match=reason):
        read(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00\x01", b"\xff\xfe", b"{}", b"\x1f\x8b\x08garbage"])
def test_what_is_no_graph_at_all_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError):
        read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file or folder"):
        read(tmp_path / "none.jsonl")


def test_graphml_is_not_read_back(tmp_path: Path) -> None:
    path = write(tmp_path / "g.graphml", graph_rows())
    with pytest.raises(UsageError, match="import Parquet or JSONL"):
        reader_of(path, None)


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    path = write(tmp_path / "g.jsonl.gz", graph_rows())
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert read(plain) == read(path) == read(path.rename(tmp_path / "zipped.jsonl"))


# Parquet damage


def _rewrite(path: Path, change: object) -> None:
    table = pq.read_table(path)
    metadata = {k: v for k, v in (pq.read_metadata(path).metadata or {}).items() if k.startswith(b"proas")}
    changed = change(table)  # type: ignore[operator]
    pq.write_table(changed.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("Task", lambda t: t.drop_columns(["env"]), "Task.parquet has the columns"),
        ("Task", lambda t: t.append_column("x", pa.array([1] * len(t))), "Task.parquet has the columns"),
        ("State", lambda t: t.set_column(4, "initial", t["initial"].cast(pa.int8())), "column initial has type int8"),
        ("State", lambda t: t.set_column(6, "since", t["since"].cast(pa.int32())), "column since has type int32"),
        ("State", lambda t: t.slice(1), "MEMBER_OF.parquet:1: state|is .* where State.parquet has"),
        ("MEMBER_OF", lambda t: t.slice(0, 5), "MEMBER_OF.parquet ends after 5 rows"),
        ("Success", lambda t: t.slice(1), "holds 2 rows of Success, not 3"),
        (
            "TRANSITION",
            lambda t: t.set_column(6, "support", pa.array([None, *t["support"].to_pylist()[1:]], pa.int64())),
            "TRANSITION.parquet:1: support: must be a whole number, not null",
        ),
        (
            "TRANSITION",
            lambda t: t.set_column(6, "support", pa.array([9, *t["support"].to_pylist()[1:]], pa.int64())),
            "do not have the digest",
        ),
    ],
)
def test_a_changed_parquet_file_is_refused(tmp_path: Path, name: str, change: object, reason: str) -> None:
    folder = write(tmp_path / "g", graph_rows())
    _rewrite(folder / f"{name}.parquet", change)
    with pytest.raises(DataError, match=reason):
        read(folder)


def test_a_parquet_file_without_metadata_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "g", graph_rows())
    pq.write_table(pq.read_table(folder / "Task.parquet").replace_schema_metadata(None), folder / "Task.parquet")
    with pytest.raises(DataError, match=r"Task\.parquet does not say which graph"):
        read(folder)


def test_every_cut_of_a_parquet_file_is_noticed(tmp_path: Path) -> None:
    folder = write(tmp_path / "g", graph_rows())
    data = (folder / "State.parquet").read_bytes()
    for length in range(0, len(data), 211):
        (folder / "State.parquet").write_bytes(data[:length])
        with pytest.raises(DataError, match=r"State\.parquet"):
            read(folder)


def test_a_missing_parquet_file_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "g", graph_rows())
    (folder / "Version.parquet").unlink()
    with pytest.raises(DataError, match=r"Version\.parquet: it is missing"):
        read(folder)


def test_files_of_two_exports_do_not_mix(tmp_path: Path) -> None:
    folder, other = write(tmp_path / "g", graph_rows()), write(tmp_path / "h", graph_rows(tasks=2))
    (other / "Task.parquet").replace(folder / "Task.parquet")
    with pytest.raises(DataError, match="come from two exports"):
        read(folder)


def test_parquet_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "g", graph_rows(tasks=1))
    file = folder / "Task.parquet"
    binary = pq.read_table(file)
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"], pa.binary()).buffers())
    _rewrite(file, lambda t: t.set_column(binary.column_names.index("goal"), t.schema.field("goal"), bad))
    with pytest.raises(RecordError, match=r"Task\.parquet:1: "):
        read(folder)


def test_a_row_group_that_unpacks_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "g", graph_rows())
    monkeypatch.setattr(parquet, "MAX_GROUP_BYTES", 100)
    with pytest.raises(DataError, match="row group 0 unpacks to"):
        reader_of(folder, None)


def test_a_single_parquet_file_is_no_graph(tmp_path: Path) -> None:
    path = tmp_path / "g.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(DataError, match="is not a folder"):
        reader_of(path, None)


# Placing


@pytest.mark.parametrize("ending", [*ENDINGS, ".graphml"])
def test_a_failed_export_leaves_what_was_there(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"g{ending}", graph_rows())
    before = _content(path)
    with pytest.raises(KeyError), writer_of(path, HEADER, None) as writer:  # noqa: PT012
        writer.write(graph_rows(tasks=1)[:3])
        raise KeyError
    assert _content(path) == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [*ENDINGS, ".graphml"])
def test_an_export_replaces_an_export(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"g{ending}", graph_rows(tasks=5))
    write(path, graph_rows(tasks=1))
    assert _content(path) == _content(write(tmp_path / f"h{ending}", graph_rows(tasks=1)))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_with_other_things_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(DataError, match=r"holds 'thesis\.tex'"):
        write(tmp_path / "mine", graph_rows())
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"


@pytest.mark.parametrize("ending", [*ENDINGS, ".graphml"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, ending: str) -> None:
    with pytest.raises(DataError, match=r"cannot write .*nowhere"):
        write(tmp_path / "nowhere" / f"g{ending}", graph_rows())


@pytest.mark.parametrize("ending", [".jsonl", ".graphml"])
def test_a_pipe_is_neither_written_nor_read(tmp_path: Path, ending: str) -> None:
    pipe = tmp_path / f"pipe{ending}"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="it is no regular file"):
        write(pipe, graph_rows())
    with pytest.raises(DataError, match="neither a file nor a folder"):
        reader_of(pipe, None)
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = write(tmp_path / "elsewhere" / "real.jsonl", graph_rows(tasks=1))
    (tmp_path / "link.jsonl").symlink_to(target)
    write(tmp_path / "link.jsonl", graph_rows(tasks=2))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert read(target) == graph_rows(tasks=2)


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    (tmp_path / "g").write_text("x")
    (tmp_path / "g.jsonl").mkdir()
    with pytest.raises(DataError, match="Parquet needs a folder"):
        write(tmp_path / "g", graph_rows())
    with pytest.raises(DataError, match="it is a folder"):
        write(tmp_path / "g.jsonl", graph_rows())


def _content(path: Path) -> dict[str, bytes]:
    files = path.iterdir() if path.is_dir() else (path,)
    return {"" if file == path else file.name: file.read_bytes() for file in files}


def test_tables_are_those_of_the_store() -> None:
    assert [table.name for table in TABLES] == ["ARG", "Version", "Task", "Subgoal", "State", "TRANSITION", "Success"]
