"""Descriptors of endpoints that cannot be passed, or are passed and not taken."""
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.endpoints import Endpoint, PassingConnection, connect_to, ids
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, acting_as, needs_root
from harness.waiting import eventually

Start = Callable[..., Sidecar]
#: How many descriptors a uid may leave unread.
UNREAD = 64
#: The sidecar's own user in these tests: root may pass as many descriptors as it likes.
OWN = 1234

#: Leaves descriptors in a socket that is not read, until its input ends.
FILL = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
ends, count = [], 0
while count < 600:
    if count % 100 == 0:
        ends += socket.socketpair()
    socket.send_fds(ends[-1], [b"x"], [0])
    count += 1
print("full", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def unprivileged(start: Start, directory: Path) -> Callable[..., Sidecar]:
    """Starts a sidecar of a user without rights that has so many descriptors."""
    def start_it(descriptors: int = 400) -> Sidecar:
        directory.chmod(0o755)
        run = f'chown -R {OWN} {directory} && ulimit -n {descriptors} && exec setpriv --reuid {OWN} --clear-groups "$@"'
        changes = {**BOTH, "limits": {"connectionsPerUid": 200}}
        return start(changes, launcher=["sh", "-c", run, "sh"])

    return start_it


def files(sidecar: Sidecar) -> List[Path]:
    """The socket files of endpoints."""
    return list(Path(sidecar.path).parent.glob(Path(sidecar.path).name + ".e-*"))


@contextlib.contextmanager
def many_in_flight() -> Iterator[None]:
    """The sidecar's user has so many descriptors on their way that the kernel passes no more."""
    process = subprocess.Popen(
        ["setpriv", "--reuid", str(OWN), "--clear-groups", sys.executable, "-c", FILL],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "full\n"
        yield
    finally:
        process.communicate("", timeout=20)


@needs_root
@pytest.mark.parametrize("framing", ["stream", "headers"])
def test_an_endpoint_whose_descriptor_cannot_be_passed_is_not_made(
    unprivileged: Callable[..., Sidecar], framing: str
) -> None:
    """Catches an answer without its descriptor, and an endpoint that is left of it."""
    sidecar = unprivileged()
    with connect_to(sidecar, framing) as maker:
        with many_in_flight():
            expect.fault(maker.error("createEndpoint", {"descriptor": True}), -32009)
            assert maker.descriptors == [] and ids(maker) == [] and files(sidecar) == []
            maker.send([
                {"jsonrpc": "2.0", "id": 1, "method": "createEndpoint", "params": {"descriptor": True}},
                {"jsonrpc": "2.0", "id": 2, "method": "createEndpoint", "params": {"label": "path alone"}},
            ])
            answers: Any = {answer["id"]: answer for answer in maker.receive()}
            expect.error(answers[1], -32009)
            assert ids(maker) == [answers[2]["result"]["endpoint"]] and maker.descriptors == []
        Endpoint(maker, descriptor=True)
        with Connection("", framing, connected=maker.take()) as child:
            assert child.works()


def answers_of(connection: Connection, count: int) -> List[Dict[str, Any]]:
    taking = PassingConnection("", connection.framing, connected=connection.socket)
    answers: List[Any] = [taking.receive() for _ in range(count)]
    assert len(taking.descriptors) == sum("result" in answer for answer in answers)
    for descriptor in taking.descriptors:
        os.close(descriptor)
    taking.descriptors = []
    return answers


@needs_root
def test_a_user_that_takes_no_descriptors_leaves_others_theirs(unprivileged: Callable[..., Sidecar]) -> None:
    """Catches one user who has the kernel's count of the sidecar's descriptors used up, over many connections."""
    sidecar = unprivileged(2000)
    with contextlib.ExitStack() as connections:
        with acting_as(ALICE):
            unread = [sidecar.connect() for _ in range(12)]
            looking = connections.enter_context(sidecar.connect())
        for connection in unread:
            connections.enter_context(connection)
            for number in range(40):
                connection.request("createEndpoint", {"descriptor": True}, number)
        eventually(lambda: len(ids(looking)) >= UNREAD, what="as many endpoints as there may be")
        with acting_as(BOB):
            bob = connections.enter_context(connect_to(sidecar, "stream"))
        for _ in range(8):
            Endpoint(bob, descriptor=True)
            with Connection("", "stream", connected=bob.take()) as child:
                assert child.works()
        answers = [answer for connection in unread for answer in answers_of(connection, 40)]
        made = [answer for answer in answers if "result" in answer]
        assert UNREAD <= len(made) < 256
        for answer in answers:
            if "error" in answer:
                expect.error(answer, -32009)
        assert sorted(ids(looking)) == sorted(answer["result"]["endpoint"] for answer in made)
        # Everything is read, and there is space again.
        with acting_as(ALICE):
            alice = connections.enter_context(connect_to(sidecar, "stream"))
        Endpoint(alice, descriptor=True)
        with Connection("", "stream", connected=alice.take()) as child:
            assert child.works()


@needs_root
def test_connections_that_are_over_count_with_what_is_left_in_them(unprivileged: Callable[..., Sidecar]) -> None:
    """Catches one user who leaves descriptors in connections that the sidecar has closed."""
    sidecar = unprivileged(2000)
    with contextlib.ExitStack() as connections:
        with acting_as(ALICE):
            looking = connections.enter_context(sidecar.connect())
        left: List[Connection] = []
        for _ in range(UNREAD // 16):
            with acting_as(ALICE):
                connection = connections.enter_context(sidecar.connect())
            before = len(ids(looking))
            for number in range(16):
                connection.request("createEndpoint", {"descriptor": True}, number)
            eventually(lambda: len(ids(looking)) == before + 16, what="the endpoints")
            connection.half_close()
            left.append(connection)
        expect.fault(looking.error("createEndpoint", {"descriptor": True}), -32009)
        with acting_as(BOB):
            bob = connections.enter_context(connect_to(sidecar, "stream"))
        Endpoint(bob, descriptor=True)
        bob.take().close()
        for connection in left[:2]:
            connection.close()
        with acting_as(ALICE):
            alice = connections.enter_context(connect_to(sidecar, "stream"))
        Endpoint(alice, descriptor=True)
        with Connection("", "stream", connected=alice.take()) as child:
            assert child.works()
