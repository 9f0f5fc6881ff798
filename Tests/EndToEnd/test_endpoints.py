"""Endpoints over the socket: what a child reaches, how it ends, who sees it."""
from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.echo import EchoServer
from harness.endpoints import Endpoint, ids, refused
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, acting_as, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
NO_HANDLE = "A" * 43
ORDERS = {"resource": "orders", "path": "orders"}
OPEN = {"resource": "open", "path": "orders"}


@pytest.fixture(params=["stream", "headers"])
def framing(request: pytest.FixtureRequest) -> str:
    """Every case in both framings: no child reaches more in one than in the other."""
    return request.param


@pytest.fixture
def maker(sidecar: Sidecar, framing: str) -> Iterator[Connection]:
    with sidecar.connect(framing, 20) as connection:
        yield connection


def plain(error: Dict[str, Any]) -> Dict[str, Any]:
    """The error without what differs from call to call."""
    return {**error, "data": {name: value for name, value in error["data"].items() if name != "traceId"}}


def without_name(error: Dict[str, Any], name: str) -> str:
    """The error's words, without the name that the call had in it."""
    return json.dumps(plain(error)).replace(name, "NAME")


# What a child reaches


def test_a_child_reaches_its_part_and_no_more(maker: Connection) -> None:
    endpoint = Endpoint(maker, resources=["orders"], methods=["fetchResource", "getInfo"])
    with endpoint.connect() as child:
        assert child.call("fetchResource", ORDERS)["status"] == 200
        hidden = child.error("fetchResource", OPEN)
        missing = child.error("fetchResource", {**OPEN, "resource": "nowhere"})
        assert without_name(hidden, "open") == without_name(missing, "nowhere")
        expect.fault(child.error("health"), -32020)
        expect.fault(child.error("getAccessToken", {"resource": "orders"}), -32020)
    assert maker.call("fetchResource", {**OPEN, "path": "slow", "parameters": {"ms": 1}})["status"] == 200


def test_an_empty_list_is_nothing_and_a_missing_one_the_makers(maker: Connection) -> None:
    with Endpoint(maker, resources=[]).connect() as child:
        missing = child.error("fetchResource", {**ORDERS, "resource": "nowhere"})
        assert without_name(child.error("fetchResource", ORDERS), "orders") == without_name(missing, "nowhere").replace(
            '"orders"', '"NAME"')
        assert child.works()
    with Endpoint(maker, methods=[]).connect() as child:
        expect.fault(child.error("getInfo"), -32020)
    with Endpoint(maker).connect() as child:
        assert child.call("fetchResource", ORDERS)["status"] == 200


def test_http_methods_and_paths_are_bounds_of_fetches(start: Start, echo: EchoServer, framing: str) -> None:
    sidecar = start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}})
    with sidecar.connect(framing) as maker:
        endpoint = Endpoint(maker, resources=["echo"], httpMethods=["GET"], paths=["orders/", "totals"])
        with endpoint.connect() as child:
            missing = child.error("fetchResource", {"resource": "nowhere", "path": "orders/1"})
            for params in (
                {"method": "POST", "path": "orders/1"}, {"path": "order"}, {"path": "orders"}, {"path": "totals/1"},
                {"path": "orders/../admin"}, {"path": "orders/%2e%2e/admin"}, {"path": "orders%2F1"}, {"path": "orders//1"}, {"path": "orders/..%2fadmin"}, {"path": ""},
            ):
                error = child.error("fetchResource", {"resource": "echo", **params})
                assert error["code"] in (missing["code"], 1006), (params, error)
            for path in ("orders/1", "orders/1/lines", "totals"):
                assert "error" not in child.answer_to(child.request("fetchResource", {"resource": "echo", "path": path}))


