"""`http.listen`: /healthz, /readyz and /metrics on a loopback address."""
from __future__ import annotations

import errno
import http.client
import json
import re
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple

import pytest

from harness.issuer import IssuerDouble
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually
from test_lifecycle import HELD, held

Start = Callable[..., Sidecar]


def port_of(sidecar: Sidecar) -> int:
    """The port that the log tells: the configuration leaves it open."""
    found: Dict[str, int] = {}

    def look() -> bool:
        match = re.search(r'"port":\s*"?(\d+)', sidecar.log())
        if match:
            found["port"] = int(match.group(1))
        return bool(match)

    eventually(look)
    return found["port"]


@pytest.fixture
def status(start: Start) -> Tuple[Sidecar, int]:
    sidecar = start({"http": {"listen": "127.0.0.1:0"}})
    return sidecar, port_of(sidecar)


def get(port: int, path: str, method: str = "GET", **headers: str) -> Tuple[int, Dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_health_and_readiness_say_what_the_socket_says(status: Tuple[Sidecar, int]) -> None:
    sidecar, port = status
    code, fields, body = get(port, "/healthz")
    assert (code, fields["content-type"], json.loads(body)) == (200, "application/json", {"status": "ok"})
    # The first look at the store comes after the start: then there is one check more.
    eventually(lambda: "store" in json.loads(get(port, "/readyz?verbose")[2])["checks"], what="the check of the store")
    code, fields, body = get(port, "/readyz?verbose")
    with sidecar.connect() as connection:
        said = connection.call("health")
    assert code == 200 and fields["cache-control"] == "no-store"
    assert json.loads(body)["checks"].keys() == said["checks"].keys() and json.loads(body)["status"] == said["status"]


def test_metrics_are_those_of_the_socket(status: Tuple[Sidecar, int]) -> None:
    sidecar, port = status
    code, fields, body = get(port, "/metrics")
    with sidecar.connect() as connection:
        text = connection.call("metrics")["text"]
    assert code == 200 and fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = re.findall(r"^# TYPE (\S+)", body.decode(), re.MULTILINE)
    assert families == re.findall(r"^# TYPE (\S+)", text, re.MULTILINE) and len(families) > 10


def test_head_has_no_body_and_other_methods_and_paths_are_refused(status: Tuple[Sidecar, int]) -> None:
    _, port = status
    code, fields, body = get(port, "/metrics", "HEAD")
    assert code == 200 and int(fields["content-length"]) > 1000 and body == b""
    assert get(port, "/")[0] == 404
    assert get(port, "/metrics/")[0] == 404
    code, fields, _ = get(port, "/metrics", "POST")
    assert (code, fields["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("host, code", [("evil.example", 421), ("localhost.evil.example:80", 421), ("[::1]:80", 200), ("LOCALHOST", 200)])
def test_a_web_page_cannot_read_by_a_name_that_leads_here(status: Tuple[Sidecar, int], host: str, code: int) -> None:
    assert get(status[1], "/metrics", Host=host)[0] == code


def test_a_kept_connection_answers_in_order(status: Tuple[Sidecar, int]) -> None:
    with socket.create_connection(("127.0.0.1", status[1]), 10) as client:
        client.sendall(b"".join(b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in [b"readyz", b"no", b"healthz"]))
        text = b""
        while text.count(b"HTTP/1.1") < 3 or not text.rstrip().endswith(b"}"):
            piece = client.recv(65536)
            assert piece
            text += piece
    assert re.findall(rb"HTTP/1\.1 (\d+)", text) == [b"200", b"404", b"200"]


@pytest.mark.parametrize(
    "sent",
    [b"\x00\xff" * 2000, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
     b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\nx"],
    ids=["noise", "long path", "many fields", "two hosts", "body"],
)
def test_hostile_requests_cost_their_sender_only(status: Tuple[Sidecar, int], sent: bytes) -> None:
    sidecar, port = status
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(65536)
        except OSError as error:
            assert error.errno in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)
            answer = b""
    assert not answer.startswith(b"HTTP/1.1 200")
    assert get(port, "/healthz")[0] == 200 and sidecar.is_running()


def test_whoever_keeps_connections_open_shuts_nobody_out(status: Tuple[Sidecar, int]) -> None:
    sidecar, port = status
    crowd = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(80)]
    for client in crowd[::2]:
        client.sendall(b"GET /healthz HTT")
    assert get(port, "/healthz")[0] == 200
    # The first ones were closed for the last ones.
    crowd[0].settimeout(10)
    try:
        assert crowd[0].recv(1) == b""
    except ConnectionResetError:
        pass
    for client in crowd:
        client.close()
    assert get(port, "/healthz")[0] == 200 and sidecar.is_running()


def test_answers_that_nobody_reads_are_not_piled_up(status: Tuple[Sidecar, int]) -> None:
    sidecar, port = status
    assert get(port, "/metrics")[0] == 200
    before = sidecar.resident_kilobytes()
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.setblocking(False)
        wanted = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20_000
        sent = 0
        for _ in range(200):
            try:
                sent += client.send(wanted[sent:sent + 65536])
            except BlockingIOError:
                time.sleep(0.01)
        assert get(port, "/healthz")[0] == 200
        assert sidecar.resident_kilobytes() - before < 16 << 10


def test_thousands_of_refusals_behind_one_another_are_answered(status: Tuple[Sidecar, int]) -> None:
    sidecar, port = status
    many = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10_000
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        # Larger reads first, then everything behind an answer that takes a moment.
        sending = threading.Thread(target=client.sendall, args=(many + b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n" + many,))
        sending.start()
        answers = 0
        tail = b""
        while answers < 20_001:
            piece = client.recv(1 << 20)
            assert piece, answers
            answers += (tail + piece).count(b"HTTP/1.1 ")
            tail = (tail + piece)[-8:]
        sending.join()
    assert sidecar.is_running() and get(port, "/healthz")[0] == 200


@pytest.mark.parametrize(
    "request_line, host, code",
    [
        ("GET http://127.0.0.1/healthz HTTP/1.1", "evil.example", 200),
        ("GET http://evil.example/healthz HTTP/1.1", "localhost", 421),
        ("GET /healthz HTTP/1.1", None, 400),
        ("GET /healthz HTTP/1.0", None, 200),
    ],
)
def test_what_is_asked_and_of_whom_is_read_as_http_says(
    status: Tuple[Sidecar, int], request_line: str, host: Optional[str], code: int
) -> None:
    fields = f"Host: {host}\r\n" if host else ""
    with socket.create_connection(("127.0.0.1", status[1]), 10) as client:
        client.sendall(f"{request_line}\r\n{fields}\r\n".encode())
        assert client.recv(64).split(b" ")[1] == str(code).encode()


def test_others_are_let_in_only_where_that_is_said(start: Callable[..., Sidecar], directory: Path) -> None:
    start({"http": {"listen": "0.0.0.0:0", "beyondLoopback": True}})
    with pytest.raises(StartError) as refused:
        start({"http": {"listen": "0.0.0.0:0"}, "listen": {"path": str(directory / "other.sock")}})
    assert refused.value.status == 78 and "http.beyondLoopback" in refused.value.log



def test_while_it_drains_it_is_alive_and_not_ready(start: Start, issuer: IssuerDouble) -> None:
    gate = threading.Event()
    sidecar = start({"http": {"listen": "127.0.0.1:0"}, **held(issuer, gate)})
    port = port_of(sidecar)
    with sidecar.connect() as connection:
        pending = connection.request("fetchResource", HELD)
        eventually(lambda: issuer.count("/held") == 1)
        sidecar.signal(signal.SIGTERM)
        eventually(lambda: get(port, "/readyz")[0] == 503)
        assert get(port, "/healthz")[0] == 200
        gate.set()
        assert "result" in connection.answer_to(pending)
    assert sidecar.wait() == 0


def test_an_address_in_use_is_a_clear_error(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address: Any = taken.getsockname()
        try:
            sidecar = start({"http": {"listen": f"127.0.0.1:{address[1]}"}})
            assert sidecar.wait() == 1
            log = sidecar.log()
        except StartError as error:
            log = str(error)
    assert "http.listen: cannot listen on 127.0.0.1" in log


def test_an_address_that_others_reach_is_refused(start: Start) -> None:
    with pytest.raises(StartError) as error:
        start({"http": {"listen": "0.0.0.0:9464"}})
    assert "loopback" in str(error.value)
