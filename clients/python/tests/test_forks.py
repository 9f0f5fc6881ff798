"""A forked child has its parent's socket: who writes there speaks for the parent, who reads takes its answers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
from typing import Any, Callable

import pytest
from double import Double, Peer
from harness.playground import Playground
from harness.sidecar import Sidecar
from loop import in_loop
from test_streams import pattern

import postern_auth
from postern_auth import AsyncClient, Client


def in_child(work: Callable[[], object]) -> object:
    """Runs it in a forked child; 0 when it returned, within ten seconds."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            threading.Timer(10, os._exit, [9]).start()
            work()
            status = 0
        except BaseException as error:
            os.write(2, repr(error).encode())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def expect_lost(work: Callable[[], object]) -> None:
    with pytest.raises(postern_auth.ConnectionLost, match="forked"):
        work()


def test_what_is_the_parents_is_refused_at_once(client: Client) -> None:
    """A child that waits for an answer would wait for ever, or read one that is its parent's."""
    call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=500"}, timeout=100)
    stream = client.stream_resource("open", "bytes/3000000", timeout=100)
    events = client.events("sessionEnded")
    begun = stream.read(10)

    def child() -> None:
        expect_lost(call.result)
        call.cancel()
        expect_lost(lambda: stream.read(10))
        expect_lost(lambda: stream.result)
        stream.close()
        expect_lost(lambda: events.get(100))
        events.close()
        assert client.get_info(timeout=5).name == "postern"

    assert in_child(child) == 0
    # The parent has lost nothing.
    assert call.result()["status"] == 200
    assert begun + stream.read() == pattern(3_000_000)
    events.close()


@pytest.mark.parametrize("end", ["close", "forget"])
def test_the_ends_of_a_child(client: Client, end: str) -> None:
    """Neither closing nor collecting may wait for a lock that a thread of the parent held."""
    events, stream = client.events("sessionEnded"), client.stream_resource("open", "slow?ms=300")
    for lock in (client._dispatch._lock, client._interest, client._here.connecting, events._changed, stream._changed):
        stack = contextlib.ExitStack()
        holding, done = threading.Event(), threading.Event()

        def hold(lock: Any = lock, stack: Any = stack, holding: Any = holding, done: Any = done) -> None:
            with stack:
                stack.enter_context(lock)
                holding.set()
                done.wait(20)

        holder = threading.Thread(target=hold)
        holder.start()
        holding.wait(10)

        def child() -> None:
            nonlocal client, events, stream
            if end == "close":
                stream.close()
                events.close()
                client.close()
            else:
                del events, stream
                del client
                gc.collect()

        status = in_child(child)
        done.set()
        holder.join(10)
        assert status == 0
    assert client.get_info().name == "postern"
    events.close()
    assert stream.result.status == 200


def test_threads_of_a_child_share_a_connection(double: Double) -> None:
    """Whoever came second threw away the first one's lock and connection."""
    with Client(double.path) as client:
        client.call("getInfo")

        def child() -> None:
            threads = [threading.Thread(target=client.call, args=["getInfo"]) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(10)

        for _ in range(5):
            before = double.connections
            assert in_child(child) == 0
            assert double.connections == before + 1


@in_loop
async def test_asynchronously_a_child_writes_nothing_to_its_parents_socket(double: Double) -> None:
    """What it sent had the id of a call of its parent's, who took the answer to it for its own."""
    heard: list[dict[str, Any]] = []

    def script(peer: Peer) -> None:
        for message in peer.messages():
            heard.append(message)
            if "id" in message and message["method"] != "fetchResource":
                peer.answer(message, {"subscribed": ["event.sessionEnded"], "method": message["method"]})

    double.scripts = [script]
    async with AsyncClient(double.path, timeout=5) as client:
        events = await client.events("sessionEnded")
        stream = await client.stream_resource("r", "p")
        while len(heard) < 2:
            await asyncio.sleep(0.005)

        def child() -> None:
            async def leave() -> None:
                with pytest.raises(postern_auth.ConnectionLost, match="forked"):
                    await events.get(100)
                with pytest.raises(postern_auth.ConnectionLost, match="forked"):
                    await stream.read()
                await events.aclose()
                stream.close()
                client.cancel_request(2)
                await client.aclose()

            asyncio.events._set_running_loop(None)
            asyncio.run(leave())

        assert in_child(child) == 0
        assert (await client.call("createSession"))["method"] == "createSession"
        assert [message["method"] for message in heard] == ["subscribe", "fetchResource", "createSession"]
        await events.aclose()
        stream.close()


def test_an_asynchronous_client_that_was_used_before_the_fork(sidecar: Sidecar, playground: Playground) -> None:
    client = AsyncClient(sidecar.path, timeout=10)
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(client.get_info()).name == "postern"

    def child() -> None:
        async def use() -> None:
            assert (await client.get_info()).name == "postern"
            await client.aclose()

        asyncio.run(use())

    assert in_child(child) == 0
    begun = time.monotonic()
    assert loop.run_until_complete(client.get_info()).name == "postern", "its loop still hears of its socket"
    assert time.monotonic() - begun < 5
    loop.run_until_complete(client.aclose())
    loop.close()
