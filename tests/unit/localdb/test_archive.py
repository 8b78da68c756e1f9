from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proas.errors import UsageError
from proas.localdb.archive import dump_target, has_database, recover
from proas.localdb.home import Home

STORES = ("databases/neo4j", "transactions/neo4j")


def put(folder: Path, content: str) -> None:
    folder.mkdir(parents=True)
    (folder / "file").write_text(content)


def moved_aside(home: Home, *stores: str, marker: bool) -> None:
    aside = home.data / "before-load"
    for store in stores:
        put(aside / store, "old")
    aside.mkdir(parents=True, exist_ok=True)
    if marker:
        (aside / "all-moved").touch()


def contents(home: Home) -> dict[str, str]:
    return {store: (home.data / store / "file").read_text() for store in STORES if (home.data / store).exists()}


OLD = dict.fromkeys(STORES, "old")


def test_nothing_to_recover(tmp_path):
    home = Home(tmp_path)
    recover(home)
    assert not has_database(home)
    put(home.data / STORES[0], "old")
    recover(home)
    assert contents(home) == {STORES[0]: "old"}


def test_broken_off_while_moving_aside(tmp_path):
    home = Home(tmp_path)
    moved_aside(home, STORES[0], marker=False)
    put(home.data / STORES[1], "old")
    recover(home)
    assert contents(home) == OLD
    assert not (home.data / "before-load").exists()


@pytest.mark.parametrize("new", [(), STORES[:1], STORES])
def test_broken_off_while_loading(tmp_path, new):
    home = Home(tmp_path)
    moved_aside(home, *STORES, marker=True)
    for store in new:
        put(home.data / store, "half of the new one")
    recover(home)
    assert contents(home) == OLD


def test_broken_off_while_recovering(tmp_path):
    home = Home(tmp_path)
    moved_aside(home, STORES[1], marker=False)
    put(home.data / STORES[0], "old")  # back in its place already
    recover(home)
    recover(home)
    assert contents(home) == OLD


def test_broken_off_where_there_was_nothing_before(tmp_path):
    home = Home(tmp_path)
    moved_aside(home, marker=True)
    put(home.data / STORES[0], "half of the new one")
    recover(home)
    assert not has_database(home)
    assert contents(home) == {}


def test_broken_off_while_tidying_up(tmp_path):
    home = Home(tmp_path)
    put(home.data / STORES[0], "new")
    put(home.data / "replaced-by-load" / STORES[0], "old")
    recover(home)
    assert contents(home) == {STORES[0]: "new"}
    assert not (home.data / "replaced-by-load").exists()


def test_dump_target(tmp_path):
    assert dump_target(tmp_path, overwrite=False) == tmp_path / "neo4j.dump"
    assert dump_target(tmp_path / "x.dump", overwrite=False) == tmp_path / "x.dump"
    (tmp_path / "x.dump").touch()
    with pytest.raises(UsageError, match=r"x\.dump exists already"):
        dump_target(tmp_path / "x.dump", overwrite=False)
    assert dump_target(tmp_path / "x.dump", overwrite=True) == tmp_path / "x.dump"
    shutil.rmtree(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        dump_target(tmp_path / "x.dump", overwrite=False)