def test_sessions_outside_are_not_found(maker: Connection) -> None:
    grant = {"type": "tokens", "accessToken": "users", "expiresIn": 600}
    own, other = (maker.call("createSession", {"issuer": "play", "grant": grant})["session"] for _ in range(2))
    with Endpoint(maker, sessions=[own]).connect() as child:
        assert child.call("getSession", {"session": own})["issuer"] == "play"
        assert [session["session"] for session in child.call("listSessions")["sessions"]] == [own]
        for method in ("getSession", "refreshSession", "endSession"):
            hidden, missing = (child.error(method, {"session": handle}) for handle in (other, NO_HANDLE))
            assert plain(hidden) == plain(missing), method
        expect.fault(child.error("createSession", {"issuer": "play", "grant": grant}), -32020)
    assert maker.call("getSession", {"session": other})["issuer"] == "play"


@pytest.mark.parametrize("member", ["resources", "methods", "httpMethods", "paths", "sessions"])
def test_no_child_gets_more_than_its_maker(maker: Connection, member: str) -> None:
    lists: Dict[str, List[str]] = {
        "resources": ["orders"], "methods": ["fetchResource", "createEndpoint"], "httpMethods": ["GET"],
        "paths": ["orders/"], "sessions": []}
    wider = {
        "resources": ["orders", "open"], "methods": ["health"], "httpMethods": ["GET", "POST"], "paths": ["orders"],
        "sessions": [NO_HANDLE]}
    first = Endpoint(maker, **{**lists, "methods": lists["methods"]})
    with first.connect() as child:
        expect.fault(child.error("createEndpoint", {member: wider[member]}), -32020)
        with Endpoint(child, **{member: lists[member]}).connect() as grandchild:
            # Left out lists are the maker's.
            expect.fault(grandchild.error("getInfo"), -32020)


def test_eight_levels_are_allowed_and_the_ninth_is_not(maker: Connection) -> None:
    connections = [maker]
    for _ in range(8):
        connections.append(Endpoint(connections[-1]).connect())
    expect.fault(connections[-1].error("createEndpoint", {}), -32602)
    expect.fault(connections[-1].error("narrow", {}), -32602)
    for connection in connections[1:]:
        assert connection.works()
    with Endpoint(connections[7]).connect() as sibling:
        assert sibling.works()
    assert len(ids(maker)) == 9 and len(ids(connections[1])) == 8
    for connection in connections[1:]:
        connection.close()


def test_rates_count_up_the_chain(maker: Connection) -> None:
    slow = {"perSecond": 0.001, "burst": 3}
    outer = Endpoint(maker, rate=slow)
    with outer.connect() as first:
        with Endpoint(first, rate={"perSecond": 1000.0, "burst": 1000}).connect() as child:
            answers = [child.answer_to(child.request("getInfo")) for _ in range(3)]
            # The endpoint itself was the first call.
            assert ["result" in answer for answer in answers] == [True, True, False]
            expect.error(answers[2], -32009)
        expect.fault(first.error("getInfo"), -32009)
    assert maker.works()


def test_concurrency_counts_up_the_chain(maker: Connection) -> None:
    slow = {"resource": "open", "path": "slow", "parameters": {"ms": 2000}}
    with Endpoint(maker, concurrency=1).connect() as first, Endpoint(first).connect() as child:
        waiting = first.request("fetchResource", slow)
        eventually(lambda: maker.call("listEndpoints")["endpoints"][0]["callsUnderWay"] == 1, what="the first call")
        late = child.answer_to(child.request("fetchResource", {**slow, "parameters": {"ms": 1}}))
        assert "error" in late and late["error"]["code"] == -32009 or late["result"]["status"] == 200
        assert first.answer_to(waiting)["result"]["status"] == 200


