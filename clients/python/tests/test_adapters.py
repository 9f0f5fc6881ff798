"""requests, httpx and aiohttp through the sidecar: what existing code sees."""

from __future__ import annotations

import asyncio
import io
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, cast

import aiohttp
import httpx
import pytest
import requests
import urllib3
from fakes import Fakes
from harness import journeys
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from loop import in_loop
from test_delegates import PASSWORD

import postern_auth
from postern_auth import AsyncClient, Client, FetchResult
from postern_auth._http import Target, timeout_of
from postern_auth.aiohttp import PosternResponse, PosternSession
from postern_auth.httpx import AsyncPosternTransport, PosternTransport
from postern_auth.requests import PosternAdapter
from postern_auth.testing import FakePostern, RecordedCall


@pytest.fixture
def mounted(client: Client, playground: Playground) -> Iterator[requests.Session]:
    """`http+postern://` for everything, and the open half of the playground by its own URLs."""
    with requests.Session() as session:
        session.mount("http+postern://", PosternAdapter(client))
        session.mount(playground.base + "/open/", PosternAdapter(client, resource="open"))
        yield session


# requests


def test_requests_looks_native(mounted: requests.Session, playground: Playground) -> None:
    answer = mounted.post(
        "http+postern://orders/echo?b=2", params={"a": "1 2"}, json={"x": [1]}, headers={"X-One": "1"}, timeout=(5, 10)
    )
    echo = answer.json()
    assert answer.status_code == 200
    assert answer.ok
    assert answer.reason == "OK"
    assert echo["query"] == "b=2&a=1+2"
    assert json.loads(echo["body"]) == {"x": [1]}
    assert echo["headers"]["content-type"] == ["application/json"]
    assert echo["headers"]["x-one"] == ["1"]
    assert answer.url == playground.base + "/resource/echo?b=2&a=1+2"
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.encoding
    assert answer.elapsed.total_seconds() > 0
    assert vars(answer)["postern"].attempts == 1
    answer.raise_for_status()
    with pytest.raises(requests.HTTPError):
        mounted.get("http+postern://open/status/404").raise_for_status()


def test_requests_by_their_own_urls(mounted: requests.Session, playground: Playground) -> None:
    answer = mounted.get(playground.base + "/open/echo", params={"q": "ä"})
    assert answer.json()["query"] == "q=%C3%A4"
    assert answer.url.endswith("?q=%C3%A4")


@pytest.mark.parametrize("data", [b"bytes", "text", {"a": "1"}, io.BytesIO(b"a file"), iter([b"a ", b"generator"])])
def test_requests_bodies(mounted: requests.Session, data: Any) -> None:
    echo = mounted.put("http+postern://open/echo", data=data).json()
    assert echo["body"] in ("bytes", "text", "a=1", "a file", "a generator")


def test_requests_files(mounted: requests.Session) -> None:
    echo = mounted.post("http+postern://open/echo", files={"f": ("a.txt", b"x")}).json()
    assert echo["headers"]["content-type"][0].startswith("multipart/form-data; boundary=")


def test_requests_redirects_are_reported(mounted: requests.Session, playground: Playground) -> None:
    answer = mounted.get(playground.base + "/open/redirects/3")
    assert answer.ok
    assert [one.status_code for one in answer.history] == [302, 302, 302]
    answer = mounted.get(playground.base + "/open/redirects/3", allow_redirects=False)
    assert answer.status_code == 302
    assert answer.is_redirect
    answer = mounted.get("http+postern://open/redirects/3")
    assert answer.ok and not answer.history and answer.url.endswith("/redirects/0"), "the sidecar followed"


def test_requests_streams(mounted: requests.Session) -> None:
    with mounted.get("http+postern://open/bytes/3000000", stream=True) as answer:
        assert answer.raw.read(5) == bytes(range(5))
        rest = b"".join(answer.iter_content(10_000))
    assert len(rest) == 3_000_000 - 5
    with mounted.get("http+postern://open/text?charset=iso-8859-1", stream=True) as answer:
        assert answer.encoding == "iso-8859-1"
        assert list(answer.iter_lines())


