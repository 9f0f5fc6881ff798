"""Whose request it is: sessions of adapters, and the one exception where nobody is logged in."""

from __future__ import annotations

import asyncio
import contextvars
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable

import aiohttp
import httpx
import pytest
import requests
from fakes import Fakes

import postern_auth
from postern_auth import FetchResult, LoginRequired, RequestError
from postern_auth._sessions import named
from postern_auth.aiohttp import PosternSession
from postern_auth.httpx import AsyncPosternAuth, AsyncPosternTransport, PosternTransport
from postern_auth.httpx import PosternAuth as HttpxAuth
from postern_auth.requests import PosternAdapter
from postern_auth.requests import PosternAuth as RequestsAuth
from postern_auth.testing import AsyncFakePostern, FakePostern, RecordedCall

URL = "https://api.example.com/orders"


USERS = [f"user-{number}" for number in range(40)]


def own_token(call: RecordedCall) -> dict[str, Any]:
    token = f"token-of-{call.params['session']}"
    return {"accessToken": token, "tokenType": "Bearer", "expiresAt": "2099-01-01T00:00:00.000Z"}


@pytest.fixture
def sidecar() -> Fakes:
    """Needs a session for a fetch, as for resources of users, and echoes it."""

    def set_up(fake: FakePostern | AsyncFakePostern) -> None:
        fake.require_login("orders", "mine")
        for user in ("alice", "bob", *USERS):
            fake.add_session(user, session=user)
        fake.when.fetch_resource().answers(lambda call: FetchResult.of(text=call.params["session"]))
        fake.when.get_access_token().answers(own_token)

    return Fakes(set_up)


def sessions(sidecar: Fakes) -> list[str | None]:
    return [params.get("session") for params in sidecar.params]


#: Fetches URL with an adapter, and returns the body; `session` is the adapter's.
Fetch = Callable[..., str]


def by_requests(sidecar: Fakes, session: Any = None, headers: Any = None) -> str:
    with requests.Session() as http:
        http.mount("https://", PosternAdapter(sidecar.blocking, resource="orders", session=session))
        return http.get(URL, headers=headers).text


def by_httpx(sidecar: Fakes, session: Any = None, headers: Any = None) -> str:
    with httpx.Client(transport=PosternTransport(sidecar.blocking, resource="orders", session=session)) as http:
        return http.get(URL, headers=headers).text


def by_async_httpx(sidecar: Fakes, session: Any = None, headers: Any = None) -> str:
    async def fetch() -> str:
        transport = AsyncPosternTransport(sidecar.asynchronous, resource="orders", session=session)
        async with httpx.AsyncClient(transport=transport) as http:
            return (await http.get(URL, headers=headers)).text

    return asyncio.run(fetch())


def by_aiohttp(sidecar: Fakes, session: Any = None, headers: Any = None) -> str:
    async def fetch() -> str:
        async with PosternSession(sidecar.asynchronous, resource="orders", session=session) as http:
            async with http.get(URL, headers=headers) as answer:
                return await answer.text()

    return asyncio.run(fetch())


EACH = pytest.mark.parametrize("fetch", [by_requests, by_httpx, by_async_httpx, by_aiohttp])
UNSET: ContextVar[str | None] = ContextVar("UNSET")
NOBODY: ContextVar[str | None] = ContextVar("NOBODY", default=None)
ALICE: ContextVar[str] = ContextVar("ALICE", default="alice")


@EACH
@pytest.mark.parametrize(
    ("session", "headers"),
    [("alice", None), (lambda: "alice", None), (ALICE, None), (None, {"Postern-Session": "alice"})],
    ids=["text", "callable", "context variable", "header"],
)
def test_a_session_is_named(sidecar: Fakes, fetch: Fetch, session: Any, headers: Any) -> None:
    """A request of nobody, and a handle that the resource's server gets."""
    assert fetch(sidecar, session, headers) == "alice"
    [call] = sidecar.params
    assert call["session"] == "alice"
    assert not {name.lower() for name in call.get("headers", {})} & {"postern-session"}


@EACH
@pytest.mark.parametrize(
    ("session", "headers"),
    [
        (None, None),
        ("", None),
        (lambda: None, None),
        (lambda: "", None),
        (UNSET, None),
        (NOBODY, None),
        (None, {"Postern-Session": ""}),
    ],
    ids=["none", "empty", "callable", "empty callable", "unset", "context variable", "header"],
)
def test_nobody_is_nobody(sidecar: Fakes, fetch: Fetch, session: Any, headers: Any) -> None:
    """An anonymous request that is another user's, and exceptions that a program has to know by their library."""
    with pytest.raises(LoginRequired) as raised:
        fetch(sidecar, session, headers)
    error = raised.value
    assert isinstance(error, (requests.RequestException, httpx.TransportError, aiohttp.ClientError))
    assert (error.code, error.reason, error.detail) == (1001, "not_authenticated", "session_missing")
    assert type(error.__cause__) is LoginRequired
    copied: LoginRequired = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) and (copied.code, copied.detail, str(copied)) == (1001, error.detail, str(error))
    # An explicit nobody is not asked for: an endpoint that is bound to a session would have an answer.
    assert sessions(sidecar) == ([None] if session is None and headers is None else [])


