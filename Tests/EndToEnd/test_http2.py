"""HTTP/2 is off unless a resource asks for it, and then a hostile server stops nobody but its own resource."""
from __future__ import annotations

import base64
import json
import re
import ssl
import struct
import threading
import time
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit, prlimit
from typing import Any, Callable, Dict, Iterator, List, Set

import pytest

from harness.certificates import Authority
from harness.connection import Connection
from harness.http2 import (
    ACK, ALTSVC, DATA, GOAWAY, PING, PRIORITY, RST_STREAM, SETTINGS, HTTP2Server, frame, head, whole)
from harness.sidecar import Sidecar
from harness.strays import deliver
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
NO_ERROR, REFUSED_STREAM = struct.pack(">I", 0), struct.pack(">I", 7)
#: SETTINGS_MAX_CONCURRENT_STREAMS: not one.
NO_STREAMS = struct.pack(">HI", 3, 0)


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

    def settings(number: int) -> bytes:
        return NO_STREAMS if kind == "no streams" and number == 0 else b""

    server = serve(answer, settings)
    connection = connect(start({"resources": {"r": resource(server, authority)}}))
    # Long enough for the handshake on a busy machine: a connection that never came about could not be closed.
    error = connection.error("fetchResource", {"resource": "r", "path": "x", "timeoutMs": 2000})
    # Where there may be no stream libcurl looks for another connection, or ends it with an error of its own.
    assert kind == "no streams" or error["code"] == -32022, error
    for _ in range(5):
        assert fetch(connection) in [f"connection {number}" for number in range(1, 4)]


#: Frames without content for whoever waits on `stream`, of a connection on which stream 1 has ended.
FLOODS: Dict[str, Callable[[int], bytes]] = {
    "priority": lambda _: frame(PRIORITY, 0, 1001, b"\0\0\0\0\x10"),
    "empty data": lambda stream: frame(DATA, 0, stream),
    "reset of an old stream": lambda _: frame(RST_STREAM, 0, 1, NO_ERROR),
    "headers of an old stream": lambda _: head(1),
    "unknown type": lambda _: frame(0xFA, 0, 0, b"unknown"),
    "altsvc": lambda stream: frame(ALTSVC, 0, stream, b"\0\0" + b'h2=":1"'),
    "ping ack": lambda _: frame(PING, ACK, 0, b"12345678"),
    "goaway": lambda stream: frame(GOAWAY, 0, 0, struct.pack(">I", stream) + NO_ERROR),
    "no streams": lambda _: frame(SETTINGS, 0, 0, NO_STREAMS),
}
#: What a fetch may take, the three seconds after which its connection is shut down, and what a busy machine may take on
#: top.
DEADLINE = 2.0
ENDS_WITHIN = DEADLINE + 3 + 7


