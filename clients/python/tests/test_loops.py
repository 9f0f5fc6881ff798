"""One asynchronous client in several event loops at once, as in a server with a loop for each thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from double import Double, Peer
from harness.sidecar import Sidecar
from harness.waiting import eventually

import postern_auth
from postern_auth import AsyncClient


def in_loops(count: int, work: Callable[[int], Coroutine[Any, Any, Any]]) -> list[Any]:
    """What each gives, in a loop of its own, all at once."""
    together = threading.Barrier(count)

    def run(number: int) -> Any:
        together.wait(10)
        return asyncio.run(asyncio.wait_for(work(number), 60))

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_each_loop_has_its_own_connection_and_its_own_answers(double: Double) -> None:
    """They took each other's connections: a socket for every turn, futures of another loop, two writers."""

    def script(peer: Peer) -> None:
        for message in peer.messages():
            if "id" in message:
                peer.answer(message, message["params"]["n"])

    double.scripts = [script]
    client = AsyncClient(double.path, timeout=30)

    async def work(number: int) -> None:
        for turn in range(200):
            expected = [f"{number} {turn} {call}" for call in range(3)]
            assert await asyncio.gather(*(client.call("createSession", {"n": one}) for one in expected)) == expected

    in_loops(4, work)
    assert double.connections == 4

    async def close() -> None:
        await client.aclose()

    asyncio.run(close())
    eventually(lambda: double.ended == 4)


def test_streams_in_several_loops(sidecar: Sidecar) -> None:
    client = AsyncClient(sidecar.path, timeout=30)

    async def work(number: int) -> int:
        size = 0
        for _ in range(10):
            async with await client.stream_resource("open", f"bytes/{100_000 + number}") as stream:
                size += len(await stream.read())
        return size

    assert in_loops(3, work) == [10 * (100_000 + number) for number in range(3)]


def test_events_come_once_in_the_loop_that_asked(double: Double) -> None:
    """Every connection of the client told every stream: in another thread, and as often as there were connections."""
    event = {"jsonrpc": "2.0", "method": "event.sessionEnded", "params": {"at": "2026-11-22T05:50:50Z", "session": "s"}}

    def script(peer: Peer) -> None:
        for message in peer.messages():
            if "id" in message:
                peer.answer(message, {"subscribed": message["params"].get("events", [])})
            if message["method"] == "getInfo":
                peer.send(event)

    double.scripts = [script]
    client = AsyncClient(double.path, timeout=30)
    ready = threading.Barrier(3)

    async def work(number: int) -> list[str]:
        heard: list[str] = []
        if number == 0:  # no events are asked for here
            await asyncio.to_thread(ready.wait, 10)
            for _ in range(5):
                await client.call("getInfo")
            await asyncio.to_thread(ready.wait, 30)
            return heard
        async with await client.events("sessionEnded") as events:
            await asyncio.to_thread(ready.wait, 10)
            await client.call("getInfo")
            # The first one comes, whenever that is; a second one would come at once.
            found = await events.get(timeout=10)
            while found is not None:
                heard.append(found.name)
                found = await events.get(timeout=0.5)
            await asyncio.to_thread(ready.wait, 30)
        return heard

    assert in_loops(3, work) == [[], ["event.sessionEnded"], ["event.sessionEnded"]]


def test_closing_ends_it_in_every_loop(double: Double) -> None:
    double.scripts = [lambda peer: list(peer.messages())]
    client = AsyncClient(double.path, timeout=30)

    async def work(number: int) -> str:
        if number == 0:
            while sum(len(one._pending) for one in client._connections()) < 2:
                await asyncio.sleep(0.005)
            await client.aclose()
            return "closed"
        try:
            await client.call("createSession")
        except postern_auth.ClientClosed as error:
            return str(error.outcome)
        return "answered"

    assert in_loops(3, work) == ["closed", "unknown", "unknown"]
