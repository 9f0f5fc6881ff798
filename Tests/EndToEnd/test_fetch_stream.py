"""Section 4.1: `stream: true`. The body comes in pieces, in order, no faster than it is read."""
from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Tuple

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Connect = Callable[..., Connection]


def stream(connection: Connection, path: str, **params: Any) -> Tuple[bytes, Dict[str, Any]]:
    """The body put together, and the answer."""
    identifier = connection.request("fetchResource", {"resource": "open", "path": path, "stream": True, **params})
    pieces: List[bytes] = []
    while True:
        message = connection.receive()
        if message.get("id") == identifier:
            return b"".join(pieces), message
        assert message["method"] == "fetchResource.chunk" and "id" not in message
        assert message["params"]["sequence"] == len(pieces), "pieces count from 0, in order"
        assert set(message["params"]) == {"task", "sequence", "dataBase64"}
        pieces.append(base64.b64decode(message["params"]["dataBase64"], validate=True))
        assert pieces[-1], "an empty piece"


def pattern(length: int) -> bytes:
    return (bytes(range(251)) * (length // 251 + 1))[:length]


@pytest.mark.parametrize("path", ["bytes/0", "bytes/1", "bytes/300000", "bytes/3000000?chunked=true"])
def test_the_pieces_are_the_body(connection: Connection, path: str) -> None:
    body, answer = stream(connection, path)
    length = int(path.split("/")[1].partition("?")[0])
    assert body == pattern(length)
    result = answer["result"]
    assert result["status"] == 200 and "body" not in result and "bodyBase64" not in result
    assert connection.call("getTask", {"task": result["task"]})["receivedBytes"] == length


def test_a_stream_is_not_bounded_by_the_size_of_bodies(
    start: Callable[..., Sidecar], connect: Connect
) -> None:
    connection = connect(start({"resources": {"open": {"maxBodyBytes": "1KiB"}}}))
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": "bytes/5000"}), 1012)
    assert stream(connection, "bytes/5000")[0] == pattern(5000)


@pytest.mark.parametrize("path, status", [("status/404", 404), ("status/401", 401), ("status/500", 500)])
def test_other_answers_come_in_pieces_too(connection: Connection, path: str, status: int) -> None:
    plain = connection.call("fetchResource", {"resource": "open", "path": path})
    body, answer = stream(connection, path)
    assert answer["result"]["status"] == status and "body" not in answer["result"]
    assert body.decode() == plain["body"]


def test_redirects_and_codings_are_followed_and_undone(connection: Connection) -> None:
    assert stream(connection, "redirects/3")[1]["result"]["status"] == 200
    plain = connection.call("fetchResource", {"resource": "open", "path": "gzip"})
    body, answer = stream(connection, "gzip")
    assert body.decode() == plain["body"] and "content-encoding" not in answer["result"]["headers"]


def test_a_refused_token_is_renewed_before_the_first_piece(
    connection: Connection, playground: Playground
) -> None:
    assert stream(connection, "bytes/1000", resource="orders")[0] == pattern(1000)
    playground.faults(revokeTokens=True)
    body, answer = stream(connection, "bytes/1000", resource="orders")
    assert body == pattern(1000) and answer["result"]["tokenRefreshed"] is True


def head(connection: Connection, path: str, **params: Any) -> Tuple[Dict[str, Any], List[str], Dict[str, Any]]:
    """The head, what came in which order, and the answer."""
    params = {"resource": "open", "path": path, "stream": True, "streamHead": True, **params}
    identifier = connection.request("fetchResource", params)
    first: Dict[str, Any] = {}
    order: List[str] = []
    while True:
        message = connection.receive()
        if message.get("id") == identifier:
            return first, order, message
        order.append(message["method"])
        first = first or message["params"]


@pytest.mark.parametrize(
    "path, status, pieces",
    [("bytes/100000", 200, True), ("bytes/0", 200, False), ("status/204", 204, False), ("status/404", 404, True),
     ("status/401", 401, True), ("redirects/3", 200, True), ("gzip", 200, True)])
def test_the_head_comes_once_and_first_and_is_the_result_s(
    connection: Connection, path: str, status: int, pieces: bool
) -> None:
    first, order, answer = head(connection, path)
    result = answer["result"]
    assert order[0] == "fetchResource.head" and order.count("fetchResource.head") == 1
    assert ("fetchResource.chunk" in order) == pieces
    assert first["status"] == status
    assert first == {name: result[name] for name in ("task", "status", "reason", "url", "headers") if name in result}


def test_the_head_of_a_refused_token_s_answer_is_not_told(connection: Connection, playground: Playground) -> None:
    assert head(connection, "bytes/10", resource="orders")[0]["status"] == 200
    playground.faults(revokeTokens=True)
    first, order, answer = head(connection, "bytes/10", resource="orders")
    assert answer["result"]["tokenRefreshed"] is True
    assert first["status"] == 200 and order == ["fetchResource.head", "fetchResource.chunk"]


def test_the_head_is_told_while_the_server_is_silent(start: Callable[..., Sidecar], connect: Connect) -> None:
    """Events of a server must not wait for the first of them to learn that they are events."""
    listener = socket.create_server(("127.0.0.1", 0))
    peers: List[socket.socket] = []

    def serve() -> None:
        peers.append(listener.accept()[0])
        peers[0].recv(4096)
        peers[0].sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    connection = connect(start({"resources": {"feed": {"baseUrl": base, "auth": "none"}}}))
    identifier = connection.request(
        "fetchResource", {"resource": "feed", "path": "x", "stream": True, "streamHead": True})
    message = connection.receive()
    assert message["method"] == "fetchResource.head"
    assert message["params"]["headers"]["content-type"] == ["text/event-stream"]
    peers[0].sendall(b"data: 1\n\n")
    assert base64.b64decode(connection.receive()["params"]["dataBase64"]) == b"data: 1\n\n"
    peers[0].close()
    thread.join(5)
    listener.close()
    assert connection.answer_to(identifier)["result"]["status"] == 200


def test_a_head_without_a_stream_or_before_an_error(start: Callable[..., Sidecar], connect: Connect) -> None:
    connection = connect(start({"resources": {"gone": {"baseUrl": "http://127.0.0.1:1/", "auth": "none"}}}))
    error = connection.error("fetchResource", {"resource": "gone", "path": "x", "streamHead": True})
    expect.fault(error, -32602, "/streamHead")
    first, order, answer = head(connection, "x", resource="gone")
    assert (first, order) == ({}, [])
    expect.fault(answer["error"], 1009)


class Writer:
    """An upstream that answers one request with pieces at its own pace."""

    def __init__(self, *pieces: bytes, pause: float = 0.0, stays: bool = False) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(pieces, pause, stays), daemon=True)
        self._thread.start()

    def _serve(self, pieces: Tuple[bytes, ...], pause: float, stays: bool) -> None:
        with self._listener.accept()[0] as peer, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            peer.recv(4096)
            for piece in pieces:
                peer.sendall(piece)
                self._over.wait(pause)
            if stays:
                self._over.wait(30)

    def close(self) -> None:
        self._over.set()
        self._thread.join(5)
        self._listener.close()


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def test_what_keeps_coming_may_take_longer_than_the_timeout(start: Callable[..., Sidecar], connect: Connect) -> None:
    """Events of a server would end after the resource's 30 s, however busy it is."""
    writer = Writer(EVENTS, *[b"data: x\n\n"] * 8, pause=0.5)
    resources = {"feed": {"baseUrl": writer.base, "auth": "none", "timeout": "3s", "idleTimeout": "3s"}}
    connection = connect(start({"resources": resources}))
    body, answer = stream(connection, "x", resource="feed")
    writer.close()
    assert answer["result"]["status"] == 200 and body == b"data: x\n\n" * 8


@pytest.mark.parametrize("params, pause", [({}, 0.0), ({"timeoutMs": 2500}, 0.3)])
def test_silence_and_an_own_timeout_end_a_stream(
    start: Callable[..., Sidecar], connect: Connect, params: Dict[str, Any], pause: float
) -> None:
    writer = Writer(EVENTS, *[b"data: x\n\n"] * 12, pause=pause, stays=True)
    resources = {"feed": {"baseUrl": writer.base, "auth": "none", "timeout": "2500ms", "idleTimeout": "2500ms"}}
    connection = connect(start({"resources": resources}))
    body, answer = stream(connection, "x", resource="feed", **params)
    writer.close()
    expect.fault(answer["error"], -32022)
    assert answer["error"]["data"]["outcome"] == "replied"
    assert ("idleTimeout" in answer["error"]["message"]) != bool(params)
    assert body == b"data: x\n\n" * 12 if not params else body


def test_what_came_before_the_server_broke_off_is_told(start: Callable[..., Sidecar], connect: Connect) -> None:
    writer = Writer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    connection = connect(start({"resources": {"feed": {"baseUrl": writer.base, "auth": "none"}}}))
    first, order, answer = head(connection, "x", resource="feed")
    writer.close()
    assert first["status"] == 200 and order == ["fetchResource.head", "fetchResource.chunk"]
    expect.fault(answer["error"], 1013)


def resident(sidecar: Sidecar) -> int:
    with open(f"/proc/{sidecar.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_a_slow_reader_slows_the_server_down_and_costs_no_memory(
    connection: Connection, sidecar: Sidecar, connect: Connect
) -> None:
    """Without back-pressure the 200 MB would pile up in the sidecar."""
    other = connect(sidecar)
    length = 200_000_000
    before = resident(sidecar)
    identifier = connection.request(
        "fetchResource", {"resource": "open", "path": f"bytes/{length}", "stream": True, "task": "big", "timeoutMs": 60000})
    connection.receive()
    received = lambda: other.call("getTask", {"task": "big"})["receivedBytes"]
    eventually(lambda: received() == (time.sleep(0.3), received())[1])
    assert received() < 20_000_000, "the server went on although nobody reads"
    assert resident(sidecar) - before < 40 << 20
    other.call("cancelTask", {"task": "big"})
    expect.fault(connection.answer_to(identifier)["error"], -32800)


@pytest.mark.slow
@pytest.mark.parametrize("framing", ["stream"], indirect=True)  # read by lines, which are the messages in this one
def test_a_gigabyte_in_flat_memory(connection: Connection, sidecar: Sidecar) -> None:
    total, peak, before = 0, 0, resident(sidecar)
    for _ in range(4):
        identifier = connection.request(
            "fetchResource", {"resource": "open", "path": "bytes/268435456", "stream": True, "timeoutMs": 300000})
        reader = connection.socket.makefile("rb")
        while True:
            line = reader.readline()
            if b'"fetchResource.chunk"' not in line:
                break
            total += len(line) * 3 // 4
            peak = max(peak, resident(sidecar))
        assert identifier.encode() in line
    assert total > 1 << 30 and peak - before < 64 << 20


def test_cut_off_in_the_middle(start: Callable[..., Sidecar], connect: Connect) -> None:
    """What came is told, the end is an error: nobody takes half a body for a whole one."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 400)
        peer.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    connection = connect(start({"resources": {"half": {"baseUrl": base, "auth": "none"}}}))
    body, answer = stream(connection, "x", resource="half")
    thread.join(5)
    listener.close()
    expect.fault(answer["error"], 1013)
    assert answer["error"]["data"]["outcome"] == "replied" and body in (b"", b"x" * 400)


def test_a_caller_that_goes_away_ends_its_stream(sidecar: Sidecar, connect: Connect) -> None:
    first, other = connect(sidecar), connect(sidecar)
    first.request(
        "fetchResource", {"resource": "open", "path": "bytes/900000000", "stream": True, "task": "big"})
    first.receive()
    first.close()
    eventually(lambda: other.call("getTask", {"task": "big"})["state"] == "cancelled")
