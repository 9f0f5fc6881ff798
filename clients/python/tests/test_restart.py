"""A sidecar that is replaced under a client's calls: two real ones, and an origin that counts what reaches it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import pytest
from harness.sidecar import Sidecar
from harness.waiting import eventually

import postern_auth
from postern_auth import AsyncClient, Client


def stop(sidecar: Sidecar) -> None:
    """Has it drain, and returns when it no longer listens: a successor that comes earlier meets a socket in use."""
    sidecar.process.send_signal(signal.SIGTERM)
    eventually(lambda: not Path(sidecar.path).exists(), what="the socket's end")


def idle_connections(sidecar: Sidecar, count: int = 4) -> list[socket.socket]:
    """Connections on which nothing is ever asked: a sidecar that drains closes them. Until then, which is a moment
    after its socket is gone, it answers what comes on connections that it has."""
    connections = [socket.socket(socket.AF_UNIX) for _ in range(count)]
    for connection in connections:
        connection.settimeout(20)
        connection.connect(sidecar.path)
    return connections


class Origin:
    """Resource and token endpoint. Holds each answer until it is released, and counts requests by method and path."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.released = threading.Event()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                origin.seen[f"{self.command} {self.path}"] += 1
                origin.released.wait(30)
                # A refresh token is good once: who sends it a second time loses the session.
                body = json.dumps(
                    {"access_token": "a", "token_type": "Bearer", "expires_in": 600, "refresh_token": "b"}
                )
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_PUT = do_GET

            def log_message(self, format: str, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


class Caller:
    """One of the clients, called from a thread."""

    def __init__(self, path: str, is_async: bool) -> None:
        self._pool = ThreadPoolExecutor(8)
        self._loop = asyncio.new_event_loop() if is_async else None
        self._client: Any = AsyncClient(path, timeout=30) if is_async else Client(path, timeout=30)
        if self._loop is not None:
            threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def call(self, method: str, params: dict[str, Any]) -> Future[Any]:
        if self._loop is not None:
            return asyncio.run_coroutine_threadsafe(self._client.call(method, params), self._loop)
        return self._pool.submit(self._client.call, method, params)

    def stream(self, path: str) -> Future[Any]:
        """The body of a POST, read as it comes."""
        if self._loop is not None:
            return asyncio.run_coroutine_threadsafe(self._read(path), self._loop)
        return self._pool.submit(lambda: self._client.stream_resource("slow", path, method="POST").read())

    async def _read(self, path: str) -> bytes:
        stream = await self._client.stream_resource("slow", path, method="POST")
        return bytes(await stream.read())

    def close(self) -> None:
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
        else:
            self._client.close()
        self._pool.shutdown()


@pytest.fixture
def origin() -> Iterator[Origin]:
    server = Origin()
    yield server
    server.stop()


def changes(origin: Origin, drain: str) -> dict[str, Any]:
    issuer = {
        "issuer": origin.base,
        "clientId": "c",
        "clientSecret": "s",
        "endpoints": {"token": origin.base + "/token"},
    }
    return {
        "listen": {"drain": drain},
        "issuers": {"slow": issuer},
        "resources": {"slow": {"baseUrl": origin.base + "/", "auth": "none"}},
    }


SESSION = {"issuer": "slow", "grant": {"type": "refresh_token", "refreshToken": "good once"}}


def fetch(path: str, method: str = "GET") -> dict[str, Any]:
    return {"resource": "slow", "path": path, "method": method}


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "asyncio"])
def test_what_is_cut_off_reaches_the_origin_once(start: Callable[..., Sidecar], origin: Origin, is_async: bool) -> None:
    """Catches a second payment, and a session lost to a refresh token sent twice: the old sidecar's time ran out."""
    old = start(changes(origin, "300ms"))
    caller = Caller(old.path, is_async)
    posted = caller.call("fetchResource", fetch("pay", "POST"))
    put = caller.call("fetchResource", fetch("put", "PUT"))
    created = caller.call("createSession", SESSION)
    read = caller.call("fetchResource", fetch("read"))
    eventually(lambda: len(origin.seen) == 4, what="all four requests")
    stop(old)
    start(changes(origin, "30s"))
    for call in (posted, put, created):
        error = call.exception(20)
        assert isinstance(error, postern_auth.Unavailable)
        assert (error.reason, error.outcome) == ("shutting_down", "sent_no_reply")
    # What only reads is its successor's.
    eventually(lambda: origin.seen["GET /read"] == 2, what="the second GET")
    origin.released.set()
    assert read.result(20)["status"] == 200
    assert origin.seen == {"POST /pay": 1, "PUT /put": 1, "POST /token": 1, "GET /read": 2}
    caller.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "asyncio"])
