from __future__ import annotations

import hashlib
import json
import shutil

import pytest
from pydantic import ValidationError

from proas.errors import LocalServerError, UsageError
from proas.localdb import DEFAULT_RELEASE, lock, release, releases
from proas.localdb.lock import _artifact
from proas.localdb.release import Artifact, Release, load_release

SHA = "0" * 64


@pytest.mark.parametrize("name", releases())
def test_lock_file_is_complete(name):
    pinned = load_release(name)
    assert pinned.release == name
    assert pinned.version.startswith(name)
    assert len(pinned.artifacts) > 150
    assert {artifact.artifact for artifact in pinned.artifacts} >= {
        "neo4j",
        "neo4j-server",
        "neo4j-bolt",
        "neo4j-browser",
        "neo4j-command-line",  # the admin tool
        "neo4j-dbms",  # dump and load
    }
    assert all(len(artifact.sha256) == 64 and artifact.size > 0 for artifact in pinned.artifacts)
    assert len({artifact.sha256 for artifact in pinned.artifacts}) == len(pinned.artifacts)
    assert {artifact.coordinates for artifact in pinned.artifacts} >= set(pinned.roots)
    assert 21 in pinned.java  # the bundled runtime


@pytest.mark.parametrize("name", releases())
def test_lock_file_names_no_host(name):
    text = json.dumps(load_release(name).model_dump(mode="json"))
    assert "://" not in text


def test_releases():
    assert DEFAULT_RELEASE in releases()
    assert releases()[0] == "5.26"


def test_unknown_release():
    with pytest.raises(UsageError, match=r"no Neo4j release '4\.4'.*5\.26"):
        load_release("4.4")


def test_paths():
    plain = Artifact(group="org.example.one", artifact="a", version="1.0", size=1, sha256=SHA)
    native = plain.model_copy(update={"classifier": "linux-x86_64"})
    assert plain.path == "org/example/one/a/1.0/a-1.0.jar"
    assert native.path == "org/example/one/a/1.0/a-1.0-linux-x86_64.jar"
    assert native.coordinates == "org.example.one:a:1.0:linux-x86_64"


@pytest.mark.parametrize(
    "change",
    [
        {"group": "../evil"},
        {"artifact": ".."},
        {"artifact": "a/b"},
        {"version": "1.0\n"},
        {"classifier": "../x"},
        {"sha256": "0" * 63},
        {"sha256": "g" * 64},
        {"size": 0},
        {"surprise": 1},
    ],
)
def test_entries_that_are_refused(change):
    good = {"group": "g", "artifact": "a", "version": "1", "size": 1, "sha256": SHA}
    Artifact.model_validate(good)
    with pytest.raises(ValidationError):
        Artifact.model_validate(good | change)


def test_two_jars_of_one_name_are_refused():
    one = Artifact(group="g", artifact="a", version="1", size=1, sha256=SHA)
    other = one.model_copy(update={"group": "h"})
    with pytest.raises(ValidationError, match=r"more than once: a-1\.jar"):
        Release(format=1, release="1.0", version="1.0.0", main_class="M", java=(21,), roots=(), artifacts=(one, other))


def test_damaged_lock_file(tmp_path, monkeypatch):
    (tmp_path / "neo4j-9.9.lock.json").write_text('{"format": 1}')
    monkeypatch.setattr(release.resources, "files", lambda package: tmp_path)
    load_release.cache_clear()
    with pytest.raises(LocalServerError, match=r"lock file of Neo4j 9\.9 is damaged"):
        load_release("9.9")


def test_tool_reads_a_repository_layout(tmp_path):
    for file, classifier in (("a-b-1.0.jar", ""), ("a-b-1.0-linux-x86_64.jar", "linux-x86_64")):
        jar = tmp_path / "org" / "example" / "a-b" / "1.0" / file
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_bytes(file.encode())
        found = _artifact(jar, tmp_path)
        assert (found.coordinates, found.classifier, found.file) == (
            ":".join(filter(None, ("org.example", "a-b", "1.0", classifier))),
            classifier,
            file,
        )
        assert found.sha256 == hashlib.sha256(file.encode()).hexdigest()


def test_tool_without_maven(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert lock.main(["1.0", "1.0.0", "--browser", "1.0.0", "--out", str(tmp_path)]) == 1
    assert "Apache Maven (mvn) is not on the PATH" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
