"""Connecting to the socket: what may be tried again, and what the errors say."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from .errors import ConnectionFailed

#: Of a sidecar that is being started again, or has too many callers at its door at once.
PASSING = frozenset({errno.ECONNREFUSED, errno.ENOENT, errno.EAGAIN, errno.ECONNRESET})

_HINTS = {
    errno.ENOENT: "there is no socket; is the sidecar running, and is this its path ($POSTERN_SOCKET)?",
    errno.ECONNREFUSED: "nobody listens at this socket any more",
    errno.EACCES: "this user may not use the socket (listen.mode, listen.group)",
    errno.EPERM: "this user may not use the socket (listen.mode, listen.group)",
    errno.EAGAIN: "the sidecar takes no connection at the moment",
    errno.ETIMEDOUT: "the sidecar takes no connection",
}


def failure(path: str, error: OSError) -> ConnectionFailed:
    """What is raised for a connection that did not come about."""
    text = _HINTS.get(error.errno or 0) or error.strerror or str(error)
    return ConnectionFailed(f"{path}: {text}", data={"outcome": "not_sent", "errno": error.errno, "retryable": True})


def pauses() -> Iterator[float]:
    """Seconds between two attempts."""
    pause = 0.01
    while True:
        yield pause
        pause = min(pause * 2, 0.25)
