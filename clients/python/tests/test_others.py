"""Callers of one client share a connection: none gets what is another's, none pays for another's mistake."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from typing import Any, Callable

import pytest
from double import Double, Peer, obliging
from harness.sidecar import Sidecar
from harness.waiting import eventually
from loop import connection_of
from test_streams import RESULT, chunk, pattern

import postern_auth
from postern_auth import AsyncClient, Client, Limits


class Callers:
    """Many callers of one client, of either kind: each call is a future."""

    def __init__(self, path: str, is_async: bool, **named: Any) -> None:
        self.is_async = is_async
        self._pool = ThreadPoolExecutor(16)
        self._loop = asyncio.new_event_loop()
        self.client: Any = AsyncClient(path, **named) if is_async else Client(path, **named)
        if is_async:
            threading.Thread(target=self._loop.run_forever, daemon=True).start()

    @property
    def connection(self) -> Any:
        return connection_of(self.client) if self.is_async else self.client._here.connection

    @property
    def streaming(self) -> Any:
        [home] = self.client._homes.values() if self.is_async else [None]
        return self.client._here.streaming if home is None else home.streaming

    def call(self, method: str, params: Any = None, **named: Any) -> Future[Any]:
        return self._later(lambda: self.client.call(method, params, **named))

    def fetch(self, path: str, **named: Any) -> Future[Any]:
        return self._later(lambda: self.client.fetch_resource("open", path, **named))

    def stream(self, **named: Any) -> Any:
        """A stream that was begun."""
        return self._later(lambda: self.client.stream_resource(**named)).result(20)

    def read(self, stream: Any, size: int = -1) -> Future[Any]:
        return self._later(lambda: stream.read(size))

    def leave(self, stream: Any) -> None:
        if self.is_async:
            self._loop.call_soon_threadsafe(stream.close)
        else:
            stream.close()

    def _later(self, work: Callable[[], Any]) -> Future[Any]:
        if not self.is_async:
            return self._pool.submit(work)

        async def run() -> Any:
            return await work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop)

    def close(self) -> None:
        if self.is_async:
            asyncio.run_coroutine_threadsafe(self.client.aclose(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
        else:
            self.client.close()
        self._pool.shutdown()


@pytest.fixture(params=[False, True], ids=["blocking", "asyncio"])
def callers(request: pytest.FixtureRequest) -> Iterator[Callable[..., Callers]]:
    made: list[Callers] = []

    def make(path: str, **named: Any) -> Callers:
        made.append(Callers(path, request.param, **{"timeout": 20, **named}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Number(IntEnum):
    LARGE = 1 << 64


class Nested:
    def to_json(self) -> Any:
        return deep(200)


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ([1], TypeError),
        ({"meta": 5}, TypeError),
        ({"parameters": {"n": 1 << 63}}, postern_auth.RequestError),
        ({"parameters": {"n": -(1 << 63) - 1}}, postern_auth.RequestError),
        ({"parameters": {"n": Number.LARGE}}, postern_auth.RequestError),
        ({"parameters": {"a\0": 1}}, postern_auth.RequestError),
        ({"parameters": {"a": [{"b\0": 1}]}}, postern_auth.RequestError),
        ({"parameters": {1: 1, "1": 2}}, postern_auth.RequestError),
        ({"parameters": {"a": deep(200)}}, postern_auth.RequestError),
        ({"parameters": {"a": Nested()}}, postern_auth.RequestError),
        ({"parameters": {"a": [0] * 150_000}}, postern_auth.RequestError),
        ({"parameters": {"a": "\ud800"}}, ValueError),
        ({"parameters": {"a": float("nan")}}, ValueError),
    ],
    ids=lambda value: str(value)[:40],
)
def test_params_that_cannot_be_read_are_their_callers_alone(
    callers: Callable[..., Callers], sidecar: Sidecar, params: Any, kind: type[Exception]
) -> None:
    """The sidecar answers what it cannot parse without an id: that ended the calls of everybody on the connection."""
    own = callers(sidecar.path)
    others = [own.fetch("slow?ms=400", method=method) for method in ("GET", "POST")]
    eventually(lambda: own.connection is not None and len(own.connection._pending) == 2)
    connection = own.connection
    error = own.call("fetchResource", params).exception(20)
    assert isinstance(error, kind), error
    if isinstance(error, postern_auth.PosternError):
        assert error.outcome == "not_sent"
    assert [other.result(20).status for other in others] == [200, 200]
    assert own.connection is connection
    eventually(lambda: connection.slots.is_unused, what="the place that it took")


@pytest.mark.parametrize("value", [(1 << 63) - 1, -(1 << 63), True, 1e300, "a\0b", {"1": 1, 2: 2}])
def test_what_the_sidecar_can_read_is_sent(callers: Callable[..., Callers], sidecar: Sidecar, value: Any) -> None:
    own = callers(sidecar.path)
    assert own.fetch("echo", method="POST", parameters={"value": value}).result(20).status == 200


def test_several_that_are_too_large(callers: Callable[..., Callers], start: Callable[..., Sidecar]) -> None:
    """One refusal without an id was taken for all of them; the next one then ended the calls of everybody."""
    own = callers(start({"limits": {"messageBytes": "64KiB"}}).path)
    other = own.fetch("slow?ms=500", method="POST")
    eventually(lambda: own.connection is not None and own.connection._pending)
    large = [own.fetch("echo", method="POST", body="x" * 100_000) for _ in range(6)]
    assert {one.exception(20).reason for one in large} == {"message_too_large"}  # type: ignore[union-attr]
    assert other.result(20).status == 200


def test_a_refusal_of_what_was_given_up(double: Double, callers: Callable[..., Callers]) -> None:
    """Its caller is gone when the refusal comes, which has no id: the others stay."""
    too_large = {"code": -32007, "message": "m", "data": {"reason": "message_too_large", "limitBytes": 1000}}

    arrived = threading.Event()

    def script(peer: Peer) -> None:
        small = peer.receive()
        arrived.set()
        _, cancel = peer.receive(), peer.receive()
        assert cancel["method"] == "$/cancelRequest"
        peer.send({"jsonrpc": "2.0", "id": None, "error": too_large})
        peer.answer(small, "mine")
        obliging(peer)

    double.scripts = [script]
    own = callers(double.path)
    small = own.call("createSession", {"small": 1})
    assert arrived.wait(10)
    # What has no time left before it is sent is not sent, and not cancelled.
    assert isinstance(
        own.call("getInfo", {"large": "x" * 2000}, timeout=1).exception(20), postern_auth.DeadlineExceeded
    )
    assert small.result(20) == "mine"
    assert own.connection.slots.is_unused


@pytest.mark.parametrize(
    "identifier",
    [7, -1, 0, True, 1.0, "1", 1 << 70],
    ids=["later", "negative", "zero", "true", "float", "text", "huge"],
)
def test_an_answer_to_nothing_ends_the_connection(
    double: Double, callers: Callable[..., Callers], identifier: Any
) -> None:
    """Whose it is nobody knows: who waits must neither get it, nor wait for one that was sent under another id."""

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send({"jsonrpc": "2.0", "id": identifier, "result": "somebody else's"})
        for _ in peer.messages():
            pass

    double.scripts = [script, obliging]
    own = callers(double.path)
    error = own.call("createSession").exception(20)
    assert isinstance(error, postern_auth.ProtocolViolation)
    assert error.outcome == "unknown"
    assert own.call("health").result(20)["method"] == "health"


def test_a_second_answer_is_nobodys(double: Double, callers: Callable[..., Callers]) -> None:
    """Also when the first one's caller had given up: neither may reach the call that came next."""

    def script(peer: Peer) -> None:
        first = peer.receive()
        peer.answer(first, "first")
        second = peer.receive()
        peer.answer(first, "first, again")
        peer.answer(second, "second")
        for _ in peer.messages():
            pass

    double.scripts = [script, obliging]
    own = callers(double.path)
    assert own.call("createSession").result(20) == "first"
    assert isinstance(own.call("createSession").exception(20), postern_auth.ProtocolViolation)


