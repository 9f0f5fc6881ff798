"""Origins over HTTP/1.1 that never come to an end: nobody else waits for them, and their own fetch ends at its
bounds."""
from __future__ import annotations

import socket
import time
from typing import Callable, Iterator, List

import pytest

from harness.loopback import Loopback
from harness.sidecar import Sidecar
from harness.waiting import eventually

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#: What an answer begins with, what follows again and again, and the pause between.
ENDLESS = {
    "interim responses": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0),
    "header lines": (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 100, 0),
    "one header line": (b"HTTP/1.1 200 OK\r\nA: ", b"x" * 4096, 0),
    "a chunk extension": (CHUNKED + b"5;", b"x" * 65_536, 0),
    "trailers": (CHUNKED + b"0\r\n", b"A: b\r\n" * 100, 0),
    "small chunks": (CHUNKED, b"1\r\nx\r\n" * 1000, 0),
    "a body by drops": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b"x", 0.005),
    "a head by drops": (b"HTTP/1.1 200 OK\r\nA: ", b"x", 0.005),
}


class EndlessServer:
    def __init__(self, start: bytes, again: bytes, pause: float) -> None:
        self.start, self.again, self.pause = start, again, pause
        self.requests = 0
        self._loopback = Loopback(self._serve, timeout=30)
        self.base = f"http://127.0.0.1:{self._loopback.port}/"
        self._loopback.start()

    def stop(self) -> None:
        self._loopback.stop()

    def _serve(self, connection: socket.socket, _: int) -> None:
        connection.recv(65536)
        self.requests += 1
        connection.sendall(self.start)
        while True:
            connection.sendall(self.again)
            time.sleep(self.pause)


@pytest.fixture
def servers() -> Iterator[List[EndlessServer]]:
    started: List[EndlessServer] = []
    yield started
    for server in started:
        server.stop()


@pytest.mark.parametrize("kind", ENDLESS)
def test_others_fetches_go_on_and_bounds_hold(
    start: Callable[..., Sidecar], servers: List[EndlessServer], kind: str
) -> None:
    server = EndlessServer(*ENDLESS[kind])
    servers.append(server)
    sidecar = start({"resources": {"endless": {"baseUrl": server.base, "auth": "none"}}})
    with sidecar.connect(timeout=60) as connection, sidecar.connect(timeout=60) as other:
        attacks = [
            connection.request("fetchResource", {"resource": "endless", "path": "x", "timeoutMs": 2000})
            for _ in range(4)]
        eventually(lambda: server.requests == 4, what="the requests")
        for _ in range(20):
            assert other.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200
        assert other.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200
        for identifier in attacks:
            assert connection.answer_to(identifier)["error"]["code"] in (-32022, 1012, 1013)
