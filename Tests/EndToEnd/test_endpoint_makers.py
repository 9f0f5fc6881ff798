"""What makers keep, whatever the children of their endpoints do: their rights to end them, connections, approvals."""
from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.echo import EchoServer
from harness.endpoints import Endpoint, Maker, ids
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
SLOW = {"resource": "open", "path": "slow", "parameters": {"ms": 5000}}


def mine(**rule: Any) -> List[Dict[str, Any]]:
    return [{"uid": os.getuid(), "methods": ["*"], **rule}]


# Its end


@pytest.mark.parametrize("changes, count", [
    ({"peers": mine(concurrency=4)}, 4), ({"limits": {"inFlight": 4, "queue": 0}}, 3),
], ids=["concurrency", "inFlight"])
def test_a_busy_child_can_be_revoked(start: Start, changes: Dict[str, Any], count: int) -> None:
    """Catches a revocation that waits for a slot which the child has."""
    sidecar = start(changes)
    with sidecar.connect() as maker:
        endpoint = Endpoint(maker)
        with endpoint.connect() as child:
            waiting = [child.request("fetchResource", SLOW) for _ in range(count)]
            eventually(lambda: maker.call("listEndpoints")["endpoints"][0]["callsUnderWay"] == count)
            expect.fault(maker.error("getSession", {"session": "A" * 43}), -32009)
            assert endpoint.revoke() == 1
            for identifier in waiting:
                expect.fault(child.answer_to(identifier)["error"], -32020)
            assert child.ends() == []


def test_a_child_that_calls_all_the_time_can_be_revoked(start: Start) -> None:
    """Catches a revocation that is counted by the rate which the child uses up."""
    sidecar = start({"peers": mine(rate={"perSecond": 0.01, "burst": 4})})
    with sidecar.connect() as maker:
        endpoint = Endpoint(maker)
        with endpoint.connect() as child:
            while "result" in child.answer_to(child.request("listTasks")):
                pass
            assert endpoint.revoke() == 1


def test_narrow_holds_where_the_rate_is_used_up(start: Start) -> None:
    """Catches a `narrow` that is rejected, so that the connection keeps what it should have given up."""
    sidecar = start({"peers": mine(rate={"perSecond": 0.01, "burst": 2})})
    with sidecar.connect() as connection:
        while "result" in connection.answer_to(connection.request("listTasks")):
            pass
        assert connection.call("narrow", {"methods": ["getInfo"]}) == {}
        assert connection.works()
        expect.fault(connection.error("listTasks"), -32009)


# Its connections and descriptors


def test_a_child_leaves_its_maker_connections(start: Start) -> None:
    sidecar = start({"limits": {"connectionsPerUid": 8}})
    with contextlib.ExitStack() as open_ones:
        maker = open_ones.enter_context(sidecar.connect())
        endpoints = [Endpoint(maker) for _ in range(2)]
        rejected = 0
        for number in range(12):
            child = open_ones.enter_context(endpoints[number % 2].connect())
            child.request("getInfo")
            answer: Any = child.receive()
            rejected += "error" in answer
        assert rejected > 0
        assert open_ones.enter_context(sidecar.connect()).works()


@needs_root
def test_a_user_leaves_others_endpoints(start: Start) -> None:
    sidecar = start(BOTH, launcher=["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"])
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        made = 0
        while "result" in (answer := alice.answer_to(alice.request("createEndpoint", {}))):
            made += 1
        expect.error(answer, -32009)
        assert made > 4
        assert Endpoint(bob).id


# Approvals


@pytest.fixture
def asked(start: Start, echo: EchoServer) -> Iterator[Callable[..., Maker]]:
    sidecar = start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}})
    with contextlib.ExitStack() as connections:
        yield lambda *answers: Maker(connections.enter_context(sidecar.connect(timeout=20)), list(answers))


def fetch(child: Connection, path: str, method: str = "GET", **params: Any) -> Dict[str, Any]:
    return child.answer_to(child.request("fetchResource", {"resource": "echo", "path": path, "method": method, **params}))


def test_each_call_is_put_to_the_maker(asked: Callable[..., Maker], echo: EchoServer) -> None:
    maker = asked("once", "no", "always")
    with maker.endpoint(label="report").connect() as child:
        assert maker.while_answering(1, lambda: fetch(child, "transfer", "POST"))["result"]["status"] == 200
        question = maker.questions[0]
        assert (question["label"], question["method"], question["httpMethod"], question["path"]) == (
            "report", "fetchResource", "POST", "transfer")
        answer = maker.while_answering(1, lambda: fetch(child, "transfer", "POST"))
        expect.fault(answer["error"], -32020)
        # It is not put again at once.
        expect.fault(fetch(child, "transfer", "POST")["error"], -32020)
        assert maker.while_answering(1, lambda: fetch(child, "read"))["result"]["status"] == 200
        assert fetch(child, "read")["result"]["status"] == 200
        assert [path for _, path, _, _ in echo.requests] == ["/transfer", "/read", "/read"]


