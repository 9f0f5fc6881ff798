"""Connections that belong to another uid, as the kernel sees it."""
from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import tempfile
from typing import Any, Callable, Iterator, Optional

import pytest

from .connection import Connection
from .sidecar import Sidecar

#: Two users who must not notice each other.
ALICE, BOB = 1001, 1002

#: Only root may become somebody else.
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


#: setresuid and setresgid, of the calling thread alone. `os.seteuid` changes every thread of the process, by a signal
#: that starts what they wait for again: a thread that waits for a connection on a listener closed meanwhile then takes
#: those of a new listener with its number.
_SET_USER, _SET_GROUP = {"x86_64": (117, 119), "aarch64": (147, 149)}[platform.machine()]
_libc = ctypes.CDLL(None, use_errno=True)


def _set(call: int, identity: int) -> None:
    """Sets the effective identity of this thread."""
    unchanged = ctypes.c_long(-1)
    if _libc.syscall(ctypes.c_long(call), unchanged, ctypes.c_long(identity), unchanged) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextlib.contextmanager
def acting_as(uid: int, gid: Optional[int] = None) -> Iterator[None]:
    """Runs the body with the effective uid `uid` and gid `gid` (`uid` where it is left out), in this thread only."""
    group, user = os.getegid(), os.geteuid()
    _set(_SET_GROUP, uid if gid is None else gid)
    try:
        _set(_SET_USER, uid)
        try:
            yield
        finally:
            _set(_SET_USER, user)
    finally:
        _set(_SET_GROUP, group)


def connect_as(uid: int, sidecar: Sidecar, framing: str = "stream", timeout: float = 20.0) -> Connection:
    """A connection of `uid`: the kernel reports the effective uid at the time of `connect` (SO_PEERCRED, unix(7))."""
    with acting_as(uid):
        return sidecar.connect(framing, timeout)


def as_user(uid: int, work: Callable[[], Any]) -> Any:
    """What `work` returns; the connections that it makes are of `uid`."""
    with acting_as(uid):
        return work()


def open_to_all(sidecar_directory: os.PathLike) -> None:
    """Lets every uid reach what lies in the directory and the one above it, which may be everybody's already."""
    path = os.fspath(sidecar_directory)
    for folder in (path, os.path.dirname(path)):
        if os.path.realpath(folder) != os.path.realpath(tempfile.gettempdir()):
            os.chmod(folder, 0o755)


#: What a sidecar needs that serves both, besides `open_to_all`.
BOTH = {
    "listen": {"mode": "0666"},
    "peers": [{"uid": uid, "methods": ["*"]} for uid in (0, ALICE, BOB)],
}
