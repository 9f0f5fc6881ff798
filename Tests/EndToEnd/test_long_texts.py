"""Long messages and long answers of one user: what another one notices of them."""
from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect, users
from harness.connection import Connection
from harness.recorder import Recorded, Recorder
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, connect_as, needs_root

MEBIBYTE = 1 << 20
SIZE = 16 * MEBIBYTE
#: How often a long text is sent or asked for while the other user's answers are timed.
CALLS = 3

pytestmark = needs_root


@pytest.fixture
def shared(start: Callable[..., Sidecar], directory: Path, playground: Any) -> Iterator[Sidecar]:
    """A sidecar for two users; `big` answers 16 MiB of control characters, which are six times as long in JSON, and
    under `waits` nothing until the end of the test."""
    directory.chmod(0o755)
    recorder = Recorder(playground.base)
    released = threading.Event()

    def answer(request: Recorded) -> Any:
        if request.path == "/waits":
            released.wait(60)
        text = {"/control": b"\x01" * SIZE, "/some": b"\x01" * MEBIBYTE}.get(request.path, b"ok")
        return 200, {"Content-Type": "text/plain; charset=utf-8"}, text

    recorder.instead = answer
    sidecar = start(
        {
            "listen": {**users.BOTH["listen"], "path": str(directory / "shared.sock")},
            "peers": users.BOTH["peers"],
            "resources": {"big": {"baseUrl": f"{recorder.base}/", "auth": "none", "maxBodyBytes": SIZE}},
            "log": {"level": "error"},
        }
    )
    yield sidecar
    released.set()
    recorder.stop()


