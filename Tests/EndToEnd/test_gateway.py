"""The gateway: HTTP requests of programs become fetches, with the rules of `fetchResource`."""
from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

import test_on_behalf_of
from harness import expect, journeys
from harness.connection import Connection
from harness.gateway import Answer, IgnoringServer, UnixConnection, Upstream, ask
from harness.issuer import IssuerDouble
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.users import ALICE, BOB, acting_as, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
MEBIBYTE = 1 << 20


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def http(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def gateway(start: Start, upstream: Upstream, http: str) -> Callable[..., Sidecar]:
    """Starts a sidecar with the gateway, and `up`, a resource without tokens."""

    def begin(**changes: Any) -> Sidecar:
        resources = {"up": {"baseUrl": upstream.base + "/v1/", "auth": "none"}, **changes.pop("resources", {})}
        made = start({"gateway": {"listen": {"path": http, "mode": "0666"}}, "resources": resources, **changes})
        made.awaits_log("gateway listening")
        return made

    return begin


def problem(answer: Answer, status: int, reason: str) -> Dict[str, Any]:
    """The members of the problem that the answer is."""
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    members = answer.json
    assert members["status"] == status and members["reason"] == reason, members
    assert members["code"] in expect.REASONS and members["title"] and members["detail"] and members["outcome"]
    return members


# Requests and responses as they are


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_a_request_arrives_as_it_was_sent(gateway: Callable[..., Sidecar], http: str, method: str) -> None:
    gateway()
    body = b"\x00\xffbody" if method in ("POST", "PUT", "PATCH", "PROPFIND") else None
    answer = ask(http, method, "/up/a%2Fb/c?x=%20&x=2&y", body, {"X-Own": "1", "Content-Type": "text/x"})
    assert answer.status == 200 and answer.headers["X-Seen"] == "yes"
    seen = answer.json
    assert (seen["method"], seen["path"]) == (method, "/v1/a%2Fb/c?x=%20&x=2&y")
    assert seen["length"] == len(body or b"") and seen["sha256"] == hashlib.sha256(body or b"").hexdigest()
    headers = dict(seen["headers"])
    assert headers["x-own"] == "1" and headers["content-type"] == "text/x"
    assert headers["host"].startswith("127.0.0.1:") and headers["accept-encoding"] == "identity"


def test_head_ranges_and_validators_pass(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway()
    answer = ask(http, "HEAD", "/up/file")
    assert (answer.status, answer.headers["Content-Length"], answer.headers["ETag"], answer.body) == (200, "2048", '"v1"', b"")
    answer = ask(http, "GET", "/up/file", headers={"Range": "bytes=10-19"})
    assert (answer.status, answer.headers["Content-Range"], answer.body) == (206, "bytes 10-19/2048", Upstream.FILE[10:20])
    answer = ask(http, "GET", "/up/file", headers={"If-None-Match": '"v1"'})
    assert (answer.status, answer.headers["ETag"], answer.body) == (304, '"v1"', b"")
    assert "Transfer-Encoding" not in answer.headers


def test_what_no_program_may_send_does_not_go_up(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway()
    names = [
        "Authorization", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP",
        "Proxy-Authorization", "DPoP"]
    answer = ask(http, "GET", "/up/x", headers={name: "host=evil" for name in names})
    seen = {name for name, _ in answer.json["headers"]}
    assert answer.status == 200 and not seen & {name.lower() for name in names}


def test_a_coded_body_is_what_its_fields_state(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway()
    for headers in ({"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}, {}):
        answer = ask(http, "GET", "/up/gzip", headers=headers)
        assert gzip.decompress(answer.body) == b"text " * 1000 and answer.headers["Content-Encoding"] == "gzip"


def test_addresses_and_cookies_lead_to_the_gateway(gateway: Callable[..., Sidecar], http: str, upstream: Upstream) -> None:
    gateway()
    query = (
        f"status=302&Location={upstream.base}/v1/next%3Fa%3D1&Set-Cookie=a%3Db;Path%3D/v1/c;Secure&Set-Cookie=c%3Dd;Path%3D/v2"
        f"&Link=%3C/v1/p%3E;rel%3Dnext")
    answer = ask(http, "GET", f"/up/fields?{query}")
    assert answer.status == 302 and answer.headers["Location"] == "/up/next?a=1"
    assert answer.headers.get_all("Set-Cookie") == ["a=b; Path=/up/c"] and answer.headers["Link"] == "</up/p>;rel=next"
    assert len(upstream.seen) == 1, "a redirect is not followed"
    answer = ask(http, "GET", f"/up/fields?status=307&Location={upstream.base}/v2/x")
    assert answer.headers["Location"] == f"{upstream.base}/v2/x"


# Bodies


def resident(sidecar: Sidecar) -> int:
    return sidecar.resident_kilobytes()


def test_an_upload_of_any_size_takes_no_memory(gateway: Callable[..., Sidecar], http: str) -> None:
    sidecar = gateway()
    ask(http, "PUT", "/up/x", b"x" * MEBIBYTE * 2)
    before, peak = resident(sidecar), 0
    piece = os.urandom(MEBIBYTE)
    digest = hashlib.sha256()

    def pieces() -> Iterator[bytes]:
        nonlocal peak
        for _ in range(50):
            digest.update(piece)
            peak = max(peak, resident(sidecar))
            yield piece

    answer = ask(http, "PUT", "/up/upload", pieces(), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    assert answer.status == 200, answer.body
    assert (answer.json["length"], answer.json["sha256"]) == (50 * MEBIBYTE, digest.hexdigest())
    assert peak - before < 12_000, f"{before} to {peak} KiB"


def test_a_download_of_any_size_takes_no_memory(gateway: Callable[..., Sidecar], http: str) -> None:
    sidecar = gateway()
    connection = UnixConnection(http)
    connection.request("GET", f"/up/large?{MEBIBYTE}")
    assert len(connection.getresponse().read()) == MEBIBYTE
    before = resident(sidecar)
    connection.request("GET", f"/up/large?{50 * MEBIBYTE}")
    response = connection.getresponse()
    assert response.headers["Content-Length"] == str(50 * MEBIBYTE)
    time.sleep(0.5)  # Nothing is read: the server has to wait.
    assert resident(sidecar) - before < 12_000
    count = 0
    while piece := response.read(1 << 16):
        count += len(piece)
    assert count == 50 * MEBIBYTE
    connection.close()


def test_events_come_when_they_are_sent(gateway: Callable[..., Sidecar], http: str, upstream: Upstream) -> None:
    gateway()
    connection = UnixConnection(http)
    connection.request("GET", "/up/events")
    response = connection.getresponse()
    assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream"
    delays = []
    for number in range(1, 51):
        upstream.next_event.release()
        event = response.readline() + response.readline()
        _, count, sent = event.decode().split()
        assert int(count) == number
        delays.append(time.monotonic() - float(sent))
    assert sorted(delays)[25] < 0.05, delays
    connection.close()


@pytest.mark.parametrize("query", ["length", "chunked"])
def test_half_a_body_never_looks_whole(gateway: Callable[..., Sidecar], http: str, query: str) -> None:
    gateway()
    connection = UnixConnection(http)
    connection.request("GET", f"/up/cut?{query}")
    with pytest.raises((OSError, Exception)) as caught:
        response = connection.getresponse()
        assert response.status == 200
        response.read()
    assert not isinstance(caught.value, AssertionError), "it looks whole"
    connection.close()


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that gives every connection the same bytes at once, and ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    threading.Thread(target=reply, args=(client,), daemon=True).start()

        def reply(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                client.recv(65536)
                client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("rest", [b"5\r\nhello\r\nzz\r\n", b"5\r\nhello\r\n9\r\nhel"])
def test_what_came_before_a_break_reaches_the_program(gateway: Callable[..., Sidecar], http: str, rest: bytes) -> None:
    """Catches a connection that ends without a byte: its program takes the request for one that was not handled."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with answering(head + rest) as base:
        gateway(resources={"odd": {"baseUrl": base, "auth": "none"}})
        for _ in range(40):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(10)
                client.connect(http)
                client.sendall(b"GET /odd/x HTTP/1.1\r\nHost: x\r\n\r\n")
                came = client.makefile("rb").read()
            assert came.startswith(b"HTTP/1.1 ") and not came.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("status", [200, 403])
def test_large_answers_that_nobody_reads_are_bounded(gateway: Callable[..., Sidecar], http: str, status: int) -> None:
    size = 4 * MEBIBYTE
    answer = f"HTTP/1.1 {status} X\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size
    with answering(answer) as base, contextlib.ExitStack() as stack:
        made = gateway(
            resources={"large": {"baseUrl": base, "auth": "none"}}, limits={"inFlight": 8, "connectionsPerUid": 200})
        before = made.resident_kilobytes()
        for _ in range(100):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(http)
            client.sendall(b"GET /large/x HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(3)
        # Eight are under way, and are as large as a resource may make them.
        assert made.resident_kilobytes() - before < (8 * 2 * size >> 10) + (24 << 10)


@pytest.mark.parametrize("framing", ["Content-Length: 10000000", "Transfer-Encoding: chunked"])
def test_half_an_upload_never_looks_whole(
    gateway: Callable[..., Sidecar], http: str, upstream: Upstream, framing: str
) -> None:
    gateway()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(http)
        piece = b"x" * MEBIBYTE
        body = b"%x\r\n%s\r\n" % (len(piece), piece) if "chunked" in framing else piece
        client.sendall(f"PUT /up/x HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode() + body)
        eventually(lambda: upstream.seen, what="the request has arrived")
    assert upstream.broken.wait(5), "the server takes half a body for a whole one"


@pytest.mark.parametrize("count", [1, 8])
def test_a_response_that_comes_before_the_body_counts(gateway: Callable[..., Sidecar], http: str, count: int) -> None:
    gateway()
    with UnixClient(http) as client:
        answer = client.upload("/up/early", b"x" * MEBIBYTE, count)
    assert (answer.status, answer.body) == (413, b"too much")


# Would catch: a response that breaks off for a coding that nobody undoes.
def test_a_coding_that_cannot_be_undone_is_the_programs_matter(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway()
    answer = ask(http, "GET", "/up/miscoded")
    assert answer.status == 200 and answer.headers["Content-Encoding"] == "gzip" and answer.body


# Would catch: one user's bodies that never end, each of a size that is kept in memory.
def test_bodies_of_one_user_that_never_end_are_bounded(gateway: Callable[..., Sidecar], http: str) -> None:
    sidecar = gateway()
    ask(http, "PUT", "/up/x", b"x" * MEBIBYTE)
    before, clients = resident(sidecar), []
    for _ in range(150):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        clients.append(client)
        client.connect(http)
        client.settimeout(1)
        client.sendall(f"PUT /up/x HTTP/1.1\r\nHost: x\r\nContent-Length: {MEBIBYTE}\r\n\r\n".encode())
    for client in clients:
        # Those that wait for the server take no more than a part.
        with contextlib.suppress(OSError):
            client.sendall(b"x" * (MEBIBYTE - 1))
    assert resident(sidecar) - before < 120_000
    for client in clients:
        client.close()
    assert ask(http, "PUT", "/up/x", b"x" * MEBIBYTE).status == 200


# Would catch: a body that is another request to a server which ignores it, whose response goes to the next program.
@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
def test_a_body_that_a_server_ignores_is_answered_to_nobody_else(
    start: Start, http: str, method: str
) -> None:
    with IgnoringServer() as server:
        made = start({
            "gateway": {"listen": {"path": http}}, "resources": {"up": {"baseUrl": server.base + "/", "auth": "none"}}})
        made.awaits_log("gateway listening")
        assert ask(http, method, "/up/first", b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n").body == b"/first"
        assert ask(http, "GET", "/up/second").body == b"/second"


def test_continue_is_sent_when_the_body_is_wanted(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway()

    def exchange(target: str) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(10)
            client.connect(http)
            client.sendall(f"PUT {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n".encode())
            first = client.recv(65536)
            if first.startswith(b"HTTP/1.1 100"):
                client.sendall(b"hello")
                return first + client.recv(65536)
            return first

    assert exchange("/up/x").startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")
    assert exchange("/unknown/x").startswith(b"HTTP/1.1 404")


# Errors


def test_errors_are_problems(gateway: Callable[..., Sidecar], http: str, upstream: Upstream) -> None:
    gateway(resources={
        "down": {"baseUrl": f"http://127.0.0.1:{free_port()}/", "auth": "none"},
        "slow": {"baseUrl": upstream.base + "/v1/", "auth": "none", "timeout": "1s"},
        "mine": {"baseUrl": upstream.base + "/v1/", "auth": "user", "issuer": "play"},
    })
    problem(ask(http, "GET", "/unknown/x"), 404, "invalid_params")
    problem(ask(http, "GET", "/"), 404, "invalid_params")
    problem(ask(http, "GET", "/.postern/nothing"), 404, "invalid_params")
    problem(ask(http, "GET", "/mine/x"), 401, "not_authenticated")
    problem(ask(http, "GET", "/mine/x", headers={"Postern-Session": "made-up"}), 401, "session_not_found")
    problem(ask(http, "GET", "/up/x", headers={"Postern-Sesion": "x"}), 400, "invalid_params")
    down = problem(ask(http, "GET", "/down/x"), 502, "server_unreachable")
    assert down["outcome"] == "not_sent" and down["traceId"]
    problem(ask(http, "GET", "/slow/hang"), 504, "deadline_exceeded")
    for target in ["/up/../slow/x", "/up/%2e%2e/x", "/up//evil.test/x", "/up/a/%2E%2e/b", "/up/%5cx", "/up/..;/x"]:
        answer = ask(http, "GET", target)  # By the listener, or by the rules of a fetch.
        assert answer.status == 400 and answer.json["reason"] in ("malformed_request", "invalid_url"), answer.body
    problem(ask(http, "POST", "/up/x", b"x", {"X-HTTP-Method-Override": "DELETE"}), 400, "invalid_headers")
    seen = len(upstream.seen)
    answer = ask(http, "HEAD", "/unknown/x")
    assert answer.status == 404 and answer.body == b"" and int(answer.headers["Content-Length"]) > 0
    assert len(upstream.seen) == seen


def test_an_upload_to_a_server_that_stalls_ends(gateway: Callable[..., Sidecar], http: str, upstream: Upstream) -> None:
    gateway(resources={"slow": {"baseUrl": upstream.base + "/v1/", "auth": "none", "timeout": "1s"}})
    piece = b"x" * MEBIBYTE
    answer: List[Answer] = []

    def upload() -> None:
        with UnixClient(http) as client:
            answer.append(client.upload("/slow/stall", piece, 64))

    thread = threading.Thread(target=upload)
    thread.start()
    thread.join(10)
    assert answer and answer[0].status == 504


class UnixClient:
    """Uploads, and reads the response even when it comes first."""

    def __init__(self, path: str) -> None:
        self.connection = UnixConnection(path)

    def __enter__(self) -> "UnixClient":
        return self

    def __exit__(self, *_: Any) -> None:
        self.connection.close()

    def upload(self, target: str, piece: bytes, count: int) -> Answer:
        self.connection.putrequest("PUT", target)
        self.connection.putheader("Transfer-Encoding", "chunked")
        self.connection.endheaders()
        try:
            for _ in range(count):
                self.connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.connection.send(b"0\r\n\r\n")
        except OSError:
            pass
        return Answer(self.connection.getresponse())


# Rules and limits


def test_the_rules_of_peers_hold(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway(peers=[{"uid": os.getuid(), "methods": ["health"]}])
    problem(ask(http, "GET", "/up/x"), 403, "peer_forbidden")


def test_a_hidden_resource_is_unknown(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway(peers=[{"uid": os.getuid(), "methods": ["*"], "resources": ["open"]}])
    problem(ask(http, "GET", "/up/x"), 404, "invalid_params")
    assert ask(http, "GET", "/open/echo").status == 200


def test_a_rate_is_an_overload_that_ends(gateway: Callable[..., Sidecar], http: str) -> None:
    gateway(peers=[{"uid": os.getuid(), "methods": ["*"], "rate": {"perSecond": 1, "burst": 1}}])
    answers = [ask(http, "GET", "/up/x") for _ in range(4)]
    rejected = [answer for answer in answers if answer.status == 503]
    assert rejected and answers[0].status == 200
    assert int(rejected[0].headers["Retry-After"]) >= 1
    problem(rejected[0], 503, "overloaded")


def test_a_limit_of_calls_counts_requests(gateway: Callable[..., Sidecar], http: str, upstream: Upstream) -> None:
    gateway(peers=[{"uid": os.getuid(), "methods": ["*"], "concurrency": 1}])
    first = UnixConnection(http)
    first.request("GET", "/up/hang")
    assert upstream.hanging.wait(5)
    problem(ask(http, "GET", "/up/x"), 503, "overloaded")
    first.close()
    eventually(lambda: ask(http, "GET", "/up/x").status == 200, what="the slot is free")


def test_a_program_that_goes_ends_its_request(gateway: Callable[..., Sidecar], http: str, upstream: Upstream) -> None:
    gateway()
    connection = UnixConnection(http)
    connection.request("GET", "/up/hang")
    assert upstream.hanging.wait(5)
    gone = time.monotonic()
    connection.close()
    eventually(lambda: upstream.left, seconds=5, what="the server's client has gone")
    assert upstream.left[0] - gone < 2


# Tokens and sessions


def test_a_rejected_token_is_refreshed(gateway: Callable[..., Sidecar], http: str, playground: Playground) -> None:
    gateway()
    assert ask(http, "GET", "/orders/orders").status == 200
    playground.faults(revokeTokens=True)
    answer = ask(http, "POST", "/orders/echo", b"kept", {"Content-Type": "text/plain"})
    assert answer.status == 200 and answer.json["body"] == "kept", answer.body
    playground.faults(revokeTokens=True)
    # A body of any framing is kept while it is sent.
    with UnixClient(http) as client:
        answer = client.upload("/orders/echo", b"streamed", 1)
    assert answer.status == 200 and answer.json["body"] == "streamed"


def test_an_inbound_token_is_exchanged(start: Start, http: str, issuer: IssuerDouble, ec: SigningKey) -> None:
    exchange = test_on_behalf_of.Upstream(issuer, ec)
    settings = test_on_behalf_of.settings(exchange, test_on_behalf_of.RULES)
    start({**settings, "gateway": {"listen": {"path": http}}}).awaits_log("gateway listening")
    answer = ask(http, "GET", "/reports/reports", headers={"Postern-On-Behalf-Of": exchange.inbound()})
    assert answer.json == {"authorization": "Bearer for-alice-1"}
    problem(ask(http, "GET", "/reports/reports"), 400, "invalid_params")
    problem(ask(http, "GET", "/reports/reports", headers={"Postern-On-Behalf-Of": "a.b.c"}), 401, "not_authenticated")


@pytest.fixture
def shop(gateway: Callable[..., Sidecar], playground: Playground, directory: Path) -> Sidecar:
    """A sidecar for both users, with sessions at the access manager."""
    settings = journeys.settings(playground, directory)
    settings["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    made = gateway(
        issuers=settings["issuers"], resources=settings["resources"], listen={"mode": "0666"},
        audit={"path": str(directory / "audit.log")},
        peers=[{"uid": uid, "methods": ["*"]} for uid in (os.getuid(), ALICE, BOB)])
    open_to_all(made.directory)
    return made


@needs_root
def test_a_session_is_its_users(shop: Sidecar, http: str, playground: Playground) -> None:
    alice = connect_as(ALICE, shop)
    sessions = [journeys.session(alice, playground) for _ in range(2)]

    def asks(uid: int, headers: Dict[str, str]) -> Answer:
        with acting_as(uid):
            return ask(http, "GET", "/mine/echo", headers=headers)

    problem(asks(ALICE, {}), 401, "not_authenticated")
    problem(asks(ALICE, {"Postern-Session": "only"}), 400, "invalid_params")
    for session in sessions:
        answer = asks(ALICE, {"Postern-Session": session})
        assert answer.status == 200 and "postern-session" not in answer.json["headers"]
    problem(asks(BOB, {"Postern-Session": sessions[0]}), 401, "session_not_found")
    for headers in ({}, {"Postern-Session": "only"}):
        problem(asks(BOB, headers), 401, "not_authenticated")


@needs_root
def test_advice_goes_on_with_the_same_request_of_the_same_user(shop: Sidecar, http: str, playground: Playground) -> None:
    alice = connect_as(ALICE, shop)
    session = journeys.session(alice, playground)
    body = b'{"amount": 10}'

    def pays(uid: int, continuation: Optional[str] = None, sent: bytes = body) -> Answer:
        headers = {"Content-Type": "application/json", **({"Postern-Continuation": continuation} if continuation else {})}
        if uid == ALICE:
            headers["Postern-Session"] = session
        with acting_as(uid):
            return ask(http, "POST", "/gate/service/pay?a=1", sent, headers)

    members = problem(pays(ALICE), 401, "advice_required")
    assert members["advices"][0]["type"] == journeys.SERVICE and "response" not in members
    continuation = members["continuation"]
    step = alice.call("authenticateWithAdvice", {"continuation": continuation})
    params = {"continuation": step["continuation"], "callbacks": journeys.filled(step, "alice-password")}
    assert alice.call("authenticateWithAdvice", params)["state"] == "completed"
    problem(pays(BOB, continuation), 400, "continuation_unknown")
    problem(pays(ALICE, continuation, b'{"amount": 99}'), 400, "invalid_params")
    answer = pays(ALICE, continuation)
    assert answer.status == 200 and json.loads(answer.json["body"]) == {"amount": 10}, answer.body
    problem(pays(ALICE, continuation), 400, "continuation_unknown")


def test_requests_are_recorded_and_counted(shop: Sidecar, http: str, directory: Path) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = ask(http, "GET", "/orders/echo", headers={"traceparent": parent})
    assert answer.status == 200
    assert parent.split("-")[1] in json.dumps(answer.json["headers"]) and parent not in json.dumps(answer.json["headers"])

    def access() -> List[Dict[str, Any]]:
        path = directory / "audit.log"
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [record for record in records if record["event"] == "access"]

    # A response whose length is known is whole before its request is recorded.
    eventually(access, what="the first record")
    ask(http, "GET", "/mine/echo")
    eventually(lambda: len(access()) == 2, what="both records")
    assert [(record["method"], record["resource"], record["outcome"], record["uid"]) for record in access()] == [
        ("fetchResource", "orders", "allowed", os.getuid()), ("fetchResource", "mine", "fault", os.getuid())]
    assert access()[0]["status"] == 200 and access()[0]["traceId"] == parent.split("-")[1]
    counted = 'postern_rpc_requests_total{method="fetchResource",outcome="result"} 1'
    with shop.connect() as connection:
        eventually(lambda: counted in connection.call("metrics")["text"], what="the count of the first request")


# The process


def test_requests_in_flight_outlive_a_reload_and_end_the_drain(
    gateway: Callable[..., Sidecar], http: str, upstream: Upstream
) -> None:
    sidecar = gateway()
    connection = UnixConnection(http)
    connection.request("GET", "/up/events")
    response = connection.getresponse()
    sidecar.signal(signal.SIGHUP)
    sidecar.awaits_log("configuration reloaded")
    upstream.next_event.release()
    assert response.readline().startswith(b"data: 1 ") and response.readline() == b"\n"
    assert ask(http, "GET", "/up/x").status == 200
    sidecar.signal(signal.SIGTERM)
    sidecar.awaits_log("drain")
    upstream.next_event.release()
    assert response.readline().startswith(b"data: 2 ")
    connection.close()
    assert sidecar.wait() == 0


def test_no_request_fails_while_the_configuration_is_replaced(gateway: Callable[..., Sidecar], http: str) -> None:
    sidecar = gateway()
    statuses: List[int] = []

    def work() -> None:
        connection = UnixConnection(http)
        for number in range(60):
            connection.request("POST", f"/up/x?{number}", body=b"x" * 2000)
            answer = Answer(connection.getresponse())
            statuses.append(answer.status if answer.json["length"] == 2000 else 0)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        sidecar.signal(signal.SIGHUP)
        time.sleep(0.1)
    for thread in threads:
        thread.join(60)
    assert statuses == [200] * (32 * 60)
