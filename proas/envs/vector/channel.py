"""Messages between a vector and its worker processes: pickled, each with its length, over a pair of sockets."""

from __future__ import annotations

import pickle
import socket
import struct

__all__ = ["Channel", "ChannelClosed"]

_LENGTH = struct.Struct("!Q")
_LONGEST = 1 << 32
"""No message is longer; a length beyond it means that something else wrote into the socket."""
_PIECE = 1 << 18


class ChannelClosed(Exception):
    """The other side has gone, or talks nonsense, or does not listen."""


class Channel:
    """One end.

    Args:
        connection: One of a pair of connected sockets.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()

    def fileno(self) -> int:
        """Descriptor, for ``select``."""
        return self._socket.fileno()

    def send(self, message: object, *, timeout: float | None = None) -> None:
        """Send a message whole.

        Args:
            message: Anything that can be pickled.
            timeout: Seconds that it may take; ``None`` for any time.

        Raises:
            ChannelClosed: The other side has gone, or did not take it in time.
        """
        body = pickle.dumps(message, protocol=5)
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(_LENGTH.pack(len(body)) + body)
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self) -> object:
        """The next message, waited for. Raises :class:`ChannelClosed`."""
        self._socket.settimeout(None)
        while (message := self._next()) is None:
            self._take()
        return message

    def arrived(self) -> object | None:
        """The next message if it is there in full; never waits. Raises :class:`ChannelClosed`."""
        self._socket.settimeout(0)
        while (message := self._next()) is None:
            try:
                self._take()
            except BlockingIOError:
                return None
        return message

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _take(self) -> None:
        try:
            piece = self._socket.recv(_PIECE)
        except BlockingIOError:
            raise
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if not piece:
            raise ChannelClosed("the other side has gone")
        self._buffer += piece

    def _next(self) -> object | None:
        """The first message of the buffer, if it is whole."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > _LONGEST:
            raise ChannelClosed("what arrives is not a message")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(memoryview(self._buffer)[_LENGTH.size : end])
        del self._buffer[:end]
        try:
            message: object = pickle.loads(body)  # noqa: S301  (our own process wrote it)
        except Exception as error:
            raise ChannelClosed(f"what arrives cannot be read: {error}") from error
        return message
