"""`rate` and `concurrency` of `peers`, and how calls wait for their turn (`limits.inFlight`, `queue`, `queueTime`)."""
from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from harness.users import acting_as

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def slow(milliseconds: int) -> Dict[str, Any]:
    return {"resource": "open", "path": "slow", "parameters": {"ms": milliseconds}}


def mine(**rule: Any) -> Dict[str, Any]:
    return {"peers": [{"uid": os.getuid(), "methods": ["*"], **rule}]}


def refused(connection: Connection, method: str, params: Any = None) -> Dict[str, Any]:
    data = expect.fault(connection.error(method, params), -32009)
    assert data["retryable"] is True and data["outcome"] == "not_sent" and data["retryAfterMs"] >= 1
    return data


def metric(connection: Connection, line: str) -> str:
    found = [text for text in connection.call("metrics")["text"].splitlines() if text.startswith(line + " ")]
    return found[0].rpartition(" ")[2] if found else ""


def test_calls_beyond_the_rate_are_told_when_to_come_again(start: Start, connect: Connect) -> None:
    sidecar = start(mine(rate={"perSecond": 2, "burst": 5}))
    one, two = connect(sidecar), connect(sidecar)
    began, taken = time.monotonic(), 0
    message: Dict[str, Any] = {}
    while "error" not in message:
        connection = (one, two)[taken % 2]
        message = connection.answer_to(connection.request("listTasks"))
        taken += "result" in message
    # Five at once, and what has been added since where the machine was slow.
    assert 5 <= taken <= 5 + 2 * (time.monotonic() - began)
    data = expect.fault(message["error"], -32009)
    assert data["retryable"] is True and data["outcome"] == "not_sent" and 1 <= data["retryAfterMs"] <= 501
    # Probes are answered all the same.
    assert one.call("health")["status"] == "ok" and two.call("getInfo")["name"] == "postern"
    time.sleep(data["retryAfterMs"] / 1000)
    two.call("listTasks")


def test_a_reload_gives_no_calls_back(start: Start, connect: Connect) -> None:
    rules = {"peers": [{"uid": os.getuid(), "methods": ["*"], "rate": {"perSecond": 0.01, "burst": 3}}]}
    sidecar = start(rules)
    connection = connect(sidecar)
    connection.call("listTasks")
    assert connection.call("reloadConfig") == {"changed": []}
    connection.call("listTasks")
    refused(connection, "reloadConfig")


def test_calls_under_way_are_counted_over_all_connections_of_a_user(
    start: Start, connect: Connect, playground: Playground
) -> None:
    sidecar = start(mine(concurrency=2))
    one, two = connect(sidecar), connect(sidecar)
    pending = one.request("fetchResource", slow(20000))
    other = two.request("fetchResource", slow(4000))
    # What the resource has seen is counted; in flight it is a moment before.
    eventually(lambda: playground.statistics()["openRequests"] == 2, what="two calls under way")
    began = time.monotonic()
    assert refused(one, "fetchResource", slow(1))["limit"] == 2
    assert time.monotonic() - began < 3, "it waited instead of being refused"
    assert two.answer_to(other)["result"]["status"] == 200
    one.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": pending}})
    expect.error(one.answer_to(pending), -32800)
    assert eventually(lambda: "result" in two.answer_to(two.request("fetchResource", slow(1))))
    assert metric(one, 'postern_rpc_refused_total{reason="concurrency"}') >= "1"


FEW = {"limits": {"inFlight": 4, "queue": 8, "queueTime": "400ms"}}


def take_places(busy: Connection, playground: Playground, milliseconds: int) -> None:
    """Three calls that are under way: what the resource has seen has its place."""
    before = playground.statistics()["openRequests"]
    for _ in range(3):
        busy.request("fetchResource", slow(milliseconds))
    eventually(lambda: playground.statistics()["openRequests"] == before + 3, what="three calls under way")


@pytest.fixture
def full(start: Start, connect: Connect, playground: Playground) -> Iterator[List[Any]]:
    """A sidecar whose places are taken as far as one user may take them: three of four; the last is for somebody
    else."""
    sidecar = start(FEW)
    busy = connect(sidecar)
    take_places(busy, playground, 8000)
    yield [sidecar, connect(sidecar)]