def test_narrow_holds_for_what_is_behind_it_in_the_same_write(sidecar: Sidecar, framing: str) -> None:
    with sidecar.connect(framing) as connection:
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": ORDERS},
            {"jsonrpc": "2.0", "id": 2, "method": "narrow", "params": {"resources": ["open"]}},
            {"jsonrpc": "2.0", "id": 3, "method": "fetchResource", "params": ORDERS},
            {"jsonrpc": "2.0", "id": 4, "method": "createEndpoint", "params": {"resources": ["orders"]}},
        ]
        connection.send_bytes(b"".join(connection.frame(json.dumps(message)) for message in messages))
        assert connection.answer_to(1)["result"]["status"] == 200
        assert "result" in connection.answer_to(2)
        assert "error" in connection.answer_to(3)
        expect.error(connection.answer_to(4), -32020)
        # In a batch, too.
        connection.send([
            {"jsonrpc": "2.0", "id": 5, "method": "narrow", "params": {"methods": ["getInfo"]}},
            {"jsonrpc": "2.0", "id": 6, "method": "health"}, {"jsonrpc": "2.0", "id": 7, "method": "getInfo"},
        ])
        batch = {answer["id"]: answer for answer in connection.receive()}  # type: ignore[union-attr]
        expect.error(batch[6], -32020)
        assert "result" in batch[7]
    with sidecar.connect(framing) as other:
        assert other.call("fetchResource", ORDERS)["status"] == 200


# How an endpoint ends


def test_revoking_cuts_calls_in_flight_and_takes_descendants(maker: Connection) -> None:
    slow = {"resource": "open", "path": "slow", "parameters": {"ms": 30_000}}
    outer = Endpoint(maker)
    with outer.connect() as first:
        inner = Endpoint(first)
        with inner.connect() as second:
            calls = [(connection, connection.request("fetchResource", slow)) for connection in (first, second)]
            eventually(lambda: maker.call("listEndpoints")["endpoints"][0]["callsUnderWay"] == 2, what="both calls")
            assert outer.revoke() == 2
            for connection, identifier in calls:
                expect.error(connection.answer_to(identifier), -32020)
                assert connection.ends() == []
    assert ids(maker) == []
    for endpoint in (outer, inner):
        assert refused(endpoint.path or "") and not os.path.exists(endpoint.path or "")
    assert maker.works()


def test_a_revoked_endpoints_upstream_request_is_cut(start: Start, echo: EchoServer, framing: str) -> None:
    """The resource server sees the end of its connection while it still owes the response."""
    import socket
    listener = socket.create_server(("127.0.0.1", 0))
    received, ended = threading.Event(), threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        connection.recv(1 << 16)
        received.set()
        while connection.recv(1 << 16):
            pass
        ended.set()
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    sidecar = start({"resources": {"stuck": {"baseUrl": base, "auth": "none", "timeout": "60s"}}})
    with sidecar.connect(framing) as maker:
        endpoint = Endpoint(maker)
        with endpoint.connect() as child:
            identifier = child.request("fetchResource", {"resource": "stuck", "path": "x"})
            assert received.wait(10)
            endpoint.revoke()
            expect.error(child.answer_to(identifier), -32020)
            assert ended.wait(10)
    listener.close()


def test_an_endpoint_expires_with_what_was_made_through_it(maker: Connection) -> None:
    outer = Endpoint(maker, expiresInMs=2000)
    assert expect.RFC3339_MILLISECONDS.match(outer.answer["expiresAt"])
    with outer.connect() as first:
        inner = Endpoint(first, expiresInMs=3_600_000)
        assert inner.answer["expiresAt"] <= outer.answer["expiresAt"]
        assert Endpoint(first).answer["expiresAt"] <= outer.answer["expiresAt"]
        with inner.connect() as second:
            assert second.works()
            assert first.ends() == [] and second.ends() == []
    assert ids(maker) == []
    for endpoint in (outer, inner):
        # Connections end before the files do.
        eventually(lambda: refused(endpoint.path or ""), what="the end of the socket")
    assert "expiresAt" not in Endpoint(maker).answer


def test_an_endpoint_ends_with_its_makers_connection(sidecar: Sidecar, framing: str) -> None:
    with sidecar.connect(framing) as other:
        with sidecar.connect(framing) as maker:
            bound, free = Endpoint(maker, bindTo="connection"), Endpoint(maker)
            child = bound.connect()
            assert child.works()
        assert child.ends() == []
        eventually(lambda: ids(other) == [free.id], what="the end of the bound endpoint")
        with free.connect() as kept:
            assert kept.works()


