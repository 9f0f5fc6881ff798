"""A server that ignores the body of a request reads it as the next request on a kept connection, and answers that where
the response to somebody else's request is expected. No kept connection crosses a narrowing, a session or a uid."""
from __future__ import annotations

import base64
import itertools
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness.connection import Connection
from harness.gateway import IgnoringServer, ask
from harness.issuer import IssuerDouble, document
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def server() -> Iterator[IgnoringServer]:
    with IgnoringServer() as made:
        yield made


@pytest.fixture
def http(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def gateway(start: Start, server: IgnoringServer, http: str) -> Callable[..., Sidecar]:
    def begin(**changes: Any) -> Sidecar:
        resources = {"up": {"baseUrl": server.base + "/", "auth": "none"}, **changes.pop("resources", {})}
        made = start({"gateway": {"listen": {"path": http, "mode": "0666"}}, "resources": resources, **changes})
        made.awaits_log("gateway listening")
        return made

    return begin


def through(path: str, headers: Any = None, name: str = "up") -> Callable[[str, str, bytes], bytes]:
    """Sends requests to a socket of the gateway."""
    return lambda method, target, body: ask(path, method, f"/{name}{target}", body or None, headers).body


def by_call(connection: Connection) -> Callable[[str, str, bytes], bytes]:
    """Sends requests by calls of a connection."""

    def send(method: str, target: str, body: bytes) -> bytes:
        params: Dict[str, Any] = {"resource": "up", "path": target[1:], "method": method}
        if body:
            params["body"] = body.decode()
        result = connection.call("fetchResource", params)
        return result["body"].encode() if "body" in result else base64.b64decode(result["bodyBase64"])

    return send


Sender = Callable[[str, str, bytes], bytes]
NAMES = itertools.count()


def attack(attacker: Sender, victim: Sender, server: IgnoringServer, method: str = "POST") -> None:
    """Each request of the victim gets its own response, with a body or without, whatever the attacker's bodies are."""
    name = next(NAMES)
    for number in range(3):
        # What comes back is the attacker's own: after the first time it may be the response to its own body.
        attacker(method, f"/attacker-{name}/{number}", HIDDEN)
        for way, body in (("GET", b""), ("POST", b"\r\n")):
            target = f"/victim-{name}/{way}/{number}"
            assert victim(way, target, body) == target.encode(), server.connections
    texts = [" ".join(paths) for paths in server.connections.values()]
    assert any(f"/attacker-{name}/0 /hidden" in text for text in texts), "the server has read no body as a request"
    assert not [text for text in texts if f"/attacker-{name}/" in text and f"/victim-{name}/" in text]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_no_level_of_endpoints_gets_the_response_to_anothers_body(
    gateway: Callable[..., Sidecar], server: IgnoringServer, http: str, method: str
) -> None:
    with gateway().connect() as maker:
        def level(above: Connection) -> Dict[str, Any]:
            return above.call("createEndpoint", {"http": True})

        def sender(made: Dict[str, Any]) -> Sender:
            return through(made["http"]["path"])

        attack(sender(level(maker)), sender(level(maker)), server, method)
        attack(sender(level(maker)), through(http), server, method)
        for is_child in (True, False):
            made = level(maker)
            with Connection(made["path"], maker.framing) as child:
                pair = sender(level(child)), sender(made)
                attack(*(pair if is_child else pair[::-1]), server, method)
        attack(through(http), sender(level(maker)), server, method)


def test_no_connection_gets_the_response_to_the_body_of_a_narrowed_one(
    gateway: Callable[..., Sidecar], server: IgnoringServer, http: str
) -> None:
    sidecar = gateway()
    with sidecar.connect() as whole, sidecar.connect() as narrowed, sidecar.connect() as other:
        for connection in (narrowed, other):
            connection.call("narrow", {"resources": ["up"]})
        for victim in (by_call(whole), through(http), by_call(other)):
            attack(by_call(narrowed), victim, server)
        attack(by_call(whole), by_call(other), server)


@needs_root
def test_no_user_gets_the_response_to_anothers_body(gateway: Callable[..., Sidecar], server: IgnoringServer) -> None:
    sidecar = gateway(**BOTH)
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        attack(by_call(alice), by_call(bob), server)


def test_no_session_gets_the_response_to_anothers_body(
    gateway: Callable[..., Sidecar], server: IgnoringServer, issuer: IssuerDouble, http: str
) -> None:
    tokens = iter(range(1000))
    issuer.answers["/token"] = lambda _: document({
        "access_token": f"token-{next(tokens)}", "token_type": "Bearer", "expires_in": 300, "refresh_token": "r"})
    sidecar = gateway(
        issuers={"corp": issuer.settings(clientAuth="none", endpoints={"token": issuer.base + "/token"})},
        resources={"mine": {"baseUrl": server.base + "/", "auth": "user", "issuer": "corp"}})
    with sidecar.connect() as connection:
        handles = [
            connection.call("createSession", {"issuer": "corp", "grant": {"type": "refresh_token", "refreshToken": "r"}})["session"]
            for _ in range(2)]
    one, other = (through(http, {"Postern-Session": handle}, "mine") for handle in handles)
    attack(through(http), one, server)
    attack(one, other, server)


def test_calls_that_are_not_narrowed_share_their_connections(
    gateway: Callable[..., Sidecar], server: IgnoringServer, http: str
) -> None:
    sidecar = gateway()
    with sidecar.connect() as connection, sidecar.connect() as other:
        for number in range(10):
            for send in (by_call(connection), by_call(other), through(http)):
                assert send("GET", f"/{number}", b"") == f"/{number}".encode()
    assert len(server.connections) == 1
