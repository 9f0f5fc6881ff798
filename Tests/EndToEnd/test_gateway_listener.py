"""`gateway.listen`: HTTP/1.1 on a Unix socket and a loopback address, and the requests that it rejects by itself."""
from __future__ import annotations

import grp
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from harness.sidecar import Sidecar, StartError
from harness.users import ALICE, BOB, acting_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]

TABLE = json.loads((Path(__file__).parent / "gateway-requests.json").read_text())
GET = b"GET /unknown HTTP/1.1\r\nHost: postern\r\n\r\n"
KEY = "a-key-of-24-characters!!"


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("postern", timeout=20)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@pytest.fixture
def path(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def listen(start: Start) -> Callable[..., Sidecar]:
    """Starts a sidecar whose gateway listens as given; it does a moment after the other socket."""

    def listen(changes: Optional[Dict[str, Any]] = None, **given: Any) -> Sidecar:
        sidecar = start({"gateway": {"listen": given}, **(changes or {})})
        sidecar.awaits_log("gateway listening")
        return sidecar

    return listen


@pytest.fixture
def gateway(listen: Start, path: str) -> Sidecar:
    return listen(path=path)


def open_socket(path: str) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(path)
    return client


def everything(client: socket.socket) -> bytes:
    """What comes until the end; a reset behind it is an end."""
    text = b""
    while True:
        try:
            piece = client.recv(65536)
        except ConnectionResetError:
            return text
        if not piece:
            return text
        text += piece


def send(client: socket.socket, data: bytes) -> None:
    """Sends what is taken: a server that rejects a request does not read all of it."""
    try:
        client.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


def statuses(text: bytes) -> List[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", text)]


def problem(text: bytes) -> Dict[str, Any]:
    head, _, body = text.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head, text
    return json.loads(body)


def test_malformed_requests_get_their_status_and_nothing_behind_them_is_read(gateway: Sidecar, path: str) -> None:
    assert len(TABLE["malformed"]) >= 200
    for case in TABLE["malformed"]:
        with open_socket(path) as client:
            send(client, case["request"].encode("latin-1") + b"\r\n\r\n" + GET)
            text = everything(client)
        if case.get("inBody"):
            # What is unknown is answered without its body; what follows it is no request.
            assert statuses(text) in ([404], [case["status"]]), (case["name"], text)
        else:
            assert statuses(text) == [case["status"]], (case["name"], text)
            found = problem(text)
            assert found["status"] == case["status"] and b"\r\nConnection: close\r\n" in text
            assert set(found) >= {"type", "title", "detail", "code", "reason", "outcome", "traceId"}, (case["name"], found)


def test_valid_requests_are_answered_in_their_order(gateway: Sidecar, path: str) -> None:
    for case in TABLE["valid"]:
        with open_socket(path) as client:
            send(client, case["request"].encode("latin-1"))
            client.shutdown(socket.SHUT_WR)
            assert statuses(everything(client)) == [404] * case["requests"], case["name"]


def test_curl_reaches_it_and_a_thousand_requests_share_a_connection(gateway: Sidecar, path: str) -> None:
    done = subprocess.run(
        ["curl", "-sS", "-i", "--unix-socket", path, "http://postern/unknown/a?b=c"], capture_output=True, timeout=30, check=True)
    assert statuses(done.stdout) == [404] and problem(done.stdout)["status"] == 404
    connection = UnixConnection(path)
    for _ in range(1000):
        connection.request("GET", "/unknown")
        answer = connection.getresponse()
        assert answer.status == 404 and json.loads(answer.read())["status"] == 404
    first = connection.sock
    assert first is not None
    connection.close()


def test_head_has_no_body(gateway: Sidecar, path: str) -> None:
    connection = UnixConnection(path)
    for method in ("HEAD", "GET"):
        connection.request(method, "/unknown")
        answer = connection.getresponse()
        assert answer.status == 404 and (answer.read() == b"") == (method == "HEAD")
    connection.close()


def test_rejections_have_no_body_for_head_and_the_trace_of_their_request(listen: Start, path: str) -> None:
    sidecar = listen(path=path, address="127.0.0.1:0", key=KEY)
    trace = "0af7651916cd43dd8448eb211c80319c"
    with socket.create_connection(("127.0.0.1", port_of(sidecar)), timeout=20) as client:
        client.sendall(b"GET /unknown HTTP/1.1\r\nHost: localhost\r\ntraceparent: 00-" + trace.encode() + b"-b7ad6b7169203331-01\r\n\r\n")
        text = everything(client)
        assert statuses(text) == [401] and problem(text)["traceId"] == trace and problem(text)["code"] == -32035
    for request in (b"/unknown HTTP/1.1\r\nHost: postern\r\nX Y: z\r\n\r\n", b"/%zz HTTP/1.1\r\n\r\n", b"/" + b"a" * 9000):
        with open_socket(path) as client:
            send(client, b"HEAD " + request)
            head = everything(client)
        with open_socket(path) as client:
            send(client, b"GET " + request)
            text = everything(client)
        assert head.endswith(b"\r\n\r\n") and text.startswith(head.rpartition(b"Content-Length")[0])
        assert re.fullmatch("[0-9a-f]{32}", problem(text)["traceId"]) and problem(text)["traceId"] in sidecar.awaits_log(problem(text)["traceId"])


def test_silent_connections_do_not_keep_programs_with_the_key_out(listen: Start) -> None:
    """Catches 300 connections without a key after which the address serves nobody for half a minute."""
    sidecar = listen(address="127.0.0.1:0", key=KEY)
    port = port_of(sidecar)
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def is_served() -> bool:
        kept.request("GET", "/unknown", headers={"Postern-Key": KEY})
        answer = kept.getresponse()
        return json.loads(answer.read())["status"] == 404

    assert is_served()
    first = kept.sock
    silent = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(300)]
    try:
        for client in silent[::2]:
            send(client, b"GET / HTTP/1.1\r\n")
        for _ in range(3):
            assert get(port, Postern_Key=KEY)[0] == 404
        assert is_served() and kept.sock is first, "a connection that has shown the key is displaced"
    finally:
        for client in [kept, *silent]:
            client.close()


def test_extensions_of_chunks_are_ignored_and_bounded(gateway: Sidecar, path: str) -> None:
    start = b"POST /unknown HTTP/1.1\r\nHost: postern\r\nTransfer-Encoding: chunked\r\n\r\n"
    with open_socket(path) as client:
        client.sendall(start + b'5;a=b;c="; \\" 0"\r\nhello\r\n0;x\r\n\r\n' + GET)
        client.shutdown(socket.SHUT_WR)
        assert statuses(everything(client)) == [404, 404]


def test_a_client_that_has_closed_its_side_gets_its_response(gateway: Sidecar, path: str) -> None:
    with open_socket(path) as client:
        client.sendall(GET)
        client.shutdown(socket.SHUT_WR)
        assert statuses(everything(client)) == [404]
    with open_socket(path) as client:
        client.sendall(GET[:-2])
        client.shutdown(socket.SHUT_WR)
        assert everything(client) == b""


def test_the_socket_has_its_mode_and_group_and_goes_at_the_end(listen: Start, path: str) -> None:
    group = grp.getgrgid(os.getegid()).gr_name
    sidecar = listen(path=path, mode="0660", group=group)
    found = os.stat(path)
    assert stat.S_IMODE(found.st_mode) == 0o660 and found.st_gid == os.getegid()
    assert re.search(r"gateway listening.*http\.sock", sidecar.log())
    sidecar.stop()
    assert not os.path.exists(path)


def test_a_stale_socket_is_replaced_and_one_in_use_is_not(start: Start, listen: Start, path: str, directory: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    listen(path=path)
    # The other socket may be seen for a moment before that.
    try:
        second = start({"gateway": {"listen": {"path": path}}, "listen": {"path": str(directory / "other.sock")}})
        status, log = second.wait(), second.log()
    except StartError as error:
        status, log = error.status, error.log
    assert status == 1 and "gateway.listen: " in log and "already in use" in log
    assert not os.path.exists(directory / "other.sock")
    with open_socket(path) as client:
        client.sendall(GET)
        client.shutdown(socket.SHUT_WR)
        assert statuses(everything(client)) == [404]


@pytest.mark.parametrize(
    "given, message",
    [({}, "needs path, address, or both"), ({"address": "127.0.0.1:0"}, "needs keyFile"), ({"address": "192.0.2.1:80", "key": KEY}, "must be a loopback address"),
     ({"address": "127.0.0.1:0", "key": "short"}, "fewer than 16 characters"), ({"path": "http.sock", "key": KEY}, "goes with address only")],
    ids=["nothing", "no key", "another address", "short key", "key for a socket"],
)
def test_settings_that_would_let_others_in_are_rejected_at_the_start(start: Start, given: Dict[str, Any], message: str) -> None:
    with pytest.raises(StartError) as found:
        start({"gateway": {"listen": given}})
    assert found.value.status == 78 and message in found.value.log


def port_of(sidecar: Sidecar) -> int:
    log = sidecar.awaits_log("gateway listening")
    line = next(line for line in log.splitlines() if "gateway listening" in line)
    found = re.search(r'"port":\s*"?(\d+)', line)
    assert found, line
    return int(found.group(1))


def get(port: int, **fields: str) -> Tuple[int, Dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", "/unknown", headers={name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_on_the_loopback_address_the_key_decides_and_follows_its_file(listen: Start, directory: Path) -> None:
    key = directory / "gateway-key"
    key.write_text(KEY + "\n")
    sidecar = listen(address="127.0.0.1:0", keyFile=str(key))
    port = port_of(sidecar)
    assert get(port, Postern_Key=KEY)[0] == 404
    status, body = get(port)
    assert (status, body["reason"]) == (401, "key_required") and KEY not in json.dumps(body)
    assert "keyFile" in body["detail"] and "Postern-Key" in body["detail"], "where the key is, and how to send it"
    assert get(port, Postern_Key=KEY + "x")[0] == 401
    assert get(port, Postern_Key=KEY, Host="evil.example")[0] == 421
    assert get(port, Postern_Key=KEY, Origin="http://127.0.0.1")[0] == 403
    replaced = directory / "gateway-key.new"
    replaced.write_text("b" * 20)
    replaced.replace(key)
    eventually(lambda: get(port, Postern_Key="b" * 20)[0] == 404, what="the new key")
    assert get(port, Postern_Key=KEY)[0] == 401
    assert KEY not in sidecar.log() and "b" * 20 not in sidecar.log()


def test_both_listeners_serve_at_once(listen: Start, path: str) -> None:
    sidecar = listen(path=path, address="127.0.0.1:0", key=KEY)
    assert get(port_of(sidecar), Postern_Key=KEY)[0] == 404
    connection = UnixConnection(path)
    connection.request("GET", "/unknown")
    assert connection.getresponse().status == 404
    connection.close()


@needs_root
def test_connections_of_one_user_do_not_exclude_another(listen: Start, path: str, directory: Path) -> None:
    sidecar = listen({
        "limits": {"connections": 40, "connectionsPerUid": 30}, "peers": [{"uid": uid, "methods": ["*"]} for uid in (0, ALICE, BOB)],
    }, path=path, mode="0666")
    open_to_all(sidecar.directory)
    directory.chmod(0o755)
    with acting_as(ALICE):
        clients = [open_socket(path) for _ in range(60)]
    try:
        for client in clients:
            send(client, GET)
        found = [statuses(client.recv(65536))[0] for client in clients]
        assert set(found) == {404, 503} and 1 < found.count(404) <= 30
        with acting_as(BOB):
            other = UnixConnection(path)
            other.request("GET", "/unknown")
            assert other.getresponse().status == 404
            other.close()
    finally:
        for client in clients:
            client.close()


def test_a_drain_ends_kept_connections_and_accepts_no_more(gateway: Sidecar, path: str) -> None:
    kept, fresh = open_socket(path), open_socket(path)
    kept.sendall(GET)
    assert statuses(kept.recv(65536)) == [404]
    began = time.monotonic()
    gateway.signal(signal.SIGTERM)
    assert everything(kept) == b"" and everything(fresh) == b""
    assert gateway.wait() == 0 and time.monotonic() - began < 10
    assert not os.path.exists(path)
    kept.close()
    fresh.close()


def test_a_reload_reports_that_another_listener_takes_a_restart(listen: Start, path: str) -> None:
    sidecar = listen(path=path)
    changed = json.loads(sidecar.configuration_path.read_text())
    changed["gateway"]["listen"]["mode"] = "0640"
    sidecar.write(changed)
    sidecar.signal(signal.SIGHUP)
    eventually(lambda: re.search(r"gateway.*(restart|start)", sidecar.log().split("gateway listening", 1)[1]), what="the line about gateway")
    with open_socket(path) as client:
        client.sendall(GET)
        client.shutdown(socket.SHUT_WR)
        assert statuses(everything(client)) == [404]


def test_many_clients_at_once_get_all_their_responses(gateway: Sidecar, path: str) -> None:
    failures: List[Optional[str]] = []

    def work() -> None:
        try:
            connection = UnixConnection(path)
            for _ in range(50):
                connection.request("POST", "/unknown", body=b"x" * 1000)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 404
            connection.close()
        except Exception as error:  # noqa: BLE001 (reported below)
            failures.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


@pytest.mark.slow
def test_a_header_section_and_a_body_that_do_not_come_end_after_half_a_minute(gateway: Sidecar, path: str) -> None:
    with open_socket(path) as client:
        client.settimeout(60)
        client.sendall(GET[:20])
        began = time.monotonic()
        assert statuses(everything(client)) == [408] and 25 < time.monotonic() - began < 45
