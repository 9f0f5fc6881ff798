"""HTTP/2 is off unless a resource asks for it, and then a hostile server stops nobody but its own resource."""
from __future__ import annotations

import base64
import ssl
import struct
import time
from resource import RLIMIT_NOFILE, getrlimit, prlimit
from typing import Any, Callable, Dict, Iterator

import pytest

from harness.certificates import Authority
from harness.connection import Connection
from harness.http2 import DATA, PRIORITY, RST_STREAM, HTTP2Server, frame, head, whole
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
NO_ERROR, REFUSED_STREAM = struct.pack(">I", 0), struct.pack(">I", 7)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("http2"))
    made.issue("server", "subjectAltName=IP:127.0.0.1")
    return made


@pytest.fixture
def serve(authority: Authority) -> Iterator[Callable[..., HTTP2Server]]:
    started = []

    def serve(*arguments: Any, **options: Any) -> HTTP2Server:
        started.append(HTTP2Server(authority, *arguments, **options))
        return started[-1]

    yield serve
    for server in started:
        server.stop()


def resource(server: HTTP2Server, authority: Authority, **members: Any) -> Dict[str, Any]:
    return {
        "baseUrl": server.base + "/", "auth": "none", "tls": {"caFile": authority.file}, "http2": True, **members}


def well(connection: ssl.SSLSocket, number: int, stream: int) -> None:
    connection.sendall(whole(stream, b"connection %d" % number))


def fetch(connection: Connection, name: str = "r", **params: Any) -> str:
    result = connection.call("fetchResource", {"resource": name, "path": "x", **params})
    return result["body"] if "body" in result else base64.b64decode(result["bodyBase64"]).decode()


