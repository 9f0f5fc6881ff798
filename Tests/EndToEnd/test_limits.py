"""Section 1: sizes, depths, counts, stalls, and what they cost the others."""
from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Optional

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble
from harness.sidecar import Sidecar
from harness.waiting import eventually
from test_lifecycle import HELD, held

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

SMALL = {"limits": {"messageBytes": "64KiB", "depth": 16, "inFlightPerConnection": 4, "batch": 4}}


@pytest.fixture
def small(start: Start, connect: Connect) -> Connection:
    return connect(start(SMALL))


def padded(size: int, identifier: Any = 1) -> bytes:
    """A request of exactly `size` bytes."""
    start, end = b'{"jsonrpc":"2.0","id":%s,' % json.dumps(identifier).encode(), b'"method":"getInfo"}'
    return start + b" " * (size - len(start) - len(end)) + end


def nested(depth: int) -> str:
    """A request whose arrays end at `depth`, the request itself being 1 and its params 2."""
    arrays = depth - 2
    return '{"jsonrpc":"2.0","id":1,"method":"getInfo","params":{"deep":%s%s}}' % ("[" * arrays, "]" * arrays)


def test_a_message_of_the_limit_is_taken(small: Connection) -> None:
    small.send_text(padded(65_536))
    assert "result" in small.answer_to(1)


@pytest.mark.parametrize("excess", [1, 1000, 10 << 20])
def test_a_message_over_the_limit_is_refused_and_the_connection_goes_on(small: Connection, excess: int) -> None:
    small.send_text(padded(65_536 + excess))
    expect.error(small.receive(), -32007, None)  # type: ignore[arg-type]
    assert small.works()
    assert small.others() == []


@pytest.mark.thorough
def test_what_is_over_the_limit_is_not_buffered(start: Start, connect: Connect) -> None:
    sidecar = start(SMALL)
    connection = connect(sidecar, 60)
    assert connection.works()
    before = sidecar.resident_kilobytes()
    connection.send_text(padded(200 << 20))
    expect.error(connection.receive(), -32007)  # type: ignore[arg-type]
    assert connection.works()
    assert sidecar.resident_kilobytes() - before < 16_384


def test_the_default_limit_is_16_mib(connection: Connection) -> None:
    connection.send_text(padded(16 << 20))
    assert "result" in connection.answer_to(1)
    connection.send_text(padded((16 << 20) + 1))
    expect.error(connection.receive(), -32007, None)  # type: ignore[arg-type]
    assert connection.works()


def test_nesting_of_the_limit_is_read(small: Connection) -> None:
    small.send_text(nested(16))
    expect.error(small.receive(), -32602, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [17, 1000, 30_000])
def test_nesting_over_the_limit_is_a_parse_error(small: Connection, depth: int) -> None:
    small.send_text(nested(depth))
    expect.error(small.receive(), -32700)  # type: ignore[arg-type]
    assert small.works()


def test_the_default_depth_is_128(connection: Connection) -> None:
    connection.send_text(nested(128))
    expect.error(connection.receive(), -32602, 1)  # type: ignore[arg-type]
    connection.send_text(nested(129))
    expect.error(connection.receive(), -32700)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "members",
    ['"id":1,"id":2,"method":"getInfo"', '"id":1,"method":"getInfo","params":{"a":1,"\\u0061":2}'],
    ids=["plain", "escaped"],
)
def test_duplicate_member_names_are_a_parse_error(connection: Connection, members: str) -> None:
    connection.send_text('{"jsonrpc":"2.0",%s}' % members)
    expect.error(connection.receive(), -32700)  # type: ignore[arg-type]
    assert connection.works()


def test_in_flight_limits_refuse_and_never_make_a_caller_wait(
    start: Start, connect: Connect, issuer: IssuerDouble
) -> None:
    gate = threading.Event()
    small = connect(start({**SMALL, **held(issuer, gate)}))
    slow = [small.request("fetchResource", HELD) for _ in range(4)]
    for _ in range(3):
        # None of the four has its answer yet: whoever had to wait for a place would wait in vain.
        data = expect.fault(small.error("getInfo"), -32009)
        assert data["retryAfterMs"] >= 0
    gate.set()
    for identifier in slow:
        assert small.answer_to(identifier)["result"]["status"] == 200
    assert small.works()


