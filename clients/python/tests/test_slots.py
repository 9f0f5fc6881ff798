"""Many callers: no more calls are under way than the sidecar takes; the others wait, a delegate's own do not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from double import Double, Peer
from harness.sidecar import Sidecar
from harness.waiting import eventually
from loop import connection_of, in_loop
from test_streams import RESULT, chunk

import postern_auth
from postern_auth import AsyncClient, Client, Limits
from postern_auth._flow import Flow
from postern_auth._limits import Deadline
from postern_auth._slots import AsyncSlots, Slots


def fetch(client: Client) -> Any:
    return client.fetch_resource("open", "slow?ms=50").status


def at_once(count: int, work: Callable[[], Any]) -> list[Any]:
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except postern_auth.PosternError as error:
            results.append(error.reason)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_more_threads_than_places(sidecar: Sidecar) -> None:
    """The sidecar refuses more than 128 calls of a connection: who comes later must wait here."""
    with Client(sidecar.path) as client:
        assert at_once(200, lambda: fetch(client)) == [200] * 200
        assert client._here.connection is not None and client._here.connection.slots.is_unused


@in_loop
async def test_more_tasks_than_places(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.path) as client:
        answers = await asyncio.gather(*(client.fetch_resource("open", "slow?ms=20") for _ in range(600)))
        assert {answer.status for answer in answers} == {200}
        assert connection_of(client).slots.is_unused


def silent_until(release: threading.Event) -> Callable[[Peer], None]:
    """Answers nothing before `release`, then everything; urgent calls and cancelled ones at once."""

    def script(peer: Peer) -> None:
        held: list[dict[str, Any]] = []

        def drain() -> None:
            release.wait(20)
            for message in list(held):
                peer.answer(message, {})

        threading.Thread(target=drain, daemon=True).start()
        for message in peer.messages():
            if message["method"] == "getTask":
                peer.answer(message, {"urgent": True})
            elif release.is_set() and "id" in message:
                peer.answer(message, {})
            elif "id" in message:
                held.append(message)

    return script


def test_who_waits_is_bounded_punctual_and_overtaken_by_what_is_urgent(double: Double) -> None:
    release = threading.Event()
    double.scripts = [silent_until(release)]
    with Client(double.path, limits=Limits(in_flight=2, queued=1)) as client:
        first = [client.start("health") for _ in range(2)]
        with pytest.raises(postern_auth.DeadlineExceeded) as late:
            client.call("health", timeout=0.05)
        assert late.value.outcome == "not_sent"
        waiting = threading.Thread(target=lambda: client.call("health", timeout=10))
        waiting.start()
        assert client._here.connection is not None
        slots = client._here.connection.slots
        eventually(lambda: len(slots._waiting) == 1)
        with pytest.raises(postern_auth.Unavailable) as refused:
            client.call("health")
        assert (refused.value.reason, refused.value.outcome, refused.value.retryable) == (
            "overloaded",
            "not_sent",
            True,
        )
        assert client.call("getTask", timeout=5) == {"urgent": True}
        release.set()
        assert [call.result() for call in first] == [{}, {}]
        waiting.join(10)


@in_loop
async def test_asynchronous_ones_wait_alike(double: Double) -> None:
    release = threading.Event()
    double.scripts = [silent_until(release)]
    async with AsyncClient(double.path, limits=Limits(in_flight=1, queued=1)) as client:
        first = asyncio.ensure_future(client.call("health"))
        while connection_of(client) is None or not connection_of(client)._pending:
            await asyncio.sleep(0.005)
        with pytest.raises(postern_auth.DeadlineExceeded):
            await client.call("health", timeout=0.05)
        left = asyncio.ensure_future(client.call("health"))
        while not connection_of(client).slots._waiting:
            await asyncio.sleep(0.005)
        with pytest.raises(postern_auth.Unavailable):
            await client.call("health")
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        assert await client.call("getTask", timeout=5) == {"urgent": True}
        release.set()
        assert await first == {}
        assert connection_of(client).slots.is_unused


def test_who_waits_goes_on_over_a_lost_connection(double: Double) -> None:
    def one(peer: Peer) -> None:
        peer.receive()
        time.sleep(0.1)

    def obliging(peer: Peer) -> None:
        for message in peer.messages():
            if "id" in message:
                peer.answer(message, {})

    double.scripts = [one, obliging]
    with Client(double.path, limits=Limits(in_flight=1)) as client:
        assert at_once(3, lambda: client.call("health", timeout=10)) == [{}] * 3


def test_a_delegate_calls_while_all_places_wait_for_it(double: Double) -> None:
    """What a delegate calls, of whatever name, must not wait behind the fetches that wait for the delegate."""

    def script(peer: Peer) -> None:
        fetches: list[dict[str, Any]] = []
        for message in peer.messages():
            if message.get("method") == "fetchResource":
                fetches.append(message)
                if len(fetches) == 2:
                    params = {"task": "t", "session": "s", "advices": [], "continuation": "c"}
                    peer.send(
                        {"jsonrpc": "2.0", "id": 1, "method": "delegate.onPolicyAdviceReceived", "params": params}
                    )
            elif "method" in message:
                peer.answer(message, {"registered": []})
            else:
                for one in fetches:
                    peer.answer(one, {**RESULT, "task": "t"})

    double.scripts = [script]
    with Client(double.path, timeout=10, limits=Limits(in_flight=2)) as client:
        client.register_delegate(on_policy_advice_received=lambda _: bool(client.call("health", timeout=5)))
        assert at_once(2, lambda: client.fetch_resource("r", "p").status) == [200, 200]


def test_more_streams_than_one_connection_takes(sidecar: Sidecar) -> None:
    """They share connections of their own: neither they nor other calls wait for them."""
    with Client(sidecar.path) as client:
        streams = [client.stream_resource("open", "slow?ms=20000") for _ in range(140)]
        assert len(client._here.streaming) == 3
        assert client.get_info(timeout=5).name == "postern"
        with client.stream_resource("open", "bytes/3000000") as large:
            assert len(large.readall()) == 3_000_000
        for stream in streams:
            stream.close()
        eventually(lambda: all(one.slots.is_unused for one in client._here.streaming))
        with client.stream_resource("open", "bytes/10") as last:
            assert len(last.readall()) == 10
        assert len(client._here.streaming) == 1


def steering(rejections: dict[str, list[str]], heard: list[str]) -> Callable[[Peer], None]:
    """A stream of 40 pieces; suspending and resuming is refused as `rejections` says, in order."""

    def script(peer: Peer) -> None:
        first = peer.receive()
        task = first["params"]["task"]
        peer.send({"jsonrpc": "2.0", "method": "fetchResource.head", "params": {"task": task, **RESULT}})
        for sequence in range(4):
            peer.send(chunk(task, sequence, b"x" * 30_000))
        for message in peer.messages():
            if "id" not in message:
                continue
            heard.append(message["method"])
            reasons = rejections.get(message["method"], [])
            if reasons:
                data = {"reason": reasons.pop(0)}
                peer.send(
                    {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32009, "message": "m", "data": data}}
                )
                continue
            peer.answer(message, {})
            if message["method"] == "resumeTask":
                peer.answer(first, RESULT)

    return script


def small_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_streams", "_async_streams"):
        monkeypatch.setattr(f"postern_auth.{name}.Flow", lambda: Flow(high=1 << 16, low=1 << 15, most=1 << 20))


def test_a_refused_resumption_is_asked_for_again(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    small_flow(monkeypatch)
    heard: list[str] = []
    double.scripts = [steering({"resumeTask": ["overloaded", "overloaded"]}, heard)]
    with Client(double.path, timeout=5) as client, client.stream_resource("r", "p") as stream:
        eventually(lambda: heard == ["suspendTask"])
        assert len(stream.readall()) == 120_000
    assert heard == ["suspendTask", *["resumeTask"] * 3]


def test_a_resumption_that_is_forbidden_ends_the_stream(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    small_flow(monkeypatch)
    heard: list[str] = []
    double.scripts = [steering({"resumeTask": ["peer_forbidden"]}, heard)]
    with Client(double.path, timeout=5) as client, client.stream_resource("r", "p") as stream:
        eventually(lambda: heard == ["suspendTask"])
        with pytest.raises(postern_auth.ProtocolViolation, match="peer_forbidden"):
            stream.readall()


@in_loop
async def test_asynchronous_refusals(double: Double) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_flow(monkeypatch)
        heard: list[str] = []
        forbidden = steering({"resumeTask": ["peer_forbidden"]}, heard)
        double.scripts = [steering({"resumeTask": ["overloaded"]}, heard), forbidden]
        for index in range(2):
            async with AsyncClient(double.path, timeout=5) as client:
                async with await client.stream_resource("r", "p") as stream:
                    while "suspendTask" not in heard:
                        await asyncio.sleep(0.01)
                    if index == 0:
                        assert len(await stream.read()) == 120_000
                        heard.clear()
                    else:
                        with pytest.raises(postern_auth.ProtocolViolation, match="peer_forbidden"):
                            await stream.read()


def test_flow_asks_again_for_what_was_refused() -> None:
    flow = Flow(high=100, low=20)
    assert flow.arrived(100) == "suspendTask"
    assert flow.answered(rejected=True) is None
    assert flow.arrived(99) is None
    assert flow.arrived(1) == "suspendTask"
    assert flow.answered() is None
    assert flow.taken(190) == "resumeTask"
    assert flow.answered(rejected=True) == "resumeTask"


def test_a_stream_waits_for_the_user_until_its_head(double: Double) -> None:
    """A delegate may have the user do something: the client's time must not end the stream meanwhile."""

    def script(peer: Peer) -> None:
        for message in peer.messages():
            if message["method"] == "fetchResource":
                task = message["params"]["task"]
                head = {"jsonrpc": "2.0", "method": "fetchResource.head", "params": {"task": task, **RESULT}}
                # All at once: from the head on the client's time counts again. Later, while this thread answers others.
                parts = [head, chunk(task, 0, b"x"), {"jsonrpc": "2.0", "id": message["id"], "result": RESULT}]
                data = b"".join(peer.encoded(part) for part in parts)
                threading.Timer(1.5, peer.socket.sendall, [data]).start()
            elif "id" in message:
                peer.answer(message, {"registered": []})

    double.scripts = [script]
    with Client(double.path, timeout=0.5) as client:
        with client.stream_resource("r", "p") as stream, pytest.raises(postern_auth.DeadlineExceeded):
            assert stream.head
        client.register_delegate(on_policy_advice_received=lambda _: True, timeout=20)
        with client.stream_resource("r", "p") as stream:
            assert stream.head.status == 200
        with client.stream_resource("r", "p") as stream:
            assert stream.read() == b"x", "also without asking for the head"


