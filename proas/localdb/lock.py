"""Write the lock file of a Neo4j release: ``python -m proas.localdb.lock 5.26 5.26.30 --browser 5.24.0``.

A tool for maintainers. It needs Apache Maven, which resolves the run-time dependencies and fetches every jar; the lock
then records what Maven resolved, with the size and SHA-256 of each file. Look at the difference before committing it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

from proas.errors import LocalServerError, ProASError
from proas.localdb.release import Artifact, Release

__all__ = ["main", "resolve"]

# Class that starts the server: in release 5, and in those named after a month.
_MAIN_5 = "org.neo4j.server.CommunityEntryPoint"
_MAIN_CALENDAR = "org.neo4j.server.Neo4jCommunity"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>proas</groupId><artifactId>lock</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""


def _pom(roots: list[str]) -> str:
    entries = []
    for root in roots:
        group, artifact, version = (escape(part) for part in root.split(":"))
        entries.append(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version></dependency>"
        )
    return _POM.format(dependencies="".join(entries))


def _artifact(path: Path, root: Path) -> Artifact:
    """Describe a jar by its place in Maven's repository layout: ``group.../artifact/version/file``."""
    *group, artifact, version, file = path.relative_to(root).parts
    rest = file.removeprefix(f"{artifact}-{version}").removesuffix(".jar")
    return Artifact(
        group=".".join(group),
        artifact=artifact,
        version=version,
        classifier=rest.removeprefix("-"),
        size=path.stat().st_size,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def resolve(roots: list[str]) -> list[Artifact]:
    """Let Maven resolve and fetch the run-time dependencies of some coordinates.

    Args:
        roots: Coordinates ``group:artifact:version``.

    Returns:
        Every jar, sorted by coordinates.

    Raises:
        LocalServerError: Maven is absent or failed.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalServerError("Apache Maven (mvn) is not on the PATH", hint="install it; only this tool needs it")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "pom.xml").write_text(_pom(roots), encoding="utf-8")
        command = [maven, "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += ["-DoutputDirectory=jars", "-Dmdep.useRepositoryLayout=true"]
        result = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)  # noqa: S603
        if result.returncode:
            raise LocalServerError(f"Maven failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
        jars = sorted((work / "jars").rglob("*.jar"))
        return sorted((_artifact(jar, work / "jars") for jar in jars), key=lambda artifact: artifact.coordinates)


def main(arguments: list[str] | None = None) -> int:
    """Resolve a release and write its lock file."""
    parser = argparse.ArgumentParser(prog="python -m proas.localdb.lock", description=__doc__)
    parser.add_argument("release", help="name by which ProAS selects it, such as 5.26")
    parser.add_argument("version", help="full version, such as 5.26.30")
    parser.add_argument("--browser", required=True, help="version of Neo4j Browser that this release bundles")
    parser.add_argument("--java", type=int, nargs="+", default=[21, 17], help="Java versions, the preferred one first")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder for the lock file")
    options = parser.parse_args(arguments)
    calendar = int(options.release.split(".")[0]) > 5
    roots = [
        f"org.neo4j.app:neo4j-server:{options.version}",
        f"org.neo4j:neo4j:{options.version}",
        f"org.neo4j.client:neo4j-browser:{options.browser}",
    ]
    try:
        release = Release(
            format=1,
            release=options.release,
            version=options.version,
            main_class=_MAIN_CALENDAR if calendar else _MAIN_5,
            java=tuple(options.java),
            roots=tuple(roots),
            artifacts=tuple(resolve(roots)),
        )
    except ProASError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    target = options.out / f"neo4j-{release.release}.lock.json"
    # One artifact a line, so that a new version shows as a readable difference.
    head = release.model_dump(mode="json", exclude={"artifacts"})
    rows = [json.dumps(a.model_dump(mode="json", exclude_defaults=True)) for a in release.artifacts]
    text = (
        json.dumps(head, indent=2).removesuffix("\n}")
        + ',\n  "artifacts": [\n    '
        + ",\n    ".join(rows)
        + "\n  ]\n}\n"
    )
    target.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{target}: {len(release.artifacts)} jars, {release.size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
