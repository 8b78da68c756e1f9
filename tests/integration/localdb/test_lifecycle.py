from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from neo4j import GraphDatabase

from proas.errors import LocalServerError, UsageError
from proas.localdb import LocalServer, ServerInfo
from proas.localdb import server as server_module
from proas.localdb.home import Ports

# Each test starts servers, which takes a minute apiece on a machine that is busy with other work.
pytestmark = pytest.mark.timeout(900)

SLEEP = "import time; time.sleep(120)"


def query(info: ServerInfo, text: str, **parameters):
    auth = (info.username, info.password.get_secret_value())
    with GraphDatabase.driver(info.uri, auth=auth) as driver:
        return driver.execute_query(text, parameters, database_=info.database).records


def wait_until_gone(pid: int, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} did not end"
        time.sleep(0.1)


def in_another_process(home: Path, code: str) -> subprocess.Popen[str]:
    program = f"""
from pathlib import Path
from proas.localdb import LocalServer
server = LocalServer(Path({str(home)!r}), heap="512m", page_cache="64m")
{code}
"""
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def test_answers(up):
    assert query(up, "RETURN 1 + 1 AS two")[0]["two"] == 2
    (component,) = query(up, "CALL dbms.components() YIELD edition, versions RETURN edition, versions[0] AS version")
    assert component["edition"] == "community"
    assert component["version"].startswith("5.26.")
    with urllib.request.urlopen(f"{up.http_url}/browser/", timeout=30) as page:  # Neo4j Browser
        assert page.status == 200
        assert b"<title>Neo4j Browser</title>" in page.read()


def test_up_is_idempotent(server, up):
    assert server.up() == up
    assert LocalServer(server.home).up().pid == up.pid
    assert server.info == up


def test_another_process_finds_it(server, up):
    with in_another_process(server.home, "print(server.up().pid, server.status().state)") as other:
        assert other.communicate(timeout=60)[0].split() == [str(up.pid), "running"]
    assert server.status().running


def test_status(server, up):
    status = server.status()
    assert status.running
    assert status.installed
    assert status.info == up
    assert status.since is not None
    assert status.since.tzinfo is not None


def test_listens_on_loopback_alone(up):
    connections = psutil.Process(up.pid).net_connections(kind="inet")
    listening = [entry.laddr for entry in connections if entry.status == psutil.CONN_LISTEN]
    assert {address.ip for address in listening} <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert {str(address.port) for address in listening} == {up.uri.split(":")[-1], up.http_url.split(":")[-1]}
    assert not [entry for entry in connections if entry.type == socket.SOCK_DGRAM]


