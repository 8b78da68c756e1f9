"""Every pinned release, and every Java that is at hand."""

from __future__ import annotations

import pytest
from neo4j import GraphDatabase

from proas.errors import JavaNotFound, LocalServerError
from proas.localdb import DEFAULT_RELEASE, LocalServer, releases
from proas.localdb.java import find_java
from proas.localdb.release import load_release

from .conftest import SMALL

# Each test starts servers, which takes a minute apiece on a machine that is busy with other work.
pytestmark = pytest.mark.timeout(900)


@pytest.mark.slow
@pytest.mark.parametrize("release", [name for name in releases() if name != DEFAULT_RELEASE])
def test_release_runs(release, tmp_path):
    server = LocalServer(tmp_path / "server", release=release, **SMALL, tied=True)
    try:
        info = server.up()
        with GraphDatabase.driver(info.uri, auth=(info.username, info.password.get_secret_value())) as driver:
            (component,) = driver.execute_query(
                "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions[0] AS version"
            ).records
        assert component["version"] == load_release(release).version
        server.down()
        with pytest.raises(LocalServerError, match=f"made by Neo4j {release}, not {DEFAULT_RELEASE}"):
            LocalServer(server.home).up()
    finally:
        server.remove()


@pytest.mark.slow
def test_system_java(server):
    try:
        java = find_java(load_release(DEFAULT_RELEASE), "system")
    except JavaNotFound as error:
        pytest.skip(f"no fitting Java on this machine: {error.message}")
    server.down()
    home = server.home
    info = LocalServer(home, java="system", **SMALL).up()
    with GraphDatabase.driver(info.uri, auth=(info.username, info.password.get_secret_value())) as driver:
        (row,) = driver.execute_query(
            "CALL dbms.queryJmx('java.lang:type=Runtime') YIELD attributes RETURN attributes.SpecVersion.value AS java"
        ).records
    assert row["java"] == str(java.feature)