def test_requests_keep_no_cookies(mounted: requests.Session, playground: Playground) -> None:
    answer = mounted.get(playground.base + "/open/cookies?set=a%3D1&set=b%3D2")
    assert not mounted.cookies
    assert not answer.cookies
    assert answer.raw.headers.getlist("set-cookie") != [], "but they are seen"
    assert len(answer.raw.headers.getlist("set-cookie")) == 2, "each line by itself"


def test_requests_errors_are_its_own(mounted: requests.Session, directory: Path) -> None:
    with pytest.raises(requests.exceptions.ReadTimeout) as late:
        mounted.get("http+postern://open/slow?ms=20000", timeout=0.2)
    assert isinstance(late.value.__cause__, postern_auth.DeadlineExceeded)
    assert late.value.request is not None
    with pytest.raises(requests.exceptions.InvalidHeader):
        mounted.get("http+postern://open/echo", headers={"Authorization": "Bearer x"})
    with pytest.raises(requests.exceptions.InvalidURL):
        mounted.get("http+postern://open/%2e%2e/%2e%2e/x")
    with pytest.raises(requests.RequestException):
        mounted.request("TRACE", "http+postern://open/echo")
    mounted.mount("http+postern://", PosternAdapter(Client(directory / "none.sock")))
    with pytest.raises(requests.ConnectionError):
        mounted.get("http+postern://open/echo")


def test_requests_with_step_up(client: Client, session: str) -> None:
    """One object is mounted; the user is asked while the request waits."""
    client.register_delegate(
        on_policy_advice_received=lambda request: (
            client.authenticate_with_advice(continuation=request.continuation, answers=PASSWORD).state == "completed"
        )
    )
    with requests.Session() as plain:
        plain.mount("http+postern://", PosternAdapter(client, session=session))
        answer = plain.post("http+postern://gate/service/pay", data="10 coins")
    assert answer.ok
    assert answer.json()["body"] == "10 coins"
    client.register_delegate()
    with requests.Session() as other:
        other.mount("http+postern://", PosternAdapter(client, session=session))
        with pytest.raises(requests.RequestException) as raised:
            other.get("http+postern://gate/transaction/pay")
    assert isinstance(raised.value.__cause__, postern_auth.AdviceRequired)


def test_the_times_of_libraries() -> None:
    """None means no bound to every library, not this client's own time."""
    assert timeout_of(None) == timeout_of((3, None)) == timeout_of({"connect": None, "read": 5}) == math.inf
    assert timeout_of(3) == timeout_of(urllib3.Timeout(3)) == timeout_of(aiohttp.ClientTimeout(total=3)) == 3
    assert (
        timeout_of((1, 2))
        == timeout_of({"connect": 1, "read": 2})
        == timeout_of(urllib3.Timeout(connect=1, read=2))
        == 3
    )
    assert timeout_of(aiohttp.ClientTimeout(total=None)) == math.inf


def test_no_bound_is_no_bound(sidecar: Sidecar) -> None:
    with Client(sidecar.path, timeout=0.1) as client, requests.Session() as session:
        session.mount("http+postern://", PosternAdapter(client))
        assert session.get("http+postern://open/slow?ms=300").ok
        assert session.get("http+postern://open/slow?ms=300", stream=True).ok
        assert session.get("http+postern://open/echo", timeout=cast("Any", urllib3.Timeout(3))).ok
        with httpx.Client(transport=PosternTransport(client), timeout=None) as plain:
            assert plain.get("http+postern://open/slow?ms=300").is_success


@in_loop
async def test_no_bound_in_the_manner_of_aiohttp(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path, timeout=0.1) as client:
        plain = PosternSession(client, resource="open")
        with pytest.raises(aiohttp.ServerTimeoutError):
            await plain.get("slow?ms=3000")
        assert (await plain.get("slow?ms=300", timeout=None)).ok
        assert (await PosternSession(client, resource="open", timeout=None).get("slow?ms=300")).ok


