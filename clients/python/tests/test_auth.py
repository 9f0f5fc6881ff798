"""Tokens of the sidecar on requests that go through a library's own transport."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

import httpx
import pytest
import requests
from harness.playground import Playground
from harness.sidecar import Sidecar

import postern_auth
from postern_auth import AsyncClient, Client
from postern_auth._tokens import TokenSource
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


def httpx_sent(client: Client, url: str, **options: Any) -> httpx.Response:
    with httpx.Client(auth=HttpxAuth(client, resource="orders")) as http:
        return http.post(url, **options)


def asynchronously(client: Client, url: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        async with AsyncClient(client.path) as own:
            async with httpx.AsyncClient(auth=AsyncPosternAuth(own, resource="orders")) as http:
                return await http.post(url, **options)

    return asyncio.run(send())


def requests_sent(client: Client, url: str, **options: Any) -> requests.Response:
    with requests.Session() as http:
        http.trust_env = False
        http.auth = RequestsAuth(client, resource="orders")
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
