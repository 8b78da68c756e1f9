"""What users get wrong: one clear message or a counted reject, the rest goes through, nothing half-written."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proas.localdb import ServerInfo
from tests.e2e.conftest import Outcome, Proas, login, spawn


def good(rollouts: Path) -> list[dict[str, Any]]:
    """Four rollouts of one game."""
    return [json.loads(line) for line in rollouts.read_text(encoding="utf-8").splitlines()[:4]]


def rejects_of(out: Path) -> list[dict[str, Any]]:
    file = out.with_name(out.name + ".rejects.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def changed(record: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({**record, **fields}).encode()


BAD_LINES: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "truncated": lambda record: json.dumps(record).encode()[:200],
    "wrong-type": lambda record: changed(record, id="wrong", success="yes"),
    "wrong-nested-type": lambda record: changed(record, id="nested", steps=[{"action": 3}]),
    "missing-field": lambda record: json.dumps({"id": "missing", "env": "alfworld"}).encode(),
    "no-object": lambda record: b"[1, 2, 3]",
    "not-json": lambda record: b"id,env,task",
    "not-utf-8": lambda record: json.dumps(record).encode()[:-1] + b', "note": "\xff\xfe"}',
    "duplicate-id": lambda record: json.dumps(record).encode(),
    "not-a-number": lambda record: changed(record, id="nan").replace(b'"reward": ', b'"reward": NaN, "x": ', 1),
    "unknown-environment": lambda record: json.dumps(
        {"id": "elsewhere", "env": "moon", "task": "t", "success": True, "steps": [{"action": "jump"}]}
    ).encode(),
}


@pytest.mark.neo4j
@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_kept_aside_and_the_rest_goes_through(
    proas: Proas, graph: str, rollouts: Path, work: Path, kind: str
) -> None:
    records = good(rollouts)
    lines = [json.dumps(record).encode() for record in records]
    lines.insert(2, BAD_LINES[kind](records[0]))
    (work / "in.jsonl").write_bytes(b"\n".join(lines) + b"\n")

    done = proas("label", "in.jsonl", "--graph", graph, "--out", "out.jsonl", "--json")
    assert done.code == 0, done.err
    assert done.document["rollouts"] == 4
    assert done.document["rejected"] == 1
    (reject,) = rejects_of(work / "out.jsonl")
    assert reject["reason"]
    assert reject["line"] == 3 or kind == "unknown-environment"
    assert Path(done.document["rejects"]).name == "out.jsonl.rejects.jsonl"
    assert "1 of 5" in done.err
    assert "Traceback" not in done.err

    strict = proas("label", "in.jsonl", "--graph", graph, "--out", "out.jsonl", "--strict")
    assert strict.code == 1
    assert len((work / "out.jsonl").read_bytes().splitlines()) == 4


@pytest.mark.neo4j
def test_a_line_of_many_megabytes_is_one_reject(proas: Proas, graph: str, rollouts: Path, work: Path) -> None:
    lines = [json.dumps(record) for record in good(rollouts)]
    huge = '{"id": "huge", "text": "' + "x" * (65 * 2**20) + '"}'
    (work / "in.jsonl").write_text("\n".join([lines[0], huge, *lines[1:]]) + "\n", encoding="utf-8")
    done = proas("label", "in.jsonl", "--graph", graph, "--out", "out.jsonl", "--json")
    assert done.code == 0
    assert done.document["rollouts"] == 4
    (reject,) = rejects_of(work / "out.jsonl")
    assert reject["line"] == 2
    assert "longer than" in reject["reason"]
    assert (work / "out.jsonl.rejects.jsonl").stat().st_size < 4096


@pytest.mark.neo4j
@pytest.mark.parametrize("content", [b"", b"\n\n", b"nonsense\n", b"\xff\xfe\x00\x01"])
def test_a_file_without_a_usable_line_ends_with_1_and_writes_nothing(
    proas: Proas, graph: str, work: Path, content: bytes
) -> None:
    (work / "in.jsonl").write_bytes(content)
    for command in ("label", "shape"):
        where = ("--graph", graph) if command == "label" else ()
        done = proas(command, "in.jsonl", *where, "--out", "out.jsonl", "--json")
        assert done.code == 1
        assert "can be used" in done.error["message"]
        assert not (work / "out.jsonl").exists()


@pytest.mark.neo4j
def test_an_unknown_task_passes_uncovered(proas: Proas, graph: str, rollouts: Path, work: Path) -> None:
    records = good(rollouts)
    stranger = {key: value for key, value in records[0].items() if key != "start"}
    stranger |= {"id": "stranger", "task": "pick_and_place_simple-Mug-None-Shelf-1/trial_none"}
    stranger["steps"] = [{"action": step["action"], "observation": step["observation"]} for step in records[0]["steps"]]
    (work / "in.jsonl").write_text("\n".join(json.dumps(r) for r in [*records, stranger]) + "\n", encoding="utf-8")
    done = proas("label", "in.jsonl", "--graph", graph, "--out", "out.jsonl", "--json").document
    assert (done["covered"], done["uncovered"]) == (4, 1)
    assert proas("shape", "out.jsonl", "--out", "shaped.jsonl").code == 0
    shaped = [json.loads(line) for line in (work / "shaped.jsonl").read_text(encoding="utf-8").splitlines()]
    (passed,) = [record for record in shaped if record["id"] == "stranger"]
    assert passed["covered"] is False
    assert all(step["advantage"] == step["base_advantage"] for step in passed["steps"])


INJECTIONS = [
    "'}) MATCH (n) DETACH DELETE n //",
    '"}) DETACH DELETE (t) RETURN "',
    "`State` {key: 1}) DETACH DELETE",
    "take mug 1\nRETURN 1; MATCH (n) DETACH DELETE n",
    "\\u0027 OR 1=1 \\",
    "$rows",
]


@pytest.mark.neo4j
def test_cypher_in_actions_names_and_goals_is_only_text(proas: Proas, layer: str, rollouts: Path, work: Path) -> None:
    before = proas("graph", "stats", "-g", layer, "--json").document
    hostile = [
        {
            "id": f"hostile {text}",
            "env": "alfworld",
            "task": f"pick_and_place_simple-Mug-None-Shelf-1/{text}",
            "goal": text,
            "success": False,
            "observation": "You are in the middle of a room.\n\nYour task is to: put some mug on shelf.",
            "steps": [{"action": text, "observation": text}, {"action": f"think: {text}", "observation": "OK."}],
        }
        for text in INJECTIONS
    ]
    records = [*good(rollouts), *hostile]
    (work / "in.jsonl").write_text("\n".join(json.dumps(r) for r in records) + "\n", encoding="utf-8")
    labelled = proas("label", "in.jsonl", "--graph", layer, "--out", "out.jsonl", "--json")
    assert labelled.code == 0, labelled.err
    assert labelled.document["rollouts"] == len(records)
    assert proas("evolve", "in.jsonl", "--graph", layer, "--run", INJECTIONS[0]).code == 0
    after = proas("graph", "stats", "-g", layer, "--json").document
    assert after["tasks"] == before["tasks"]
    assert after["states"] >= before["states"]
    assert after["versions"][-1]["run"] in {INJECTIONS[0], before["versions"][-1]["run"]}
    assert proas("graph", "verify", "-g", layer).code == 0


@pytest.mark.neo4j
@pytest.mark.parametrize("name", ["a`b", "x'y", 'q"', "two words", "new\nline", "", "-dash", "ö", "a" * 101])
def test_a_malformed_graph_name_is_a_usage_error(proas: Proas, work: Path, name: str) -> None:
    done = proas("graph", "create", "--json", "--", name)
    assert done.code == 2
    assert done.error["kind"] == "UsageError"


@pytest.mark.neo4j
def test_an_unknown_graph_is_named_with_those_that_are_there(proas: Proas, graph: str) -> None:
    done = proas("graph", "stats", "-g", graph[:-1] + "?", "--json")
    assert done.code == 2  # a question mark is in no name
    done = proas("graph", "stats", "-g", f"{graph}x", "--json")
    assert done.code == 1
    assert done.error["kind"] == "GraphNotFound"
    assert graph in done.error["hint"]


@pytest.mark.neo4j
@pytest.mark.parametrize(
    "words",
    [
        ("graph", "diff", "-g", "GRAPH", "--from", "0", "--to", "9"),
        ("graph", "stats", "-g", "GRAPH", "--version", "9"),
        ("label", "ROLLOUTS", "-g", "GRAPH", "--version", "9", "--out", "o.jsonl"),
    ],
)
def test_a_version_that_is_not_there(proas: Proas, graph: str, rollouts: Path, words: tuple[str, ...]) -> None:
    filled = [str(rollouts) if word == "ROLLOUTS" else graph if word == "GRAPH" else word for word in words]
    done = proas(*filled, "--json")
    assert done.code == 1
    assert done.error["kind"] == "GraphNotFound"
    assert "9" in done.error["message"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_down(proas: Proas, no_server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    done = proas("graph", "list", "--json")
    assert done.code == 1
    assert done.error["kind"] == "GraphUnavailable"
    assert "swordfish" not in done.out + done.err
    status = proas("db", "status", "--json")
    assert status.code == 1
    assert status.document["state"] == "unreachable"


@pytest.mark.neo4j
def test_the_driver_says_nothing_of_its_own(proas: Proas, no_server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", f"neo4j://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    done = proas("graph", "list")
    assert done.code == 1
    assert [line.split()[0] for line in done.err.splitlines()] == ["error", "hint"]


def test_a_wrong_password_is_tried_once(proas: Proas, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    done = proas("graph", "list", "--json")
    assert done.code == 1
    assert done.error["kind"] == "GraphAuthError"
    assert "swordfish" not in done.out + done.err


@pytest.mark.neo4j
def test_a_password_file_works_and_a_bad_one_is_named(
    proas: Proas, work: Path, neo4j_server: ServerInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEO4J_PASSWORD")
    (work / "secret").write_text(neo4j_server.password.get_secret_value() + "\n", encoding="utf-8")
    assert proas("graph", "list", "--password-file", "secret").code == 0
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", "secret")
    assert proas("graph", "list").code == 0
    missing = proas("graph", "list", "--password-file", "nothing-here", "--json")
    assert missing.code == 2
    assert "nothing-here" in missing.error["message"]


@pytest.mark.neo4j
def test_dotenv_is_read_and_the_environment_wins(neo4j_server: ServerInfo, no_server: Path) -> None:
    settings = login(neo4j_server)
    (no_server / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    assert spawn("graph", "list", cwd=no_server).code == 0
    elsewhere = spawn("graph", "list", cwd=no_server, env={"NEO4J_URI": f"bolt://127.0.0.1:{free_port()}"})
    assert elsewhere.code == 1


@pytest.mark.neo4j
def test_options_win_over_the_environment(
    proas: Proas, work: Path, neo4j_server: ServerInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{free_port()}")
    options = ("--uri", neo4j_server.uri, "--username", neo4j_server.username, "--database", neo4j_server.database)
    assert proas("graph", "list", *options).code == 0


@pytest.mark.parametrize("uri", ["localhost:7687", "http://localhost:7474", "bolt://", "bolt://user:hunter2@host"])
def test_an_address_that_is_none(proas: Proas, no_server: Path, monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    monkeypatch.setenv("NEO4J_URI", uri)
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    done = proas("graph", "list", "--json")
    assert done.code == 2
    assert done.error["kind"] == "UsageError"
    assert "hunter2" not in done.out + done.err


@contextmanager
def speaking(answer: bytes) -> Iterator[int]:
    """A listener that answers every connection with the same bytes, as a server that is no Neo4j would."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    ending = threading.Event()

    def serve() -> None:
        while not ending.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.recv(64)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ending.set()
        thread.join()
        listener.close()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x00\x03", b""])
