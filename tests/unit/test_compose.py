"""The container files: every convention is asserted on the parsed file, and by Docker's own tool where there is one."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from proas.localdb.release import load_release

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"

# Keys of the Compose specification that this file may use; a misspelt one is silently ignored by some versions.
TOP_LEVEL = {"services", "secrets", "volumes"}
SERVICE = {
    "build", "command", "depends_on", "deploy", "entrypoint", "environment", "healthcheck", "image", "ports",
    "profiles", "restart", "secrets", "security_opt", "shm_size", "stop_grace_period", "user", "volumes", "working_dir",
}  # fmt: skip
HEALTHCHECK = {"test", "start_period", "interval", "timeout", "retries"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def neo4j(compose) -> dict[str, Any]:
    return compose["services"]["neo4j"]


def seconds(duration: str) -> int:
    parts = re.fullmatch(r"(?:([0-9]+)m)?(?:([0-9]+)s)?", duration)
    assert parts, f"{duration!r} is no duration"
    return 60 * int(parts[1] or 0) + int(parts[2] or 0)


def test_keys_are_of_the_specification(compose):
    assert set(compose) <= TOP_LEVEL
    for service in compose["services"].values():
        assert set(service) <= SERVICE
        assert "image" in service or "build" in service
        assert set(service.get("healthcheck", {})) <= HEALTHCHECK


def test_references_resolve(compose):
    for service in compose["services"].values():
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        assert set(service.get("depends_on", {})) <= set(compose["services"])
        for volume in service.get("volumes", []):
            source = volume.rpartition(":")[0]
            assert source in compose["volumes"] or source.startswith((".", "/", "${"))
    used = {name for service in compose["services"].values() for name in service.get("secrets", [])}
    assert used == set(compose["secrets"])
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_image_is_pinned_to_the_reference_release(neo4j):
    assert neo4j["image"] == f"neo4j:{load_release('5.26').version}-community"


def test_ports_are_bound_to_loopback(compose, neo4j):
    for service in compose["services"].values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), port
    assert {port.rpartition(":")[2] for port in neo4j["ports"]} == {"7687", "7474"}


def test_password_is_a_secret(compose, neo4j):
    environment = neo4j["environment"]
    assert environment["NEO4J_AUTH_FILE"] == "/run/secrets/neo4j_auth"
    assert "neo4j_auth" in neo4j["secrets"]
    assert "NEO4J_AUTH" not in environment
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert ".secrets/" in ignored
    assert {Path(secret["file"]).parent.name for secret in compose["secrets"].values()} == {".secrets"}


def test_server_gets_no_client_variables(neo4j):
    for name in neo4j["environment"]:
        assert name == "NEO4J_AUTH_FILE" or re.match(r"NEO4J_(server|db|dbms|client)_", name), name


def test_settings_are_spelt_as_the_image_wants(neo4j):
    # NEO4J_server_memory_heap_max__size is server.memory.heap.max_size: dots are one underscore, underscores two.
    names = {name.removeprefix("NEO4J_").replace("__", "\0").replace("_", ".").replace("\0", "_")
             for name in neo4j["environment"] if name != "NEO4J_AUTH_FILE"}  # fmt: skip
    assert names == {
        "server.memory.heap.initial_size",
        "server.memory.heap.max_size",
        "server.memory.pagecache.size",
        "dbms.usage_report.enabled",
        "client.allow_telemetry",
    }


def test_data_and_logs_are_volumes(compose, neo4j):
    mounts = dict(volume.split(":") for volume in neo4j["volumes"])
    assert set(mounts.values()) == {"/data", "/logs"}
    assert set(mounts) == set(compose["volumes"])


def test_health_check(neo4j):
    check = neo4j["healthcheck"]
    kind, command = check["test"]
    assert kind == "CMD-SHELL"
    assert "cypher-shell" in command
    assert "RETURN 1" in command
    assert "curl" not in command
    assert seconds(check["timeout"]) >= 20
    assert seconds(check["start_period"]) >= 30
    # The password comes from the secret when the check runs: `$$` is a `$` that Compose leaves to the shell.
    assert "$$(cat /run/secrets/neo4j_password)" in command
    assert not re.search(r"cypher-shell.*(-p|--password)", command)
    assert subprocess.run(["sh", "-n", "-c", command.replace("$$", "$")], check=False).returncode == 0


@pytest.mark.parametrize(("service", "profile"), [("proas", "cli"), ("trainer", "train")])
def test_client_waits_for_a_healthy_server(compose, service, profile):
    client = compose["services"][service]
    assert client["depends_on"]["neo4j"]["condition"] == "service_healthy"
    assert client["environment"]["NEO4J_URI"] == "bolt://neo4j:7687"
    assert client["environment"]["NEO4J_PASSWORD_FILE"] == "/run/secrets/neo4j_password"
    assert "NEO4J_PASSWORD" not in client["environment"]
    assert client["profiles"] == [profile]


def test_trainer_has_the_devices_and_an_image_of_verl_s(compose):
    trainer = compose["services"]["trainer"]
    [device] = trainer["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["count"], device["capabilities"]) == ("nvidia", "all", ["gpu"])
    assert (ROOT / trainer["build"]["dockerfile"]).is_file()
    default = trainer["build"]["args"]["VERL_IMAGE"].removeprefix("${PROAS_VERL_IMAGE:-").removesuffix("}")
    assert f"ARG VERL_IMAGE={default}\n" in (ROOT / trainer["build"]["dockerfile"]).read_text(encoding="utf-8")
    found = dict(instructions("Dockerfile.trainer"))
    assert found["FROM"] == "${VERL_IMAGE}"
    assert "verl==0.9.1" in found["RUN"]


def instructions(file: str = "Dockerfile") -> list[tuple[str, str]]:
    text = (ROOT / file).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("file", ["Dockerfile", "Dockerfile.trainer"])
def test_dockerfile_copies_what_is_there_and_let_through(file):
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    let_through = {pattern.removeprefix("!") for pattern in patterns if pattern.startswith("!")}
    assert patterns[0] == "*"
    copied = [
        source
        for name, rest in instructions(file)
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    ]
    assert {"pyproject.toml", "proas", "cli", "graph_builders", "cypher"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert source in let_through
    assert not any(fnmatch.fnmatch(".secrets", pattern) for pattern in let_through)


def test_image_runs_as_an_ordinary_user():
    found = dict(instructions())  # the last of each kind is the one that counts
    assert found["USER"] not in {"root", "0"}
    assert found["ENTRYPOINT"] == '["proas"]'


def test_base_images_are_pinned():
    for name, rest in instructions():
        if name == "FROM":
            image, _, tag = rest.split()[0].partition(":")
            assert image
            assert re.match(r"[0-9]+\.[0-9]+", tag), rest


def compose_command() -> list[str] | None:
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [docker, "compose"]
    standalone = shutil.which("docker-compose")
    return [standalone] if standalone else None


def test_docker_accepts_it(tmp_path):
    command = compose_command()
    if command is None:
        pytest.skip("no Docker Compose on this machine")
    (tmp_path / "docker-compose.yml").write_bytes(COMPOSE.read_bytes())
    (tmp_path / ".secrets").mkdir()
    for name in ("neo4j_auth", "neo4j_password"):
        (tmp_path / ".secrets" / name).write_text("x")
    for options in ([], ["--profile", "cli"], ["--profile", "train"]):
        result = subprocess.run(
            [*command, *options, "config"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert "127.0.0.1" in result.stdout
