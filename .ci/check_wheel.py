# ruff: noqa: INP001, T201  (a script, and its printing is its purpose)
"""Build wheel and sdist, install the wheel in a clean environment, and see from elsewhere that all of it is there.

Run with the Python of the development environment: ``python .ci/check_wheel.py``. Ends with code 1 and one line that
says what is wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Folders of the repository, and what they are called in the package.
PLACES = {"proas": "proas", "cli": "proas/cli", "graph_builders": "proas/graph_builders", "cypher": "proas/cypher"}
SHIPPED = {".py", ".css", ".cypher", ".js", ".json", ".lock", ".typed", ".grass", ".html", ".toml", ".txt"}

PROBE = """
import importlib, importlib.metadata, importlib.resources, pathlib, sys
import proas
root = importlib.resources.files("proas")
missing = [name for name in sys.argv[1:] if not root.joinpath(name).is_file()]
assert not missing, f"not in the installed package: {missing}"
for name in ("proas.cli.app", "proas.graph_builders", "proas.cypher", "proas.graph", "proas.shaping", "proas.localdb"):
    module = importlib.import_module(name)
    assert pathlib.Path(module.__file__).is_relative_to(sys.prefix), f"{name} comes from {module.__file__}"
assert importlib.metadata.version("proas") == proas.__version__
installed = {d.metadata["Name"].lower() for d in importlib.metadata.distributions()}
assert not installed & {"pytest", "mypy", "ruff", "torch"}, "development tools are no run-time dependencies"
print(len(sys.argv) - 1, "files found through importlib.resources")
"""


def expected_files() -> list[str]:
    """Every file of the sources that an installation must hold, as a path in the package's parent folder."""
    found = []
    for folder, place in PLACES.items():
        top = ROOT / folder
        for directory, subdirectories, files in os.walk(top):  # does not follow the symlinks inside proas/
            subdirectories[:] = [name for name in subdirectories if name != "__pycache__"]
            relative = Path(directory).relative_to(top)
            found += [(Path(place) / relative / f).as_posix() for f in files if Path(f).suffix in SHIPPED]
    return sorted(found)


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; end with its words when it fails."""
    done = subprocess.run(  # noqa: S603 - our own words
        [str(word) for word in command], cwd=cwd, env=env, text=True, capture_output=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command[:6])} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def missing_in(archive: Path, names: set[str], expected: list[str], prefix: str = "") -> list[str]:
    """Expected files that an archive lacks."""
    lacking = [name for name in expected if prefix + name not in names]
    if lacking:
        sys.exit(f"{archive.name} lacks {len(lacking)} files, for example {lacking[:5]}")
    return lacking


def main() -> None:
    """Build, look inside, install, run."""
    expected = expected_files()
    statements = [name for name in expected if name.endswith(".cypher")]
    if not statements:
        sys.exit("no .cypher file in the sources: the check looks in the wrong place")
    with tempfile.TemporaryDirectory(prefix="proas-wheel-") as scratch:
        here = Path(scratch)
        # The default of `build` makes the sdist first and the wheel from it, so both carry the same files.
        run(sys.executable, "-m", "build", "--outdir", here / "dist", ROOT, cwd=here)
        (wheel,) = (here / "dist").glob("*.whl")
        (sdist,) = (here / "dist").glob("*.tar.gz")
        missing_in(wheel, set(zipfile.ZipFile(wheel).namelist()), expected)
        with tarfile.open(sdist) as archive:
            names = set(archive.getnames())
        missing_in(sdist, names, expected, prefix=f"{sdist.name.removesuffix('.tar.gz')}/")

        venv.create(here / "env", with_pip=True)
        binaries = here / "env" / ("Scripts" if os.name == "nt" else "bin")
        run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, cwd=here)
        clean = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
        elsewhere = here / "elsewhere"
        elsewhere.mkdir()
        names_in_package = [name.removeprefix("proas/") for name in expected]
        print(run(binaries / "python", "-c", PROBE, *names_in_package, cwd=elsewhere, env=clean).strip())
        print(run(binaries / "proas", "--version", cwd=elsewhere, env=clean).strip())
        for words in ([], ["db"], ["graph"], ["graph", "build"], ["label"], ["demo"]):
            run(binaries / "proas", *words, "--help", cwd=elsewhere, env=clean)
    print(f"wheel and sdist are complete: {len(expected)} files, {len(statements)} of them Cypher")


if __name__ == "__main__":
    main()