def test_a_stream_that_is_begun_again_begins_anew(double: Double) -> None:
    """What an attempt on a connection that was lost at once left behind must not be the next one's; one is sent."""
    heard: list[dict[str, Any]] = []

    def script(peer: Peer) -> None:
        for message in peer.messages():
            heard.append(message)
            if message["method"] == "fetchResource":
                peer.send(chunk(message["params"]["task"], 0, b"x"))
                peer.answer(message, RESULT)

    double.scripts = [script]
    real, failures = postern_auth._connection.Connection._write, [1]

    def breaking(self: Any, line: bytes, *more: Any) -> None:
        if failures:
            failures.clear()
            self.close(postern_auth.ConnectionLost("for the test", data={"outcome": "not_sent"}))
            raise postern_auth.ConnectionLost("for the test", data={"outcome": "not_sent"})
        real(self, line, *more)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(postern_auth._connection.Connection, "_write", breaking)
        with Client(double.path, timeout=5) as client, client.stream_resource("r", "p") as stream:
            assert stream.read() == b"x"
            time.sleep(0.2)
            assert len(heard) == 1


@pytest.mark.parametrize("call", ["client.call('getInfo')", "client.stream_resource('r', 'p').read()"])
def test_the_interpreter_ends_after_a_call_that_was_late(double: Double, call: str) -> None:
    """The thread that reads may be ended while it holds a lock that the collector then waits for."""
    double.scripts = [lambda peer: list(peer.messages())]
    program = f"""
import sys
from postern_auth import Client, DeadlineExceeded
client = Client(timeout=0.05)
try:
    {call}
except DeadlineExceeded:
    sys.exit(3)
"""
    environment = {
        **os.environ,
        "POSTERN_SOCKET": double.path,
        "PYTHONPATH": str(Path(postern_auth.__file__).parents[1]),
    }
    for _ in range(5):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=15, check=False)
        assert (done.returncode, done.stderr) == (3, "")


def test_who_comes_after_the_end_does_not_wait() -> None:
    """A place is asked for right after the connection broke: nobody gives one back any more."""
    slots = Slots(1, 10)
    slots.take(Deadline(5))
    slots.end()
    slots.take(Deadline(5))


@in_loop
async def test_who_comes_after_the_end_does_not_wait_asynchronously() -> None:
    slots = AsyncSlots(1, 10)
    await slots.take(Deadline(5))
    slots.end()
    await asyncio.wait_for(slots.take(Deadline(5)), 5)
