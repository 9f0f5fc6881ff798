"""What may happen to a connection, with a double in the sidecar's place: clear exceptions, and nothing hangs."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from double import Double, Peer, obliging
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually

import postern_auth
from postern_auth import AsyncClient, Client, Limits, _connection
from postern_auth._retry import READS, only_reads

QUICK = Limits(connect=1, reconnect=1)
PARAMS = {"resource": "r", "path": "p"}


def silent(peer: Peer) -> None:
    """Takes everything, answers nothing."""
    for _ in peer.messages():
        pass


def leaving(peer: Peer) -> None:
    """Takes one request and goes."""
    peer.receive()


def half(peer: Peer) -> None:
    peer.receive()
    peer.socket.sendall(b'{"jsonrpc":"2.0","id":1,"res')


def says(text: bytes) -> Callable[[Peer], None]:
    def script(peer: Peer) -> None:
        peer.receive()
        peer.socket.sendall(text)
        silent(peer)

    return script


def test_no_socket_is_told_with_its_path(directory: Path) -> None:
    path = directory / "none.sock"
    with (
        Client(path) as client,
        pytest.raises(postern_auth.ConnectionFailed, match=r"none\.sock.*POSTERN_SOCKET") as raised,
    ):
        client.get_info()
    assert raised.value.outcome == "not_sent"
    assert isinstance(raised.value, ConnectionError)


def test_a_socket_nobody_listens_at(directory: Path) -> None:
    path = directory / "stale.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with Client(path) as client, pytest.raises(postern_auth.ConnectionFailed, match="no process listens"):
        client.get_info()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/tmp/" + "x" * 200, "too long"),
        ("", "empty"),
        ("/tmp/s\0ocket", "NUL"),
        ("\0postern", "NUL"),
        ("/tmp/\ud800", "no path in the encoding"),
    ],
)
def test_what_is_no_path_of_a_socket(path: str, why: str) -> None:
    """Catches a ValueError of Python's own, and a path that is cut at its NUL and leads to another socket."""
    with Client(path) as client, pytest.raises(postern_auth.ConnectionFailed, match=why) as raised:
        client.get_info()
    assert (raised.value.outcome, raised.value.retryable) == ("not_sent", False)

    async def call() -> None:
        async with AsyncClient(path) as client:
            await client.get_info()

    with pytest.raises(postern_auth.ConnectionFailed, match=why):
        asyncio.run(call())


def test_a_queue_that_is_full_is_not_waited_for_for_ever(directory: Path) -> None:
    path = str(directory / "full.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        waiting = []
        for _ in range(8):
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            try:
                one.connect(path)
            except BlockingIOError:
                one.close()
                break
            waiting.append(one)
        begun = time.monotonic()
        with Client(path, limits=Limits(connect=0.3)) as client, pytest.raises(postern_auth.ConnectionFailed):
            client.get_info()
        assert 0.2 < time.monotonic() - begun < 5
        for one in waiting:
            one.close()


@pytest.mark.parametrize(
    ("script", "kind", "text"),
    [
        (leaving, postern_auth.ConnectionLost, "closed the connection"),
        (half, postern_auth.ConnectionLost, "within a response"),
        (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), postern_auth.ProtocolViolation, "no JSON-RPC message"),
        (says(b"\xff\xfe\n"), postern_auth.ProtocolViolation, "no JSON-RPC message"),
        (says(b"[]\n"), postern_auth.ProtocolViolation, "no JSON-RPC message"),
        (says(b"[" * 100_000 + b"\n"), postern_auth.ProtocolViolation, "no JSON-RPC message"),
        (says(b'{"id":1}\n'), postern_auth.ProtocolViolation, "another shape"),
        (says(b'{"id":[1],"result":1}\n'), postern_auth.ProtocolViolation, "another shape"),
        (says(b'{"id":1,"result":1,"error":{"code":1}}\n'), postern_auth.ProtocolViolation, "another shape"),
        (says(b'{"id":1,"error":"text"}\n'), postern_auth.ProtocolViolation, "another shape"),
        (says(b"1" * 9000 + b"\n"), postern_auth.ProtocolViolation, "no JSON-RPC message"),
        (says(b"x" * 300_000), postern_auth.ProtocolViolation, "more than 200000 bytes"),
    ],
)
def test_what_is_no_answer_ends_the_call(
    double: Double, script: Callable[[Peer], object], kind: type[Exception], text: str
) -> None:
    double.scripts = [script, obliging]
    limits = Limits(connect=1, reconnect=1, answer_bytes=200_000)
    with Client(double.path, timeout=5, limits=limits) as client:
        with pytest.raises(kind, match=text) as raised:
            client.call("fetchResource", {**PARAMS, "method": "POST"})
        assert isinstance(raised.value, postern_auth.PosternError)
        assert raised.value.outcome == "unknown"
        assert client.call("health")["method"] == "health", "the next call has a new connection"