def test_what_a_draining_sidecar_refuses_its_successor_does_once(
    start: Callable[..., Sidecar], origin: Origin, is_async: bool
) -> None:
    """Catches a call that is lost though nothing of it was done, and one that is done by both sidecars."""
    old = start(changes(origin, "30s"))
    caller = Caller(old.path, is_async)
    held = caller.call("fetchResource", fetch("held", "POST"))
    eventually(lambda: origin.seen["POST /held"] == 1, what="the request that is held")
    idle = idle_connections(old)
    stop(old)
    new = start(changes(origin, "30s"))
    for connection in idle:
        assert connection.recv(1) == b""
        connection.close()
    # On the connection that the held call keeps open.
    posted = caller.call("fetchResource", fetch("pay", "POST"))
    created = caller.call("createSession", SESSION)
    eventually(lambda: len(origin.seen) == 3, what="both requests")
    assert caller.call("getInfo", {}).result(20)["pid"] == new.process.pid
    origin.released.set()
    assert held.result(20)["status"] == posted.result(20)["status"] == 200
    assert created.result(20)["session"]
    assert origin.seen == {"POST /held": 1, "POST /pay": 1, "POST /token": 1}
    caller.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "asyncio"])
def test_a_stream_that_a_draining_sidecar_refuses(
    start: Callable[..., Sidecar], origin: Origin, is_async: bool
) -> None:
    """Catches a stream that is given up though nothing of it was done, and one that is done by both sidecars."""
    old = start(changes(origin, "30s"))
    caller = Caller(old.path, is_async)
    held = caller.stream("held")
    eventually(lambda: origin.seen["POST /held"] == 1, what="the stream that is held")
    idle = idle_connections(old)
    stop(old)
    start(changes(origin, "30s"))
    for connection in idle:
        assert connection.recv(1) == b""
        connection.close()
    # On the connection that the held stream keeps open.
    posted = [caller.stream(f"pay{number}") for number in range(3)]
    eventually(lambda: len(origin.seen) == 4, what="all requests")
    origin.released.set()
    for one in (held, *posted):
        assert json.loads(one.result(20))["access_token"] == "a"
    assert origin.seen == {"POST /held": 1, "POST /pay0": 1, "POST /pay1": 1, "POST /pay2": 1}
    caller.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "asyncio"])
def test_a_stream_that_is_cut_off(start: Callable[..., Sidecar], origin: Origin, is_async: bool) -> None:
    """Catches a second payment: its request was out when the old sidecar's time ran out."""
    old = start(changes(origin, "300ms"))
    caller = Caller(old.path, is_async)
    posted = caller.stream("pay")
    eventually(lambda: len(origin.seen) == 1, what="the request")
    stop(old)
    start(changes(origin, "30s"))
    error = posted.exception(20)
    assert isinstance(error, postern_auth.Unavailable)
    assert (error.reason, error.outcome) == ("shutting_down", "sent_no_reply")
    origin.released.set()
    assert caller.call("getInfo", {}).result(20)["name"] == "postern"
    assert origin.seen == {"POST /pay": 1}
    caller.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "asyncio"])
def test_a_sidecar_that_is_killed(start: Callable[..., Sidecar], origin: Origin, is_async: bool) -> None:
    """Catches the same where nobody says anything: the connection is lost behind the request."""
    old = start(changes(origin, "30s"))
    caller = Caller(old.path, is_async)
    posted = caller.call("fetchResource", fetch("pay", "POST"))
    created = caller.call("createSession", SESSION)
    eventually(lambda: len(origin.seen) == 2, what="both requests")
    old.process.kill()
    old.process.wait(10)
    start(changes(origin, "30s"))
    for call in (posted, created):
        error = call.exception(20)
        assert isinstance(error, postern_auth.ConnectionLost)
        assert error.outcome == "unknown"
    assert caller.call("getInfo", {}).result(20)["name"] == "postern"
    assert origin.seen == {"POST /pay": 1, "POST /token": 1}
    caller.close()
