"""A fetch that fails leaves nothing behind that touches another. One name that did not resolve ended all fetching
until a restart."""
from __future__ import annotations

import random
import socket
import ssl
from typing import Any, Callable, Dict, Iterable, Iterator, List

import pytest

from harness.certificates import Authority
from harness.connection import Connection
from harness.loopback import Loopback
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.strays import Request, StrayServer, echo
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

#: A resource that fails, and how its fetches do.
WAYS = {
    "resolution": {"path": "x"},
    "refusal": {"path": "x"},
    "trust": {"path": "x"},
    "tlsToPlain": {"path": "x"},
    "half": {"path": "closeBody"},
    "garbage": {"path": "garbage"},
    "timeout": {"path": "stall", "timeoutMs": 20},
    "cancellation": {"path": "x"},
}
#: Resources that work: of other origins, with a token, over TLS with an authority of their own.
WELL = ["open", "plain", "tls", "orders"]


def answer(request: Request) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" if request.method == "HEAD" else echo(request)


class Silence:
    """A server that reads, and says nothing."""

    def __init__(self) -> None:
        self.asked: List[int] = []
        self._loopback = Loopback(self._serve)
        self.base = f"http://127.0.0.1:{self._loopback.port}/"
        self._loopback.start()
        self.stop = self._loopback.stop

    def _serve(self, connection: socket.socket, number: int) -> None:
        if connection.recv(65536):
            self.asked.append(number)
        while connection.recv(65536):
            pass


class Failing:
    """Fetches in a sidecar that fail in each way, and others that work."""

    def __init__(self, connection: Connection, silence: Silence) -> None:
        self.connection, self._silence = connection, silence

    def expect_failures(self, ways: Iterable[str]) -> None:
        """All at once."""
        asked = len(self._silence.asked)
        pending = [(way, self.connection.request("fetchResource", {"resource": way, **WAYS[way]})) for way in ways]
        cancelled = [identifier for way, identifier in pending if way == "cancellation"]
        eventually(lambda: len(self._silence.asked) == asked + len(cancelled), what="what is cancelled then")
        for identifier in cancelled:
            self.connection.notify("$/cancelRequest", {"id": identifier})
        for way, identifier in pending:
            error = self.connection.answer_to(identifier)["error"]
            # Never the caller's own fault, and never the sidecar's.
            assert error["code"] not in (1006, -32603), (way, error)
            assert (error["code"] == -32800) == (way == "cancellation"), (way, error)

    def expect_all_works(self) -> None:
        for resource in WELL:
            for method in ("GET", "POST", "PUT", "HEAD", "DELETE", "PATCH"):
                params: Dict[str, Any] = {"resource": resource, "path": "echo", "method": method}
                if method in ("POST", "PUT", "PATCH"):
                    params["body"] = "text"
                assert self.connection.call("fetchResource", params)["status"] == 200, params


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dict[str, Any]]:
    authority = Authority(tmp_path_factory.mktemp("failed"))
    authority.issue("server", "subjectAltName=IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate("server"), authority.key("server"))
    made = {"plain": StrayServer(answer=answer), "tls": StrayServer(answer=answer, context=context), "silence": Silence()}
    yield {**made, "caFile": authority.file}
    for server in made.values():
        server.stop()


@pytest.fixture
def failing(start: Start, connect: Connect, playground: Playground, servers: Dict[str, Any]) -> Failing:
    # One that the kernel gives to nobody else meanwhile.
    port = free_port()
    misbehaving = playground.misbehaving + "/"
    tls = servers["tls"].base + "/"
    bases = {
        "resolution": "https://no-such-host.invalid/", "refusal": f"http://127.0.0.1:{port}/",
        "trust": tls, "tlsToPlain": playground.base.replace("http:", "https:") + "/", "half": misbehaving,
        "garbage": misbehaving, "timeout": misbehaving, "cancellation": servers["silence"].base,
        "plain": servers["plain"].base + "/", "tls": tls,
    }
    resources: Dict[str, Any] = {name: {"baseUrl": base, "auth": "none"} for name, base in bases.items()}
    # At the very server that is not trusted without it.
    resources["tls"]["tls"] = {"caFile": servers["caFile"]}
    return Failing(connect(start({"resources": resources})), servers["silence"])


@pytest.mark.parametrize("way", WAYS)
def test_after_each_way_to_fail_fetches_and_tokens_work(failing: Failing, way: str) -> None:
    for _ in range(3):
        failing.expect_failures([way] * 8)
        failing.expect_all_works()
    assert "transport" not in failing.connection.call("health")["checks"]


@pytest.mark.slow
@pytest.mark.parametrize("framing", ["stream"], indirect=True)
def test_after_ten_thousand_failures_everything_works(failing: Failing) -> None:
    chance = random.Random(18)
    for _ in range(200):
        failing.expect_failures(chance.choice(list(WAYS)) for _ in range(50))
    failing.expect_all_works()
