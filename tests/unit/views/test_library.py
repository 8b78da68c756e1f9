"""The library that draws is the pinned one, or none."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from proas.errors import DownloadError
from proas.views.library import graph_library, pinned


def test_what_is_pinned_has_a_licence_and_a_digest() -> None:
    library = pinned()
    assert library.licence == "MIT"
    assert library.artifact.coordinates.startswith("org.webjars.npm:cytoscape:")


def test_an_archive_that_is_not_the_pinned_one_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pinned()
    folder = tmp_path / "views"
    folder.mkdir()
    with zipfile.ZipFile(folder / library.artifact.file, "w") as archive:
        archive.writestr(f"{library.folder}/{library.script}", "window.hacked = 1")
    monkeypatch.setenv("PROAS_MAVEN_MIRROR", "http://127.0.0.1:9/nobody")
    with pytest.raises(DownloadError):
        graph_library(tmp_path)


def test_the_library_is_kept_once_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = graph_library()
    assert "The Cytoscape Consortium" in source[:400]
    assert "Permission is hereby granted, free of charge" in source[:400]
    monkeypatch.setenv("PROAS_MAVEN_MIRROR", "http://127.0.0.1:9/nobody")
    assert graph_library() == source