@EACH
@pytest.mark.parametrize(
    ("session", "headers"),
    [
        ("alice", {"Postern-Session": "bob"}),
        (lambda: None, {"Postern-Session": "bob"}),
        (lambda: "only", None),
        (ContextVar("OF_ANYONE", default="only"), None),
        (None, {"postern-session": "only"}),
        (None, {"postern-session": "only \t"}),
    ],
    ids=["twice", "twice with nobody", "only by a callable", "only by a variable", "only by a header", "with spaces"],
)
def test_a_session_that_is_not_certain(sidecar: Fakes, fetch: Fetch, session: Any, headers: Any) -> None:
    """A browser's header, which a program has passed on, that chooses whose data it gets."""
    with pytest.raises((requests.RequestException, httpx.TransportError, aiohttp.ClientError)) as raised:
        fetch(sidecar, session, headers)
    cause = raised.value.__cause__
    assert isinstance(cause, RequestError) and cause.path == "/session"
    assert sidecar.params == []


def test_an_extension_is_no_way_around(sidecar: Fakes) -> None:
    """The member of a request by which a session goes through redirects."""
    with httpx.Client(transport=PosternTransport(sidecar.blocking, resource="orders")) as http:
        for session, kind in (("only", httpx.TransportError), ("", LoginRequired)):
            with pytest.raises(kind):
                http.get(URL, extensions={"postern_session": session})
    assert sidecar.params == []


def test_a_program_whose_user_id_is_the_user() -> None:
    def set_up(fake: FakePostern | AsyncFakePostern) -> None:
        fake.add_session("alice", session="alice")
        fake.when.fetch_resource().answers(lambda call: FetchResult.of(text=call.params["session"]))

    assert by_requests(Fakes(set_up), "only") == "alice"


def test_a_header_that_is_there_twice(sidecar: Fakes) -> None:
    headers = [("Postern-Session", "alice"), ("Postern-Session", "bob")]
    with pytest.raises(httpx.TransportError):
        by_httpx(sidecar, None, headers)
    assert sidecar.params == []


def test_a_source_of_another_type() -> None:
    """A coroutine function, whose handle would be the text of an object."""

    async def current() -> str:
        return "alice"

    found = current()
    with pytest.raises(TypeError, match="coroutine"):
        named(lambda: found)  # type: ignore[arg-type]
    found.close()


def test_each_thread_and_each_task_has_its_own_user(sidecar: Fakes) -> None:
    """Requests of two users that have one session, because they share an adapter."""
    who: ContextVar[str | None] = ContextVar("who", default=None)

    def fetch(http: requests.Session, user: str) -> str:
        who.set(user)
        return http.get(URL).text

    with requests.Session() as http, ThreadPoolExecutor(8) as pool:
        http.mount("https://", PosternAdapter(sidecar.blocking, resource="orders", session=who))
        found = [pool.submit(contextvars.Context().run, fetch, http, user) for user in USERS]
        assert [one.result() for one in found] == USERS

    async def fetch_all() -> list[str]:
        transport = AsyncPosternTransport(sidecar.asynchronous, resource="orders", session=who)
        async with httpx.AsyncClient(transport=transport) as http:

            async def fetch(user: str) -> str:
                who.set(user)
                await asyncio.sleep(0)
                return (await http.get(URL)).text

            return await asyncio.gather(*(fetch(user) for user in USERS))

    assert asyncio.run(fetch_all()) == USERS
    assert who.get() is None


class Elsewhere:
    """Another server, which is not behind the sidecar."""

    def __init__(self) -> None:
        self.received: list[dict[str, str]] = []
        elsewhere = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                elsewhere.received.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    server = Elsewhere()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.mark.parametrize("library", ["requests", "httpx"])
