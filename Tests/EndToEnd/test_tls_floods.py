"""A server that sends messages of TLS itself without end: the thread that serves everybody takes one of them at a
time."""
from __future__ import annotations

import time
from pathlib import Path
from typing import Callable

import pytest

from harness.certificates import Authority
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.tls_floods import TLSFlood
from harness.waiting import eventually

#: A body of which nothing comes.
START = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


def longest_of_twenty(connection: Connection) -> float:
    """How long the longest of twenty fetches took."""
    longest = 0.0
    for _ in range(20):
        began = time.monotonic()
        assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200
        longest = max(longest, time.monotonic() - began)
    return longest


@pytest.mark.parametrize("kind", ["key updates", "session tickets"])
def test_no_other_user_waits_for_their_end(start: Callable[..., Sidecar], tmp_path: Path, kind: str) -> None:
    """Without a bound what has gathered while the task was suspended is read in one go, and so is what comes
    meanwhile."""
    authority = Authority(tmp_path / "authority")
    authority.issue("server", "subjectAltName=IP:127.0.0.1")
    server = TLSFlood(authority, kind, START)
    resources = {"flood": {"baseUrl": server.base, "auth": "none", "tls": {"caFile": authority.file}}}
    try:
        sidecar = start({"resources": resources})
        with sidecar.connect(timeout=60) as connection, sidecar.connect(timeout=60) as other:
            flooded = connection.request("fetchResource", {"resource": "flood", "path": "x", "task": "t", "timeoutMs": 4000})
            eventually(lambda: server.requests, what="the request")
            other.call("suspendTask", {"task": "t"})
            eventually(
                lambda: server.sent == (time.sleep(0.5), server.sent)[1] and server.sent > 1000, 60, "a full buffer")
            undisturbed = longest_of_twenty(other)
            other.call("resumeTask", {"task": "t"})
            # Ten times as long only where the machine is busy, and was before.
            assert longest_of_twenty(other) < max(0.5, 10 * undisturbed)
            assert connection.answer_to(flooded)["error"]["code"] == -32022
    finally:
        server.stop()
