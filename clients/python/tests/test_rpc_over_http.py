"""Calls over HTTP, for development: with a double of `POST /rpc`, and with the sidecar's own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import pytest
from harness.ports import free_port
from harness.sidecar import Sidecar

import postern_auth
from postern_auth import AsyncClient, Client, errors
from postern_auth.__main__ import main

KEY = "a-key-for-tests-of-at-least-32-bytes"


class Gateway(ThreadingHTTPServer):
    """`POST /rpc`, which passes each text on to the real socket."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.connections = 0
        self.requests = 0
        #: What it does instead of an answer.
        self.fault: Callable[[BaseHTTPRequestHandler], None] | None = None
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gateway

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(self.server.path)

    def finish(self) -> None:
        super().finish()
        self.line.close()

    def do_POST(self) -> None:
        self.server.requests += 1
        if self.server.fault is not None:
            self.server.fault(self)
            return
        text = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Postern-Key"] != KEY:
            self._reply(401, b"")
            return
        assert (self.path, self.headers["Content-Type"]) == ("/rpc", "application/json")
        assert "Origin" not in self.headers
        message = json.loads(text)
        self.line.sendall(json.dumps(message).encode() + b"\n")
        if "id" not in message:
            self._reply(204, b"")
            return
        self._reply(200, self.line.makefile("rb").readline())

    def _reply(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None: ...


@pytest.fixture
def key_file(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = directory / "key"
    path.write_text(KEY + "\n")
    path.chmod(0o600)
    monkeypatch.setenv("POSTERN_KEY_FILE", str(path))
    return path


@pytest.fixture
def gateway(sidecar: Sidecar, key_file: Path) -> Iterator[Gateway]:
    server = Gateway(sidecar.path)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["double", "sidecar"])
def address(request: pytest.FixtureRequest, start: Callable[..., Sidecar], key_file: Path) -> str:
    """The double's, and that of the sidecar itself."""
    if request.param == "double":
        found: Gateway = request.getfixturevalue("gateway")
        return found.address
    own = f"127.0.0.1:{free_port()}"
    start({"gateway": {"listen": {"address": own, "keyFile": str(key_file)}}})
    return f"http://{own}"


def test_calls(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POSTERN_SOCKET", address)
    with Client(timeout=20) as client:
        assert client.path == address
        assert client.get_info().name == "postern"
        response = client.fetch_resource("open", "echo", method="POST", json={"a": 1})
        assert response.json()["method"] == "POST"
        written = client.fetch_resource("open", "bytes/300000", body_to=tmp_path / "f")
        assert written.body_bytes == (tmp_path / "f").stat().st_size == 300_000
        sent = client.fetch_resource("open", "echo", method="POST", body=iter([b"x" * 300_000, b"y"]))
        assert sent.status == 200
        with pytest.raises(errors.RequestError) as raised:
            client.fetch_resource("nowhere", "x")
        assert (raised.value.reason, raised.value.path) == ("invalid_params", "/resource")
        with pytest.raises(errors.DeadlineExceeded):
            client.fetch_resource("open", "slow?ms=4000", timeout=0.3)
        assert client.health().status in ("ok", "degraded")


def test_asynchronous_calls(address: str) -> None:
    async def main() -> None:
        async with AsyncClient(address, timeout=20) as client:
            found = await asyncio.gather(*(client.fetch_resource("open", "echo") for _ in range(8)))
            assert {one.status for one in found} == {200}
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.fetch_resource("open", "slow?ms=4000"), 0.3)
            assert (await client.get_info()).name == "postern"

    asyncio.run(main())


def test_the_command_line(address: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["get", "open", "bytes/1000", "--socket", address]) == 0
    assert len(capfdbinary.readouterr().out) == 1000
    assert main(["health", "--socket", address]) == 0


def test_a_connection_is_kept(gateway: Gateway) -> None:
    with Client(gateway.address) as client:
        for _ in range(5):
            client.get_info()
    assert (gateway.connections, gateway.requests) == (1, 5)


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.events("sessionEnded"),
        lambda client: client.subscribe(["event.keysRotated"]),
        lambda client: client.register_delegate(),
        lambda client: client.narrow(resources=[]),
        lambda client: client.stream_resource("open", "x"),
        lambda client: client.endpoint().__enter__(),
        lambda client: client.start("getInfo"),
        lambda client: client.call("fetchResource", {"bodyFrom": "fd"}),
    ],
)
def test_what_works_over_the_socket_only_says_so(gateway: Gateway, call: Callable[[Client], object]) -> None:
    with Client(gateway.address) as client, pytest.raises(errors.RequestError, match="Unix socket") as raised:
        call(client)
    assert (raised.value.reason, raised.value.outcome) == ("unavailable_over_http", "not_sent")
    assert gateway.requests == 0


