from __future__ import annotations

import sys

import pytest

from proas.errors import DownloadError, UsageError
from proas.localdb.repository import MIRROR_VARIABLE, find_repository, mirrors_central


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Write the user's ``settings.xml`` in a home of its own."""
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)

    def write(body: str, *, namespace: bool = True) -> None:
        folder = tmp_path / ".m2"
        folder.mkdir(exist_ok=True)
        schema = ' xmlns="http://maven.apache.org/SETTINGS/1.0.0"' if namespace else ""
        (folder / "settings.xml").write_text(f"<settings{schema}>{body}</settings>")

    return write


def mirror(of: str, url: str = "https://mirror.example/maven", identifier: str = "corp") -> str:
    fields = f"<id>{identifier}</id><mirrorOf>{of}</mirrorOf><url>{url}</url>"
    return f"<mirrors><mirror>{fields}</mirror></mirrors>"


def test_the_variable_wins(settings):
    settings(mirror("*"))
    found = find_repository({MIRROR_VARIABLE: " https://here.example/repo/ "})
    assert (found.url, found.origin, found.auth) == ("https://here.example/repo", MIRROR_VARIABLE, None)


def test_credentials_leave_the_address():
    found = find_repository({MIRROR_VARIABLE: "https://alice:hunter2@here.example:8443/repo"})
    assert found.url == "https://here.example:8443/repo"
    assert found.username == "alice"
    assert found.password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    "value", ["here.example/repo", "ftp://here.example", "https://", "file:///repo", "https://here.example:port"]
)
def test_values_that_are_no_address(value):
    with pytest.raises(UsageError, match="PROAS_MAVEN_MIRROR names no usable address"):
        find_repository({MIRROR_VARIABLE: value})


@pytest.mark.parametrize("namespace", [True, False])
@pytest.mark.parametrize("of", ["central", "*", "external:*", "other, central"])
def test_mirror_of_the_users_settings(settings, of, namespace):
    settings(mirror(of), namespace=namespace)
    found = find_repository({})
    assert found.url == "https://mirror.example/maven"
    assert found.origin.endswith("settings.xml")


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        ("central", True),
        ("*", True),
        ("external:*", True),
        ("*,!central", False),
        ("external:http:*", False),
        ("other", False),
        ("", False),
    ],
)
def test_mirror_patterns(pattern, covers):
    assert mirrors_central(pattern) is covers


def test_credentials_of_a_mirror(settings):
    server = "<servers><server><id>corp</id><username>bob</username><password>${env.CORP}</password></server></servers>"
    settings(mirror("*") + server)
    found = find_repository({"CORP": "s3cret"})
    assert (found.username, found.password.get_secret_value()) == ("bob", "s3cret")


def test_encrypted_password(settings):
    server = "<servers><server><id>corp</id><username>bob</username><password>{abc=}</password></server></servers>"
    settings(mirror("*") + server)
    with pytest.raises(DownloadError, match=r"'corp'.*encrypted"):
        find_repository({})


def test_central_of_an_active_profile(settings):
    profile = (
        "<profiles><profile><id>corp</id><repositories><repository><id>central</id>"
        "<url>${env.BASE}/central</url></repository></repositories></profile></profiles>"
    )
    settings(profile + "<activeProfiles><activeProfile>corp</activeProfile></activeProfiles>")
    assert find_repository({"BASE": "https://corp.example"}).url == "https://corp.example/central"


def test_installation_settings(settings, tmp_path):
    conf = tmp_path / "maven" / "conf"
    conf.mkdir(parents=True)
    (conf / "settings.xml").write_text(f"<settings>{mirror('central', 'https://site.example')}</settings>")
    assert find_repository({"MAVEN_HOME": str(tmp_path / "maven")}).url == "https://site.example"


def test_unreadable_settings(settings):
    settings("<mirrors>")
    with pytest.raises(DownloadError, match=r"cannot read Maven's settings.*settings\.xml"):
        find_repository({})


def test_public_repository_when_nothing_is_set(settings):
    settings("")
    found = find_repository({})
    assert found.url.startswith("https://")
    assert not found.url.endswith("/")
    assert found.auth is None


def test_without_a_maven_client(settings, monkeypatch):
    settings("")
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    with pytest.raises(DownloadError, match="no Maven repository is known") as caught:
        find_repository({})
    assert MIRROR_VARIABLE in caught.value.hint
