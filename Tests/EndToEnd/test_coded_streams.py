"""Streams of compressed bodies that nobody reads: what libcurl has undone and cannot hand on is bounded over all of a
user's streams."""
from __future__ import annotations

import json
import socket
import threading
import zlib
from pathlib import Path
from typing import Callable, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.loopback import Loopback
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

#: As many as fit, and the resource's path.
ROOM = 15
STREAM = {"resource": "bombs", "path": "x", "stream": True}


def bomb(mebibytes: int) -> bytes:
    """So many MiB of zeros."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(bytes(1 << 20)) for _ in range(mebibytes)] + [packer.flush()])


class BombServer:
    """Notes the requests; answers with a bomb when more of them have come than fit: an answer that came earlier would
    keep the sidecar from reading the other requests of the connection."""

    def __init__(self) -> None:
        body = bomb(128)
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.requests: List[str] = []
        self._all_are_there = threading.Event()
        self._loopback = Loopback(self._serve)
        self.base = f"http://127.0.0.1:{self._loopback.port}/"
        self._loopback.start()

    def stop(self) -> None:
        self._all_are_there.set()
        self._loopback.stop()

    def _serve(self, connection: socket.socket, _: int) -> None:
        self.requests.append(connection.recv(65536).decode().lower())
        if len(self.requests) > ROOM:
            self._all_are_there.set()
        self._all_are_there.wait()
        connection.sendall(self.answer)
        connection.recv(1)


@pytest.fixture
def server() -> Iterator[BombServer]:
    made = BombServer()
    yield made
    made.stop()


def resident(sidecar: Sidecar) -> int:
    return int(Path(f"/proc/{sidecar.process.pid}/statm").read_text().split()[1]) * 4096


def ask(connection: Connection, count: int) -> None:
    """So many streams, asked for in one go."""
    requests = [{"jsonrpc": "2.0", "id": number, "method": "fetchResource", "params": STREAM} for number in range(count)]
    connection.send_text("\n".join(json.dumps(request) for request in requests))


def begins(connection: Connection) -> bool:
    """Whether one more stream finds room."""
    ask(connection, 1)
    message = connection.receive()
    assert isinstance(message, dict)
    if "error" in message:
        expect.fault(message["error"], 1012)
        return False
    return message["method"] == "fetchResource.chunk"


@needs_root
def test_what_one_users_unread_streams_hold_is_bounded(start: Callable[..., Sidecar], server: BombServer) -> None:
    """Each would hold 64 MiB in libcurl. Another user's stream begins beside them."""
    sidecar = start({**BOTH, "resources": {"bombs": {"baseUrl": server.base, "auth": "none"}}})
    open_to_all(sidecar.directory)
    before = resident(sidecar)
    alices = [connect_as(ALICE, sidecar, timeout=60) for _ in range(4)]
    try:
        for connection in alices:
            ask(connection, 8)
        eventually(lambda: len(server.requests) > ROOM, 60, "more requests than fit")
        with connect_as(BOB, sidecar, timeout=60) as bob:
            ask(bob, 1)
            assert bob.receive()["method"] == "fetchResource.chunk"  # type: ignore[call-overload]
        # What they hold, with what waits on their connections.
        assert resident(sidecar) - before < 192 << 20
    finally:
        for connection in alices:
            connection.close()
    assert all("accept-encoding: identity" in request for request in server.requests)
    with connect_as(ALICE, sidecar, timeout=60) as alice:
        # The sidecar notices the ends of her connections one after the other; until then there is no room.
        eventually(lambda: begins(alice), 60, "room for a stream after the others' end")


def test_one_too_many_is_told_so(start: Callable[..., Sidecar], server: BombServer) -> None:
    sidecar = start({"resources": {"bombs": {"baseUrl": server.base, "auth": "none"}}})
    with sidecar.connect(timeout=60) as connection:
        ask(connection, ROOM + 1)
        eventually(lambda: len(server.requests) > ROOM, 60, "the requests")
        while True:
            message = connection.receive()
            assert isinstance(message, dict)
            if "id" in message:
                expect.fault(message["error"], 1012)
                assert message["error"]["data"]["outcome"] == "replied"
                return