def test_a_maker_that_loses_its_right_takes_it_from_its_children(start: Start, framing: str) -> None:
    sidecar = start({"peers": [{"uid": os.getuid(), "methods": ["*"]}]})
    with sidecar.connect(framing) as maker, Endpoint(maker).connect() as child:
        assert child.call("fetchResource", ORDERS)["status"] == 200
        configuration = json.loads(sidecar.configuration_path.read_text())
        rule = {"uid": os.getuid(), "methods": ["getInfo", "listEndpoints"], "resources": ["orders"]}
        sidecar.write({**configuration, "peers": [rule]})
        sidecar.signal(signal.SIGHUP)
        eventually(
            lambda: "error" in child.answer_to(child.request("fetchResource", ORDERS)), what="the end of the right")
        expect.fault(child.error("fetchResource", ORDERS), -32020)
        assert child.works()


# Who sees which


def test_a_child_sees_and_ends_its_own_only(maker: Connection, sidecar: Sidecar, framing: str) -> None:
    first, second = Endpoint(maker), Endpoint(maker)
    with first.connect() as child, second.connect() as sibling:
        own = Endpoint(child, label="mine")
        assert ids(child) == [own.id] and ids(sibling) == []
        with sidecar.connect(framing) as another:
            assert ids(another) == [first.id, second.id, own.id]
        listed = child.call("listEndpoints")["endpoints"][0]
        assert listed["label"] == "mine" and listed["chain"][-1] == first.id
        for connection, endpoint in ((child, first.id), (child, second.id), (sibling, own.id), (sibling, "none")):
            expect.fault(connection.error("revokeEndpoint", {"endpoint": endpoint}), -32602, "/endpoint")
        assert own.revoke() == 1
    assert second.revoke() == 1 and first.revoke() == 1


@needs_root
def test_two_users_see_nothing_of_each_other(start: Start, directory: Path, framing: str) -> None:
    sidecar = start(BOTH)
    open_to_all(directory)
    open_to_all(sidecar.directory)
    alice, bob = (connect_as(uid, sidecar, framing) for uid in (ALICE, BOB))
    endpoint, other = Endpoint(alice), Endpoint(bob)
    assert ids(alice) == [endpoint.id] and ids(bob) == [other.id]
    expect.fault(bob.error("revokeEndpoint", {"endpoint": endpoint.id}), -32602, "/endpoint")
    with acting_as(ALICE):
        child = endpoint.connect()
    assert child.works() and ids(child) == []
    # The other user's process may open the file, and is closed without an answer.
    with acting_as(BOB):
        stranger = endpoint.connect()
    try:
        stranger.request("getInfo")
    except BrokenPipeError:
        pass
    assert stranger.ends() == []
    assert 'postern_connections_refused_total{reason="other_process"} 1' in alice.call("metrics")["text"]
    for connection in (alice, bob, child, stranger):
        connection.close()


def test_wrong_requests_are_rejected_with_their_path(maker: Connection) -> None:
    for params, path in [
        ({"label": ""}, "/label"), ({"label": "x" * 65}, "/label"), ({"expiresInMs": 0}, "/expiresInMs"),
        ({"bindTo": {"pid": 0}}, "/bindTo/pid"), ({"bindTo": "process"}, "/bindTo"), ({"http": True}, "/http"),
        ({"bindTo": {"pid": os.getpid()}, "descriptor": True}, "/descriptor"),
        ({"rate": {"perSecond": 0, "burst": 1}}, "/rate/perSecond"), ({"concurrency": 0}, "/concurrency"),
        ({"bindTo": {"pid": 2_000_000_000}}, "/bindTo/pid"),
    ]:
        expect.fault(maker.error("createEndpoint", params), -32602, path)
    assert ids(maker) == []