def test_always_is_for_the_request_that_was_shown(asked: Callable[..., Maker], echo: EchoServer) -> None:
    """Catches an approval that is good for more than its words: other parameters, or where a server leads."""
    maker = asked("always", "no", "always")
    with maker.endpoint().connect() as child:
        assert maker.while_answering(1, lambda: fetch(child, "read"))["result"]["status"] == 200
        answer = maker.while_answering(1, lambda: fetch(child, "read", parameters={"delete": "all"}))
        expect.fault(answer["error"], -32020)
        answer = maker.while_answering(1, lambda: fetch(child, "redirect/302-transfer"))
        assert answer["result"]["status"] == 302
        assert "/transfer" not in [path for _, path, _, _ in echo.requests]


def test_a_path_that_looks_like_another_is_not_put(asked: Callable[..., Maker], echo: EchoServer) -> None:
    with asked().endpoint().connect() as child:
        expect.fault(fetch(child, "read\u202e\u001b[2K")["error"], 1006)
    assert echo.requests == []


def test_nothing_is_sent_after_the_end(asked: Callable[..., Maker], echo: EchoServer) -> None:
    """Catches calls that go on when the endpoint that they are put through ends before the answer."""
    maker = asked()
    for _ in range(20):
        endpoint = maker.endpoint()
        with endpoint.connect() as child:
            waiting = [child.request("fetchResource", {"resource": "echo", "path": f"transfer/{number}", "method": "POST"})
                       for number in range(4)]
            for _ in waiting:
                maker.answer_next()
            assert endpoint.revoke() == 1
            for identifier in waiting:
                expect.fault(child.answer_to(identifier)["error"], -32020)
    assert echo.requests == []


def test_a_maker_that_is_gone_has_approved_nothing(asked: Callable[..., Maker], echo: EchoServer) -> None:
    maker = asked("always")
    with maker.endpoint().connect() as child:
        assert maker.while_answering(1, lambda: fetch(child, "read"))["result"]["status"] == 200
        maker.connection.close()
        eventually(lambda: "error" in fetch(child, "read"))
        count = len(echo.requests)
        expect.fault(fetch(child, "read")["error"], -32020)
        assert len(echo.requests) == count


def test_an_approval_needs_a_maker_that_answers(sidecar: Sidecar) -> None:
    with sidecar.connect() as maker:
        expect.fault(maker.error("createEndpoint", {"approval": "ask"}), -32602)
        assert ids(maker) == []


def test_approvals_are_in_the_audit_log(start: Start, echo: EchoServer, directory: Path) -> None:
    """Catches an approval of which the audit log does not show who gave it, for which call, through which chain."""
    log = directory / "audit.log"
    sidecar = start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}, "audit": {"path": str(log)}})
    with contextlib.ExitStack() as connections:
        maker = Maker(connections.enter_context(sidecar.connect(timeout=20)), ["once", "no", "always"])
        outer = maker.endpoint(label="outer")
        between = connections.enter_context(outer.connect())
        inner = Endpoint(between, label="inner")
        child = connections.enter_context(inner.connect())
        assert maker.while_answering(1, lambda: fetch(child, "transfer", "POST"))["result"]["status"] == 200
        expect.fault(maker.while_answering(1, lambda: fetch(child, "transfer/2", "POST"))["error"], -32020)
        assert maker.while_answering(1, lambda: fetch(child, "read"))["result"]["status"] == 200
        assert fetch(child, "read")["result"]["status"] == 200
        maker.answers.clear()
        waiting = child.request("fetchResource", {"resource": "echo", "path": "gone"})
        maker.answer_next()
        maker.connection.close()
        expect.fault(child.answer_to(waiting)["error"], -32020)
        eventually(lambda: "approval" in log.read_text() and '"gone"' in log.read_text())
    sidecar.stop()
    records = [record for line in log.read_text().splitlines() if (record := json.loads(line))["event"] == "approval"]
    assert [record["outcome"] for record in records] == ["once", "no", "always", "gone"]
    for record in records:
        assert [level["label"] for level in record["chain"]] == ["outer", "inner"]
        assert (record["endpoint"], record["method"], record["resource"]) == (outer.id, "fetchResource", "echo")
        assert record["maker"] != record["connection"] and record["uid"] == os.getuid()
    assert [record["httpMethod"] for record in records] == ["POST", "POST", "GET", "GET"]
    assert "transfer" not in log.read_text()