def test_a_redirect_keeps_the_session_and_gives_it_to_nobody(
    sidecar: Fakes, elsewhere: Elsewhere, library: str
) -> None:
    """A handle that a library carries to another server, and a redirected request of nobody."""
    headers = {"Postern-Session": "alice"}
    two, out = ({"Location": where} for where in ("https://api.example.com/two", elsewhere.base + "/out"))
    sidecar.blocking.when.fetch_resource().returns(FetchResult.of(302, headers=two), FetchResult.of(302, headers=out))
    if library == "requests":
        with requests.Session() as http:
            http.trust_env = False
            http.mount("https://", PosternAdapter(sidecar.blocking, resource="orders"))
            answer: Any = http.get(URL, headers=headers)
            seen = [one.request.headers for one in (*answer.history, answer)]
    else:
        mounts = {"https://": PosternTransport(sidecar.blocking, resource="orders")}
        with httpx.Client(mounts=mounts, trust_env=False, follow_redirects=True) as http:
            answer = http.get(URL, headers=headers)
            seen = [one.request.headers for one in (*answer.history, answer)]
    assert [one.status_code for one in (*answer.history, answer)] == [302, 302, 200]
    assert sessions(sidecar) == ["alice", "alice"]
    [received] = elsewhere.received
    assert "alice" not in str(received) and "alice" not in str(seen)


def test_a_prepared_request_can_be_sent_twice(sidecar: Fakes) -> None:
    with requests.Session() as http:
        http.mount("https://", PosternAdapter(sidecar.blocking, resource="orders"))
        prepared = http.prepare_request(requests.Request("GET", URL, headers={"Postern-Session": "alice"}))
        assert [http.send(prepared).text for _ in range(2)] == ["alice", "alice"]
        prepared.headers["Postern-Session"] = "bob"
        assert http.send(prepared).text == "bob"
        with pytest.raises(LoginRequired):
            http.get(URL)


def token_by_requests(sidecar: Fakes, url: str, session: Any, headers: Any) -> None:
    with requests.Session() as http:
        http.trust_env = False
        http.auth = RequestsAuth(sidecar.blocking, issuer="corp", session=session)
        http.get(url, headers=headers)


def token_by_httpx(sidecar: Fakes, url: str, session: Any, headers: Any) -> None:
    with httpx.Client(auth=HttpxAuth(sidecar.blocking, issuer="corp", session=session), trust_env=False) as http:
        http.get(url, headers=headers)


def token_by_async_httpx(sidecar: Fakes, url: str, session: Any, headers: Any) -> None:
    async def fetch() -> None:
        auth = AsyncPosternAuth(sidecar.asynchronous, issuer="corp", session=session)
        async with httpx.AsyncClient(auth=auth, trust_env=False) as http:
            await http.get(url, headers=headers)

    asyncio.run(fetch())


@pytest.mark.parametrize("send", [token_by_requests, token_by_httpx, token_by_async_httpx])
def test_tokens_on_a_transport_of_ones_own(sidecar: Fakes, elsewhere: Elsewhere, send: Callable[..., None]) -> None:
    """The program's own token for a request of nobody, and a handle that goes to the server."""
    for session in ("alice", lambda: "alice", ALICE, None):
        headers = {"Postern-Session": "alice"} if session is None else None
        send(sidecar, elsewhere.base, session, headers)
        received = elsewhere.received.pop()
        assert received["authorization"] == "Bearer token-of-alice" and "postern-session" not in received
    count = len(sidecar.params)
    nobody: list[tuple[Any, Any]] = [(lambda: None, None), (UNSET, None), ("", None), (None, {"Postern-Session": ""})]
    for session, headers in nobody:
        with pytest.raises(LoginRequired):
            send(sidecar, elsewhere.base, session, headers)
    assert len(sidecar.params) == count, "that would be the program's own token, or that of an endpoint's user"
    assert elsewhere.received == []


@pytest.mark.parametrize("session", [None, ""])
def test_a_call_of_nobody(sidecar: Fakes, session: str | None) -> None:
    """None, an empty text and nothing at all are one exception."""
    for call in (
        lambda: sidecar.blocking.fetch_resource("mine", "orders", session=session),
        lambda: sidecar.blocking.get_access_token(resource="mine", session=session),
        lambda: sidecar.blocking.fetch_resource("mine", "orders"),
    ):
        with pytest.raises(LoginRequired) as raised:
            call()
        assert raised.value.detail == "session_missing" and raised.value.outcome == "not_sent"
    assert issubclass(LoginRequired, (postern_auth.FetchError, postern_auth.SessionError))


def test_an_endpoint_has_its_users_session() -> None:
    """A child whose calls are nobody's, or somebody else's."""

    def set_up(fake: FakePostern | AsyncFakePostern) -> None:
        fake.add_session("alice", session="alice")
        fake.when.create_endpoint().returns({"endpoint": "e-1", "path": "/run/postern.sock.e-1"})
        fake.when.revoke_endpoint("e-1").returns({"revoked": 1})

    fakes = Fakes(set_up)
    with fakes.blocking.endpoint(resources=["mine"], session="alice"):
        pass

    async def main() -> None:
        async with fakes.asynchronous.endpoint(resources=["mine"], session="only"):
            pass

    asyncio.run(main())
    assert [params["session"] for params in fakes.params if "session" in params] == ["alice", "only"]