def test_a_result_of_another_shape(double: Double) -> None:
    with Client(double.path) as client, pytest.raises(postern_auth.ProtocolViolation, match="getInfo"):
        client.get_info()


def test_errors_nobody_knows_yet(double: Double) -> None:
    error = {"code": 9999, "message": "m", "data": {"reason": "brand_new", "retryable": True, "retryAfterMs": 1500}}
    known = {"code": 1999, "message": "m"}

    def script(peer: Peer) -> None:
        for answer in (error, known):
            peer.send({"id": peer.receive()["id"], "error": answer})

    double.scripts = [script]
    with Client(double.path) as client:
        with pytest.raises(postern_auth.PosternError) as raised:
            client.call("getInfo")
        assert type(raised.value) is postern_auth.PosternError
        assert (raised.value.reason, raised.value.retryable, raised.value.retry_after) == ("brand_new", True, 1.5)
        with pytest.raises(postern_auth.FetchError):
            client.call("getInfo")


# Repetition


def test_what_was_sent_is_repeated_when_it_reads(double: Double) -> None:
    double.scripts = [leaving, obliging]
    with Client(double.path) as client:
        assert client.call("fetchResource", PARAMS)["method"] == "fetchResource"
    assert double.connections == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("fetchResource", {**PARAMS, "method": "POST"}),
        ("fetchResource", {**PARAMS, "method": "patch"}),
        ("fetchResource", {**PARAMS, "method": "PUT"}),
        ("fetchResource", {**PARAMS, "method": "DELETE"}),
        ("cancelTask", {"task": "t"}),
        ("invalidateDecisions", {}),
        ("fetchResource", {"continuation": "c"}),
        ("fetchResource", {**PARAMS, "task": "named"}),
        ("createSession", {}),
        ("validateLogoutToken", {}),
        ("validateRequest", {}),
        ("refreshSession", {}),
        ("endSession", {}),
        ("authenticate", {}),
        ("aMethodOfANewerSidecar", {}),
    ],
)
def test_what_was_sent_is_not_repeated_otherwise(double: Double, method: str, params: dict[str, Any]) -> None:
    double.scripts = [leaving, obliging]
    with Client(double.path) as client, pytest.raises(postern_auth.ConnectionLost) as raised:
        client.call(method, params)
    assert raised.value.outcome == "unknown"
    assert double.connections == 1


def test_what_only_reads_is_what_the_protocol_names() -> None:
    """One rule for all clients, written down once."""
    documents = Path(__file__).resolve().parents[3] / "proto-docs"
    found = re.search(
        r"These methods read, or have no effect beyond their connection:\s+([^;]*);",
        (documents / "wire.md").read_text(),
    )
    assert found and set(re.findall(r"`([\w.]+)`", found.group(1))) == READS
    assert {method["name"] for method in json.loads((documents / "openrpc.json").read_text())["methods"]} >= READS
    for method, expected in [("GET", True), ("head", True), ("PUT", False), ("DELETE", False), ("POST", False)]:
        assert only_reads("fetchResource", {"method": method}) is expected
    assert only_reads("fetchResource", {})
    assert not only_reads("fetchResource", {"stream": True})
    assert only_reads("pass.listProfiles", {"partner": {"name": "Apple"}})
    assert not only_reads("pass.listProfiles", {"partner": {"name": "Apple", "samlResponse": "<x/>"}})


def test_repetitions_end(double: Double) -> None:
    double.scripts = [leaving]
    with Client(double.path) as client, pytest.raises(postern_auth.ConnectionLost):
        client.call("getInfo")
    assert double.connections == 3


def test_a_connection_that_ended_unnoticed_costs_nothing(double: Double) -> None:
    """The end came while nobody called: a request that must not be repeated was never sent on it."""
    double.scripts = [lambda peer: peer.answer(peer.receive(), 1), obliging]
    with Client(double.path) as client:
        assert client.call("getInfo") == 1
        eventually(lambda: double.ended == 1)
        assert client.call("createSession")["method"] == "createSession"
    assert double.connections == 2


def test_a_sidecar_that_restarts_is_waited_for(double: Double) -> None:
    with Client(double.path, limits=Limits(reconnect=5)) as client:
        assert client.call("getInfo")
        double.stop()
        threading.Timer(0.3, double.listen).start()
        assert client.call("createSession", timeout=10)["method"] == "createSession"


