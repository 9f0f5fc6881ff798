"""The asynchronous client: the same promises, cancellation, many tasks."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from double import Double, Peer, obliging
from harness.sidecar import Sidecar
from loop import connection_of, in_loop
from test_connection import PARAMS, half, leaving, says, silent

import postern_auth
from postern_auth import AsyncClient, Limits


@in_loop
async def test_results_and_errors_are_those_of_the_other_client(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:
        assert (await client.get_info()).pid == sidecar.process.pid
        assert (await client.fetch_resource("orders", "echo", method="POST", body=b"\x00")).ok
        with pytest.raises(postern_auth.RequestError) as raised:
            await client.fetch_resource("nowhere", "x")
        assert raised.value.path == "/resource"
        deep: Any = 1
        for _ in range(200):
            deep = [deep]
        with pytest.raises(postern_auth.RequestError, match="nested"):
            await client.call("getInfo", {"x": deep})


@in_loop
async def test_many_tasks_share_a_connection(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:

        async def ask(number: int) -> bool:
            echo = (await client.fetch_resource("open", f"echo?n={number}")).json()
            return bool(echo["query"] == f"n={number}")

        for _ in range(4):
            assert all(await asyncio.gather(*(ask(number) for number in range(100))))


@in_loop
async def test_cancelling_the_task_cancels_the_call(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:
        call = client.fetch_resource("open", "slow?ms=20000", task="cancelled-async")
        task = asyncio.ensure_future(call)
        while "cancelled-async" not in [one.task async for one in client.iter_tasks(limit=1000)]:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while (await client.get_task("cancelled-async")).state != "cancelled":
            await asyncio.sleep(0.005)


@in_loop
async def test_time_runs_out_there_and_here(sidecar: Sidecar, directory: Path) -> None:
    async with AsyncClient(sidecar.path) as client:
        for _ in range(5):  # the machine may pause for longer than the client waits for the sidecar's word
            with pytest.raises(postern_auth.DeadlineExceeded) as raised:
                await client.fetch_resource("open", "slow?ms=20000", timeout=0.2)
            if raised.value.code == -32022:
                break
        assert raised.value.code == -32022
    double = Double(directory / "silent.sock", silent)
    async with AsyncClient(double.path) as client:
        with pytest.raises(postern_auth.DeadlineExceeded) as raised:
            await client.call("getInfo", timeout=0.2)
        assert raised.value.outcome == "unknown"
    double.stop()


@in_loop
async def test_each_call_has_its_own_time(directory: Path) -> None:
    """One timer looks after all of them: the shortest time must count, whenever its call came."""
    double = Double(directory / "silent.sock", silent)
    async with AsyncClient(double.path) as client:
        begun = time.monotonic()

        async def ended(timeout: float) -> float:
            with pytest.raises(postern_auth.DeadlineExceeded, match=f"within {timeout:g} s"):
                await client.call("getInfo", timeout=timeout)
            return time.monotonic() - begun

        patient = asyncio.ensure_future(client.call("getInfo", timeout=60))
        long, short, again = await asyncio.gather(ended(0.6), ended(0.1), ended(0.3))
        # In no order: after a pause of the machine all may be over at once.
        assert 0.1 <= short < 5 and 0.3 <= again < 5 and 0.6 <= long < 5
        assert not patient.done()
        patient.cancel()
    double.stop()


@in_loop
async def test_the_time_of_a_call_is_not_that_of_a_stream(sidecar: Sidecar) -> None:
    """A stream may take longer than its time between two pieces, though a call's time runs out meanwhile."""
    async with AsyncClient(sidecar.path) as client:
        # Longer than a pause of the machine, and shorter than the calls together.
        async with await client.stream_resource("open", "bytes/3000000", timeout=4) as stream:
            size = 0
            for _ in range(3):
                with pytest.raises(postern_auth.DeadlineExceeded):
                    await client.fetch_resource("open", "slow?ms=20000", timeout=1.5)
            async for piece in stream:
                size += len(piece)
        assert size == 3_000_000