@pytest.mark.parametrize("stream", [False, True])
def test_the_user_has_time_whatever_the_library_says(client: Client, session: str, stream: bool) -> None:
    def confirm(request: postern_auth.delegates.AdviceReceived) -> bool:
        time.sleep(1.2)
        return client.authenticate_with_advice(continuation=request.continuation, answers=PASSWORD).state == "completed"

    client.register_delegate(on_policy_advice_received=confirm)
    with requests.Session() as plain:
        plain.mount("http+postern://", PosternAdapter(client, session=session))
        answer = plain.post("http+postern://gate/service/pay", data="10 coins", stream=stream, timeout=1)
        assert answer.json()["body"] == "10 coins"


def test_the_sidecar_may_bound_each_fetch(sidecar: Sidecar) -> None:
    with Client(sidecar.path) as client, requests.Session() as session:
        session.mount("http+postern://", PosternAdapter(client, total_timeout=0.1))
        with pytest.raises(requests.Timeout) as raised:
            session.get("http+postern://open/slow?ms=20000")
        assert cast("postern_auth.PosternError", raised.value.__cause__).code == -32022
        with httpx.Client(transport=PosternTransport(client, total_timeout=0.1)) as plain:
            with pytest.raises(httpx.TimeoutException):
                plain.get("http+postern://open/slow?ms=20000")


def test_time_that_runs_out_within_a_body_says_so(start: Callable[..., Sidecar], feed: Feed) -> None:
    sidecar = start({"resources": {"feed": {"baseUrl": feed.base, "auth": "none"}}})
    with Client(sidecar.path) as client, requests.Session() as session:
        session.mount("http+postern://", PosternAdapter(client))
        answering(feed)
        # Long enough for the head to come, whatever the machine does.
        with session.get("http+postern://feed/x", stream=True, timeout=3) as answer:
            with pytest.raises(requests.Timeout) as raised:
                answer.content  # noqa: B018
    assert isinstance(raised.value, requests.ConnectionError), "as requests has it"
    assert isinstance(raised.value.__cause__, postern_auth.DeadlineExceeded)


# httpx


def test_httpx_knows_how_long_it_took(client: Client) -> None:
    with httpx.Client(transport=PosternTransport(client)) as plain:
        answer = plain.get("http+postern://open/echo")
        assert answer.elapsed.total_seconds() > 0 and answer.is_closed


def test_httpx_looks_native(client: Client, playground: Playground) -> None:
    transport = PosternTransport(client, resource="open")
    with httpx.Client(transport=transport, base_url=playground.base + "/open/") as plain:
        answer = plain.post("echo", params={"a": "1"}, json={"x": 1}, headers=[("X-Two", "a"), ("X-Two", "b")])
        echo = answer.json()
        assert answer.status_code == 200
        assert answer.reason_phrase == "OK"
        assert echo["query"] == "a=1"
        assert echo["headers"]["x-two"] == ["a", "b"]
        assert json.loads(echo["body"]) == {"x": 1}
        assert answer.extensions["postern"].status == 200
        assert answer.http_version == "HTTP/1.1"
        assert plain.get("status/404").status_code == 404
        assert plain.get("gzip").json(), "decoded once"
        assert plain.head("bytes/10").content == b""
        assert plain.get("text?charset=iso-8859-1").text
        history = plain.get("redirects/2", follow_redirects=True).history
        assert [one.status_code for one in history] == [302, 302]
        plain.get("cookies?set=a%3D1")
        assert not plain.cookies
        assert plain.put("echo", content=iter([b"a ", b"generator"])).json()["body"] == "a generator"
        with plain.stream("GET", "bytes/100000") as streamed:
            assert sum(len(piece) for piece in streamed.iter_bytes(1000)) == 100_000


def test_httpx_mounted_beside_others(client: Client, playground: Playground) -> None:
    mounts = {"http+postern://": PosternTransport(client, streaming=True)}
    with httpx.Client(mounts=mounts) as plain:
        answer = plain.get("http+postern://orders/bytes/3000000")
        assert len(answer.content) == 3_000_000
        assert plain.get(playground.base + "/open/echo").extensions.get("postern") is None


