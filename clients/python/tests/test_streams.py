"""Bodies that come in pieces: file-like and as asynchronous iterators, with back-pressure."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from double import Double, Peer
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from loop import in_loop

import postern_auth
from postern_auth import AsyncClient, Client
from postern_auth._flow import Flow
from postern_auth._limits import STREAM_HIGH


def pattern(length: int) -> bytes:
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def chunk(task: str, sequence: int, data: bytes) -> dict[str, Any]:
    params = {"task": task, "sequence": sequence, "dataBase64": base64.b64encode(data).decode()}
    return {"jsonrpc": "2.0", "method": "fetchResource.chunk", "params": params}


RESULT: dict[str, Any] = {
    "status": 200, "url": "u", "headers": {}, "attempts": 1, "tokenRefreshed": False, "advicesSatisfied": [],
    "timing": {"totalMs": 1, "queueMs": 0, "connectMs": 0, "firstByteMs": 0},
}  # fmt: skip


@pytest.mark.parametrize("path", ["bytes/0", "bytes/1", "bytes/300000", "bytes/3000000?chunked=true"])
def test_a_stream_is_a_file(client: Client, path: str) -> None:
    length = int(path.split("/")[1].partition("?")[0])
    with client.stream_resource("open", path) as stream:
        assert isinstance(stream, io.RawIOBase)
        assert stream.readable()
        copy = io.BytesIO()
        shutil.copyfileobj(stream, copy)
        assert stream.result.status == 200
        assert stream.result.body is None
    assert copy.getvalue() == pattern(length)


def test_it_can_be_read_in_every_way(client: Client) -> None:
    with client.stream_resource("orders", "bytes/100000") as stream:
        assert stream.read(0) == b""
        assert stream.read(3) == pattern(3)
        assert io.BufferedReader(stream).read(5) == pattern(8)[3:]
    with client.stream_resource("open", "text?charset=utf-8") as stream:
        assert stream.readlines()
        assert stream.read() == b"", "the end stays the end"


def test_the_result_drops_what_was_not_read(client: Client) -> None:
    with client.stream_resource("open", "status/404") as stream:
        assert stream.result.status == 404


def test_calls_go_on_beside_a_stream_nobody_reads(client: Client) -> None:
    with client.stream_resource("open", "bytes/100000000") as stream:
        assert stream.read(1)
        eventually(lambda: client.get_task(stream.task).state == "suspended", 20)
        assert client.get_info().name == "postern"
        held = client.get_task(stream.task).received_bytes
        assert held < 60_000_000, "the server was not slowed down"
        total = 1
        while data := stream.read(1 << 16):
            total += len(data)
        assert total == 100_000_000
        assert stream.result.ok


def test_closing_early_ends_the_task(client: Client) -> None:
    stream = client.stream_resource("open", "bytes/1000000000", task="left-early")
    assert stream.read(10)
    stream.close()
    assert stream.closed
    eventually(lambda: client.get_task("left-early").state == "cancelled")
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)


def test_a_stream_nobody_closes_ends_with_its_object(client: Client) -> None:
    stream = client.stream_resource("open", "bytes/1000000000", task="dropped")
    assert stream.read(10)
    del stream
    eventually(lambda: client.get_task("dropped").state == "cancelled")


def test_errors_come_while_reading(client: Client, playground: Playground, start: Callable[..., Sidecar]) -> None:
    with pytest.raises(postern_auth.RequestError), client.stream_resource("nowhere", "x") as stream:
        stream.read()
    sidecar = start({"resources": {"broken": {"baseUrl": playground.misbehaving + "/", "auth": "none"}}})
    with (
        Client(sidecar.path) as own,
        own.stream_resource("broken", "closeBody") as stream,
        pytest.raises(postern_auth.FetchError),
    ):
        stream.read()


def test_a_sidecar_that_dies_ends_the_stream(start: Callable[..., Sidecar]) -> None:
    sidecar = start()
    with Client(sidecar.path) as own, own.stream_resource("open", "bytes/1000000000") as stream:
        assert stream.read(10)
        sidecar.process.kill()
        with pytest.raises(postern_auth.ConnectionLost):
            stream.read()
        with pytest.raises(postern_auth.ConnectionLost):
            assert stream.result


def test_a_stream_that_stalls(client: Client) -> None:
    with client.stream_resource("open", "slow?ms=20000", timeout=0.3) as stream:
        begun = time.monotonic()
        with pytest.raises(postern_auth.DeadlineExceeded):
            stream.read()
        assert time.monotonic() - begun < 5


def test_the_whole_may_have_a_bound(client: Client) -> None:
    with (
        client.stream_resource("open", "slow?ms=20000", total_timeout=0.2) as stream,
        pytest.raises(postern_auth.DeadlineExceeded) as raised,
    ):
        stream.read()
    assert raised.value.code == -32022


@pytest.mark.parametrize(
    "bad",
    [
        lambda task: chunk(task, 1, b"x"),
        lambda task: {"method": "fetchResource.chunk", "params": {"task": task, "sequence": 0, "dataBase64": 7}},
        lambda task: {"method": "fetchResource.chunk", "params": {"task": task, "sequence": 0, "dataBase64": "?"}},
    ],
)
def test_pieces_that_are_none(double: Double, bad: Callable[[str], dict[str, Any]]) -> None:
    def script(peer: Peer) -> None:
        message = peer.receive()
        peer.send(bad(message["params"]["task"]))
        peer.receive()

    double.scripts = [script]
    with (
        Client(double.path, timeout=5) as client,
        client.stream_resource("r", "p") as stream,
        pytest.raises(postern_auth.ProtocolViolation),
    ):
        stream.read()


def test_a_sidecar_that_does_not_heed_suspension_fills_no_memory(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postern_auth._streams.Flow", lambda: Flow(high=1 << 16, low=1 << 15, most=1 << 20))

    def script(peer: Peer) -> None:
        task = peer.receive()["params"]["task"]
        for sequence in range(1000):
            peer.send(chunk(task, sequence, b"x" * 40_000))
        peer.receive()

    double.scripts = [script]
    with Client(double.path, timeout=10) as client, client.stream_resource("r", "p") as stream:
        eventually(lambda: stream._error is not None)
        with pytest.raises(postern_auth.ProtocolViolation, match="suspended"):
            stream.read()


def test_flow_asks_one_thing_at_a_time() -> None:
    flow = Flow(high=100, low=20)
    assert flow.arrived(99) is None
    assert flow.arrived(1) == "suspendTask"
    assert flow.arrived(50) is None and flow.taken(140) is None, "nothing more before the answer"
    assert flow.answered() == "resumeTask"
    assert flow.arrived(200) is None
    assert flow.answered() == "suspendTask"
    assert flow.answered() is None
    assert flow.taken(210) == "resumeTask"


def test_what_is_held_is_bounded_with_the_real_one(sidecar: Sidecar) -> None:
    """Reads a piece now and then; suspensions must keep what is held near the mark."""

    def most_held() -> int:
        most = 0
        with Client(sidecar.path) as client, client.stream_resource("open", "bytes/20000000") as stream:
            count = 0
            while stream.read(1 << 16):
                count += 1
                most = max(most, stream._flow.buffered)
                if count % 50 == 0:
                    threading.Event().wait(0.01)
        return most

    # The thread that asks for suspension may be stopped while another one reads on; not again and again.
    assert any(most_held() < 8 * STREAM_HIGH for _ in range(3))


@in_loop
async def test_an_asynchronous_stream(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:
        for length in (0, 1, 3_000_000):
            async with await client.stream_resource("open", f"bytes/{length}") as stream:
                pieces = [piece async for piece in stream]
                assert b"".join(pieces) == pattern(length)
                assert (await stream.result()).status == 200
        async with await client.stream_resource("open", "bytes/1000") as stream:
            assert await stream.read(3) == pattern(3)
            assert await stream.read() == pattern(1000)[3:]
            assert await stream.read() == b""
        async with await client.stream_resource("open", "status/404") as stream:
            assert (await stream.result()).status == 404


@in_loop
async def test_asynchronous_back_pressure_and_early_end(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:
        stream = await client.stream_resource("open", "bytes/30000000")
        assert await stream.read(1)
        for _ in range(2000):
            if (await client.get_task(stream.task)).state == "suspended":
                break
            await asyncio.sleep(0.005)
        assert (await client.get_task(stream.task)).received_bytes < 10_000_000
        total = 1
        async for piece in stream:
            total += len(piece)
        assert total == 30_000_000
        async with await client.stream_resource("open", "bytes/30000000") as stream:
            async for _ in stream:
                break
        assert json.dumps((await client.get_task(stream.task)).state) in ('"cancelled"', '"running"')
        with pytest.raises(ValueError, match="closed"):
            await stream.read()


@in_loop
async def test_an_asynchronous_stream_nobody_closes_ends_with_its_object(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:
        stream = await client.stream_resource("open", "bytes/1000000000", task="dropped-async")
        assert await stream.read(10)
        del stream
        while (await client.get_task("dropped-async")).state != "cancelled":
            await asyncio.sleep(0.005)


@in_loop
async def test_asynchronous_streams_that_fail(start: Callable[..., Sidecar], directory: Path) -> None:
    sidecar = start()
    async with AsyncClient(sidecar.path) as client:
        with pytest.raises(postern_auth.RequestError):
            await (await client.stream_resource("nowhere", "x")).read()
        with pytest.raises(postern_auth.DeadlineExceeded):
            await (await client.stream_resource("open", "slow?ms=20000", timeout=0.2)).read()
        stream = await client.stream_resource("open", "bytes/30000000")
        assert await stream.read(1)
        sidecar.process.kill()
        with pytest.raises(postern_auth.ConnectionLost):
            await stream.read()
