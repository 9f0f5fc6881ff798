"""The `playground` command: starts, says where it is, and never outlives who started it."""
from __future__ import annotations

import base64
import gzip
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any, Callable
from urllib.parse import parse_qs, urlencode, urlsplit

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
        (["--ready-file", "/dev/null/ready"], "/dev/null/ready"),
        (["--refresh-token-lifetime", "0s"], "lifetime"),
        (["--id-token-lifetime", "9000h"], "lifetime"),
        (["--reuse-grace", "25h"], "grace"),
        (["--client-key-file", "/dev/null/key"], "/dev/null/key"),
        (["--client-key-file", "/dev/null"], "keys"),
        (["--client-key-file", "/dev/zero"], "/dev/zero"),
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


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def redeem_a_code(upstream: Playground) -> "dict[str, Any]":
    """The tokens of a sign-in of alice at `shop`."""
    login = json.dumps({"user": "alice", "times": 1}).encode()
    assert upstream.request("POST", "/playground/login", login)[0] == 200
    callback = "http://127.0.0.1:4711/callback"
    query = urlencode(
        {"client_id": "shop", "redirect_uri": callback, "response_type": "code", "scope": "openid orders"}
    )
    status, headers, _ = upstream.request("GET", "/oidc/authorize?" + query)
    assert status == 303 and headers["location"].startswith(callback)
    code = parse_qs(urlsplit(headers["location"]).query)["code"][0]
    return token_request(upstream, grant_type="authorization_code", code=code, redirect_uri=callback)


def token_request(upstream: Playground, **parameters: str) -> "dict[str, Any]":
    body = urlencode({**parameters, "client_id": "shop", "client_secret": "shopsecret"}).encode()
    return json.loads(upstream.request("POST", "/oidc/token", body, FORM)[2])


def test_takes_lifetimes_and_rotation(start_playground: Callable[..., Playground]) -> None:
    upstream = start_playground(
        "--id-token-lifetime", "2m", "--no-rotate-refresh-tokens", "--no-repeat-refresh-tokens"
    )
    tokens = redeem_a_code(upstream)
    payload = tokens["id_token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["exp"] - claims["iat"] == 120
    for _ in range(2):
        refreshed = token_request(upstream, grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        assert refreshed["access_token"] and "refresh_token" not in refreshed


def test_detects_reuse_unless_within_the_grace(start_playground: Callable[..., Playground]) -> None:
    for arguments, error in [([], "invalid_grant"), (["--reuse-grace", "1m"], None)]:
        upstream = start_playground(*arguments)
        token = redeem_a_code(upstream)["refresh_token"]
        assert "access_token" in token_request(upstream, grant_type="refresh_token", refresh_token=token)
        again = token_request(upstream, grant_type="refresh_token", refresh_token=token)
        assert again.get("error") == error
        assert upstream.statistics()["refreshTokenReuseDetected"] == (1 if error else 0)


def test_a_token_answer_can_be_lost_and_that_is_known(start_playground: Callable[..., Playground]) -> None:
    upstream = start_playground()
    token = redeem_a_code(upstream)["refresh_token"]
    upstream.faults(token={"kind": "dropAfterIssue", "times": 1})
    with pytest.raises(http.client.RemoteDisconnected):
        token_request(upstream, grant_type="refresh_token", refresh_token=token)
    families = json.loads(upstream.request("GET", "/playground/families")[2])["families"]
    assert [issued["answersWritten"] for issued in families[0]["tokens"]] == [1, 0]


@pytest.mark.parametrize("reset", [False, True])
def test_an_answer_to_a_client_that_is_gone_does_not_count_as_written(
    reset: bool, start_playground: Callable[..., Playground]
) -> None:
    upstream = start_playground()
    token = redeem_a_code(upstream)["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": "shop", "client_secret": "shopsecret"}
    body = urlencode(form).encode()
    client = socket.create_connection(("127.0.0.1", upstream.port), timeout=10)
    client.sendall(b"POST /oidc/token HTTP/1.1\r\nHost: x\r\n")
    upstream.process.send_signal(signal.SIGSTOP)
    # Not before its last thread has stopped: one that still ran might answer a client that is there.
    assert os.WIFSTOPPED(os.waitpid(upstream.process.pid, os.WUNTRACED)[1])
    kind = b"Content-Type: application/x-www-form-urlencoded\r\n"
    client.sendall(kind + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    if reset:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    upstream.process.send_signal(signal.SIGCONT)

    def answers(kind: str) -> "list[int]":
        families = json.loads(upstream.request("GET", "/playground/families")[2])["families"]
        return [issued[kind] for issued in families[0]["tokens"]]

    eventually(lambda: upstream.statistics()["abandonedRequests"] == 1 or answers("answers") == [1, 1])
    eventually(lambda: answers("answersWritten")[1:] in ([], [0]))
    assert answers("answersWritten")[0] == 1


@pytest.mark.parametrize("algorithm", [None, "RSA", "Ed25519"])
def test_keeps_the_client_key_in_a_file(
    algorithm: "str | None", directory: Path, start_playground: Callable[..., Playground]
) -> None:
    path = directory / "client.pem"
    if algorithm:
        subprocess.run(["openssl", "genpkey", "-algorithm", algorithm, "-out", str(path)], check=True, timeout=30)
    upstream = start_playground("--client-key-file", str(path))
    text = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(directory) == ["client.pem"]
    assert upstream.request("GET", "/playground/clientKey")[2] == text
    subprocess.run(["openssl", "pkey", "-in", str(path), "-check", "-noout"], check=True, timeout=10)
    second = start_playground("--client-key-file", str(path))
    assert second.request("GET", "/playground/clientKey")[2] == text


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
