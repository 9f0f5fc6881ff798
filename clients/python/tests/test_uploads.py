"""Request bodies of any size from generators, files and asynchronous iterators, without having them in memory."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import aiohttp
import httpx
import pytest
import requests
from harness.sidecar import Sidecar

from postern_auth import AsyncClient, Client
from postern_auth.aiohttp import PosternSession
from postern_auth.httpx import AsyncPosternTransport, PosternTransport
from postern_auth.requests import PosternAdapter

MIB = 1 << 20
SIZE = 100 * MIB
PIECE = bytes(range(256)) * 1024
DIGEST = hashlib.sha256(PIECE * 4 * 100).hexdigest()
URL = "http+postern://store/x"


class Store(BaseHTTPRequestHandler):
    """Says what it got, without keeping it. A body that breaks off is none."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        digest, size = hashlib.sha256(), 0
        for piece in self._pieces():
            digest.update(piece)
            size += len(piece)
        text = json.dumps({"sha256": digest.hexdigest(), "size": size}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _pieces(self) -> Iterator[bytes]:
        left = self.headers.get("Content-Length")
        if left is not None:
            count = int(left)
            while count and (piece := self.rfile.read(min(count, 1 << 16))):
                count -= len(piece)
                yield piece
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, format: str, *arguments: Any) -> None: ...


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def path(start: Callable[..., Sidecar], store: str) -> str:
    return start({"resources": {"store": {"baseUrl": store, "auth": "none"}}}).path


def pieces(count: int = SIZE // len(PIECE)) -> Iterator[bytes]:
    for _ in range(count):
        yield PIECE


async def async_pieces(count: int = SIZE // len(PIECE)) -> AsyncIterator[bytes]:
    for _ in range(count):
        await asyncio.sleep(0)
        yield PIECE


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("upload") / "large"
    with path.open("wb") as opened:
        for piece in pieces():
            opened.write(piece)
    return path


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """A body that is in memory as a whole."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * MIB


WHOLE = {"sha256": DIGEST, "size": SIZE}


def test_blocking(path: str, file: Path) -> None:
    with Client(path) as client, file.open("rb") as opened:
        for body in (pieces(), opened, file):
            assert client.fetch_resource("store", "x", method="POST", body=body).json() == WHOLE
        with client.stream_resource("store", "x", method="POST", data=pieces()) as stream:
            assert json.loads(stream.readall()) == WHOLE


def test_asynchronous(path: str, file: Path) -> None:
    async def main() -> None:
        async with AsyncClient(path) as client:
            for body in (async_pieces(), pieces(), file):
                response = await client.fetch_resource("store", "x", method="POST", body=body)
                assert response.json() == WHOLE
            async with client.stream_resource("store", "x", method="POST", data=async_pieces()) as stream:
                assert json.loads(await stream.read()) == WHOLE

    asyncio.run(main())


def test_requests(path: str, file: Path) -> None:
    with Client(path) as client, requests.Session() as session, file.open("rb") as opened:
        session.mount("http+postern://", PosternAdapter(client))
        assert session.post(URL, data=pieces()).json() == WHOLE
        assert session.post(URL, data=opened).json() == WHOLE
        assert session.post(URL, data="é").json()["size"] == 2


def test_httpx(path: str, file: Path) -> None:
    with Client(path) as client, httpx.Client(transport=PosternTransport(client), timeout=60) as http:
        assert http.post(URL, content=pieces()).json() == WHOLE
        with file.open("rb") as opened:
            assert http.post(URL, content=opened).json() == WHOLE
        with file.open("rb") as opened:
            assert http.post(URL, files={"large": opened}).json()["size"] > SIZE
        assert http.post(URL, json=1).json()["size"] == 1

    async def main() -> None:
        async with AsyncClient(path) as client:
            async with httpx.AsyncClient(transport=AsyncPosternTransport(client), timeout=60) as http:
                assert (await http.post(URL, content=async_pieces())).json() == WHOLE
                assert (await http.post(URL, json=1)).json()["size"] == 1

    asyncio.run(main())


def test_aiohttp(path: str, file: Path) -> None:
    async def main() -> None:
        async with AsyncClient(path) as client:
            session = PosternSession(client, timeout=aiohttp.ClientTimeout(60))
            with file.open("rb") as opened:
                for body in (async_pieces(), opened):
                    response = await session.post(URL, data=body)
                    assert await response.json(content_type=None) == WHOLE

    asyncio.run(main())


def test_small_bodies_of_iterators(path: str) -> None:
    async def main() -> None:
        async with AsyncClient(path) as client:
            for count in (0, 1, 3):
                answer = await client.fetch_resource("store", "x", method="POST", body=async_pieces(count))
                assert answer.json()["size"] == count * len(PIECE)

    asyncio.run(main())
    with Client(path) as client:
        for count in (0, 1, 3):
            answer = client.fetch_resource("store", "x", method="POST", body=pieces(count))
            assert answer.json()["size"] == count * len(PIECE)


class Broken(Exception):
    pass


@pytest.mark.parametrize("count", [0, 8])
def test_an_iterator_that_raises_ends_the_fetch(path: str, count: int) -> None:
    """A body that is taken for complete."""

    def breaking() -> Iterator[bytes]:
        yield from pieces(count)
        raise Broken

    async def async_breaking() -> AsyncIterator[bytes]:
        async for piece in async_pieces(count):
            yield piece
        raise Broken

    async def main() -> None:
        async with AsyncClient(path) as client:
            with pytest.raises(Broken):
                await client.fetch_resource("store", "x", method="POST", body=async_breaking())

    asyncio.run(main())
    with Client(path) as client, pytest.raises(Broken):
        client.fetch_resource("store", "x", method="POST", body=breaking())


def test_errors_name_the_alternative(path: str) -> None:
    with Client(path) as client:
        for body, message in (
            (async_pieces(1), "pass it to an AsyncClient, or pass a generator"),
            ({"a": 1}, "json= takes what becomes JSON, data= a form"),
            (5, "an iterable of bytes"),
            (iter(["text"]), "a piece of a body is str: yield bytes"),
        ):
            with pytest.raises(TypeError, match=message):
                client.fetch_resource("store", "x", method="POST", body=body)  # type: ignore[arg-type]


def test_no_task_or_descriptor_is_left_of_a_fetch_that_fails(path: str) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield PIECE
            await asyncio.sleep(0.001)

    async def main() -> None:
        async with AsyncClient(path) as client:
            with pytest.raises(TimeoutError):
                await client.fetch_resource("store", "x", method="POST", body=endless(), timeout=0.5)
            for _ in range(100):
                others = asyncio.all_tasks() - {asyncio.current_task()}
                if not [task for task in others if "_pump_async" in repr(task)]:
                    return
                await asyncio.sleep(0.05)
            raise AssertionError(others)

    asyncio.run(main())
