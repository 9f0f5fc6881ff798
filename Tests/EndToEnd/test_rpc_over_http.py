"""HTTP on the socket of JSON-RPC, and `POST /rpc` on the gateway: `curl` gets answers that it can show."""
from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness.echo import EchoServer
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, acting_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
KEY = "a-key-of-24-characters!!"
INFO = {"jsonrpc": "2.0", "id": 1, "method": "getInfo"}


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("postern", timeout=20)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path: str, method: str, target: str, body: Optional[bytes] = None, **fields: str) -> Tuple[int, bytes, Dict[str, str]]:
    connection = UnixConnection(path)
    try:
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def post(path: str, message: Any) -> Any:
    status, body, fields = ask(path, "POST", "/rpc", json.dumps(message).encode())
    assert status == 200 and fields["content-type"] == "application/json", (status, body)
    return json.loads(body)


def base(echo: EchoServer) -> str:
    return f"http://127.0.0.1:{echo.server_port}/"


def curl(*arguments: str) -> str:
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


class Hold:
    """A resource server that answers its first request when it is told to."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.told = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        client, _ = self.listener.accept()
        with client:
            client.recv(65536)
            self.told.wait(30)
            try:
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            except OSError:
                pass

    def stop(self) -> None:
        self.told.set()
        self.listener.close()


def state_of(task: str, connection: Any) -> Optional[str]:
    found = connection.answer_to(connection.request("getTask", {"task": task}))
    return found.get("result", {}).get("state")


@pytest.fixture
def hold() -> Iterator[Hold]:
    made = Hold()
    yield made
    made.stop()


def port_of(sidecar: Sidecar) -> int:
    log = sidecar.awaits_log("gateway listening")
    line = next(line for line in log.splitlines() if "gateway listening" in line)
    found = re.search(r'"port":\s*"?(\d+)', line)
    assert found, line
    return int(found.group(1))


@pytest.fixture
def sidecar(start: Start) -> Sidecar:
    return start()


def test_curl_calls_a_method_and_reads_health_and_metrics_on_the_socket(sidecar: Sidecar) -> None:
    path = str(sidecar.path)
    called = json.loads(curl("--unix-socket", path, "http://postern/rpc", "-d", json.dumps(INFO)))
    assert called["id"] == 1 and called["result"]["name"] == "postern"
    health = curl("-w", " %{http_code} %{content_type}", "--unix-socket", path, "http://postern/health")
    report, status, content = health.rsplit(" ", 2)
    assert json.loads(report)["status"] == "ok" and (status, content) == ("200", "application/json")
    metrics = curl("-i", "--unix-socket", path, "http://postern/metrics")
    assert "200 OK" in metrics and "text/plain; version=0.0.4" in metrics and "postern_upstream_stalls_total" in metrics


def test_messages_of_both_kinds_are_told_apart_whatever_comes_first(sidecar: Sidecar) -> None:
    request = b"POST /rpc HTTP/1.1\r\nHost: postern\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(json.dumps(INFO))
    text = json.dumps(INFO).encode()
    framed = b"Content-Length: %d\r\n\r\n%s" % (len(text), text)
    for sent, start in (
        (request + text, b"HTTP/1.1 200 OK\r\n"), (text + b"\n", b'{"jsonrpc"'), (framed, b"Content-Length: "),
        (b"COPY /nothing HTTP/1.1\r\nHost: postern\r\nConnection: close\r\n\r\n", b"HTTP/1.1 404 "),
    ):
        for step in (len(sent), 1):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(20)
                client.connect(str(sidecar.path))
                for position in range(0, len(sent), step):
                    client.sendall(sent[position : position + step])
                assert client.recv(len(start), socket.MSG_WAITALL) == start, (sent, step)


def test_a_batch_is_answered_as_one_and_notifications_are_not_answered(sidecar: Sidecar) -> None:
    path = str(sidecar.path)
    both = post(path, [INFO, {"jsonrpc": "2.0", "id": "b", "method": "health"}, {"jsonrpc": "2.0", "method": "health"}])
    assert [answer["id"] for answer in both] == [1, "b"]
    status, body, _ = ask(path, "POST", "/rpc", json.dumps({"jsonrpc": "2.0", "method": "health"}).encode())
    assert (status, body) == (204, b"")


def test_one_connection_takes_many_requests(sidecar: Sidecar) -> None:
    connection = UnixConnection(str(sidecar.path))
    for number in range(200):
        connection.request("POST", "/rpc", json.dumps({**INFO, "id": number}))
        answer = connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["id"] == number
        connection.request("GET", "/health")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read()
    connection.close()


def test_errors_are_those_of_json_rpc_and_other_requests_are_problems(sidecar: Sidecar) -> None:
    path = str(sidecar.path)
    assert post(path, {"jsonrpc": "2.0", "id": 5, "method": "getInof"})["error"]["code"] == -32601
    for text, code in ((b"{", -32700), (b"", -32700), (b"[]", -32600), (b'{"id": 1}', -32600), (b"x", -32700)):
        status, body, _ = ask(path, "POST", "/rpc", text)
        assert (status, json.loads(body)["error"]["code"]) == (200, code), (text, body)
    status, body, _ = ask(path, "POST", "/rpc", json.dumps(INFO).encode() * 2)
    assert status == 400 and "one array" in json.loads(body)["detail"]
    status, _, fields = ask(path, "GET", "/rpc")
    assert status == 405 and fields["allow"] == "POST"
    status, _, fields = ask(path, "POST", "/health", b"{}")
    assert status == 405 and fields["allow"] == "GET, HEAD"
    status, body, fields = ask(path, "GET", "/unknown")
    assert status == 404 and "POST /rpc, GET /health and GET /metrics" in json.loads(body)["detail"]
    status, body, _ = ask(path, "HEAD", "/health")
    assert (status, body) == (200, b"")


def test_what_needs_a_connection_that_stays_says_so(sidecar: Sidecar) -> None:
    path = str(sidecar.path)
    for method, params in (
        ("subscribe", {"events": ["healthChanged"]}), ("unsubscribe", {"events": ["healthChanged"]}),
        ("registerDelegate", {"methods": []}), ("narrow", {"methods": ["getInfo"]}),
    ):
        error = post(path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["error"]
        assert error["code"] == -32600 and "needs a JSON-RPC connection that stays" in error["message"]
    error = post(path, {"jsonrpc": "2.0", "id": 1, "method": "createEndpoint", "params": {"bindTo": "connection"}})["error"]
    assert error["code"] == -32602 and error["data"]["path"] == "/bindTo"


def test_limits_of_a_message_hold(start: Start) -> None:
    sidecar = start({"limits": {"messageBytes": "64KiB", "jsonValues": 1000, "batch": 3}})
    path = str(sidecar.path)
    big = {**INFO, "params": {"a": "x" * 70_000}}
    assert post(path, big)["error"]["data"]["reason"] == "message_too_large"
    many = {**INFO, "params": {"a": [0] * 2000}}
    assert post(path, many)["error"]["data"]["reason"] == "message_too_complex"
    assert post(path, [INFO] * 4)["error"]["data"]["reason"] == "batch_too_large"
    assert post(path, INFO)["result"]


@pytest.mark.parametrize("gateway", [True, False])
def test_the_gateways_routes_are_there_where_it_is_configured(start: Start, echo: EchoServer, directory: Path, gateway: bool) -> None:
    changes: Dict[str, Any] = {"resources": {"web": {"baseUrl": base(echo), "auth": "none"}}}
    if gateway:
        changes["gateway"] = {"listen": {"path": str(directory / "http.sock")}}
    sidecar = start(changes)
    status, body, _ = ask(str(sidecar.path), "GET", "/web/a?b=c")
    assert (status == 200) == gateway, body
    if gateway:
        sidecar.awaits_log("gateway listening")
        called = post(str(directory / "http.sock"), INFO)
        assert called["result"]["name"] == "postern"
        assert ask(str(directory / "http.sock"), "GET", "/health")[0] == 404


def test_the_address_takes_messages_with_its_key_only(start: Start) -> None:
    sidecar = start({"gateway": {"listen": {"address": "127.0.0.1:0", "key": KEY}}})
    port = port_of(sidecar)
    for fields, status in (({}, 401), ({"Postern-Key": "wrong-key-of-24-characters"}, 401), ({"Postern-Key": KEY}, 200)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", "/rpc", json.dumps(INFO), fields)
        answer = connection.getresponse()
        assert answer.status == status, answer.read()
        connection.close()


def test_a_fetch_over_http_is_that_of_the_socket(start: Start, echo: EchoServer) -> None:
    sidecar = start({"resources": {"web": {"baseUrl": base(echo), "auth": "none"}}})
    call = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {"resource": "web", "path": "hello"}}
    result = post(str(sidecar.path), call)["result"]
    with sidecar.connect() as connection:
        other = connection.call("fetchResource", {"resource": "web", "path": "hello"})
    assert result["status"] == other["status"] == 200 and set(result) == set(other)
    error = post(str(sidecar.path), {**call, "params": {"resource": "web", "path": "hello", "stream": True}})["error"]
    assert error["code"] == -32602 and error["data"]["path"] == "/stream"


def test_a_program_that_leaves_ends_its_call(start: Start, hold: Hold) -> None:
    sidecar = start({"resources": {"web": {"baseUrl": hold.base, "auth": "none"}}})
    call = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {"resource": "web", "path": "x", "task": "t"}}
    connection = UnixConnection(str(sidecar.path))
    connection.request("POST", "/rpc", json.dumps(call))
    with sidecar.connect() as other:
        eventually(lambda: state_of("t", other) == "running")
        connection.close()
        eventually(lambda: state_of("t", other) == "cancelled")


@needs_root
def test_the_rules_of_peers_are_those_of_the_process(start: Start, directory: Path) -> None:
    sidecar = start({"listen": {"mode": "0666"}, "peers": [{"uid": ALICE, "methods": ["getInfo"]}]})
    open_to_all(sidecar.directory)
    with acting_as(ALICE):
        assert post(str(sidecar.path), INFO)["result"]
        assert ask(str(sidecar.path), "GET", "/metrics")[0] == 403
    with acting_as(BOB):
        assert post(str(sidecar.path), INFO)["error"]["code"] == -32020


def test_connections_over_http_count_as_connections(start: Start) -> None:
    sidecar = start({"limits": {"connections": 8, "connectionsPerUid": 8}})
    kept: List[UnixConnection] = []
    for _ in range(8):
        connection = UnixConnection(str(sidecar.path))
        connection.request("GET", "/health")
        assert connection.getresponse().read()
        kept.append(connection)
    kept[0].request("GET", "/metrics")
    assert b"\npostern_connections 8\n" in kept[0].getresponse().read()
    # What is over the limit gets an error that curl shows, also in pieces.
    for method in ("GET", "POST"):
        status, body, fields = ask(str(sidecar.path), method, "/rpc", b"{}")
        assert status == 503 and fields["retry-after"] == "1" and fields["content-type"] == "application/json"
        assert json.loads(body)["error"]["data"]["reason"] == "overloaded"
    assert ask(str(sidecar.path), "HEAD", "/health")[:2] == (503, b"")
    for pieces in ((b"GE", b"T / HTTP/1.1\r\n"), (b'{"json', b'rpc"'), ()):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(sidecar.path))
            for piece in pieces:
                client.sendall(piece)
            answer = client.makefile("rb").read()
        assert (b"HTTP/1.1 503 " in answer) == (b"GE" in pieces) and b'"overloaded"' in answer
    kept.pop().close()
    eventually(lambda: ask(str(sidecar.path), "GET", "/health")[0] == 200)
    for connection in kept:
        connection.close()


def test_requests_under_way_are_answered_when_the_process_ends(start: Start, hold: Hold) -> None:
    sidecar = start({"resources": {"web": {"baseUrl": hold.base, "auth": "none"}}})
    call = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {"resource": "web", "path": "x", "task": "t"}}
    connection = UnixConnection(str(sidecar.path))
    connection.request("POST", "/rpc", json.dumps(call))
    with sidecar.connect() as other:
        eventually(lambda: state_of("t", other) == "running")
    ending = threading.Thread(target=sidecar.stop)
    ending.start()
    sidecar.awaits_log("draining")
    hold.told.set()
    answer = connection.getresponse()
    assert json.loads(answer.read())["result"]["status"] == 200
    connection.close()
    ending.join(20)
    assert not ending.is_alive() and not os.path.exists(sidecar.path)


def test_a_call_over_http_ends_with_its_endpoint(start: Start, hold: Hold) -> None:
    """Catches a child that gets a response after its maker has revoked the endpoint."""
    sidecar = start({"resources": {"web": {"baseUrl": hold.base, "auth": "none"}}})
    call = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {"resource": "web", "path": "x", "task": "t"}}
    with sidecar.connect() as maker:
        endpoint = maker.call("createEndpoint", {"resources": ["web"], "methods": ["fetchResource"]})
        child = UnixConnection(endpoint["path"])
        child.request("POST", "/rpc", json.dumps(call))
        eventually(lambda: state_of("t", maker) == "running")
        assert [one["connections"] for one in maker.call("listEndpoints", {})["endpoints"]] == [1]
        maker.call("revokeEndpoint", {"endpoint": endpoint["endpoint"]})
        answer = child.getresponse()
        problem = json.loads(answer.read())
        assert answer.status == 403 and problem["reason"] == "peer_forbidden" and problem["outcome"] == "sent_no_reply"
        eventually(lambda: state_of("t", maker) == "cancelled")
        child.close()


@needs_root
def test_an_inherited_connection_ends_with_the_process_that_made_it(start: Start, directory: Path) -> None:
    """Catches a process that uses the rights of another one, which has ended."""
    sidecar = start({"listen": {"mode": "0666"}, "peers": [{"uid": 0, "methods": ["*"]}]})
    open_to_all(sidecar.directory)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        # The process that connects passes its connection on, and ends.
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(sidecar.path))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: postern\r\n\r\n")
        client.recv(1)
        socket.send_fds(theirs, [b"x"], [client.fileno()])
        os._exit(0)
    os.wait()
    _, [number], _, _ = socket.recv_fds(ours, 1, 1)
    with socket.socket(fileno=number) as inherited:
        inherited.settimeout(10)
        while inherited.recv(65536):
            pass


def test_answers_that_nobody_reads_are_bounded(start: Start, echo: EchoServer) -> None:
    """Catches memory for the answers to programs that do not read."""
    sidecar = start({"resources": {"web": {"baseUrl": base(echo), "auth": "none"}}, "limits": {"messageBytes": "1MiB"}})
    fetch = {"jsonrpc": "2.0", "method": "fetchResource", "params": {"resource": "web", "path": "pattern/1000000-1"}}
    batch = json.dumps([{**fetch, "id": number} for number in range(16)]).encode()
    silent: List[socket.socket] = []
    for _ in range(12):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(sidecar.path))
        client.sendall(b"POST /rpc HTTP/1.1\r\nHost: postern\r\nContent-Length: %d\r\n\r\n%s" % (len(batch), batch))
        silent.append(client)
    with sidecar.connect() as other:
        eventually(lambda: not other.call("listTasks")["tasks"] or all(
            task["state"] != "running" for task in other.call("listTasks")["tasks"]), seconds=60)
    heads = []
    for client in silent:
        client.settimeout(20)
        heads.append(client.recv(12))
    assert heads.count(b"HTTP/1.1 503") >= 6 and heads.count(b"HTTP/1.1 200") >= 1, heads
    for client in silent:
        client.close()
    eventually(lambda: post(str(sidecar.path), {**fetch, "id": 1}).get("result"))


def test_a_narrow_that_is_notified_lets_nothing_pass_behind_it(sidecar: Sidecar) -> None:
    """Catches a program that has given rights up, as it believes, and a call behind that with all of them."""
    batch = [{"jsonrpc": "2.0", "method": "narrow", "params": {"methods": ["health"]}}, INFO]
    status, body, _ = ask(str(sidecar.path), "POST", "/rpc", json.dumps(batch).encode())
    assert b"libraries" not in body and (status == 204 or "error" in json.loads(body)[0]), body
