"""Tokens of the sidecar on requests that go through a library's own transport."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable

import httpx
import pytest
import requests
from harness.playground import Playground
from harness.sidecar import Sidecar

import postern_auth
from postern_auth import AsyncClient, Client
from postern_auth._tokens import Origins, TokenSource
from postern_auth.httpx import AsyncPosternAuth
from postern_auth.httpx import PosternAuth as HttpxAuth
from postern_auth.requests import PosternAuth as RequestsAuth
from postern_auth.types import AccessToken


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    """One of its own: tokens of other tests are not revoked."""
    upstream = Playground()
    yield upstream
    upstream.stop()


@pytest.fixture(scope="module")
def other() -> Iterator[Playground]:
    """A server of someone else."""
    upstream = Playground()
    yield upstream
    upstream.stop()


@pytest.fixture
def client(start: Callable[..., Sidecar]) -> Iterator[Client]:
    with Client(start().path, timeout=20) as client:
        yield client


@pytest.fixture
def closed(start: Callable[..., Sidecar]) -> Iterator[Client]:
    with Client(start({"tokens": {"leaveTheSidecar": False}}).path) as client:
        yield client


def test_another_token_is_one_that_lives_longer() -> None:
    """A rejected token that is sent once more."""
    source = TokenSource("orders", None, None, "handle")
    assert source.arguments() == {"resource": "orders", "session": "handle"}
    for left, minimum in ((299.5, 300), (-5, 1), (10_000_000, 86_400)):
        expiry = datetime.now(timezone.utc) + timedelta(seconds=left)
        found = source.arguments(AccessToken("a", "Bearer", expiry))["min_ttl_seconds"]
        assert found in (minimum, minimum - 1)


def httpx_sent(client: Client, url: str, origins: Any = None, **options: Any) -> httpx.Response:
    with httpx.Client(auth=HttpxAuth(client, resource="orders", origins=origins)) as http:
        return http.post(url, **options)


def asynchronously(client: Client, url: str, origins: Any = None, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        async with AsyncClient(client.path) as own:
            async with httpx.AsyncClient(auth=AsyncPosternAuth(own, resource="orders", origins=origins)) as http:
                return await http.post(url, **options)

    return asyncio.run(send())


def requests_sent(client: Client, url: str, origins: Any = None, **options: Any) -> requests.Response:
    with requests.Session() as http:
        http.trust_env = False
        http.auth = RequestsAuth(client, resource="orders", origins=origins)
        options["data"] = options.pop("content", None)
        return http.post(url, **options)


EACH = pytest.mark.parametrize("send", [httpx_sent, asynchronously, requests_sent])


@EACH
def test_requests_carry_a_token(client: Client, playground: Playground, send: Callable[..., Any]) -> None:
    answer = send(client, playground.base + "/resource/echo", content=b"body")
    assert answer.status_code == 200
    assert answer.json()["body"] == "body"


@EACH
def test_a_rejected_token_is_replaced_once(client: Client, playground: Playground, send: Callable[..., Any]) -> None:
    """A program that fails until the token expires, because the server has rejected it earlier; a body that is lost."""
    url = playground.base + "/resource/echo"
    assert send(client, url).status_code == 200
    playground.faults(revokeTokens=True)
    answer = send(client, url, content=b"body")
    assert answer.status_code == 200
    assert answer.json()["body"] == "body"
    assert [one.status_code for one in answer.history] == [401]


@EACH
def test_a_server_that_rejects_every_token_gets_two(
    client: Client, playground: Playground, send: Callable[..., Any]
) -> None:
    """A loop of requests."""
    answer = send(client, playground.base + "/open/status/401")
    assert answer.status_code == 401
    assert [one.status_code for one in answer.history] == [401]


@EACH
def test_no_token_goes_to_another_server(
    client: Client, playground: Playground, other: Playground, send: Callable[..., Any]
) -> None:
    """A redirect that leads a token to a server of someone else, at once or after its 401."""
    options = {"follow_redirects": True} if send is not requests_sent else {}
    here = playground.base + "/open/redirect?to="
    answer = send(client, here + playground.base + "/open/echo", **options)
    assert "authorization" in str(answer.json()).lower(), "the same server gets it"
    answer = send(client, here + other.base + "/open/echo", **options)
    assert answer.status_code == 200
    assert "authorization" not in str(answer.json()).lower()
    answer = send(client, here + other.base + "/open/status/401", **options)
    assert [one.status_code for one in (*answer.history, answer)] == [302, 401]


@EACH
def test_a_body_that_can_be_read_once_is_sent_once(
    client: Client, playground: Playground, send: Callable[..., Any]
) -> None:
    """An exception in place of the response, or a server that rejects the next requests as well."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    url = playground.base + "/resource/echo"
    assert send(client, url).status_code == 200
    playground.faults(revokeTokens=True)
    answer = send(client, url, content=pieces() if send is asynchronously else iter([b"a", b"b"]))
    assert (answer.status_code, list(answer.history)) == (401, [])
    answer = send(client, url, content=b"body")
    assert (answer.status_code, list(answer.history)) == (200, [])