def test_an_end_that_the_reader_has_not_noticed_yet_costs_nothing(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cannot send must not use up all attempts on a connection that another thread is about to give up."""
    close = _connection.Connection.close

    def late(connection: _connection.Connection, *arguments: Any) -> None:
        if threading.current_thread().name == "postern-reader":
            time.sleep(0.2)
        close(connection, *arguments)

    monkeypatch.setattr(_connection.Connection, "close", late)
    with Client(double.path, limits=Limits(reconnect=10)) as client:
        assert client.call("getInfo")
        assert client._here.connection is not None
        client._here.connection.keep()
        double.stop()
        double.listen()
        assert client.call("createSession", timeout=10)["method"] == "createSession"


def test_but_not_for_ever(double: Double) -> None:
    with Client(double.path, limits=Limits(reconnect=0.3)) as client:
        assert client.call("getInfo")
        double.stop()
        begun = time.monotonic()
        with pytest.raises(postern_auth.ConnectionFailed):
            client.call("getInfo")
        assert 0.2 < time.monotonic() - begun < 5


def test_a_draining_sidecar_is_left_for_its_successor(double: Double) -> None:
    draining = {"code": -32021, "message": "draining", "data": {"reason": "shutting_down", "outcome": "not_sent"}}
    held: list[dict[str, Any]] = []

    def drain(peer: Peer) -> None:
        held.append(peer.receive())
        message = peer.receive()
        peer.send({"jsonrpc": "2.0", "id": message["id"], "error": draining})
        peer.answer(held[0], "finished")
        silent(peer)

    double.scripts = [drain, obliging]
    with Client(double.path) as client:
        early = client.start("slow")
        assert client.call("createSession")["method"] == "createSession"
        assert early.result() == "finished", "what was under way is still answered there"


@pytest.mark.parametrize("outcome", ["sent_no_reply", None, "a newer sidecar's"])
def test_what_was_cut_off_is_repeated_only_if_it_reads(double: Double, outcome: str | None) -> None:
    data = {"reason": "shutting_down", **({} if outcome is None else {"outcome": outcome})}
    cut = {"code": -32021, "message": "cut", "data": data}

    def cut_off(peer: Peer) -> None:
        peer.send({"jsonrpc": "2.0", "id": peer.receive()["id"], "error": cut})
        silent(peer)

    double.scripts = [cut_off, cut_off, obliging]
    with Client(double.path) as client:
        with pytest.raises(postern_auth.Unavailable) as raised:
            client.call("createSession")
        assert raised.value.outcome == outcome
        assert client.call("getSession")["method"] == "getSession"


def test_draining_without_a_successor_is_told(double: Double) -> None:
    def drain(peer: Peer) -> None:
        for message in peer.messages():
            peer.send({"id": message["id"], "error": {"code": -32021, "message": "m", "data": {"outcome": "not_sent"}}})

    double.scripts = [drain]
    with Client(double.path, limits=Limits(reconnect=0.3)) as client, pytest.raises(postern_auth.Unavailable) as raised:
        client.call("getInfo")
    assert raised.value.reason == "shutting_down"


def test_too_many_connections_are_told(double: Double) -> None:
    def full(peer: Peer) -> None:
        peer.send({"id": None, "error": {"code": -32009, "message": "full", "data": {"retryAfterMs": 100}}})
        peer.receive()

    double.scripts = [full]
    with Client(double.path) as client, pytest.raises(postern_auth.PosternError) as raised:
        client.call("createSession")
    assert isinstance(raised.value, postern_auth.Unavailable) or raised.value.outcome == "not_sent"


# Time


def test_a_sidecar_that_is_silent_is_not_waited_for_for_ever(double: Double) -> None:
    double.scripts = [silent]
    begun = time.monotonic()
    with Client(double.path, timeout=0.3) as client, pytest.raises(postern_auth.DeadlineExceeded) as raised:
        client.call("getInfo")
    assert time.monotonic() - begun < 5
    assert raised.value.outcome == "unknown"


def test_what_was_given_up_is_cancelled_there(double: Double) -> None:
    heard: list[dict[str, Any]] = []
    double.scripts = [lambda peer: heard.extend(peer.messages())]
    with Client(double.path, timeout=0.2) as client:
        with pytest.raises(postern_auth.DeadlineExceeded):
            client.call("getInfo")
        assert client.start("health").identifier == 2, "the same connection"
        eventually(lambda: len(heard) == 3)
    [cancel] = [message for message in heard if message["method"] == "$/cancelRequest"]
    assert cancel["params"] == {"id": heard[0]["id"]} and "id" not in cancel
    assert 1 <= heard[0]["params"]["meta"]["timeoutMs"] <= 200


def test_a_sidecar_that_does_not_read(double: Double) -> None:
    """A write must end, and a message that was sent by half must not be followed by another."""
    done = threading.Event()
    double.scripts = [lambda peer: done.wait(20), obliging]
    try:
        with Client(double.path, timeout=0.4) as client:
            begun = time.monotonic()
            with pytest.raises(postern_auth.DeadlineExceeded) as raised:
                client.call("createSession", {"grant": "x" * (4 << 20)})
            assert time.monotonic() - begun < 5
            assert raised.value.outcome == "not_sent"
            assert client.call("getInfo", timeout=20)["method"] == "getInfo"
    finally:
        done.set()


def test_an_interrupt_ends_the_call(double: Double) -> None:
    double.scripts = [silent]

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Client(double.path, timeout=30) as client:
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (a signal before it would end all tests)
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                client.call("getInfo")
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("raises", [False, True])
def test_a_signal_in_the_middle_of_a_request_mixes_no_messages(double: Double, raises: bool) -> None:
    """A handler that calls the client, or raises: the next request must not stand within the half that is out."""
    refused: list[BaseException] = []
    received: list[Any] = []
    signalled = threading.Event()

    def script(peer: Peer) -> None:
        peer.socket.recv(1, socket.MSG_PEEK)  # it is under way, and too long for the buffers
        os.kill(os.getpid(), signal.SIGUSR1)
        signalled.wait(20)
        try:
            for message in peer.messages():
                received.append(message["method"])
                peer.answer(message, len(message["params"].get("x", "")))
        except ValueError:
            received.append("half a message")

    def handler(*_: Any) -> None:
        try:
            with pytest.raises(RuntimeError, match="signal handler") as raised:
                client.call("getInfo")
            refused.append(raised.value)
        finally:
            signalled.set()
        if raises:
            raise KeyboardInterrupt

    double.scripts = [script, obliging]
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with Client(double.path, timeout=30) as client:
            if raises:
                with pytest.raises(KeyboardInterrupt):
                    client.call("fetchResource", {"x": "x" * 8_000_000})
                assert client.call("getInfo")["method"] == "getInfo"
                eventually(lambda: received == ["half a message"])
                assert double.connections == 2
            else:
                assert client.call("fetchResource", {"x": "x" * 8_000_000}) == 8_000_000
                assert client.call("getInfo") == 0 and received == ["fetchResource", "getInfo"]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(refused) == 1


def test_an_end_reaches_everybody_who_waits(double: Double) -> None:
    release = threading.Event()

    def script(peer: Peer) -> None:
        for _ in range(8):
            peer.receive()
        release.wait(10)

    double.scripts = [script]
    outcomes: list[str | None] = []
    with Client(double.path, timeout=20) as client:

        def ask() -> None:
            try:
                client.call("createSession")
            except postern_auth.ConnectionLost as error:
                outcomes.append(error.outcome)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        release.set()
        for thread in threads:
            thread.join(10)
    assert outcomes == ["unknown"] * 8


# The real one


def test_a_killed_sidecar_and_its_successor(start: Callable[..., Sidecar]) -> None:
    first = start()
    with Client(first.path, timeout=20) as client:
        assert client.get_info().pid == first.process.pid
        call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=20000", "method": "GET"})
        first.process.kill()
        with pytest.raises(postern_auth.ConnectionLost) as raised:
            call.result()
        assert raised.value.outcome == "unknown"
        first.wait()
        second = start()
        assert client.get_info().pid == second.process.pid


def test_no_place_for_another_connection_is_told(start: Callable[..., Sidecar]) -> None:
    sidecar = start({"limits": {"connections": 1}})
    with Client(sidecar.path) as before:
        eventually(lambda: works(before))  # the last one to ask whether it listens has gone
    first = eventually(lambda: holding(sidecar))
    assert first is not None
    with Client(sidecar.path) as client:
        for _ in range(5):  # before, while and after it is written to
            with pytest.raises(postern_auth.Unavailable) as raised:
                client.call("createSession")
            assert (raised.value.reason, raised.value.outcome) == ("overloaded", "not_sent")
        first.close()
        eventually(lambda: works(client))


def holding(sidecar: Sidecar) -> Connection | None:
    connection = sidecar.connect()
    try:
        assert connection.works()
    except (EOFError, OSError, AssertionError):
        connection.close()
        return None
    return connection


def works(client: Client) -> bool:
    try:
        return client.get_info().name == "postern"
    except postern_auth.Unavailable:
        return False


def test_bounds_without_an_end(client: Client) -> None:
    for timeout in (math.inf, 1e12):
        assert client.get_info(timeout=timeout).name == "postern"


def test_descriptors_are_given_back(double: Double) -> None:
    double.scripts = [leaving]
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with Client(double.path) as client, pytest.raises(postern_auth.ConnectionLost):
            client.call("createSession")
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before + 2)