def test_a_late_answer_is_nobodys_and_harmless(double: Double, callers: Callable[..., Callers]) -> None:
    """A call that was given up leaves an id: its answer must not be the next call's, nor end the connection."""

    def script(peer: Peer) -> None:
        late = peer.receive()
        assert peer.receive()["method"] == "$/cancelRequest"
        following = peer.receive()
        peer.answer(late, "late")
        peer.answer(following, "following")
        obliging(peer)

    double.scripts = [script]
    own = callers(double.path)
    # What has no time left before it is sent is not sent, and not cancelled.
    assert isinstance(own.call("getInfo", timeout=1).exception(20), postern_auth.DeadlineExceeded)
    assert own.call("createSession").result(20) == "following"
    assert own.call("health").result(20)["method"] == "health"
    assert (double.connections, own.connection._left) == (1, {})


def test_all_threads_that_wait_for_a_late_call_return(double: Double) -> None:
    """The first one cancelled the call; the others waited for ever for the response that it had given up."""
    double.scripts = [lambda peer: list(peer.messages())]
    with Client(double.path) as client:
        call = client.start("getInfo", timeout=0.05)
        late = 0

        def wait() -> None:
            nonlocal late
            with pytest.raises(postern_auth.DeadlineExceeded):
                call.result()
            late += 1

        threads = [threading.Thread(target=wait, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert late == 3
        wait()


# Streams


def test_two_streams_of_one_name(callers: Callable[..., Callers], sidecar: Sidecar) -> None:
    """The second is refused; the first went on without its pieces, and ended early as if that were its end."""
    own = callers(sidecar.path)
    first = own.stream(resource="open", path="bytes/3000000", task="same")
    begun = own.read(first, 100).result(20)
    second = own.stream(resource="open", path="bytes/10", task="same")
    error = own.read(second).exception(20)
    assert isinstance(error, postern_auth.RequestError) and error.path == "/task"
    assert begun + own.read(first).result(20) == pattern(3_000_000)


def test_pieces_that_are_still_on_their_way(double: Double, callers: Callable[..., Callers]) -> None:
    """A stream was left, and another one of its name begun: the first one's pieces were read as the second one's."""

    def script(peer: Peer) -> None:
        first = peer.receive()
        for message in peer.messages():
            if message["method"] == "fetchResource":
                peer.send(chunk(first["params"]["task"], 0, b"the first one's"))
                peer.answer(message, RESULT)

    def other(peer: Peer) -> None:
        peer.answer(peer.receive(), RESULT)
        for _ in peer.messages():
            pass

    double.scripts = [script, other]
    own = callers(double.path)
    first = own.stream(resource="r", path="p", task="same")
    own.leave(first)
    second = own.stream(resource="r", path="p", task="same")
    assert own.read(second).result(20) == b""


def refusing(peer: Peer, *before: Callable[[str], dict[str, Any]], outcome: str = "not_sent") -> None:
    message = peer.receive()
    for one in before:
        peer.send(one(message["params"]["task"]))
    data = {"reason": "shutting_down", "outcome": outcome}
    peer.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32021, "message": "m", "data": data}})
    for _ in peer.messages():
        pass


