"""From an exception to one clear message and an exit code.

===========  ==================================================================
exit code    when
===========  ==================================================================
0            done
1            failed
2            the command line made no sense
130          interrupted from the keyboard
===========  ==================================================================
"""

from __future__ import annotations

import os
import tempfile
import traceback
from dataclasses import asdict, dataclass

from rich.text import Text

from proas.cli.console import Output, plain
from proas.errors import ProASError

__all__ = ["INTERRUPTED", "Fault", "fault_of", "report"]

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_SECRET_VARIABLES = ("NEO4J_PASSWORD", "PROAS_TEST_NEO4J_PASSWORD", "PROAS_API_KEY", "OPENAI_API_KEY")


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure as the user sees it.

    Attributes:
        kind: Name of the error class.
        message: What was wrong and where.
        hint: What to do about it, may be empty.
        exit_code: What the process ends with.
    """

    kind: str
    message: str
    hint: str
    exit_code: int


def fault_of(error: BaseException) -> Fault:
    """What to tell the user about an exception."""
    if isinstance(error, ProASError):
        return Fault(type(error).__name__, error.message, error.hint, error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return Fault("Interrupted", "interrupted", "", INTERRUPTED)
    if _is_usage_error(error):
        context = getattr(error, "ctx", None)
        hint = f"'{context.command_path} --help' says what it takes" if context is not None else "see proas --help"
        message = str(error.format_message()).replace(": Value error, ", ": ")  # type: ignore[attr-defined]
        return Fault("UsageError", message.strip() or "incomplete command", hint, getattr(error, "exit_code", 2))
    if isinstance(error, RecursionError | MemoryError):
        return Fault(type(error).__name__, "the input is too deep or too large to be read", "", 1)
    return _unexpected(error)


def report(fault: Fault, output: Output) -> None:
    """Print a fault: a document on standard output with ``--json``, and always a message on standard error."""
    if output.json_wanted:
        output.result({"error": asdict(fault)})
    output.err.print(Text.assemble(("error ", "bold red"), plain(fault.message)), soft_wrap=True)
    if fault.hint:
        output.err.print(Text.assemble(("hint  ", "cyan"), plain(fault.hint)), soft_wrap=True)


def _is_usage_error(error: BaseException) -> bool:
    # Typer brings its own copy of click, and older releases the real one: known by what it can do, not by its class.
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _unexpected(error: BaseException) -> Fault:
    """A fault in ProAS itself: a short message, and the traceback where it can be found. Never any locals."""
    trace = _without_secrets("".join(traceback.format_exception(error)))
    message = f"unexpected {type(error).__name__}: {_without_secrets(str(error))}".rstrip(": ")
    if os.environ.get("PROAS_DEBUG") == "1":
        return Fault(type(error).__name__, f"{trace.rstrip()}\n{message}", "this is a fault in ProAS", 1)
    try:
        with tempfile.NamedTemporaryFile("w", prefix="proas-error-", suffix=".log", delete=False) as file:
            file.write(trace)
    except OSError:
        return Fault(type(error).__name__, message, "this is a fault in ProAS; PROAS_DEBUG=1 shows the traceback", 1)
    return Fault(type(error).__name__, message, f"this is a fault in ProAS; the traceback is in {file.name}", 1)


def _without_secrets(text: str) -> str:
    for name in _SECRET_VARIABLES:
        secret = os.environ.get(name)
        if secret:
            text = text.replace(secret, "********")
    return text