def test_httpx_and_names_with_capitals(start: Callable[..., Sidecar], playground: Playground) -> None:
    sidecar = start({"resources": {"Billing": {"baseUrl": playground.base + "/open/", "auth": "none"}}})
    with Client(sidecar.path) as client:
        transport = PosternTransport(client, resource="Billing")
        with httpx.Client(mounts={"http+postern://": transport}) as plain:
            assert plain.get("http+postern://Billing/echo").status_code == 200


def test_httpx_errors_are_its_own(client: Client) -> None:
    with httpx.Client(mounts={"http+postern://": PosternTransport(client)}) as plain:
        with pytest.raises(httpx.ReadTimeout) as late:
            plain.get("http+postern://open/slow?ms=20000", timeout=0.1)
        assert late.value.request.url.path == "/slow"
        with pytest.raises(httpx.LocalProtocolError):
            plain.get("http+postern://open/echo", headers={"Authorization": "Bearer x"})
        with pytest.raises(httpx.TransportError) as raised:
            plain.get("http+postern://nowhere/x")
        assert isinstance(raised.value.__cause__, postern_auth.RequestError)


@in_loop
async def test_httpx_asynchronous(sidecar: Sidecar, playground: Playground) -> None:
    async with AsyncClient(sidecar.path) as client:
        transport = AsyncPosternTransport(client, resource="open")
        async with httpx.AsyncClient(transport=transport, base_url=playground.base + "/open/") as plain:
            assert json.loads((await plain.post("echo", json={"x": 1})).json()["body"]) == {"x": 1}
            with pytest.raises(httpx.ReadTimeout):
                await plain.get("slow?ms=20000", timeout=0.1)

            async def pieces() -> Any:
                yield b"a "
                yield b"generator"

            assert (await plain.put("echo", content=pieces())).json()["body"] == "a generator"
        streaming = AsyncPosternTransport(client, streaming=True)
        async with httpx.AsyncClient(mounts={"http+postern://": streaming}) as plain:
            async with plain.stream("GET", "http+postern://open/bytes/3000000") as answer:
                assert sum([len(piece) async for piece in answer.aiter_bytes()]) == 3_000_000


# In the manner of aiohttp


@in_loop
async def test_a_session_in_the_manner_of_aiohttp(sidecar: Sidecar, playground: Playground) -> None:
    async with AsyncClient(sidecar.path) as client:
        async with PosternSession(client, resource="open", headers={"X-One": "1"}) as plain:
            async with plain.get("echo", params={"a": [1, 2], "b": "ä ö"}) as answer:
                echo = await answer.json()
                assert answer.status == 200
                assert answer.ok
                assert answer.content_type == "application/json"
                assert echo["query"] == "a=1&a=2&b=%C3%A4%20%C3%B6"
                assert echo["headers"]["x-one"] == ["1"]
                assert answer.headers["Content-Type"]
                assert str(answer.url).startswith(playground.base)
            answer = await plain.post("echo", json={"x": 1})
            assert (await answer.json())["body"] == '{"x": 1}'
            answer = await plain.put("http+postern://orders/echo", data={"a": "1"})
            assert (await answer.json())["body"] == "a=1"
            answer = await plain.get("bytes/1000")
            assert sum([len(piece) async for piece in answer.iter_chunked(100)]) == 1000
            with pytest.raises(aiohttp.ContentTypeError):
                await answer.json()
            assert (await plain.get("redirects/2")).status == 200
            assert (await plain.get("redirects/2", allow_redirects=False)).status == 302
            assert (await plain.head("echo")).status == 200
            assert (await plain.delete("echo")).ok
            assert (await plain.patch("echo", data=b"x")).ok
            with pytest.raises(aiohttp.ClientResponseError) as refused:
                (await plain.get("status/503")).raise_for_status()
            assert refused.value.status == 503
            with pytest.raises(aiohttp.ServerTimeoutError):
                await plain.get("slow?ms=20000", timeout=aiohttp.ClientTimeout(total=0.2))
            with pytest.raises(aiohttp.ClientError):
                await plain.get("echo", headers={"Authorization": "x"})
            with pytest.raises(ValueError, match="same time"):
                await plain.post("echo", json=1, data=b"x")
        assert (await (await plain.get("status/404")).read()) is not None
        with pytest.raises(aiohttp.ClientResponseError) as strictly:
            await plain.get("status/404", raise_for_status=True)
        assert strictly.value.status == 404
        seen: list[int] = []

        async def check(answer: PosternResponse) -> None:
            seen.append(answer.status)

        own = PosternSession(client, resource="open", raise_for_status=check)
        assert (await own.get("status/404")).status == 404
        assert seen == [404]
        assert (await own.get("status/404", raise_for_status=False)).status == 404
        assert seen == [404], "that of the request takes precedence"
        strict = PosternSession(client, resource="open", raise_for_status=True)
        with pytest.raises(aiohttp.ClientResponseError):
            await strict.get("status/404")


