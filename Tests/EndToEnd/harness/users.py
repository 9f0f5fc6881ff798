"""Connections that belong to another uid, as the kernel sees it."""
from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterator

import pytest

from .connection import Connection
from .sidecar import Sidecar

#: Two users who must not notice each other.
ALICE, BOB = 1001, 1002

#: Only root may become somebody else.
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@contextlib.contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """Runs the body with the effective uid and gid `uid`. Not for programs with other threads at work."""
    group, user = os.getegid(), os.geteuid()
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)


def connect_as(uid: int, sidecar: Sidecar, framing: str = "stream", timeout: float = 20.0) -> Connection:
    """A connection of `uid`: the kernel reports the effective uid at the time of `connect` (SO_PEERCRED, unix(7))."""
    with acting_as(uid):
        return sidecar.connect(framing, timeout)


def as_user(uid: int, work: Callable[[], Any]) -> Any:
    """What `work` returns; the connections that it makes are of `uid`."""
    with acting_as(uid):
        return work()


def open_to_all(sidecar_directory: os.PathLike) -> None:
    """Lets every uid reach what lies in the directory and the one above it."""
    path = os.fspath(sidecar_directory)
    for folder in (path, os.path.dirname(path)):
        os.chmod(folder, 0o755)


#: What a sidecar needs that serves both, besides `open_to_all`.
BOTH = {
    "listen": {"mode": "0666"},
    "peers": [{"uid": uid, "methods": ["*"]} for uid in (0, ALICE, BOB)],
}