def test_a_file_is_sent_from_where_it_was(client: Client, playground: Playground) -> None:
    """A second request with an empty body."""
    url = playground.base + "/resource/echo"
    assert requests_sent(client, url).status_code == 200
    playground.faults(revokeTokens=True)
    file = io.BytesIO(b"skipped, body")
    file.seek(9)
    answer = requests_sent(client, url, content=file)
    assert (answer.status_code, answer.json()["body"], len(answer.history)) == (200, "body", 1)


@EACH
def test_the_error_names_the_key_of_the_configuration(
    closed: Client, playground: Playground, send: Callable[..., Any]
) -> None:
    """An error that leaves open what is to be done."""
    with pytest.raises((httpx.TransportError, requests.RequestException), match="leaveTheSidecar: true") as raised:
        send(closed, playground.base + "/resource/echo")
    assert isinstance(raised.value.__cause__, postern_auth.Forbidden)


def test_each_class_has_its_kind_of_client(client: Client) -> None:
    """A blocking call in an event loop."""
    with httpx.Client(auth=AsyncPosternAuth(AsyncClient(client.path))) as http:
        with pytest.raises(TypeError, match="use PosternAuth"):
            http.get("http://127.0.0.1:9/")

    async def send() -> None:
        async with httpx.AsyncClient(auth=HttpxAuth(client)) as http:
            await http.get("http://127.0.0.1:9/")

    with pytest.raises(TypeError, match="use AsyncPosternAuth"):
        asyncio.run(send())


class Upstream(HTTPServer):
    """A server of the program's own: `/a` rejects the first token and redirects with others, `/b` is always 200."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_port}"
        #: Path and token of each request, in order.
        self.received: list[tuple[str, str | None]] = []
        self.rejects: set[str | None] = set()


class _Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        token = self.headers["Authorization"]
        self.server.received.append((self.path, token))
        self.server.rejects = self.server.rejects or {token}
        rejected = self.path == "/a" and token in self.server.rejects
        self.send_response(401 if rejected else 302 if self.path == "/a" else 200)
        self.send_header("Location", "/b")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the test's output is its own."""


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_redirect_after_a_renewal_has_the_newer_token(client: Client, upstream: Upstream) -> None:
    """A redirect of the second request that carries the token that was rejected."""
    with requests.Session() as http:
        http.trust_env = False
        http.auth = RequestsAuth(client, resource="orders")
        assert http.get(upstream.base + "/a").status_code == 200
    paths, tokens = zip(*upstream.received)
    assert paths == ("/a", "/a", "/b")
    assert tokens[0] != tokens[1] == tokens[2]


def test_a_prepared_request_is_renewed_each_time(client: Client, upstream: Upstream) -> None:
    """A program that sends one prepared request for hours, and fails after its second token."""
    with requests.Session() as http:
        http.trust_env = False
        prepared = http.prepare_request(
            requests.Request("GET", upstream.base + "/a", auth=RequestsAuth(client, resource="orders"))
        )
        for _ in range(3):
            upstream.rejects |= {token for _, token in upstream.received}
            assert http.send(prepared, allow_redirects=False).status_code == 302
    assert len({token for _, token in upstream.received}) == 4


def test_a_pipe_is_sent_once(client: Client, playground: Playground) -> None:
    """An OSError of a body that has no position."""
    url = playground.base + "/resource/echo"
    assert requests_sent(client, url).status_code == 200
    playground.faults(revokeTokens=True)
    reading, writing = os.pipe()
    with open(reading, "rb") as body:
        with open(writing, "wb") as end:
            end.write(b"body")
        answer = requests_sent(client, url, content=body)
    assert (answer.status_code, list(answer.history)) == (401, [])