@in_loop
async def test_aiohttp_with_step_up(sidecar: Sidecar, playground: Playground) -> None:
    async with AsyncClient(sidecar.path) as client:
        grant = {"type": "sso", "ssoToken": journeys.sign_on(playground)}
        session = (await client.create_session("am", grant)).session
        plain = PosternSession(client, resource="gate", session=session)
        with pytest.raises(aiohttp.ClientError) as raised:
            await plain.get("service/pay")
        assert isinstance(raised.value.__cause__, postern_auth.AdviceRequired)


# All


def test_a_resource_that_cannot_be_streamed_is_fetched_whole() -> None:
    postern = FakePostern()

    def answer(call: RecordedCall) -> FetchResult:
        if call.params.get("stream"):
            raise postern_auth.RequestError("m", -32602, {"reason": "invalid_params", "path": "/stream"})
        return FetchResult.of(text="whole")

    postern.when.fetch_resource("r", "p").answers(answer)
    with requests.Session() as session:
        session.mount("http+postern://", PosternAdapter(postern))
        assert session.get("http+postern://r/p", stream=True).text == "whole"
    with httpx.Client(transport=PosternTransport(postern, streaming=True)) as plain:
        assert plain.get("http+postern://r/p").text == "whole"


class Feed:
    """An upstream that writes when it is told to."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._peers: list[socket.socket] = []

    def answer(self, data: bytes) -> None:
        """Takes the next request, and writes."""
        self._peers.append(self._listener.accept()[0])
        self._peers[-1].recv(4096)
        self.write(data)

    def write(self, data: bytes) -> None:
        self._peers[-1].sendall(data)

    def cut(self) -> None:
        self._peers[-1].close()

    def close(self) -> None:
        for one in [self._listener, *self._peers]:
            one.close()


@pytest.fixture
def feed() -> Iterator[Feed]:
    one = Feed()
    yield one
    one.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nContent-Length: 100\r\n\r\n"


def answering(feed: Feed) -> threading.Thread:
    thread = threading.Thread(target=feed.answer, args=(HEAD,), daemon=True)
    thread.start()
    return thread


def test_requests_stream_before_the_body_is_there(start: Callable[..., Sidecar], feed: Feed) -> None:
    """Server-sent events must come one by one, and half a body must not pass for a whole one."""
    sidecar = start({"resources": {"feed": {"baseUrl": feed.base, "auth": "none"}}})
    with Client(sidecar.path) as client, requests.Session() as session:
        session.mount("http+postern://", PosternAdapter(client))
        thread = answering(feed)
        with session.get("http+postern://feed/x", stream=True, timeout=10) as answer:
            thread.join()
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            lines = answer.iter_lines(chunk_size=512)
            feed.write(b"data: 1\n\n")
            assert next(lines) == b"data: 1"
            feed.cut()
            with pytest.raises(requests.exceptions.ChunkedEncodingError):
                list(lines)


def test_leaving_a_streamed_response_ends_its_fetch(client: Client) -> None:
    with requests.Session() as session, httpx.Client(transport=PosternTransport(client, streaming=True)) as plain:
        session.mount("http+postern://", PosternAdapter(client))
        with session.get("http+postern://open/bytes/1000000000", stream=True) as answer:
            next(answer.iter_content(10))
            first = vars(answer)["postern"].task
        with plain.stream("GET", "http+postern://open/bytes/1000000000") as streamed:
            next(streamed.iter_bytes(10))
            second = streamed.extensions["postern"].task
        eventually(lambda: [client.get_task(task).state for task in (first, second)] == ["cancelled"] * 2)


def test_httpx_streams_before_the_body_is_there(start: Callable[..., Sidecar], feed: Feed) -> None:
    sidecar = start({"resources": {"feed": {"baseUrl": feed.base, "auth": "none"}}})
    with Client(sidecar.path) as client, httpx.Client(transport=PosternTransport(client, streaming=True)) as plain:
        thread = answering(feed)
        with plain.stream("GET", "http+postern://feed/x", timeout=10) as answer:
            thread.join()
            pieces = answer.iter_bytes()
            feed.write(b"data: 1\n\n")
            assert next(pieces) == b"data: 1\n\n"
            feed.cut()
            with pytest.raises(httpx.TransportError):
                list(pieces)


@in_loop
async def test_asynchronous_ones_stream_before_the_body_is_there(start: Callable[..., Sidecar], feed: Feed) -> None:
    sidecar = start({"resources": {"feed": {"baseUrl": feed.base, "auth": "none"}}})
    async with AsyncClient(sidecar.path) as client:
        answering(feed)
        transport = AsyncPosternTransport(client, streaming=True)
        async with httpx.AsyncClient(transport=transport) as plain:
            async with plain.stream("GET", "http+postern://feed/x", timeout=10) as answer:
                pieces = answer.aiter_bytes()
                feed.write(b"data: 1\n\n")
                assert await pieces.__anext__() == b"data: 1\n\n"
                feed.cut()
                with pytest.raises(httpx.TransportError):
                    await pieces.__anext__()
        answering(feed)
        async with PosternSession(client, resource="feed", streaming=True) as session:
            async with session.get("x") as response:
                assert (response.status, response.content_type) == (200, "text/event-stream")
                chunks = response.iter_chunked(4)
                feed.write(b"data: 1\n\n")
                assert [await chunks.__anext__() for _ in range(2)] == [b"data", b": 1\n"]
                feed.write(b"x" * 91)
                assert b"".join([chunk async for chunk in chunks]) == b"\n" + b"x" * 91
        async with PosternSession(client, resource="open", streaming=True, raise_for_status=True) as session:
            assert len(await (await session.get("bytes/300000")).read()) == 300_000
            with pytest.raises(aiohttp.ClientResponseError):
                await session.get("status/404")


def test_nothing_of_these_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "for name in ('requests', 'httpx', 'aiohttp', 'urllib3', 'multidict', 'yarl'):\n"
        "    sys.modules[name] = None\n"
        "import postern_auth, postern_auth.__main__\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_the_inbound_token_is_that_of_each_request() -> None:
    """A session with the token of its first user for all that come later, or one that leaves as a header."""
    fakes = Fakes(lambda fake: fake.when.fetch_resource("billing", "orders").returns(FetchResult.of()))
    tokens = iter(["a", None, "b", "c"])
    session = requests.Session()
    session.mount("http+postern://", PosternAdapter(fakes.blocking, on_behalf_of=lambda: next(tokens)))
    for _ in range(2):
        session.get("http+postern://billing/orders")
    with httpx.Client(transport=PosternTransport(fakes.blocking, on_behalf_of=lambda: next(tokens))) as http:
        http.get("http+postern://billing/orders")

    async def awaited() -> None:
        await PosternSession(fakes.asynchronous, resource="billing", on_behalf_of=lambda: next(tokens)).get("orders")
        transport = AsyncPosternTransport(fakes.asynchronous, on_behalf_of="fixed")
        async with httpx.AsyncClient(transport=transport) as http:
            await http.get("http+postern://billing/orders")

    asyncio.run(awaited())
    assert [params.get("onBehalfOf") for params in fakes.params] == [
        {"token": "a"},
        None,
        {"token": "b"},
        {"token": "c"},
        {"token": "fixed"},
    ]
    assert "fixed" not in repr(Target(None, None, None, on_behalf_of="fixed"))
