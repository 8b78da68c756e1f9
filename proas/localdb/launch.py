"""Start the server as a process of its own, and end it with its parent where that is asked for.

Run as a script, by path and with the standard library alone, so that it starts quickly::

    python -I launch.py detached|tied LOG COMMAND...

It starts the command in a new session, writes its process id to standard output, and

- ``detached``: ends at once, so that the command belongs to nobody and survives whoever asked for it;
- ``tied``: waits for the end of its standard input, which comes when the parent ends in whatever way, ``kill -9``
  included, and then ends the command: asked first, killed after ``_GRACE`` seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

_GRACE = 20.0


def _start(log: str, command: list[str]) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    with Path(log).open("ab") as out:
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            creationflags=flags,
        )


def _tie(process: subprocess.Popen[bytes]) -> None:
    def watch() -> None:
        sys.stdin.buffer.read()
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()

    threading.Thread(target=watch, daemon=True).start()
    process.wait()


def main() -> None:
    """Start the command and, when tied, stay with it."""
    mode, log, *command = sys.argv[1:]
    process = _start(log, command)
    sys.stdout.write(f"{process.pid}\n")
    sys.stdout.flush()
    if mode == "tied":
        # The parent reads one line; closing the pipe tells it that there is no more to come.
        os.close(1)
        _tie(process)
    # Not waited for: skip the interpreter's complaint about a child that goes on.
    os._exit(0)


if __name__ == "__main__":
    main()