def test_one_connection_in_flight_limit_is_not_anothers(start: Start, connect: Connect) -> None:
    sidecar = start(SMALL)
    busy, free = connect(sidecar), connect(sidecar)
    for _ in range(4):
        busy.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 5000}})
    assert free.works()


def test_a_batch_of_the_limit_is_taken_and_one_over_it_refused(small: Connection) -> None:
    call = {"jsonrpc": "2.0", "method": "getInfo"}
    small.send([{**call, "id": identifier} for identifier in range(4)])
    answers = small.receive()
    assert isinstance(answers, list) and len(answers) == 4
    small.send([{**call, "id": identifier} for identifier in range(5)])
    expect.error(small.receive(), -32010, None)  # type: ignore[arg-type]
    assert small.works()


@pytest.mark.parametrize("limit", ["connections", "connectionsPerUid"])
def test_connections_over_the_limit_are_told_so_and_closed(start: Start, connect: Connect, limit: str) -> None:
    sidecar = start({"limits": {limit: 3}})

    def accepted() -> Optional[Connection]:
        """A connection that is served; the sidecar may take a moment to notice that an earlier one has gone."""
        another = connect(sidecar)
        try:
            return another if another.works() else None
        except (EOFError, AssertionError, OSError, json.JSONDecodeError):
            another.close()
            return None

    kept = [eventually(accepted, what="a place") for _ in range(3)]
    refused = connect(sidecar)
    received = b""
    try:
        while True:
            data = refused.socket.recv(4096)
            if not data:
                break
            received += data
    except ConnectionResetError:
        pass
    # Before it has said in which framing it speaks it is answered in the plainer one.
    expect.error(json.loads(received), -32009, None)
    for connection in kept:
        assert connection.works()
    kept[0].close()
    assert eventually(accepted, what="a place for another connection")


def test_a_slow_reader_gets_back_pressure_and_memory_stays_bounded(sidecar: Sidecar, connect: Connect) -> None:
    reader = connect(sidecar)
    assert reader.works()
    reader.socket.settimeout(2)
    before = sidecar.resident_kilobytes()
    request = reader.frame('{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}')
    sent = 0
    with pytest.raises((socket.timeout, BlockingIOError)):
        while sent < 64 << 20:
            reader.send_bytes(request)
            sent += len(request)
    assert sent < 64 << 20, "the sidecar kept reading from somebody who does not read"
    assert sidecar.resident_kilobytes() - before < 64 << 10
    with sidecar.connect() as another:
        assert another.works()


@pytest.mark.slow
def test_a_reader_that_never_reads_is_closed_after_45_seconds(sidecar: Sidecar, connect: Connect) -> None:
    reader = connect(sidecar, timeout=2.0)
    request = reader.frame('{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}')
    with pytest.raises((socket.timeout, BlockingIOError)):
        while True:
            reader.send_bytes(request)
    time.sleep(55)
    reader.socket.settimeout(10)
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        while True:
            reader.send_bytes(request)


@pytest.mark.slow
def test_messages_that_stall_end_their_connections_after_30_seconds(sidecar: Sidecar) -> None:
    def seconds_of(begun: str) -> float:
        with sidecar.connect(timeout=45) as connection:
            connection.send_bytes(begun.encode())
            began = time.monotonic()
            try:
                while connection.socket.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            return time.monotonic() - began

    with ThreadPoolExecutor(3) as threads:
        for seconds in threads.map(seconds_of, ["{", "Content-Length: 10\r\n\r\n{", "Content-"]):
            assert 25 < seconds < 40


@pytest.mark.slow
def test_a_connection_that_never_starts_a_message_may_stay(sidecar: Sidecar, connect: Connect) -> None:
    fresh, used = connect(sidecar), connect(sidecar)
    assert used.works()
    time.sleep(40)
    assert fresh.works() and used.works()
