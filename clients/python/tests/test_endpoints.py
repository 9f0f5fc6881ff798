"""Sockets for children: endpoints, descriptors, and what a client gives up."""

from __future__ import annotations

import array
import asyncio
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from double import Double, Peer, obliging
from fakes import Fakes
from harness.waiting import eventually
from loop import in_loop

from postern_auth import AsyncClient, CallToApprove, Client, ConnectionFailed, Endpoint, errors
from postern_auth._connection import Connection
from postern_auth._limits import Deadline, Limits
from postern_auth.testing import AsyncFakePostern, FakePostern

MADE = {"endpoint": "e-1", "path": "/run/postern.sock.e-1"}


def recorded(calls: list[dict[str, Any]], *results: Any) -> Any:
    """Answers `createEndpoint` with the results in turn, and everything else with an empty one."""
    left = list(results)

    def script(peer: Peer) -> None:
        for message in peer.messages():
            calls.append(message)
            if "id" in message:
                peer.answer(message, left.pop(0) if message["method"] == "createEndpoint" and left else {"revoked": 1})

    return script


def pass_with(peer: Peer, message: Any, *descriptors: int) -> None:
    """Sends a message whose first byte has descriptors with it."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    peer.socket.sendmsg([peer.encoded(message)], rights)


def result(message: dict[str, Any], value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": value}


def methods(calls: list[dict[str, Any]]) -> list[str]:
    return [call["method"] for call in calls]


def making(made: dict[str, Any]) -> Fakes:
    def set_up(fake: FakePostern | AsyncFakePostern) -> None:
        fake.when.create_endpoint().returns(made)
        fake.when.revoke_endpoint("e-1").returns({"revoked": 1})

    return Fakes(set_up)


def test_an_endpoint_lives_as_long_as_its_block() -> None:
    """Would catch lists that are changed on their way, `[]` as a list that is left out, and an endpoint that stays."""
    fake = making({**MADE, "expiresAt": "2026-01-05T10:15:00.000Z", "http": {"path": "/h"}}).blocking
    rate = {"perSecond": 1, "burst": 2}
    with fake.endpoint(resources=["orders"], paths=[], rate=rate, http=True) as made:
        assert (made.id, made.path, made.http_path, made.descriptor) == ("e-1", MADE["path"], "/h", None)
        assert made.expires_at is not None
        assert made.environment() == {"POSTERN_SOCKET": MADE["path"], "POSTERN_HTTP_SOCKET": "/h"}
        [creation] = fake.calls
    sent = {"resources": ["orders"], "paths": [], "rate": rate, "bindTo": "connection", "http": True}
    assert creation.params == sent
    assert [call.method for call in fake.calls] == ["createEndpoint", "revokeEndpoint"]


def test_an_endpoint_is_revoked_when_its_block_fails() -> None:
    fake = making(MADE).blocking
    with pytest.raises(ZeroDivisionError), fake.endpoint(resources=["orders"], bind_to={"pid": 7}):
        raise ZeroDivisionError
    assert fake.calls[0].params["bindTo"] == {"pid": 7}
    assert [call.method for call in fake.calls] == ["createEndpoint", "revokeEndpoint"]


@in_loop
async def test_an_endpoint_of_the_asynchronous_client() -> None:
    fake = making(MADE).asynchronous
    async with fake.endpoint(methods=["getInfo"], label="x") as made:
        assert isinstance(made, Endpoint) and made.path == MADE["path"]
    assert fake.calls[0].params["methods"] == ["getInfo"]
    assert [call.method for call in fake.calls] == ["createEndpoint", "revokeEndpoint"]


def test_an_endpoint_that_a_draining_sidecar_did_not_make_is_made_by_its_successor(double: Double) -> None:
    calls: list[dict[str, Any]] = []

    def drain(peer: Peer) -> None:
        data = {"reason": "shutting_down", "outcome": "not_sent", "retryable": True}
        peer.send({"id": peer.receive()["id"], "error": {"code": -32021, "message": "stops", "data": data}})

    double.scripts = [drain, recorded(calls, MADE)]
    with Client(double.path) as client, client.endpoint(resources=["orders"]) as made:
        assert made.id == "e-1"


def test_a_descriptor_is_a_connection(double: Double) -> None:
    """Would catch a descriptor that is lost, leaked to children, or left open when the block ends."""
    ours, theirs = socket.socketpair()

    def script(peer: Peer) -> None:
        for message in peer.messages():
            if message["method"] == "createEndpoint":
                assert message["params"]["descriptor"] is True
                pass_with(peer, result(message, {"endpoint": "e-1"}), theirs.fileno())
                theirs.close()
            else:
                peer.answer(message, {"revoked": 1})

    double.scripts = [script]
    server = threading.Thread(target=obliging, args=(Peer(ours),))
    server.start()
    with Client(double.path) as client, client.endpoint(resources=["orders"], descriptor=True) as made:
        assert made.path is None
        assert made.descriptor is not None
        assert not os.get_inheritable(made.descriptor)
        assert made.environment() == {"POSTERN_FD": str(made.descriptor)}
        with Client.from_descriptor(os.dup(made.descriptor)) as child:
            assert child.call("echo", {"a": 1})["params"]["a"] == 1
            with pytest.raises(ConnectionFailed, match="one connection"):
                child.stream_resource("orders", "big").read()
        descriptor = made.descriptor
    with pytest.raises(OSError):
        os.fstat(descriptor)
    ours.close()
    server.join()


def test_each_result_has_its_own_descriptor(double: Double) -> None:
    """Would catch descriptors that are given out in another order, or to a result without one: with a reading thread,
    with two results in one write, and with an error between them."""
    pipes = [os.pipe() for _ in range(3)]
    before = descriptors()

    def script(peer: Peer) -> None:
        first, second, third, fourth = [peer.receive() for _ in range(4)]
        pass_with(peer, result(first, {"endpoint": "a"}), pipes[0][1])
        peer.reject(second, "/label")
        # The third caller has left; its descriptor is not the fourth one's.
        pass_with(peer, result(third, {"endpoint": "b"}), pipes[1][1])
        pass_with(peer, result(fourth, {"endpoint": "c"}), pipes[2][1])
        for message in peer.messages():
            if "id" in message:
                peer.answer(message, {})

    double.scripts = [script]

    class Nobodys:
        def on_request(self, *_: Any) -> None: ...

        on_notification = on_end = on_request

    connection = Connection(double.path, Limits(), Nobodys())
    connection.keep()
    params = {"descriptor": True}
    sent = [connection.start("createEndpoint", params, None, Deadline(10)) for _ in range(4)]
    connection.cancel(sent[2], errors.Cancelled("left"))
    assert connection.result(sent[0], Deadline(10)) == {"endpoint": "a"}
    with pytest.raises(errors.RequestError):
        connection.result(sent[1], Deadline(10))
    assert sent[1].descriptor is None
    assert connection.result(sent[3], Deadline(10)) == {"endpoint": "c"}
    for position, pipe in ((0, pipes[0]), (3, pipes[2])):
        passed = sent[position].descriptor
        assert passed is not None
        own = passed.take()
        assert os.path.sameopenfile(own, pipe[1]) if hasattr(os.path, "sameopenfile") else True
        os.write(own, b"x")
        assert os.read(pipe[0], 1) == b"x"
        os.close(own)
    sent.clear()
    connection.close(errors.ClientClosed("the end"))
    for pipe in pipes:
        os.close(pipe[0])
        os.close(pipe[1])
    assert descriptors() <= before


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_result_without_the_descriptor_is_no_endpoint(double: Double) -> None:
    double.scripts = [recorded([], MADE)]
    with Client(double.path) as client, pytest.raises(errors.ProtocolViolation, match="no descriptor"):
        with client.endpoint(descriptor=True):
            pass


def test_a_child_finds_its_connection_by_the_variable(tmp_path: Path) -> None:
    """Would catch a child that uses the main socket although it has an endpoint, and a number that is used twice."""
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=obliging, args=(Peer(ours),))
    server.start()
    program = """
