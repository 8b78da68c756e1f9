from __future__ import annotations

import json
import stat

import pytest

from proas.errors import LocalServerError, UsageError
from proas.localdb.home import Home, Memory, Ports, data_root, write_private
from proas.localdb.release import load_release

NEO4J = load_release("5.26")
CALENDAR = load_release("2026.08")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "server")
    made.create(NEO4J)
    return made


def test_modes(home):
    home.password()
    assert mode(home.path) == 0o700
    assert mode(home.password_file) == 0o600
    assert mode(home.instance_file) == 0o600


def test_password_is_made_once_and_masked(home):
    password = home.password()
    secret = password.get_secret_value()
    assert len(secret) == 32
    assert secret.isalnum()
    assert home.password() == password
    assert secret not in repr(password)
    assert Home(home.path).password() == password


def test_passwords_differ(tmp_path):
    secrets = set()
    for number in range(5):
        made = Home(tmp_path / str(number))
        made.create(NEO4J)
        secrets.add(made.password().get_secret_value())
    assert len(secrets) == 5


def test_a_password_file_open_to_others_is_closed(home):
    home.password()
    home.password_file.chmod(0o644)
    home.password()
    assert mode(home.password_file) == 0o600


def test_lost_password_of_a_server_with_data(home):
    (home.data / "databases" / "system").mkdir(parents=True)
    with pytest.raises(LocalServerError, match=r"password file .* is gone"):
        home.password()
    assert not home.password_file.exists()


def test_create_is_idempotent(home):
    identity = home.identity()
    assert home.create(NEO4J) == identity


def test_another_release_is_refused(home):
    with pytest.raises(LocalServerError, match=r"made by Neo4j 5\.26, not 2026\.08"):
        home.create(CALENDAR)


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"id": "x"}'])
def test_damaged_identity(home, text):
    home.instance_file.write_text(text)
    with pytest.raises(LocalServerError, match=r"instance\.json is damaged"):
        home.create(NEO4J)


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(LocalServerError, match=r"not empty.*thesis\.tex"):
        Home(tmp_path).create(NEO4J)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "server").write_text("x")
    with pytest.raises(LocalServerError, match="cannot make a server's folder"):
        Home(tmp_path / "server").create(NEO4J)


def test_configuration(home):
    home.write_configuration(NEO4J, Ports(1234, 5678), Memory("300m", "50m"), {"db.transaction.timeout": "9s"})
    lines = (home.conf / "neo4j.conf").read_text().splitlines()
    assert "server.bolt.listen_address=127.0.0.1:1234" in lines
    assert "server.http.listen_address=127.0.0.1:5678" in lines
    assert "server.https.enabled=false" in lines
    assert "dbms.usage_report.enabled=false" in lines
    assert "server.memory.heap.max_size=300m" in lines
    assert "server.memory.pagecache.size=50m" in lines
    assert "db.transaction.timeout=9s" in lines
    addresses = [line.split("=")[1] for line in lines if "address=" in line]
    assert addresses
    assert all(address.startswith("127.0.0.1") for address in addresses)
    assert home.configured_ports() == Ports(1234, 5678)
    assert home.password().get_secret_value() not in "\n".join(lines)


def test_ports_of_a_missing_or_foreign_configuration(home):
    assert home.configured_ports() is None
    (home.conf / "neo4j.conf").write_text("server.bolt.listen_address=127.0.0.1:1\n")
    assert home.configured_ports() is None


@pytest.mark.parametrize(
    "name", ["server.bolt.listen_address", "server.default_listen_address", "dbms.security.auth_enabled"]
)
def test_the_server_cannot_be_opened_to_others(home, name):
    with pytest.raises(UsageError, match=name):
        home.write_configuration(NEO4J, Ports(1, 2), Memory(), {name: "0.0.0.0"})


def test_settings_cannot_smuggle_others_in(home):
    with pytest.raises(UsageError, match="line break"):
        home.write_configuration(
            NEO4J, Ports(1, 2), Memory(), {"db.transaction.timeout": "1s\nserver.bolt.listen_address=:7687"}
        )


def test_private_file_is_whole_or_absent(tmp_path):
    target = tmp_path / "file"
    write_private(target, "one")
    write_private(target, "two")
    assert target.read_text() == "two"
    assert mode(target) == 0o600
    with pytest.raises(UnicodeEncodeError):
        write_private(target, "\ud800")
    assert target.read_text() == "two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_clear_data_keeps_only_the_lock(home):
    home.password()
    home.lock_file.touch()
    (home.data / "databases").mkdir(parents=True)
    home.clear_data()
    assert [entry.name for entry in home.path.iterdir()] == ["lifecycle.lock"]


def test_data_root(tmp_path):
    assert data_root({"PROAS_HOME": str(tmp_path)}) == tmp_path
    assert data_root({}).name == "proas"


def test_identity_of_nothing(tmp_path):
    assert Home(tmp_path / "none").identity() == ""
    assert json.dumps(str(Home(tmp_path / "a" / ".." / "b").path)) == json.dumps(str(tmp_path / "b"))