def test_what_works_over_the_socket_only_says_so_to_asynchronous_code(gateway: Gateway) -> None:
    async def main() -> None:
        async with AsyncClient(gateway.address) as client:
            for call in (
                lambda: client.events("sessionEnded"),
                lambda: client.register_delegate(),
                lambda: client.narrow(resources=[]),
                lambda: client.stream_resource("open", "x"),
                lambda: client.endpoint().__aenter__(),
            ):
                with pytest.raises(errors.RequestError, match="Unix socket"):
                    await call()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://127.0.0.1:1", "has no TLS"),
        ("http://192.0.2.1:1", "not a loopback address"),
        ("http://127.0.0.1", "it has no port"),
        ("http://127.0.0.1:x", "the port is not a number"),
        ("http://user@127.0.0.1:1", "more than a host and a port"),
        ("http://127.0.0.1:1/rpc", "more than a host and a port"),
    ],
)
def test_addresses_that_cannot_be_used(address: str, message: str) -> None:
    with pytest.raises(errors.ConnectionFailed, match=message):
        Client(address)


def test_keys_that_cannot_be_used(gateway: Gateway, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message with the key in it, or with what else is in that file."""
    with Client(gateway.address) as client:
        key_file.write_text("another-key-of-thirty-two-bytes-hidden")
        with pytest.raises(errors.PosternError, match="POSTERN_KEY_FILE") as raised:
            client.get_info()
        assert "hidden" not in str(raised.value)
        for content in ("", "hidden hidden", "hidden\nhidden"):
            key_file.write_text(content)
            with pytest.raises(errors.ConnectionFailed, match="does not have a key") as raised:
                client.get_info()
            assert "hidden" not in str(raised.value)
        key_file.unlink()
        with pytest.raises(errors.ConnectionFailed, match="cannot be read"):
            client.get_info()
        monkeypatch.delenv("POSTERN_KEY_FILE")
        with pytest.raises(errors.ConnectionFailed, match="is not set"):
            client.get_info()


def test_an_address_where_nothing_listens(key_file: Path) -> None:
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(errors.ConnectionFailed) as raised:
        client.get_info()
    assert raised.value.outcome == "not_sent" and raised.value.retryable


def test_a_lost_connection(gateway: Gateway) -> None:
    """A call with an effect that is made twice, or a read that is not."""

    def drop(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    gateway.fault = drop
    with Client(gateway.address) as client:
        with pytest.raises(errors.ConnectionLost) as raised:
            client.fetch_resource("open", "echo", method="POST")
        assert raised.value.outcome == "unknown" and gateway.requests == 1
        with pytest.raises(errors.ConnectionLost):
            client.get_info()
        assert gateway.requests == 4
        gateway.fault = None
        assert client.get_info().name == "postern"


def test_a_server_of_another_kind(gateway: Gateway) -> None:
    def page(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers["Content-Length"]))
        handler.send_error(404)

    gateway.fault = page
    with Client(gateway.address) as client, pytest.raises(errors.ProtocolViolation, match="is not the gateway"):
        client.get_info()


def test_after_the_end_and_in_a_forked_child(gateway: Gateway) -> None:
    client = Client(gateway.address)
    client.get_info()
    child = os.fork()
    if child == 0:
        os._exit(0 if client.get_info().name == "postern" else 1)
    assert os.waitpid(child, 0)[1] == 0 and gateway.connections == 2
    assert client.get_info().name == "postern" and gateway.connections == 2
    client.close()
    with pytest.raises(postern_auth.ClientClosed):
        client.get_info()
