"""Every error that ProAS raises on purpose.

::

    ProASError
    ├── UsageError              what the caller asked for makes no sense (exit code 2)
    ├── DataError               a file or record is not what it should be
    │   ├── RecordError         one record of a stream, with its line and field
    │   └── TaskError           one task of an environment cannot be played, with the kind of fault
    ├── EnvironmentFailure      an environment could not be loaded or stepped
    ├── StateError              a situation has no well-defined state
    ├── GraphError              the reference graph
    │   ├── GraphUnavailable    no server, or it went away (retryable)
    │   ├── GraphAuthError      the server refused the credentials (never retried)
    │   ├── GraphVersionError   a server or schema of a version we do not serve
    │   ├── GraphNotFound       no graph, task or version of that name
    │   ├── GraphConflict       the change contradicts what is stored
    │   └── GraphCapacityError  the server ran out of memory for the transaction
    ├── ModelError              a language model that plays
    │   ├── ModelUnavailable    nobody answers, too late, or in no readable form (trying again may help)
    │   └── ModelRefused        the request is refused, and would be again: key, model name, length
    └── LocalServerError        the server that ``proas.localdb`` keeps
        ├── DownloadError       a file could not be fetched or its checksum is wrong
        └── JavaNotFound        no usable Java runtime

A message says what was wrong, where, and what to do about it; ``hint`` is the last part and may be empty.
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "DownloadError",
    "EnvironmentFailure",
    "GraphAuthError",
    "GraphCapacityError",
    "GraphConflict",
    "GraphError",
    "GraphNotFound",
    "GraphUnavailable",
    "GraphVersionError",
    "JavaNotFound",
    "LocalServerError",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "ProASError",
    "RecordError",
    "StateError",
    "TaskError",
    "UsageError",
]


class ProASError(Exception):
    """Root of all deliberate errors.

    Args:
        message: What was wrong and where.
        hint: What to do about it; shown after the message.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default reduction, and errors cross process borders.
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


def _rebuild(kind: type[ProASError], args: tuple[object, ...], state: dict[str, object]) -> ProASError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(ProASError):
    """The request itself makes no sense; the CLI ends with code 2."""

    exit_code = 2


class DataError(ProASError):
    """A file or record is not what it should be."""


class RecordError(DataError):
    """One record of a stream is unusable.

    Args:
        reason: What is wrong with it.
        source: File name, or another name for the stream.
        line: 1-based line number; 0 when the record has none.
        field: Dotted path of the offending field; empty when the whole record is bad.
    """

    def __init__(self, reason: str, *, source: str = "", line: int = 0, field: str = "", hint: str = "") -> None:
        place = f"{source}:{line}: " if line else (f"{source}: " if source else "")
        super().__init__(f"{place}{field + ': ' if field else ''}{reason}", hint=hint)
        self.reason = reason
        self.source = source
        self.line = line
        self.field = field


class TaskError(DataError):
    """A task that cannot be played.

    Args:
        key: Key of the task.
        problem: Which kind of fault, for counting.
        message: What is wrong, in words.
    """

    def __init__(self, key: str, problem: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{key}: {message}", hint=hint)
        self.key = key
        self.problem = problem
        self.reason = message


class EnvironmentFailure(ProASError):
    """An environment could not be loaded or stepped."""


class StateError(ProASError):
    """A situation has no well-defined state."""


class GraphError(ProASError):
    """Something about the reference graph or its database."""


class GraphUnavailable(GraphError):
    """No server answers, or it went away in the middle; trying again may help."""


class GraphAuthError(GraphError):
    """The server refused the credentials. Never retried: retries lock the account."""


class GraphVersionError(GraphError):
    """A server release or a schema version that this ProAS does not serve."""


class GraphNotFound(GraphError):
    """No graph, task or version of that name."""


class GraphConflict(GraphError):
    """The change contradicts what is stored."""


class GraphCapacityError(GraphError):
    """The server ran out of memory for the transaction."""


class ModelError(ProASError):
    """Something about a language model that plays.

    Args:
        message: What was wrong and where.
        hint: What to do about it.
        tokens: What the failed call is believed to have cost.
    """

    def __init__(self, message: str, *, hint: str = "", tokens: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.tokens = tokens


class ModelUnavailable(ModelError):
    """Nobody answers, not in time, or not in a form that can be read; trying again may help."""


class ModelRefused(ModelError):
    """The request is refused and would be again: a wrong key or model name, or a prompt that is too long."""


class LocalServerError(ProASError):
    """The local server could not be prepared, started or stopped."""


class DownloadError(LocalServerError):
    """A file could not be fetched, or its checksum is not the pinned one."""


class JavaNotFound(LocalServerError):
    """No usable Java runtime."""
