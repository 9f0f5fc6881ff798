"""Connects to the socket: errors, and which of them are retried."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from .errors import ConnectionFailed

#: Errors of a sidecar that is restarting, or whose queue of connections is full.
PASSING = frozenset({errno.ECONNREFUSED, errno.ENOENT, errno.EAGAIN, errno.ECONNRESET})

_HINTS = {
    errno.ENOENT: "there is no socket; is the sidecar running, and is this its path ($POSTERN_SOCKET)?",
    errno.ECONNREFUSED: "no process listens at this socket any more",
    errno.EACCES: "this user may not use the socket (listen.mode, listen.group)",
    errno.EPERM: "this user may not use the socket (listen.mode, listen.group)",
    errno.EAGAIN: "the sidecar takes no connection at the moment",
    errno.ETIMEDOUT: "the sidecar takes no connection",
}


#: `sun_path` has 108 bytes, with the NUL after the path.
_MOST_BYTES = 107


def address(path: str) -> bytes:
    """The path for the system, which would cut it at a NUL and connect to another socket."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        raise _no_path(path, "this is no path in the encoding of the file system") from None
    if not name:
        raise _no_path(path, "the path of the socket is empty")
    if b"\0" in name:
        raise _no_path(path, "there is a NUL in the path of the socket")
    if len(name) > _MOST_BYTES:
        raise _no_path(path, f"the path of the socket is too long: more than {_MOST_BYTES} bytes")
    return name


def _no_path(path: str, why: str) -> ConnectionFailed:
    return ConnectionFailed(f"{path!r}: {why}", data={"outcome": "not_sent", "errno": None, "retryable": False})


def failure(path: str, error: OSError) -> ConnectionFailed:
    """The exception for a connection that was not established."""
    text = _HINTS.get(error.errno or 0) or error.strerror or str(error)
    return ConnectionFailed(f"{path}: {text}", data={"outcome": "not_sent", "errno": error.errno, "retryable": True})


def pauses() -> Iterator[float]:
    """Seconds between two attempts."""
    pause = 0.01
    while True:
        yield pause
        pause = min(pause * 2, 0.25)
