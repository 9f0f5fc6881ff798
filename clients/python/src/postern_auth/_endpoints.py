"""Sockets for children: what `client.endpoint` returns, and descriptors that are connections."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from dataclasses import dataclass, field
from datetime import datetime

from .errors import ConnectionFailed
from .types import CreatedEndpoint

__all__ = ["Endpoint"]

#: The descriptors that clients have taken: two of them cannot read from one connection.
_taken: set[int] = set()
_taking = threading.Lock()


class Passed:
    """A descriptor that came with a response. It is closed with its last reference, unless it was taken."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def take(self) -> int:
        """The descriptor, which is the caller's from now on."""
        descriptor, self._descriptor = self._descriptor, None
        assert descriptor is not None
        return descriptor

    def __del__(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)


@dataclass(frozen=True)
class Endpoint:
    """A socket for one child, which can do a part of what its maker can."""

    #: The handle, by which it is listed and revoked. It opens nothing.
    id: str
    #: The path of its socket; None where the sidecar can make no socket file.
    path: str | None
    #: The path of the socket that speaks HTTP; only with `http`.
    http_path: str | None
    #: When it ends; None when it has no end of its own.
    expires_at: datetime | None
    #: A connected socket, only with `descriptor`: for `pass_fds`. It is closed here when the endpoint's block ends.
    descriptor: int | None = field(default=None, repr=False)

    @classmethod
    def of(cls, made: CreatedEndpoint, descriptor: int | None = None) -> Endpoint:
        return cls(made.endpoint, made.path, made.http.path if made.http else None, made.expires_at, descriptor)

    def environment(self) -> dict[str, str]:
        """The variables by which the clients of Postern in a child find it."""
        variables = {} if self.path is None else {"POSTERN_SOCKET": self.path}
        if self.http_path is not None:
            variables["POSTERN_HTTP_SOCKET"] = self.http_path
        if self.descriptor is not None:
            variables["POSTERN_FD"] = str(self.descriptor)
        return variables


def inherited_descriptor() -> int | None:
    """The descriptor of $POSTERN_FD, if it is set."""
    text = os.environ.get("POSTERN_FD")
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise _no_connection(f"POSTERN_FD is {text!r}, and no descriptor")
    return int(text)


def adopted(descriptor: int) -> socket.socket:
    """The socket of a descriptor, which is the client's from now on."""
    with _taking:
        if descriptor in _taken:
            raise _no_connection(f"descriptor {descriptor} is another client's connection already")
        try:
            own = socket.socket(fileno=descriptor)
        except OSError as error:
            raise _no_connection(f"descriptor {descriptor}: {error.strerror or error}") from error
        if own.family != socket.AF_UNIX or own.type != socket.SOCK_STREAM:
            own.detach()
            raise _no_connection(f"descriptor {descriptor} is no connected Unix socket")
        _taken.add(descriptor)
    own.set_inheritable(False)
    return own


def released(descriptor: int) -> None:
    """It is closed, and its number may be another file's."""
    with _taking:
        _taken.discard(descriptor)


def no_second(descriptor: int) -> ConnectionFailed:
    """A client of a descriptor has one connection."""
    return _no_connection(f"descriptor {descriptor} is one connection: it has ended, or a stream needs another one")


def _no_connection(text: str) -> ConnectionFailed:
    return ConnectionFailed(text, data={"outcome": "not_sent", "errno": None, "retryable": False})
