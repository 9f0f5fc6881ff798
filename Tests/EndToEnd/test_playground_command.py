"""The `playground` command: starts, says where it is, and never outlives who started it."""
from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

from harness import binaries
from harness.playground import Playground
from harness.waiting import eventually


def test_announces_where_it_is(playground: Playground) -> None:
    assert playground.base == f"http://127.0.0.1:{playground.port}"
    assert playground.issuer == playground.base + "/oidc"
    status, _, body = playground.request("GET", "/oidc/.well-known/openid-configuration")
    assert status == 200 and json.loads(body)["issuer"] == playground.issuer


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_on_a_signal(number: int, start_playground: Callable[..., Playground]) -> None:
    upstream = start_playground()
    slow = socket.create_connection(("127.0.0.1", upstream.port), timeout=10)
    slow.sendall(b"GET /open/slow?ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n")
    eventually(lambda: upstream.statistics()["openRequests"] == 1)
    upstream.process.send_signal(number)
    assert upstream.process.wait(10) == 0
    assert slow.recv(1) == b""
    slow.close()


def test_stops_when_its_standard_input_ends(start_playground: Callable[..., Playground]) -> None:
    upstream = start_playground()
    assert upstream.process.stdin is not None
    upstream.process.stdin.write(b"ignored\n")
    upstream.process.stdin.flush()
    assert upstream.process.poll() is None
    upstream.process.stdin.close()
    assert upstream.process.wait(10) == 0


def test_writes_its_ready_file_whole(directory: Path, start_playground: Callable[..., Playground]) -> None:
    ready = directory / "ready.json"
    upstream = start_playground("--ready-file", str(ready))
    assert json.loads(ready.read_text()) == upstream.announcement
    assert os.listdir(directory) == ["ready.json"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--host", "0.0.0.0"], "loopback"),
        (["--host", "::"], "loopback"),
        (["--port", "70000"], "port"),
        (["--access-token-lifetime", "60"], "60"),
        (["--access-token-lifetime", "10ms"], "lifetime"),
        (["--client", "nosecret"], "nosecret"),
        (["--ready-file", "/nonexistent/ready"], "/nonexistent/ready"),
        (["--nonsense"], "nonsense"),
    ],
)
def test_refuses_with_a_reason(arguments: "list[str]", words: str) -> None:
    ended = subprocess.run([binaries.playground(), *arguments], capture_output=True, timeout=10, text=True)
    assert ended.returncode != 0
    assert words in ended.stderr
    assert ended.stdout == ""


def test_refuses_a_port_in_use(playground: Playground) -> None:
    ended = subprocess.run(
        [binaries.playground(), "--port", str(playground.port)], capture_output=True, timeout=10, text=True
    )
    assert ended.returncode != 0 and str(playground.port) in ended.stderr


def test_takes_clients_and_lifetime(start_playground: Callable[..., Playground]) -> None:
    upstream = start_playground("--client", "me=a=b", "--access-token-lifetime", "5m")
    form = b"grant_type=client_credentials&client_id=me&client_secret=a%3Db"
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = upstream.request("POST", "/oidc/token", form, kind)
    assert status == 200 and json.loads(body)["expires_in"] == 300
    assert upstream.request("POST", "/oidc/token", form.replace(b"me", b"svc"), kind)[0] == 401


def test_gzip_is_what_other_decoders_expect(playground: Playground) -> None:
    status, headers, body = playground.request("GET", "/open/gzip")
    assert status == 200 and headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["compressed"] is True


def test_notices_an_abandoned_request(playground: Playground) -> None:
    slow = socket.create_connection(("127.0.0.1", playground.port), timeout=10)
    slow.sendall(b"GET /open/slow?ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n")
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    slow.close()
    eventually(lambda: playground.statistics()["abandonedRequests"] == 1)


def test_long_answers_cost_no_memory(start_playground: Callable[..., Playground]) -> None:
    upstream = start_playground()
    reader: Any = socket.create_connection(("127.0.0.1", upstream.port), timeout=10)
    reader.sendall(b"GET /open/bytes/4000000000 HTTP/1.1\r\nHost: x\r\n\r\n")
    received = 0
    while received < 200_000_000:
        received += len(reader.recv(1 << 20))
    status = Path(f"/proc/{upstream.process.pid}/status").read_text()
    reader.close()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    assert resident < 100_000