import postern_auth
with postern_auth.Client() as client:
    print(client.call("echo")["method"])
    try:
        postern_auth.Client()
    except postern_auth.ConnectionFailed as error:
        print(error.message)
"""
    environment = {**os.environ, "POSTERN_FD": str(theirs.fileno()), "POSTERN_SOCKET": str(tmp_path / "main.sock")}
    done = subprocess.run(
        [sys.executable, "-c", program], pass_fds=[theirs.fileno()], env=environment, stdout=subprocess.PIPE, check=True
    )
    number = theirs.fileno()
    theirs.close()
    ours.close()
    server.join()
    lines = done.stdout.decode().splitlines()
    assert lines == ["echo", f"descriptor {number} is another client's connection already"]


@pytest.mark.parametrize("text", ["x", "-1", "12 3", "99999"])
def test_a_variable_that_is_no_descriptor(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Would catch a child that falls back to the main socket, where it has more rights."""
    monkeypatch.setenv("POSTERN_FD", text)
    with pytest.raises(ConnectionFailed):
        Client()


def test_a_file_is_no_connection(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        with pytest.raises(ConnectionFailed):
            Client.from_descriptor(file.fileno())
        assert os.fstat(file.fileno())


def test_narrow_is_for_later_connections_too(double: Double) -> None:
    """Would catch rights that come back with a new connection, or on that of a stream."""
    calls: list[dict[str, Any]] = []
    double.scripts = [recorded(calls)]
    with Client(double.path) as client:
        client.narrow(resources=["orders"], sessions=[])
        double.stop()
        double.listen()
        calls.clear()
        client.call("getInfo")
        assert methods(calls) == ["narrow", "getInfo"]
        assert calls[0]["params"] == {"resources": ["orders"], "sessions": []}

        calls.clear()
        with client.stream_resource("orders", "big", timeout=1):
            assert eventually(lambda: "fetchResource" in methods(calls))
        assert methods(calls)[0] == "narrow"


def test_narrow_of_the_asynchronous_client_is_for_later_connections_too(double: Double) -> None:
    calls: list[dict[str, Any]] = []
    double.scripts = [recorded(calls)]

    async def run() -> None:
        async with AsyncClient(double.path) as client:
            await client.narrow(methods=["getInfo"])
            double.stop()
            double.listen()
            calls.clear()
            await client.call("getInfo")
            assert methods(calls) == ["narrow", "getInfo"]

    in_loop(run)()


def test_what_was_not_given_up_is_not_given_up_later(double: Double) -> None:
    """Would catch a rejected `narrow` that makes every later connection fail."""
    calls: list[dict[str, Any]] = []

    def script(peer: Peer) -> None:
        for message in peer.messages():
            calls.append(message)
            if message["method"] == "narrow":
                peer.reject(message, "/paths/0")
            else:
                peer.answer(message, {})

    double.scripts = [script]
    with Client(double.path) as client:
        with pytest.raises(errors.RequestError):
            client.narrow(paths=["../x"])
        double.stop()
        double.listen()
        calls.clear()
        client.call("getInfo")
        assert methods(calls) == ["getInfo"]


@pytest.mark.parametrize(("value", "answer"), [("once", "once"), ("always", "always"), ("no", "no"), (True, "no")])
def test_a_call_is_put_to_the_maker(double: Double, value: Any, answer: str) -> None:
    """Would catch an approval that nothing but `once` or `always` may be."""
    question = {
        "endpoint": "e-1", "label": "agent", "chain": ["e-1", "e-2"], "method": "fetchResource", "resource": "orders",
        "httpMethod": "COPY", "path": "transfer", "session": "s", "url": "https://a.test/transfer",
        "otherUrls": [{"header": "Destination", "url": "https://a.test/b"}],
        "body": {"bytes": 3, "contentType": "text/plain"},
    }  # fmt: skip
    answers: list[Any] = []
    came = threading.Event()

    def script(peer: Peer) -> None:
        message = peer.receive()
        assert message["params"]["methods"] == ["delegate.approveCall"]
        peer.answer(message, {"registered": ["delegate.approveCall"]})
        peer.send({"jsonrpc": "2.0", "id": "postern-1", "method": "delegate.approveCall", "params": question})
        answers.append(peer.receive())
        came.set()

    double.scripts = [script]
    seen: list[CallToApprove] = []

    def approve(call: CallToApprove) -> Any:
        seen.append(call)
        return value

    with Client(double.path) as client:
        client.register_delegate(approve_call=approve)
        assert came.wait(10)
    assert answers[0]["result"] == {"answer": answer}
    [call] = seen
    assert (call.label, call.chain, call.method, call.http_method, call.path) == (
        "agent", ["e-1", "e-2"], "fetchResource", "COPY", "transfer")  # fmt: skip
    assert (call.url, call.other_urls, call.body_bytes, call.content_type) == (
        "https://a.test/transfer", [("Destination", "https://a.test/b")], 3, "text/plain")  # fmt: skip
    assert "session" not in repr(call)


def test_the_asynchronous_client_approves(double: Double) -> None:
    answers: list[Any] = []

    def script(peer: Peer) -> None:
        peer.answer(peer.receive(), {"registered": ["delegate.approveCall"]})
        params = {"endpoint": "e-1", "chain": ["e-1"], "method": "getAccessToken"}
        peer.send({"jsonrpc": "2.0", "id": "postern-1", "method": "delegate.approveCall", "params": params})
        answers.append(peer.receive())

    double.scripts = [script]

    async def approve(call: CallToApprove) -> Any:
        assert call.resource is None
        return "once"

    async def run() -> None:
        async with AsyncClient(double.path) as client:
            await client.register_delegate(approve_call=approve)
            while not answers:
                await asyncio.sleep(0.01)

    in_loop(run)()
    assert answers[0]["result"] == {"answer": "once"}
