"""Clients, streams and iterators that nobody closes; forks; other processes; many callers at once."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from double import Double, Peer, obliging
from harness.sidecar import Sidecar
from loop import in_loop

import postern_auth
from postern_auth import AsyncClient, Client, Limits


def noting(peer: Peer) -> None:
    """Like `obliging`, and notes who subscribed and unsubscribed."""
    for message in peer.messages():
        if "id" not in message:
            continue
        events = message["params"].get("events", [])
        heard.append((message["method"], *events))
        peer.answer(message, {"subscribed": events if message["method"] == "subscribe" else []})


heard: list[tuple[str, ...]] = []


def wait_until(condition: object, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:  # type: ignore[operator]
        time.sleep(0.01)
    assert condition()  # type: ignore[operator]


async def wait_in_loop_until(condition: object, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:  # type: ignore[operator]
        await asyncio.sleep(0.01)
    assert condition()  # type: ignore[operator]


def test_events_that_nobody_takes_any_more_are_unsubscribed(double: Double) -> None:
    """Leaving a loop over `client.events()` must not keep the subscription, its backlog and the client."""
    heard.clear()
    double.scripts = [noting]
    with Client(double.path) as client:
        kept = client.events("sessionEnded")
        with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031
            client.events("configReloaded")
            gc.collect()
        wait_until(lambda: ("unsubscribe", "event.configReloaded") in heard)
        assert kept.names == {"event.sessionEnded"}
        kept.close()
    wait_until(lambda: ("unsubscribe", "event.sessionEnded") in heard)


@in_loop
async def test_asynchronous_events_that_nobody_takes_any_more(double: Double) -> None:
    heard.clear()
    double.scripts = [noting]
    async with AsyncClient(double.path) as client:
        with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031
            await client.events("configReloaded")
            gc.collect()
        await wait_in_loop_until(lambda: ("unsubscribe", "event.configReloaded") in heard)


def test_a_client_that_is_dropped_says_so_and_leaves(double: Double) -> None:
    client = Client(double.path)
    client.call("getInfo")
    with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031
        del client
        gc.collect()
    wait_until(lambda: double.ended == 1)


@in_loop
async def test_an_asynchronous_client_that_is_dropped_says_so_and_leaves(double: Double) -> None:
    """The loop keeps its connection otherwise, for as long as it runs."""
    client = AsyncClient(double.path)
    await client.call("getInfo")
    with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031
        del client
        gc.collect()
    await wait_in_loop_until(lambda: double.ended == 1)


def test_a_client_that_was_closed_says_nothing(double: Double) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Client(double.path) as client:
            client.call("getInfo")
        del client
        gc.collect()
    assert not [one for one in told if "postern_auth.Client" in str(one.message)]


def test_a_forked_child_leaves_quietly(client: Client) -> None:
    """gunicorn forks after the application was loaded: the child's copy of the connection is no leak of the child's."""
    client.get_info()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                client.get_info(timeout=10)
                gc.collect()
            status = 3 if told else 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.get_info().name == "postern"


def test_a_fork_while_others_call(client: Client) -> None:
    """A child that is forked while threads of its parent hold every lock there is."""
    stopping = threading.Event()

    def work() -> None:
        while not stopping.is_set():
            client.get_info()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    status = 0 if client.get_info(timeout=10).name == "postern" else 2
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stopping.set()
        for worker in workers:
            worker.join(10)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_clients_travel_as_what_makes_them(kind: type[Client] | type[AsyncClient], sidecar: Sidecar) -> None:
    """Work queues and process pools pickle what they are given: the other side connects by itself."""
    client = kind(sidecar.path, timeout=7, limits=Limits(request_bytes=1000))
    for other in (pickle.loads(pickle.dumps(client)), copy.copy(client), copy.deepcopy(client)):
        assert (other.path, other.timeout, other._limits) == (client.path, 7, Limits(request_bytes=1000))
        assert other is not client


def test_a_client_with_delegates_does_not_travel(client: Client) -> None:
    client.register_delegate(update_request=lambda request: None)
    with pytest.raises(TypeError, match="delegates"):
        pickle.dumps(client)


@pytest.mark.parametrize("kind", [postern_auth.FetchError, postern_auth.SessionError, postern_auth.ConnectionLost])
def test_errors_travel(kind: type[postern_auth.PosternError]) -> None:
    error = kind("text", -1, {"reason": "r", "outcome": "not_sent"})
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), other.code, other.data) == (kind, str(error), -1, error.data)


def test_the_interpreter_ends_with_a_client_in_use(sidecar: Sidecar) -> None:
    """Neither a thread nor the collector may hold it up, or complain, when nobody closed anything."""
    program = """
import threading
from postern_auth import Client
client = Client()
events = client.events()
client.get_info()
threading.Thread(target=events.get, daemon=True).start()
stream = client.stream_resource("open", "slow?ms=20000")
"""
    environment = {
        **os.environ,
        "POSTERN_SOCKET": sidecar.path,
        "PYTHONPATH": str(Path(postern_auth.__file__).parents[1]),
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=15, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sidecar_that_stays_away_is_waited_for_once(double: Double) -> None:
    """Callers who wait for the same connection must not wait for one attempt after the other."""
    client = Client(double.path, limits=Limits(reconnect=0.6))
    client.call("getInfo")
    double.stop()
    begun, errors = time.monotonic(), []

    def work() -> None:
        try:
            client.call("getInfo")
        except postern_auth.PosternError as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    took = time.monotonic() - begun
    assert [error.reason for error in errors] == ["connection_failed"] * 12
    assert len({id(error) for error in errors}) == 12, "an exception is raised once"
    assert took < 5, "one after the other takes 7 s"


@in_loop
async def test_an_asynchronous_client_waits_once_for_all_its_tasks(double: Double) -> None:
    client = AsyncClient(double.path, limits=Limits(reconnect=0.6))
    await client.call("getInfo")
    double.stop()
    begun = time.monotonic()
    errors = await asyncio.gather(*(client.call("getInfo") for _ in range(12)), return_exceptions=True)
    assert {type(error) for error in errors} == {postern_auth.ConnectionFailed}
    assert len({id(error) for error in errors}) == 12
    assert time.monotonic() - begun < 5
    double.listen()
    assert (await client.call("getInfo"))["method"] == "getInfo"
    await client.aclose()


def test_a_client_that_is_closed_while_it_connects(directory: Path) -> None:
    """The connection that comes about then must not stay open."""
    introduced, closed = threading.Event(), threading.Event()

    def slow(peer: Peer) -> None:
        message = peer.receive()
        introduced.set()
        closed.wait(10)
        peer.answer(message, {"registered": [], "subscribed": []})
        obliging(peer)

    def quick(peer: Peer) -> None:
        peer.answer(peer.receive(), {"registered": []})
        obliging(peer)

    double = Double(directory / "slow.sock", quick, slow)
    client = Client(double.path)
    client.register_delegate(update_request=lambda request: None)
    assert client._here.connection is not None
    client._here.connection.close(postern_auth.ConnectionLost("for the test"))
    errors: list[BaseException] = []

    def call() -> None:
        try:
            client.call("getInfo")
        except postern_auth.PosternError as error:
            errors.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    assert introduced.wait(10)
    client.close()
    closed.set()
    caller.join(10)
    assert [type(error) for error in errors] == [postern_auth.ClientClosed]
    wait_until(lambda: double.ended == 2)
    double.stop()