@pytest.mark.parametrize("script", [leaving, half, says(b"garbage\n"), says(b"x" * 300_000), says(b'{"id":1}\n')])
def test_what_is_no_answer_ends_the_call(double: Double, script: Callable[[Peer], None]) -> None:
    double.scripts = [script, obliging]

    async def test() -> None:
        async with AsyncClient(double.path, timeout=5, limits=Limits(answer_bytes=200_000)) as client:
            with pytest.raises(postern_auth.ConnectionLost) as raised:
                await client.call("fetchResource", {**PARAMS, "method": "POST"})
            assert raised.value.outcome == "unknown"
            assert (await client.call("health"))["method"] == "health"

    in_loop(test)()


@pytest.mark.parametrize(("method", "repeated"), [("GET", True), ("POST", False)])
def test_repetition(double: Double, method: str, repeated: bool) -> None:
    double.scripts = [leaving, obliging]

    async def test() -> None:
        async with AsyncClient(double.path) as client:
            call = client.call("fetchResource", {**PARAMS, "method": method})
            if repeated:
                assert (await call)["method"] == "fetchResource"
            else:
                with pytest.raises(postern_auth.ConnectionLost):
                    await call

    in_loop(test)()
    assert double.connections == (2 if repeated else 1)


@in_loop
async def test_no_sidecar_is_told_at_once(directory: Path) -> None:
    client = AsyncClient(directory / "none.sock")
    with pytest.raises(postern_auth.ConnectionFailed, match=r"none\.sock"):
        await client.get_info()


@in_loop
async def test_a_sidecar_that_restarts_is_waited_for(double: Double) -> None:
    async with AsyncClient(double.path) as client:
        assert await client.call("getInfo")
        double.stop()
        asyncio.get_running_loop().call_later(0.2, double.listen)
        assert (await client.call("createSession", timeout=10))["method"] == "createSession"


@in_loop
async def test_a_sidecar_that_drains(double: Double) -> None:
    def drain(peer: Peer) -> None:
        message = peer.receive()
        error = {"code": -32021, "message": "draining", "data": {"outcome": "not_sent"}}
        peer.send({"id": message["id"], "error": error})
        peer.receive()

    double.scripts = [drain, obliging]
    async with AsyncClient(double.path) as client:
        assert (await client.call("createSession"))["method"] == "createSession"


@in_loop
async def test_a_sidecar_that_does_not_read(double: Double) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def script(_: Peer) -> None:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(20)

    double.scripts = [script]
    async with AsyncClient(double.path, timeout=1) as client:
        begun = time.monotonic()
        large = {"grant": "x" * (4 << 20)}
        failed = await asyncio.gather(*(client.call("createSession", large) for _ in range(3)), return_exceptions=True)
        assert time.monotonic() - begun < 5
        assert [type(one) for one in failed] == [postern_auth.DeadlineExceeded] * 3
        outcomes = sorted(str(one.outcome) for one in failed if isinstance(one, postern_auth.PosternError))
        assert outcomes == ["not_sent", "not_sent", "unknown"], "what waited for its turn was never sent"
        release.set()


@in_loop
async def test_errors_without_an_id_find_their_caller(start: Callable[..., Sidecar]) -> None:
    sidecar = start({"limits": {"messageBytes": "64KiB"}})
    async with AsyncClient(sidecar.path) as client:
        other = asyncio.ensure_future(client.fetch_resource("open", "slow?ms=200"))
        await asyncio.sleep(0)
        with pytest.raises(postern_auth.RequestError) as raised:
            await client.fetch_resource("open", "echo", method="POST", body="x" * 100_000)
        assert raised.value.reason == "message_too_large"
        assert (await other).ok


def test_one_client_may_serve_several_loops(sidecar: Sidecar) -> None:
    client = AsyncClient(sidecar.path)

    async def ask() -> str:
        return (await client.get_info()).name

    assert [asyncio.run(ask()) for _ in range(3)] == ["postern"] * 3


@in_loop
async def test_a_closed_client_says_so(sidecar: Sidecar) -> None:
    client = AsyncClient(sidecar.path)
    call = asyncio.ensure_future(client.fetch_resource("open", "slow?ms=20000"))
    while connection_of(client) is None or not connection_of(client)._pending:
        await asyncio.sleep(0.005)
    await client.aclose()
    with pytest.raises(postern_auth.ClientClosed):
        await call
    with pytest.raises(postern_auth.ClientClosed):
        await client.get_info()
    assert json.dumps(repr(client))