def test_it_is_offered_only_where_a_resource_asks_for_it(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    server = serve(well)
    connection = connect(start({"resources": {
        "r": resource(server, authority), "old": resource(server, authority, http2=False)}}))
    assert fetch(connection, "old") == "old"
    assert fetch(connection, "r") == "connection 1"
    assert fetch(connection, "r") == "connection 1", "the connection is kept"
    assert server.protocols in (["http/1.1", "h2"], [None, "h2"])


def test_a_body_that_is_cut_off_without_an_error_is_not_handed_out(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    def cut(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        connection.sendall(head(stream, 100) + frame(DATA, 0, stream, b"part"))
        # Read together with the head libcurl takes it for no response at all: one of these is read by itself.
        time.sleep(0.1 * (len(server.requests) - 1))
        connection.sendall(frame(RST_STREAM, 0, stream, NO_ERROR))

    server = serve(cut)
    connection = connect(start({"resources": {"r": resource(server, authority)}}))
    for _ in range(4):
        error = connection.error("fetchResource", {"resource": "r", "path": "x", "method": "POST", "body": "x"})
        assert error["code"] in (1009, 1013), error


@pytest.mark.parametrize("kind", ["frozen", "no streams"])
def test_the_connection_of_a_fetch_that_ran_out_of_time_is_closed(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority, kind: str
) -> None:
    def answer(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        if number > 0:
            well(connection, number, stream)

    # SETTINGS_MAX_CONCURRENT_STREAMS: not one.
    def settings(number: int) -> bytes:
        return struct.pack(">HI", 3, 0) if kind == "no streams" and number == 0 else b""

    server = serve(answer, settings)
    connection = connect(start({"resources": {"r": resource(server, authority)}}))
    # Long enough for the handshake on a busy machine: a connection that never came about could not be closed.
    error = connection.error("fetchResource", {"resource": "r", "path": "x", "timeoutMs": 2000})
    # Where there may be no stream libcurl looks for another connection, or ends it with an error of its own.
    assert kind == "no streams" or error["code"] == -32022, error
    for _ in range(5):
        assert fetch(connection) in [f"connection {number}" for number in range(1, 4)]


@pytest.mark.parametrize("kind", ["priority", "empty data"])
def test_frames_without_end_stop_nobody_else(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority, kind: str
) -> None:
    def flood(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        one = frame(PRIORITY, 0, 1001, b"\0\0\0\0\x10") if kind == "priority" else frame(DATA, 0, stream)
        connection.sendall(head(stream))
        while not server.is_stopped:
            connection.sendall(one * 1000)

    server = serve(flood)
    sidecar = start({"resources": {"r": resource(server, authority)}})
    connection = connect(sidecar)
    flooded = connection.request("fetchResource", {"resource": "r", "path": "x", "timeoutMs": 2000})
    eventually(lambda: server.requests, what="the request")
    with sidecar.connect() as other:
        for _ in range(30):
            result = other.call("fetchResource", {"resource": "open", "path": "echo"})
            assert result["status"] == 200
        assert other.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200
        assert other.call("health")["status"] != "down"
    server.stop()
    connection.socket.settimeout(60)
    assert "error" in connection.answer_to(flooded)


def test_without_a_descriptor_it_is_said_at_once(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    """libcurl would go on without its wake-up, and the thread notice each request with its next turn."""
    server = serve(well)
    sidecar = start({"resources": {"r": resource(server, authority)}})
    connection = connect(sidecar)
    assert connection.works()
    before = prlimit(sidecar.process.pid, RLIMIT_NOFILE, (3, getrlimit(RLIMIT_NOFILE)[1]))
    error = connection.error("fetchResource", {"resource": "r", "path": "x"})
    assert error["code"] == -32603 and error["data"]["outcome"] == "not_sent"
    prlimit(sidecar.process.pid, RLIMIT_NOFILE, before)
    assert fetch(connection) == "connection 0"


@needs_root
def test_frames_without_end_end_with_their_connection(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    """Two users of one resource share its thread, which libcurl does not leave while frames come."""
    def flood(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        if number > 0:
            return well(connection, number, stream)
        connection.sendall(head(stream))
        while not server.is_stopped:
            connection.sendall(frame(PRIORITY, 0, 1001, b"\0\0\0\0\x10") * 1000)

    server = serve(flood)
    sidecar = start({**BOTH, "resources": {"r": resource(server, authority)}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar, timeout=30) as alice, connect_as(BOB, sidecar, timeout=30) as bob:
        flooded = alice.request("fetchResource", {"resource": "r", "path": "x", "timeoutMs": 1000})
        eventually(lambda: server.requests, what="the request")
        # All connections of the resource end together: his may be one of them, once.
        answer = bob.answer_to(bob.request("fetchResource", {"resource": "r", "path": "x"}))
        if "error" in answer:
            assert answer["error"]["data"]["retryable"] is True, answer
            assert fetch(bob).startswith("connection ")
        assert not server.is_stopped and "error" in alice.answer_to(flooded)
        assert fetch(alice).startswith("connection ")


def test_a_refused_stream_is_not_tried_without_end(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    def refuse(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        connection.sendall(frame(RST_STREAM, 0, stream, REFUSED_STREAM))

    server = serve(refuse)
    connection = connect(start({"resources": {"r": resource(server, authority)}}))
    connection.error("fetchResource", {"resource": "r", "path": "x"})
    assert 1 <= len(server.requests) <= 3
    asked = len(server.requests)
    connection.error("fetchResource", {"resource": "r", "path": "x", "method": "POST", "body": "x"})
    assert len(server.requests) == asked + 1


def test_a_reload_that_changes_the_resource_ends_its_connections(
    start: Start, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    server = serve(well)
    sidecar = start({"resources": {"r": resource(server, authority)}})
    with sidecar.connect() as connection:
        assert fetch(connection) == "connection 0"
        # As it was: its connection stays.
        connection.call("reloadConfig")
        assert fetch(connection) == "connection 0"
        written = sidecar.configuration_path.read_text()
        sidecar.write(written.replace('"http2": true', '"http2": false'))
        connection.call("reloadConfig")
        assert fetch(connection) == "old"
        eventually(lambda: server.open == 1, what="the end of the HTTP/2 connection")
        assert server.protocols[0] == "h2"