@EACH
def test_a_token_goes_to_its_origins_only(
    client: Client, playground: Playground, other: Playground, upstream: Upstream, send: Callable[..., Any]
) -> None:
    """A URL out of a response, or from a user, that gets the token."""
    origins = [playground.base, other.base + "/"]
    for allowed in (origins, playground.base):
        assert send(client, playground.base + "/resource/echo", allowed).status_code == 200
    for url in (upstream.base + "/b", f"http://localhost:{playground.port}/resource/echo", "http://127.0.0.1/"):
        with pytest.raises((httpx.UnsupportedProtocol, requests.exceptions.InvalidURL), match="origin_not_allowed"):
            send(client, url, origins)
    assert upstream.received == []


def test_what_an_origin_is() -> None:
    """A token by plain http over a network, or a text that permits another server than its writer meant."""
    for wrong, error in (
        ("http://api.example", "plain http"),
        ("http://127.0.0.1.example", "plain http"),
        ("api.example", "an origin is"),
        ("https://api.example/v1", "an origin is"),
        ("https://api.example@other.example", "an origin is"),
        ("https://\u0430pi.example", "an origin is"),
        ("ftp://api.example", "an origin is"),
        ("", "an origin is"),
        ([], "origins is empty"),
    ):
        with pytest.raises(ValueError, match=error):
            Origins(wrong)
    origins = Origins(["HTTPS://API.example", "http://[::1]:8080", "http://localhost"])
    for right in (("https", "api.example", None), ("https", "api.EXAMPLE", 443), ("http", "[::1]", 8080)):
        origins.check(*right)
    for parts in (
        ("http", "api.example", 443),
        ("https", "api.example", 444),
        ("http", "::1", None),
        (None, None, None),
    ):
        with pytest.raises(postern_auth.RequestError) as raised:
            origins.check(*parts)
        assert (raised.value.reason, raised.value.outcome) == ("origin_not_allowed", "not_sent")
    Origins(None).check("http", "anywhere.example", 1)


@pytest.fixture(scope="module")
def patient() -> Iterator[Playground]:
    """Its tokens are valid for longer than the longest minimum of `get_access_token`."""
    server = Playground("--access-token-lifetime", "200000s")
    yield server
    server.stop()


@pytest.mark.parametrize("kind", ["requests", "httpx", "async"])
def test_a_session_replaces_a_token_of_many_days(
    start: Callable[..., Sidecar], patient: Playground, upstream: Upstream, kind: str
) -> None:
    """A user whose rejected token is sent for days, because it is valid for longer than any minimum."""
    issuer = {"issuer": patient.issuer, "clientId": "shop", "clientSecret": "shopsecret"}
    resource = {"baseUrl": patient.base + "/resource/", "issuer": "corp", "auth": "user", "scope": "orders"}
    sidecar = start(
        {
            "issuers": {
                "corp": {
                    **issuer,
                    "scope": "openid offline_access orders",
                    "redirectUri": "http://127.0.0.1:9/callback",
                }
            },
            "resources": {"mine": resource},
        }
    )
    with Client(sidecar.path, timeout=20) as client:
        begun = client.begin_authorization("corp")
        patient.request("POST", "/playground/login", b'{"user": "alice", "times": 1}')
        back = patient.request("GET", begun.authorization_url.replace(patient.base, ""))[1]["location"]
        user = client.complete_authorization(back, begun.state)
        options: dict[str, Any] = {"resource": "mine", "session": user.session}
        status = 0
        if kind == "requests":
            with requests.Session() as plain:
                plain.auth = RequestsAuth(client, **options)
                status = plain.get(upstream.base + "/a", allow_redirects=False).status_code
        elif kind == "httpx":
            with httpx.Client(auth=HttpxAuth(client, **options)) as http:
                status = http.get(upstream.base + "/a").status_code
        else:

            async def send() -> int:
                async with AsyncClient(sidecar.path) as own:
                    async with httpx.AsyncClient(auth=AsyncPosternAuth(own, **options)) as http:
                        return (await http.get(upstream.base + "/a")).status_code

            status = asyncio.run(send())
    assert status == 302
    assert len({token for _, token in upstream.received}) == 2
