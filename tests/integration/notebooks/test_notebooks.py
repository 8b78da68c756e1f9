"""The notebooks run from top to bottom on the real server, and are kept without output and without a password."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from proas.graph.connect import Connection
from proas.graph.store import list_graphs
from proas.localdb import ServerInfo

nbformat: Any = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

FOLDER = Path(__file__).resolve().parents[3] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NO_PY2NEO = "py2neo is not installed, or Python is later than 3.11, where it has not been tried"


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.fixture
def run(
    neo4j_server: ServerInfo,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Any:
    """Run a notebook with the tests' server in its environment; the answer holds what its cells showed."""
    monkeypatch.delenv("NEO4J_PASSWORD_FILE", raising=False)
    monkeypatch.setenv("NEO4J_URI", neo4j_server.uri)
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.username)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password.get_secret_value())
    monkeypatch.setenv("NEO4J_DATABASE", neo4j_server.database)
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")

    def go(path: Path) -> Any:
        notebook = read(path)
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
        return notebook

    return go


def shown(notebook: Any) -> str:
    """All text that the cells showed."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    texts = [output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs]
    return "\n".join(texts)


def pictures(notebook: Any) -> int:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["object_view", "query_with_the_driver"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_output_or_password(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert all("password=" not in cell.source and "NEO4J_PASSWORD =" not in cell.source for cell in code)


def test_the_driver_s_notebook(run: Any, connection: Connection) -> None:
    notebook = run(FOLDER / "query_with_the_driver.ipynb")
    text = shown(notebook)
    assert "6 tasks" in text
    assert "version 1 gains" in text
    assert "gains 0 states" not in text
    assert pictures(notebook) == 1
    assert "notebook-kitchen" not in [info.name for info in list_graphs(connection)]


@pytest.mark.skipif(find_spec("py2neo") is None or sys.version_info >= (3, 12), reason=NO_PY2NEO)
def test_the_object_view_s_notebook(run: Any, connection: Connection) -> None:
    notebook = run(FOLDER / "object_view.ipynb")
    text = shown(notebook)
    assert "20 goals of the sample shop" in text
    assert "click[buy now]" in text
    assert "'source': 'plan'" in text
    assert "notebook-shop" not in [info.name for info in list_graphs(connection)]