@pytest.mark.parametrize("kind", FLOODS)
def test_frames_without_end_stop_no_other_fetch(
    start: Start, serve: Callable[..., HTTP2Server], authority: Authority, kind: str
) -> None:
    def flood(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        if (number, stream) == (0, 1) or number > 0:
            return well(connection, number, stream)
        connection.sendall(head(stream))
        while not server.is_stopped:
            connection.sendall(FLOODS[kind](stream) * 1000)

    server = serve(flood)
    sidecar = start({"resources": {"r": resource(server, authority)}})
    with sidecar.connect(timeout=60) as connection, sidecar.connect() as other:
        assert fetch(connection) == "connection 0"
        begun = time.monotonic()
        flooded = connection.request(
            "fetchResource", {"resource": "r", "path": "x", "timeoutMs": int(DEADLINE * 1000)})
        eventually(lambda: len(server.requests) == 2, what="the request")
        for _ in range(30):
            result = other.call("fetchResource", {"resource": "open", "path": "echo"})
            assert result["status"] == 200
        assert other.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200
        assert other.call("health")["status"] != "down"
        assert time.monotonic() - begun < ENDS_WITHIN, "others waited for the end of the frames"
        error = connection.answer_to(flooded)["error"]
        assert time.monotonic() - begun < ENDS_WITHIN, error
        # Its time is over, or its connection is; the head of a response had come either way.
        assert error["code"] in (-32022, 1013) and error["data"]["outcome"] == "replied", error
        # All connections of the resource end together: the next fetch's may be one of them, once.
        following = connection.answer_to(connection.request("fetchResource", {"resource": "r", "path": "x"}))
        assert "result" in following or following["error"]["code"] == 1009, following
        assert not server.is_stopped and fetch(connection).startswith("connection ")


def cpu_ticks(sidecar: Sidecar) -> int:
    """The processor time that the sidecar has used."""
    fields = Path(f"/proc/{sidecar.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_without_a_descriptor_it_is_said_at_once(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    """libcurl would go on without its wake-up, and the thread notice each request with its next turn."""
    server = serve(well)
    sidecar = start({"resources": {"r": resource(server, authority)}})
    connection = connect(sidecar)
    assert connection.works()
    # The thread pool of the system aborts the process when it starts a thread without a descriptor: the tasks of the
    # start have to be over.
    spent = [-1]
    eventually(lambda: spent.append(cpu_ticks(sidecar)) or spent[-1] == spent[-20:][0], 30, "a sidecar at rest")
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


def test_a_server_that_keeps_the_thread_busy_is_named(
    start: Start, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    frames = FLOODS["priority"](0) * 100_000

    def flood(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        connection.sendall(head(stream))
        while not server.is_stopped:
            connection.sendall(frames)

    server = serve(flood)
    sidecar = start({"resources": {"busy": resource(server, authority), "r": resource(server, authority)}})

    def stalls(connection: Connection) -> bool:
        # On a busy machine the server may be too slow to keep anybody.
        connection.error("fetchResource", {"resource": "busy", "path": "x", "timeoutMs": 10_000})
        return re.search(r"(?m)^postern_upstream_stalls_total [1-9]", connection.call("metrics")["text"]) is not None

    with sidecar.connect(timeout=60) as connection:
        eventually(lambda: stalls(connection), seconds=60, what="connections that are shut down")
        checks = connection.call("health")["checks"]
        assert checks["resource.busy"]["status"] == "degraded" and "resource.r" not in checks
    line = next(line for line in sidecar.awaits_log("were shut down").splitlines() if "were shut down" in line)
    said = json.loads(line)
    assert said["level"] == "warning" and said["resource"] == "busy", said


@needs_root
@pytest.mark.parametrize("kind", ["next stream", "duplicate", "half of the next"])
@pytest.mark.parametrize("moment", ["with the answer", "later"])
def test_unrequested_responses_answer_nothing(
    start: Start, serve: Callable[..., HTTP2Server], authority: Authority, kind: str, moment: str
) -> None:
    """The next stream's number is no secret: what comes for it before there is a request is not its answer."""
    may_stray = threading.Event()
    settled: List[bytes] = []

    def answer(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        body = server.bodies[number, stream]
        stray = {
            "next stream": whole(stream + 2, b"stray"), "duplicate": whole(stream, b"stray"),
            "half of the next": head(stream + 2, 5) + frame(DATA, 0, stream + 2, b"str"),
        }[kind]
        connection.sendall(whole(stream, body) + (stray if moment == "with the answer" else b""))
        if moment == "later":
            deliver(connection)
            may_stray.wait(30)
            may_stray.clear()
            connection.sendall(stray)
        deliver(connection)
        settled.append(body)

    server = serve(answer)
    sidecar = start({**BOTH, "resources": {"r": resource(server, authority)}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        for number in range(4):
            for name, connection in (("alice", alice), ("bob", bob)):
                text = f"{name} {number}"
                assert fetch(connection, method="POST", body=text) == text
                may_stray.set()
                eventually(lambda: text.encode() in settled, what="the stray")
    users: Dict[int, Set[bytes]] = {}
    for (number, _), body in server.bodies.items():
        users.setdefault(number, set()).add(body.split()[0])
    assert all(len(names) == 1 for names in users.values()), "a connection served two users"
    assert len(server.requests) == 8, "each was sent once"


def test_a_refused_stream_is_not_tried_without_end(
    start: Start, connect: Connect, serve: Callable[..., HTTP2Server], authority: Authority
) -> None:
    def refuse(connection: ssl.SSLSocket, number: int, stream: int) -> None:
        connection.sendall(frame(RST_STREAM, 0, stream, REFUSED_STREAM))

    server = serve(refuse)
    connection = connect(start({"resources": {"r": resource(server, authority)}}))
    error = connection.error("fetchResource", {"resource": "r", "path": "x"})
    # libcurl does not tell that the server has certainly not begun.
    assert error["data"]["outcome"] == "sent_no_reply", error
    assert 1 <= len(server.requests) <= 3
    asked = len(server.requests)
    error = connection.error("fetchResource", {"resource": "r", "path": "x", "method": "POST", "body": "x"})
    assert error["data"]["outcome"] == "sent_no_reply", error
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
