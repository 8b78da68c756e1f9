"""How long the local server takes: from ``proas db up`` to the first answered query, cold and warm.

    python benchmarks/local_server.py [--rounds 3] [--release 5.26] [--out benchmarks/results/local_server.json]

- ``cold``: nothing in the cache and no instance; includes the download, so it depends on the network;
- ``new``: the jars are in the cache, the instance is made;
- ``warm``: an instance that ran before is started again;
- ``running``: ``proas db up`` finds the server running.

Each round uses folders of its own and leaves nothing behind. The measured time starts with the command, run as a
process of its own, and ends when a driver has the answer to its first query. Alongside stand the time of
``proas db down``, and as yardsticks the command line alone (``proas --version``) and a bare Java (``java -version``).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from machine import machine
from neo4j import GraphDatabase
from rich.console import Console
from rich.table import Table

from proas.localdb import LocalServer
from proas.localdb.java import find_java
from proas.localdb.release import load_release

RESULT = Path(__file__).parent / "results" / "local_server.json"


def proas(*arguments: str) -> None:
    """Run the command line as a user does."""
    command = [sys.executable, "-c", "from proas.cli.app import main; main()", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def first_answer(server: LocalServer, release: str) -> None:
    """Start the server and ask the first query."""
    proas("db", "up", "--release", release)
    info = server.info
    with GraphDatabase.driver(info.uri, auth=(info.username, info.password.get_secret_value())) as driver:
        driver.execute_query("RETURN 1", database_=info.database)


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of some work."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def one_round(release: str, folder: Path) -> dict[str, float]:
    """Measure every kind of start once, in an empty folder."""
    os.environ["PROAS_CACHE_DIR"] = str(folder / "cache")
    os.environ["PROAS_HOME"] = str(folder / "home")
    java = str(find_java(load_release(release)).executable)
    server = LocalServer(release=release)
    found: dict[str, float] = {}
    try:
        found["cold"] = seconds(lambda: first_answer(server, release))
        found["running"] = seconds(lambda: first_answer(server, release))
        found["down"] = seconds(lambda: proas("db", "down", "--release", release))
        found["warm"] = seconds(lambda: first_answer(server, release))
        server.remove()
        found["new"] = seconds(lambda: first_answer(server, release))
    finally:
        server.remove()
    found["proas"] = seconds(lambda: proas("--version"))
    found["java"] = seconds(lambda: subprocess.run([java, "-version"], check=True, capture_output=True))
    return found


def main() -> None:
    """Measure, print a table and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often to measure")
    parser.add_argument("--release", default="5.26", help="Neo4j release")
    parser.add_argument("--out", type=Path, default=RESULT, help="file for the figures")
    options = parser.parse_args()

    described = machine()
    rounds = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="proas-bench-") as folder:
            rounds.append(one_round(options.release, Path(folder)))
    figures = {name: [entry[name] for entry in rounds] for name in rounds[0]}
    medians = {name: statistics.median(values) for name, values in figures.items()}

    release = load_release(options.release)
    table = Table(title=f"Neo4j {release.version}: seconds until the first answer, median of {options.rounds}")
    for column in ("start", "median", "lowest", "highest", "times a bare Java"):
        table.add_column(column, justify="left" if column == "start" else "right")
    for name in ("cold", "new", "warm", "running", "down", "proas", "java"):
        values = figures[name]
        ratio = f"{medians[name] / medians['java']:.1f}"
        table.add_row(name, f"{medians[name]:.2f}", f"{min(values):.2f}", f"{max(values):.2f}", ratio)
    Console().print(table)

    options.out.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "benchmark": "local_server",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": described,
        "neo4j": release.version,
        "download_mb": round(release.size / 1e6, 1),
        "rounds": options.rounds,
        "seconds": {name: [round(value, 3) for value in values] for name, values in figures.items()},
        "median": {name: round(value, 3) for name, value in medians.items()},
        "ratio": {
            "cold_to_warm": round(medians["cold"] / medians["warm"], 2),
            "new_to_warm": round(medians["new"] / medians["warm"], 2),
            "warm_to_bare_java": round(medians["warm"] / medians["java"], 1),
            "running_to_warm": round(medians["running"] / medians["warm"], 4),
        },
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