class Neighbour:
    """Another user who asks all the time, on every event loop; how long answers took. In a process of its own: what
    this one does with long texts must not keep it waiting."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.connections = [connect_as(BOB, sidecar, timeout=60) for _ in range(4)]
        (reader, self.ending), (self.times, writer) = os.pipe(), os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.close(self.ending)
                os.set_blocking(reader, False)
                os.write(writer, json.dumps(self._asks(reader)).encode())
            finally:
                os._exit(0)
        os.close(reader)
        os.close(writer)

    def _asks(self, reader: int) -> List[float]:
        longest = [0.0] * CALLS
        while True:
            try:
                os.read(reader, 1)
                return longest
            except BlockingIOError:
                pass
            for connection in self.connections:
                begin = time.monotonic()
                assert connection.works()
                longest = sorted([*longest, time.monotonic() - begin])[-CALLS:]
                time.sleep(0.002)

    def longest(self) -> List[float]:
        """The times of as many answers as there were long calls, the longest ones."""
        os.close(self.ending)
        text = os.read(self.times, 1000)
        os.waitpid(self.child, 0)
        os.close(self.times)
        for connection in self.connections:
            connection.close()
        return json.loads(text)


def fetch(path: str, **params: Any) -> Dict[str, Any]:
    return {"resource": "big", "path": path, **params}


def read_line(connection: Connection) -> int:
    """The length of the next text, which is read and forgotten."""
    count = 0
    while True:
        piece = connection.socket.recv(MEBIBYTE)
        assert piece, "the connection ended"
        count += len(piece)
        if piece.endswith(b"\n"):
            return count


#: On a debug binary and a busy machine; what is to be kept out takes at least as long as the call itself, with every
#: call. What the machine keeps waiting once or twice does not count.
def assert_undisturbed(longest: List[float], took: float) -> None:
    assert min(longest) < max(0.5, took / 3), f"{longest} s, of {took:.3f} s"


@pytest.mark.thorough
def test_a_response_of_16_mib_delays_no_other_user(shared: Sidecar) -> None:
    with connect_as(ALICE, shared, timeout=120) as alice:
        neighbour = Neighbour(shared)
        begin = time.monotonic()
        for _ in range(CALLS):
            alice.request("fetchResource", fetch("control"))
            assert read_line(alice) > 6 * SIZE
        took = (time.monotonic() - begin) / CALLS
        assert_undisturbed(neighbour.longest(), took)
        assert alice.works()


@pytest.mark.parametrize("framing", ["stream", "headers"])
def test_a_long_answer_is_whole_and_others_follow(shared: Sidecar, framing: str) -> None:
    with connect_as(ALICE, shared, framing, timeout=120) as alice:
        first = alice.request("fetchResource", fetch("some"))
        alice.request("getInfo", identifier="second")
        alice.half_close()
        assert alice.answer_to("second")["result"]["name"] == "postern"
        assert alice.answer_to(first)["result"]["body"] == "\x01" * MEBIBYTE
        assert alice.ends() == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["body", "parameters"])
def test_a_message_of_16_mib_delays_no_other_user(shared: Sidecar, kind: str) -> None:
    content: Dict[str, Any] = {"body": "\n" * (8 * MEBIBYTE - 1000)}
    if kind == "parameters":
        content = {"parameters": {"%0150d" % number: "v" for number in range(99_000)}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": fetch("ok", method="POST", **content)}
    text = json.dumps(message)
    with connect_as(ALICE, shared, timeout=120) as alice:
        neighbour = Neighbour(shared)
        begin = time.monotonic()
        for _ in range(CALLS):
            alice.send_text(text)
            assert alice.answer_to(1)["result"]["body"] == "ok"
        took = (time.monotonic() - begin) / CALLS
        assert_undisturbed(neighbour.longest(), took)


def test_what_follows_a_long_message_is_answered_after_it_was_read(shared: Sidecar) -> None:
    """A cancel that is read before the call it is about would be lost."""
    body = "x" * (SIZE - 1000)
    with connect_as(ALICE, shared, timeout=60) as alice:
        for _ in range(3):
            alice.request("fetchResource", fetch("waits", method="POST", body=body), identifier=7)
            alice.notify("$/cancelRequest", {"id": 7})
            expect.error(alice.receive(), -32800, 7)  # type: ignore[arg-type]
        alice.request("fetchResource", fetch("ok", method="POST", body=body), identifier=8)
        alice.half_close()
        assert alice.answer_to(8)["result"]["body"] == "ok"
        assert alice.ends() == []


def test_unfinished_messages_of_one_user_are_bounded(shared: Sidecar) -> None:
    half = b'{"jsonrpc":"2.0","id":1,"method":"getInfo","params":{"a":"' + b"x" * (12 * MEBIBYTE)
    before = shared.resident_kilobytes()
    hoard: List[Connection] = []
    ended: List[Connection] = []

    def send(connection: Connection) -> None:
        try:
            connection.send_bytes(half)
        except (BrokenPipeError, ConnectionResetError):
            pass

    with connect_as(BOB, shared) as bob, connect_as(ALICE, shared) as alice:
        try:
            for _ in range(12):
                hoard.append(connect_as(ALICE, shared, timeout=30))
                send(hoard[-1])
                assert bob.works() and alice.works()
            for connection in hoard:
                connection.socket.setblocking(False)
                try:
                    if connection.socket.recv(1, socket.MSG_PEEK):
                        ended.append(connection)
                except BlockingIOError:
                    pass
            # Five have room in 64 MiB; more than that only where one of the others made room.
            assert len(hoard) - len(ended) <= 6 and len(ended) >= 6
            for connection in ended:
                connection.socket.settimeout(10)
                data = expect.error(connection.receive(), -32009, None)  # type: ignore[arg-type]
                assert data["limitBytes"] == 64 * MEBIBYTE and data["outcome"] == "not_sent"
            assert shared.resident_kilobytes() - before < 2 * 64 * 1024
            # Those that are left go on.
            for connection in hoard:
                if connection not in ended:
                    connection.socket.settimeout(30)
                    connection.send_bytes(b'"}}\n')
                    expect.error(connection.receive(), -32602, 1)  # type: ignore[arg-type]
            assert bob.works() and alice.works()
        finally:
            for connection in hoard:
                connection.close()