def test_password_is_nowhere_else(server, up):
    secret = up.password.get_secret_value()
    process = psutil.Process(up.pid)
    shown = [repr(up), repr(server), str(server.status()), " ".join(process.cmdline()), str(process.environ())]
    assert not any(secret in text for text in shown)
    holding = [
        path.relative_to(server.home)
        for path in server.home.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert holding == [Path("password")]
    assert stat.S_IMODE((server.home / "password").stat().st_mode) == 0o600
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700


def test_the_default_password_never_works(up):
    with (
        GraphDatabase.driver(up.uri, auth=("neo4j", "neo4j")) as driver,
        pytest.raises(Exception, match="unauthorized"),
    ):
        driver.verify_connectivity()


def test_wrong_password_file_is_one_clear_error(server, up):
    file = server.home / "password"
    right = file.read_text()
    file.write_text("something-else\n")
    try:
        with pytest.raises(LocalServerError, match=r"refuses the password in .*password") as caught:
            server.up()
        assert "something-else" not in str(caught.value)
        status = server.status()
        assert (status.state, bool(status.detail)) == ("unresponsive", True)
    finally:
        file.write_text(right)
    assert server.up().pid == up.pid  # the account is not locked


def test_lost_record_is_rebuilt(server, up):
    (server.home / "run" / "server.json").unlink()
    assert server.status().running
    assert server.up().pid == up.pid
    assert json.loads((server.home / "run" / "server.json").read_text())["pid"] == up.pid


def test_survives_a_kill(server, up):
    query(up, "MERGE (n:Kept {key: $key})", key="before the kill")
    psutil.Process(up.pid).kill()
    wait_until_gone(up.pid)
    status = server.status()
    assert status.state == "stopped"
    assert str(up.pid) in status.detail
    with pytest.raises(LocalServerError, match="no server is running"):
        _ = server.info
    again = server.up()
    assert again.pid != up.pid
    assert query(again, "MATCH (n:Kept) RETURN n.key AS key")[0]["key"] == "before the kill"


def test_down_ends_it_and_nothing_else(server, up):
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as stranger:
        assert server.down()
        assert not psutil.pid_exists(up.pid) or psutil.Process(up.pid).status() == psutil.STATUS_ZOMBIE
        # A stale record whose process id went to a stranger, creation time and all.
        record = {"bolt": 1, "http": 2, "release": "5.26"}
        record |= {"pid": stranger.pid, "created": psutil.Process(stranger.pid).create_time()}
        (server.home / "run" / "server.json").write_text(json.dumps(record))
        assert server.status().state == "stopped"
        assert not server.down()
        assert stranger.poll() is None
        stranger.kill()
    assert not server.down()
    assert not (server.home / "run" / "server.json").exists()


def test_a_process_of_the_same_home_that_we_did_not_start_is_left_alone(server):
    server.down()
    marked = [sys.executable, "-c", SLEEP, f"--home-dir={server.home}"]
    with subprocess.Popen(marked) as stranger:
        assert not server.down()
        assert stranger.poll() is None
        stranger.kill()


def test_start_that_fails_says_why(server):
    server.down()
    faulty = LocalServer(server.home, heap="512m", page_cache="64m", settings={"db.no.such.setting": "1"})
    with pytest.raises(LocalServerError, match=r"Unrecognized setting.*db\.no\.such\.setting") as caught:
        faulty.up()
    assert "last lines of its log" in str(caught.value)
    assert server.status().state == "stopped"
    assert server.status().detail == ""


def test_heap_that_cannot_be_had(server):
    server.down()
    with pytest.raises(LocalServerError, match="Invalid maximum heap size"):
        LocalServer(server.home, heap="a lot").up()
    assert server.status().state == "stopped"


def test_two_starts_at_once_give_one_server(server):
    server.down()
    both = [in_another_process(server.home, "print(server.up().pid)") for _ in range(2)]
    pids = [other.communicate(timeout=150)[0].strip() for other in both]
    assert pids[0] == pids[1] == str(server.info.pid)
    # And both starters are gone: the server does not need them.
    assert server.status().running


def test_port_that_was_asked_for_is_taken(server):
    server.down()
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(LocalServerError, match=f"the Bolt port {port} is taken"):
            LocalServer(server.home, bolt_port=port).up()
    assert server.status().state == "stopped"


def test_port_taken_between_choice_and_start(server, monkeypatch):
    server.down()
    choose = server_module.choose_ports
    asked = []
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = Ports(busy.getsockname()[1], choose(usual=False).http)

        def late(*arguments, usual=True):
            asked.append(usual)
            return taken if len(asked) == 1 else choose(*arguments, usual=usual)

        monkeypatch.setattr(server_module, "choose_ports", late)
        info = server.up()
    assert asked == [True, False]
    assert info.uri != f"bolt://127.0.0.1:{taken.bolt}"
    assert query(info, "RETURN 1 AS one")[0]["one"] == 1


def test_tied_server_ends_with_its_process(server):
    server.down()
    code = "import time\nserver._tied = True\nprint(server.up().pid, flush=True)\ntime.sleep(300)"
    with in_another_process(server.home, code) as other:
        pid = int(other.stdout.readline())
        assert server.info.pid == pid
        other.kill()
    wait_until_gone(pid)
    assert server.status().state == "stopped"


def test_remove_refuses_what_is_not_ours(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious").write_text("x")
    with pytest.raises(LocalServerError, match="is not empty and holds no server of ours: data"):
        LocalServer(tmp_path).up()
    assert not LocalServer(tmp_path).down()
    assert not LocalServer(tmp_path).remove()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert (tmp_path / "data" / "precious").exists()


def test_unknown_release(tmp_path):
    with pytest.raises(UsageError, match=r"4\.4"):
        LocalServer(tmp_path, release="4.4")


def test_default_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PROAS_HOME", str(tmp_path))
    assert LocalServer().home == (tmp_path / "neo4j-5.26").resolve()
    assert list(tmp_path.iterdir()) == []