def test_something_else_answers_on_the_port(
    proas: Proas, no_server: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    with speaking(answer) as port:
        monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{port}")
        done = proas("graph", "list", "--json")
    assert done.code == 1
    assert done.error["kind"].startswith("Graph"), done.err
    assert "ProAS itself" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["graph", "show"],
        ["graph", "stats", "-g", "x", "--version", "minus"],
        ["rollout", "--out", "x", "--policy", "lucky"],
        ["rollout", "--out", "x", "--group-size", "0"],
        ["label", "in.jsonl", "--out", "x"],
        ["shape", "in.jsonl", "--out", "x", "--algo", "ppo"],
        ["shape", "in.jsonl", "--out", "x", "--set", "apr"],
        ["shape", "in.jsonl", "--out", "x", "--set", "apr=sideways"],
        ["shape", "in.jsonl", "--out", "x", "--set", "nonsense=1"],
        ["graph", "build", "--source", "moon"],
        ["graph", "build", "--data", ".", "--limit", "9" * 30],
        ["label", "in.jsonl", "-g", "x", "--out", "o", "--version", "9" * 30],
        ["rollout", "--data", ".", "--out", "o", "--limit", "9" * 30],
        ["graph", "list", "--password", "secret"],
        ["nonsense"],
        ["db", "up", "--release", "1.9"],
    ],
    ids=" ".join,
)
def test_a_command_line_that_makes_no_sense_ends_with_2(proas: Proas, no_server: Path, words: list[str]) -> None:
    (no_server / "in.jsonl").write_text("", encoding="utf-8")
    done = proas(*words, "--json")
    assert done.code == 2, done.err
    assert done.error["exit_code"] == 2
    assert done.err.startswith("error ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["label", "nothing.jsonl", "-g", "x", "--out", "o.jsonl"],
        ["label", ".", "-g", "x", "--out", "o.jsonl"],
        ["label", "in.jsonl", "-g", "x", "--out", "no/such/folder/o.jsonl"],
        ["shape", "nothing.jsonl", "--out", "o.jsonl"],
        ["evolve", "nothing.jsonl", "-g", "x"],
        ["rollout", "--data", "nothing", "--out", "o.jsonl"],
        ["rollout", "--data", ".", "--out", "o.jsonl"],
        ["rollout", "--data", "in.jsonl", "--out", "o.jsonl"],
        ["generate", "--out", "in.jsonl"],
    ],
    ids=" ".join,
)
def test_files_that_are_not_there_or_not_what_they_should_be(proas: Proas, no_server: Path, words: list[str]) -> None:
    (no_server / "in.jsonl").write_text("", encoding="utf-8")
    done: Outcome = proas(*words, "--json")
    assert done.code == 1, done.err
    assert done.error["hint"]
    assert not (no_server / "o.jsonl").exists()


@pytest.mark.neo4j
def test_a_build_of_nothing_says_so(proas: Proas, work: Path, graph_name: str) -> None:
    trial = work / "games" / "some-task" / "trial_T1"
    trial.mkdir(parents=True)
    (trial / "traj_data.json").write_text("[]", encoding="utf-8")
    done = proas("graph", "build", "--data", "games", "--graph", graph_name)
    assert done.code == 1
    assert f"nothing was built: {graph_name} got no task" in done.err
    assert "no game  some-task/trial_T1" in done.err