def streaming(peer: Peer) -> None:
    for message in peer.messages():
        if "id" in message:
            peer.send(chunk(message["params"]["task"], 0, b"whole"))
            peer.answer(message, RESULT)


def test_a_refused_stream_is_its_successors(double: Double, callers: Callable[..., Callers]) -> None:
    double.scripts = [refusing, refusing, streaming]
    own = callers(double.path)
    assert own.read(own.stream(resource="r", path="p", method="POST")).result(20) == b"whole"
    assert double.connections == 3


@pytest.mark.parametrize(
    "script",
    [
        lambda peer: refusing(peer, outcome="sent_no_reply"),
        lambda peer: refusing(peer, lambda task: chunk(task, 0, b"x")),
        lambda peer: refusing(peer, lambda task: {"method": "fetchResource.head", "params": {"task": task, **RESULT}}),
    ],
    ids=["was sent", "has begun", "has a head"],
)
def test_a_stream_that_may_have_been_sent_is_not(
    double: Double, callers: Callable[..., Callers], script: Callable[[Peer], None]
) -> None:
    """A sidecar that contradicts itself is not believed: a part of a response is there, and says that it was sent."""
    double.scripts = [script, streaming]
    own = callers(double.path)
    stream = own.stream(resource="r", path="p", method="POST")

    def read() -> bytes:
        data: bytes = own.read(stream, 100).result(20)
        return data + read() if data else data

    with pytest.raises(postern_auth.Unavailable):
        read()
    assert double.connections == 1


def test_a_refused_stream_that_was_left_is_not_begun_again(double: Double, callers: Callable[..., Callers]) -> None:
    """What its caller has given up must not be done afterwards."""
    release = threading.Event()

    def held(peer: Peer) -> None:
        message = peer.receive()
        release.wait(20)
        data = {"reason": "shutting_down", "outcome": "not_sent"}
        peer.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32021, "message": "m", "data": data}})
        for _ in peer.messages():
            pass

    double.scripts = [held, streaming]
    own = callers(double.path)
    stream = own.stream(resource="r", path="p", method="POST")
    own.leave(stream)
    eventually(lambda: stream.is_left)
    release.set()
    eventually(lambda: all(one.is_leaving or not one._pending for one in own.streaming))
    threading.Event().wait(0.3)
    assert double.connections == 1


def test_no_successor_is_told(double: Double, callers: Callable[..., Callers], directory: Path) -> None:
    double.scripts = [refusing]
    own = callers(double.path, limits=Limits(reconnect=0.3))
    stream = own.stream(resource="r", path="p", method="POST")
    error = own.read(stream).exception(20)
    assert isinstance(error, postern_auth.PosternError)
    assert error.outcome == "not_sent"