def test_a_call_waits_for_its_turn_and_no_longer_than_allowed(full: List[Any]) -> None:
    _, connection = full
    began = time.monotonic()
    refused(connection, "fetchResource", slow(1))
    assert 0.3 < time.monotonic() - began < 5
    assert metric(connection, 'postern_rpc_refused_total{reason="queue_time"}') == "1"
    assert connection.call("health")["status"] == "ok", "what waits for nothing needs no place"


def test_a_call_that_waited_is_answered_when_a_place_is_free(start: Start, connect: Connect) -> None:
    connection = connect(start({"limits": {"inFlight": 4, "queue": 100, "queueTime": "10s"}}))
    pending = [connection.request("fetchResource", slow(20)) for _ in range(60)]
    for identifier in pending:
        assert connection.answer_to(identifier)["result"]["status"] == 200
    assert metric(connection, "postern_rpc_waiting") == "0"
    assert int(metric(connection, "postern_rpc_wait_seconds_count")) > 0


def test_a_full_queue_refuses_at_once(start: Start, connect: Connect, playground: Playground) -> None:
    connection = connect(start({"limits": {"inFlight": 4, "queue": 0, "queueTime": "10s"}}))
    take_places(connection, playground, 8000)
    began = time.monotonic()
    refused(connection, "fetchResource", slow(1))
    assert time.monotonic() - began < 5


def test_deadline_cancel_and_half_close_while_a_call_waits(
    start: Start, connect: Connect, playground: Playground
) -> None:
    sidecar = start({"limits": {"inFlight": 4, "queue": 100, "queueTime": "10s"}})
    busy, connection = connect(sidecar), connect(sidecar)
    take_places(busy, playground, 4000)
    began = time.monotonic()
    error = connection.error("fetchResource", {**slow(1), "meta": {"timeoutMs": 100}})
    assert expect.fault(error, -32022)["outcome"] == "not_sent" and time.monotonic() - began < 3
    waiting = connection.request("fetchResource", slow(1))
    connection.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": waiting}})
    expect.error(connection.answer_to(waiting), -32800)
    last = connection.request("fetchResource", slow(1))
    connection.socket.shutdown(socket.SHUT_WR)
    assert connection.answer_to(last)["result"]["status"] == 200
    gone = connect(sidecar)
    gone.request("fetchResource", slow(1))
    gone.close()
    assert busy.works()


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Where other users can connect."""
    directory = Path(tempfile.mkdtemp(prefix="postern-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


def connect_as(uid: int, sidecar: Sidecar) -> Connection:
    """A connection of `uid`, and of our own group."""
    with acting_as(uid, gid=os.getgid()):
        return sidecar.connect()


@pytest.mark.skipif(os.getuid() != 0, reason="needs to be other users")
def test_a_user_who_takes_all_he_can_keeps_nobody_else_out(start: Start, open_directory: Path) -> None:
    sidecar = start(
        {
            "listen": {"path": str(open_directory / "postern.sock"), "mode": "0666"},
            "peers": [{"uid": 2001, "methods": ["*"]}, {"uid": 2002, "methods": ["*"]}],
            "limits": {"inFlight": 16, "queue": 64, "queueTime": "300ms"},
        }
    )
    crowd = [connect_as(2001, sidecar) for _ in range(20)]
    try:
        for connection in crowd:
            for _ in range(8):
                connection.request("fetchResource", slow(20000))
        with connect_as(2002, sidecar) as quiet:
            took = []
            for _ in range(10):
                began = time.monotonic()
                assert quiet.call("fetchResource", slow(1))["status"] == 200
                took.append(time.monotonic() - began)
            # Not each of them: where a process stands still for a second, one takes that second.
            assert sorted(took)[5] < 0.25, took
        with connect_as(2001, sidecar) as another:
            refused(another, "fetchResource", slow(1))
            assert another.call("health")["status"] == "ok"
    finally:
        for connection in crowd:
            connection.close()


@pytest.mark.skipif(os.getuid() != 0, reason="needs to be other users")
def test_one_users_rate_is_not_anothers(start: Start, open_directory: Path) -> None:
    rate = {"perSecond": 0.01, "burst": 1}
    sidecar = start(
        {
            "listen": {"path": str(open_directory / "postern.sock"), "mode": "0666"},
            "peers": [{"gid": os.getgid(), "methods": ["*"], "rate": rate}],
        }
    )
    for uid in (2001, 2002):
        with connect_as(uid, sidecar) as connection:
            connection.call("listTasks")
            refused(connection, "listTasks")
